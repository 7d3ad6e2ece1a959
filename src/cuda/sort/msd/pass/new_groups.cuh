#pragma once

#include "cuda/sort/msd/pass/context.cuh"

// How a pass adds to the list of groups: whole blocks call these functions.
namespace sheaf::cuda {

constexpr std::uint32_t group_flags(std::uint32_t count, std::uint32_t buffer) {
  return count | buffer << msd_group::count_bits;
}

/// Adds words in their final order as groups that are only copied. None are added for words in the output buffer.
template <class Policy>
__device__ void add_sorted_words(const pass_context<Policy>& pass, std::uint32_t begin, std::uint32_t count,
                                 std::uint32_t buffer) {
  if (pass.arguments.buffers[buffer] == pass.arguments.target.words) return;
  const std::uint32_t pieces = (count - 1) / group_words + 1;
  if (threadIdx.x == 0) pass.shared.new_index = atomicAdd(&pass.tables.counters->group_total, pieces);
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < pieces; i += pass_threads) {
    const std::uint32_t words_before = i * group_words;
    pass.tables.groups[pass.shared.new_index + i] = {begin + words_before,
                                                     group_flags(min(count - words_before, group_words), buffer)};
  }
  __syncthreads();
}

/// Merges the bins of a bucket that are no bucket of the next pass to groups of as many neighbours as
/// most_merged_words allows. Every bin looks up, by binary search, where a group that began with it would end; groups
/// begin with the bins that are reached from bin 0 along these ends, which pointer jumping finds in log2(radix_bins)
/// steps. bin_offset and histogram[0] hold where each bin begins and its count.
template <class Policy>
__device__ void add_merged_groups(const pass_context<Policy>& pass, const msd_bucket& bucket, std::uint32_t buffer) {
  msd_pass_shared& shared = pass.shared;
  const std::uint32_t bin = threadIdx.x;
  const std::uint32_t bucket_end = bucket.begin + bucket.count;
  const auto begin_of = [&](std::uint32_t b) { return b < radix_bins ? shared.bin_offset[b] : bucket_end; };
  std::uint32_t end = radix_bins;  // the bin after the group
  std::uint32_t words = 0;
  if (bin < radix_bins) {
    // A bin that is larger than most_merged_words is a group by itself, or a bucket of the next pass and no group.
    std::uint32_t low = bin + 1;
    std::uint32_t high = radix_bins;
    while (low < high) {
      const std::uint32_t middle = (low + high + 1) / 2;
      if (begin_of(middle) - shared.bin_offset[bin] <= most_merged_words(pass.arguments.count)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    end = low;
    words = shared.histogram[0][bin] > group_words ? 0 : begin_of(end) - shared.bin_offset[bin];
    shared.group_end[bin] = end;
    shared.is_group_begin[bin] = bin == 0;
  }
  if (bin == 0) shared.new_group_total = 0;
  __syncthreads();
  for (int step = 1; step < radix_bins; step *= 2) {
    std::uint32_t reached = radix_bins;
    std::uint32_t farther = radix_bins;
    if (bin < radix_bins) {
      reached = shared.group_end[bin];
      if (reached < radix_bins) farther = shared.group_end[reached];
      if (shared.is_group_begin[bin] == 0) reached = radix_bins;
    }
    __syncthreads();
    if (bin < radix_bins) {
      if (reached < radix_bins) shared.is_group_begin[reached] = 1;
      shared.group_end[bin] = farther;
    }
    __syncthreads();
  }
  const bool is_group = bin < radix_bins && shared.is_group_begin[bin] != 0 && words > 0;
  std::uint32_t number = 0;
  if (is_group) number = atomicAdd(&shared.new_group_total, 1U);
  __syncthreads();
  if (bin == 0 && shared.new_group_total > 0) {
    shared.new_index = atomicAdd(&pass.tables.counters->group_total, shared.new_group_total);
  }
  __syncthreads();
  if (!is_group) return;
  // The group's bins have some highest bits in common. All bins with these highest bits are a power of two of bins. A
  // group of less than two thirds of them would leave too many of the finishing kernel's bins empty.
  const std::uint32_t merged_bins = end - bin;
  const std::uint32_t aligned_bins = 1U << (32 - __clz(static_cast<int>(bin ^ (end - 1))));
  // Bins of a sample that are uneven have no such bits in common.
  bool is_uneven = false;
  if constexpr (Policy::has_sampled_bins) is_uneven = pass.tables.first_bins->is_uneven != 0;
  const std::uint32_t by_range = is_uneven || 2 * aligned_bins > 3 * merged_bins ? msd_group::bins_by_range_flag : 0;
  pass.tables.groups[shared.new_index + number] = {shared.bin_offset[bin], group_flags(words, buffer) | by_range};
}

}  // namespace sheaf::cuda
