#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/pass/new_groups.cuh"

// Phase 2 of an MSD pass: what follows from the digit counts of a bucket. A scan says where the words of every bin
// begin in the output. A bin of more than group_words is a bucket of the next pass, smaller ones are merged to groups.
namespace sheaf::cuda {

/// Adds a bucket to those of the next pass and returns its index. One thread calls this.
template <class Policy>
__device__ std::uint32_t add_bucket(const pass_context<Policy>& pass, msd_bucket bucket) {
  msd_counters& counters = *pass.tables.counters;
  const std::uint32_t index = atomicAdd(&counters.bucket_total[pass.next], 1U);
  bucket.first_tile = atomicAdd(&counters.tile_total[pass.next], pass.tiles_of(bucket.count));
  bucket.first_count_row =
      Policy::keeps_order ? atomicAdd(&counters.count_row_total[pass.next], pass.count_rows_of(bucket.count)) : index;
  pass.tables.buckets[pass.next][index] = bucket;
  return index;
}

/// Fills the tables for a new bucket: the bucket of its tiles and count rows, and zeros where it is counted. As many
/// neighbouring threads share the work.
template <std::uint32_t Threads, class Policy>
__device__ void fill_tables(const pass_context<Policy>& pass, std::uint32_t index) {
  const msd_tables& tables = pass.tables;
  const std::uint32_t next = pass.next;
  const msd_bucket bucket = tables.buckets[next][index];
  const std::uint32_t tiles = pass.tiles_of(bucket.count);
  const std::uint32_t count_rows = pass.count_rows_of(bucket.count);
  const std::uint32_t first = threadIdx.x % Threads;
  for (std::uint32_t i = first; i < tiles; i += Threads) tables.bucket_of_tile[next][bucket.first_tile + i] = index;
  if constexpr (Policy::keeps_order) {
    for (std::uint32_t i = first; i < count_rows; i += Threads) {
      tables.bucket_of_count_row[next][bucket.first_count_row + i] = index;
    }
  }
  std::uint32_t* const counts = tables.count_rows[next] + std::uint64_t{bucket.first_count_row} * radix_bins;
  for (std::uint32_t i = first; i < count_rows * radix_bins; i += Threads) counts[i] = 0;
  if (first < Policy::limbs) tables.differing_bits[next][index * Policy::limbs + first] = 0;
}

/// Adds one bucket to those of the next pass. A whole block calls this.
template <class Policy>
__device__ void add_and_fill_bucket(const pass_context<Policy>& pass, const msd_bucket& bucket) {
  if (threadIdx.x == 0) pass.shared.new_index = add_bucket(pass, bucket);
  __syncthreads();
  fill_tables<pass_threads>(pass, pass.shared.new_index);
  __syncthreads();
}

/// Makes the whole input the one bucket of the first pass. One block calls this, as a pass whose next is the first.
template <class Policy>
__device__ void add_first_bucket(const pass_context<Policy>& pass) {
  add_and_fill_bucket(pass, {0, pass.arguments.count, 0, 0, pass.arguments.key_high, 0});
}

/// Leaves a bucket whose words have one digit where it is. The next pass goes on with the highest bit in which two
/// words differ; where there is none, the words are in order.
template <class Policy>
__device__ void keep_bucket(const pass_context<Policy>& pass, std::uint32_t index, const msd_bucket& bucket) {
  constexpr int limbs = Policy::limbs;
  const msd_arguments& arguments = pass.arguments;
  const std::uint32_t* const known = pass.tables.differing_bits[pass.current] + index * limbs;
  const key_mask<limbs> key(arguments.key_low, arguments.key_high);
  const std::uint32_t buffer = bucket.buffer_and_flags;  // no flag is set yet
  std::uint32_t differing[limbs];
#pragma unroll
  for (int l = 0; l < limbs; ++l) differing[l] = __ldcg(known + l) & key.limb[l];
  std::uint32_t digit_end = bit_length<limbs>(differing);
  if constexpr (has_byte_digits<limbs>) digit_end = (digit_end + radix_bits - 1) / radix_bits * radix_bits;
  if (threadIdx.x == 0) pass.tables.buckets[pass.current][index].buffer_and_flags |= msd_bucket::stays_in_place_flag;
  if (digit_end <= arguments.key_low) return add_sorted_words(pass, bucket.begin, bucket.count, buffer);
  add_and_fill_bucket(pass, {bucket.begin, bucket.count, 0, 0, digit_end, buffer});
}

/// Turns the counts of one bin in the bucket's count rows, one for each chunk, into offsets from `offset` on.
template <class Policy>
__device__ __forceinline__ void scan_count_rows(std::uint32_t* count_rows, std::uint32_t row_total, std::uint32_t bin,
                                                std::uint32_t offset) {
  constexpr std::uint32_t at_once = Policy::keeps_order ? 32 : 1;
  for (std::uint32_t first = 0; first < row_total; first += at_once) {
    std::uint32_t counts[at_once];
#pragma unroll
    for (std::uint32_t r = 0; r < at_once; ++r) {
      counts[r] = first + r < row_total ? __ldcg(count_rows + (first + r) * radix_bins + bin) : 0;
    }
#pragma unroll
    for (std::uint32_t r = 0; r < at_once; ++r) {
      if (first + r < row_total) count_rows[(first + r) * radix_bins + bin] = offset;
      offset += counts[r];
    }
  }
}

template <class Policy>
__device__ void scan_counts_of_bucket(const pass_context<Policy>& pass, std::uint32_t index) {
  const msd_tables& tables = pass.tables;
  msd_pass_shared& shared = pass.shared;
  const msd_bucket bucket = tables.buckets[pass.current][index];
  const std::uint32_t bin = threadIdx.x;
  std::uint32_t* const count_rows =
      tables.count_rows[pass.current] + std::uint64_t{bucket.first_count_row} * radix_bins;
  const std::uint32_t row_total = pass.count_rows_of(bucket.count);
  std::uint32_t count[1] = {};
  std::uint32_t begin[1] = {};
  if (bin < radix_bins) {
#pragma unroll 32
    for (std::uint32_t r = 0; r < row_total; ++r) count[0] += __ldcg(count_rows + r * radix_bins + bin);
  }
  // Rows are moved even if they have one digit, as the pass makes words of them.
  if (__syncthreads_or(!Policy::from_rows && bin < radix_bins && count[0] == bucket.count)) {
    return keep_bucket(pass, index, bucket);
  }
  begin[0] = count[0];
  scan_bins<radix_bins, pass_threads>(begin, shared.warp_sums);
  begin[0] += bucket.begin;
  if (bin < radix_bins) scan_count_rows<Policy>(count_rows, row_total, bin, begin[0]);
  const std::uint32_t output = next_buffer(bucket.buffer_and_flags);  // no flag is set yet
  if (!Policy::has_sampled_bins && pass.digit_begin(bucket) <= pass.arguments.key_low) {
    return add_sorted_words(pass, bucket.begin, bucket.count, output);
  }
  if (bin < radix_bins) {
    shared.bin_offset[bin] = begin[0];
    shared.histogram[0][bin] = count[0];
    shared.child_bucket[bin] = 0;
    if (count[0] > group_words) {
      const std::uint32_t digit_end = pass.digit_end_of_bin(bucket, bin);
      shared.child_bucket[bin] = 1 + add_bucket(pass, {begin[0], count[0], 0, 0, digit_end, output});
    }
  }
  __syncthreads();
  add_merged_groups(pass, bucket, output);
  for (std::uint32_t child = threadIdx.x / 32; child < radix_bins; child += pass_threads / 32) {
    if (shared.child_bucket[child] != 0) fill_tables<32>(pass, shared.child_bucket[child] - 1);
  }
  __syncthreads();
}

template <class Policy>
__device__ void scan_counts_of_buckets(const pass_context<Policy>& pass) {
  const std::uint32_t buckets = __ldcg(&pass.tables.counters->bucket_total[pass.current]);
  for (std::uint32_t index = blockIdx.x; index < buckets; index += gridDim.x) scan_counts_of_bucket(pass, index);
}

}  // namespace sheaf::cuda
