#pragma once

#include "cuda/sort/msd/group/hot_bins.cuh"

// The usual method for a group: words are distributed into 4096 bins by the 12 highest bits that tell them apart, and
// the few words of a bin are sorted by comparison. Only bins of two words and more are listed as runs, because a bin of
// one word is in order. 2^28 keys of 4 bytes are finished in 1.44 ms. Without the list they took 1.85 ms.
namespace sheaf::cuda {

/// The digit that ends at `digit_end`, from which bit up all keys agree. It has finish_bits bits, or what is left of
/// the key.
__device__ __forceinline__ range_digit highest_digit(std::uint32_t key_low, std::uint32_t digit_end) {
  const std::uint32_t shift = max(digit_end, key_low + finish_bits) - finish_bits;
  return {digit_at(shift, digit_end - shift), 0};
}

/// The digit that numbers the bins from the group's least word to its greatest, so that no bins are wasted on what lies
/// below or above them.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ range_digit digit_of_range(const staged_group<Limbs, Payload, Method>& group,
                                                      const sort_word<Limbs> (&words)[finish_items],
                                                      std::uint32_t digit_end) {
  const std::uint32_t prefix_low = max(digit_end, group.arguments.key_low + 32) - 32;
  const digit_field prefix{prefix_low / 32, prefix_low % 32, ~0U >> (32 - (digit_end - prefix_low))};
  std::uint32_t least = ~0U;
  std::uint32_t greatest = 0;
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    const std::uint32_t number = digit_of(words[k], prefix);
    least = min(least, number);
    greatest = max(greatest, number);
  }
  least = __reduce_min_sync(~0U, least);
  greatest = __reduce_max_sync(~0U, greatest);
  finish_shared& s = *group.shared;
  if (threadIdx.x % 32 == 0) {
    atomicMin(&s.least_prefix, least);
    atomicMax(&s.greatest_prefix, greatest);
  }
  __syncthreads();
  least = s.least_prefix;
  greatest = s.greatest_prefix;
  std::uint32_t shift = max(32 - __clz(static_cast<int>(greatest - least)), finish_bits) - finish_bits;
  if ((greatest >> shift) - (least >> shift) >= finish_bins) ++shift;
  const digit_field field =
      digit_at(prefix_low + shift, min(digit_end - prefix_low - shift, static_cast<std::uint32_t>(finish_bits)));
  return {field, least >> shift & field.mask};
}

/// Turns the bins' counts into where they begin, and lists the runs to be sorted and the hot bins.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ void scan_group_bins(const staged_group<Limbs, Payload, Method>& group) {
  finish_shared& s = *group.shared;
  constexpr int per_thread = finish_bins / finish_threads;
  constexpr std::uint32_t one_run = 1U << upper_half;
  const auto is_run = [](std::uint32_t size) { return size > 1 && size <= most_words_of_bin<Method>; };
  const std::uint32_t first = threadIdx.x * per_thread;
  std::uint32_t before[per_thread];  // words before the bin in the lower half, runs in the upper
#pragma unroll
  for (int j = 0; j < per_thread; ++j) {
    const std::uint32_t size = s.bins[first + j];
    before[j] = is_run(size) ? size + one_run : size;
  }
  const std::uint32_t last = before[per_thread - 1];
  scan_bins<finish_bins, finish_threads>(before, s.warp_sums);
  const std::uint32_t past = before[per_thread - 1] + last;
#pragma unroll
  for (int j = 0; j < per_thread; ++j) {
    const std::uint32_t next = j + 1 < per_thread ? before[j + 1 < per_thread ? j + 1 : j] : past;
    const std::uint32_t begin = before[j] & lower_half_mask;
    const std::uint32_t size = (next & lower_half_mask) - begin;
    if (is_run(size)) s.runs[before[j] >> upper_half] = begin | size << upper_half;
    if (size > most_words_of_bin<Method>)
      s.runs[last_run - atomicAdd(&s.hot_bin_total, 1U)] = begin | size << upper_half;
    s.bins[first + j] = begin;
  }
  if (threadIdx.x == finish_threads - 1) s.run_total = past >> upper_half;
}

/// Stages the group's words in order. Returns false where a hot bin has too many keys, or is left to the method
/// `merge`.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ bool sort_by_bins(const staged_group<Limbs, Payload, Method>& group,
                                             const sort_word<Limbs> (&words)[finish_items], std::uint32_t digit_end,
                                             const std::uint32_t (&differing)[Limbs], bool by_range) {
  const range_digit digit =
      by_range ? digit_of_range(group, words, digit_end) : highest_digit(group.arguments.key_low, digit_end);
  finish_shared& s = *group.shared;
  const std::uint32_t shift = digit.field.limb * 32 + digit.field.shift;
  const bool bins_have_one_key = lowest_bit<Limbs>(differing) >= shift;
  packed_numbers<finish_items> rank;
  std::uint32_t most = 0;
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    std::uint32_t r = 0;
    if (group.position(k) < group.count) r = atomicAdd(&s.bins[digit_of(words[k], digit)], 1U);
    rank.set(k, r);
    most = max(most, r);
  }
  if (threadIdx.x == 0) s.hot_bin_total = s.run_total = 0;
  const bool has_hot_bins = __syncthreads_or(most >= most_words_of_bin<Method>) != 0;
  if (!sorts_hot_bins<Payload, Method> && has_hot_bins) return false;
  if (has_hot_bins && !bins_have_one_key && is_one_group(group.arguments) && !may_have_heavy_keys(group, words, rank))
    return false;
  scan_group_bins(group);
  __syncthreads();
  // opaque() keeps the compiler from holding 9 digits in registers across the scan: computing them again is cheaper.
  const range_digit again{{digit.field.limb, opaque(digit.field.shift), digit.field.mask}, digit.least};
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (group.position(k) >= group.count) continue;
    group.stage(s.bins[digit_of(words[k], again)] + rank.get(k), words[k], group.position(k));
  }
  if (bins_have_one_key && !carries_values(Payload)) return true;
  __syncthreads();
  if (has_hot_bins && !sort_hot_bins(group)) return false;
  group.sort_runs();
  return true;
}

}  // namespace sheaf::cuda
