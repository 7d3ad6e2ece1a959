#pragma once

#include "cuda/block/tile.cuh"
#include "cuda/sort/radix/group/staged.cuh"

// The method for groups with hot bins: a radix sort in shared memory, by the digits in which the group's keys differ.
namespace sheaf::cuda {

/// Puts the staged words in the order of a digit, and keeps the order of words with the same one.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ void sort_by_digit(const staged_group<Limbs, Values, Method>& group,
                                              const digit_field& field) {
  constexpr int warps = finish_threads / 32;
  finish_shared& shared = *group.shared;
  static_assert(finish_bins == warps * radix_bins);
  std::uint32_t* const own_bins = shared.bins + threadIdx.x / 32 * radix_bins;
  const auto each = static_cast<int>((group.count - 1) / finish_threads + 1);  // words of a thread
  const std::uint32_t first = threadIdx.x / 32 * (32 * each) + threadIdx.x % 32;
  typename staged_group<Limbs, Values, Method>::positioned_word words[finish_items];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (k < each) words[k] = group.staged_word(min(first + k * 32, group.count - 1));
  }
  for (int i = threadIdx.x; i < finish_bins; i += finish_threads) shared.bins[i] = 0;
  __syncthreads();
  // Words past the end come last, in the last bin.
  const auto bin = [&](int k) {
    return first + k * 32 < group.count ? digit_of(words[k].value, field) : radix_bins - 1;
  };
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (k < each) atomicAdd(&own_bins[bin(k)], 1U);
  }
  __syncthreads();
  std::uint32_t begin[1] = {scan_over_warps<warps, radix_bins>(shared.bins)};
  scan_bins<radix_bins, finish_threads>(begin, shared.warp_sums);
  add_to_warps<warps, radix_bins>(shared.bins, begin[0]);
  __syncthreads();
  packed_numbers<finish_items> rank;
  rank_by_match<finish_items, radix_bins>(bin, own_bins, rank, each);
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (k < each && first + k * 32 < group.count) group.stage(rank.get(k), words[k].value, words[k].position);
  }
}

/// Whether the key of any staged word is below that of the word before it. All threads call this.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ bool has_inversion(const staged_group<Limbs, Values, Method>& group) {
  bool is_less = false;
  for (std::uint32_t i = threadIdx.x; i + 1 < group.count; i += finish_threads) {
    is_less = is_less || compare_words(group.staged[i + 1], group.staged[i], group.key) == word_order::less;
  }
  return __syncthreads_or(is_less) != 0;
}

/// Stages the group's words in order, and keeps the order of equal keys.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ void sort_by_digits(const staged_group<Limbs, Values, Method>& group,
                                               const sort_word<Limbs> (&words)[finish_items],
                                               const std::uint32_t (&differing)[Limbs]) {
  group.stage_unsorted(words);
  sort_word<Limbs> differs;
#pragma unroll
  for (int l = 0; l < Limbs; ++l) differs.limb[l] = differing[l];
  const std::uint32_t lowest = lowest_bit<Limbs>(differing);
  const std::uint32_t end = bit_length<Limbs>(differing);
  // The 32 bits from the highest differing one down tell most keys of a group apart, but a list of one group may have
  // many keys of 8 bytes that share these bits. If keys are out of order afterwards, all digits in which keys differ
  // are sorted by.
  const bool begins_high = Limbs > 2 || (Limbs == 2 && !is_one_group(group.arguments));
  const std::uint32_t high = begins_high ? max(end, lowest + 32) - 32 : lowest;
  for (std::uint32_t begin = high;; begin = lowest) {
#pragma unroll 1
    for (std::uint32_t low = begin; low < end; low += radix_bits) {
      const digit_field field = digit_at(low, min(end - low, radix_bits));
      if (digit_of(differs, field) != 0) sort_by_digit(group, field);
    }
    __syncthreads();
    if (begin == lowest || !has_inversion(group)) return;
  }
}

}  // namespace sheaf::cuda
