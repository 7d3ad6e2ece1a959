#pragma once

#include "cuda/sort/msd/group.cuh"

// A group in which some keys are frequent: bins with many words are crowds, whose most frequent word, the pivot, is set
// apart from the few before and behind it.
namespace sheaf::cuda {

/// Of words whose order is not kept, a warp writes as many as there are.
template <int Limbs, payload_mode Payload, finish_way Way>
__device__ __forceinline__ void write_equals(const staged_group<Limbs, Payload, Way>& group) {
  const finish_shared<Limbs, Way>& s = *group.shared;
  for (std::uint32_t c = threadIdx.x / 32; c < s.crowd_count; c += finish_threads / 32) {
    const crowd of = s.crowds[c];
    const sort_word<Limbs> pivot = s.pivots[c];
    const std::uint32_t begin = (s.bins[of.bin] & lower_half_mask) + of.less;
    const std::uint32_t end = (s.bins[of.bin + 1] & lower_half_mask) - of.greater;
    for (std::uint32_t to = begin + threadIdx.x % 32; to < end; to += 32) group.staged[to] = pivot;
  }
}

/// Crowds of a group that keeps its order: each has a bit for each word, and for each word of these the number of bits
/// before it.
constexpr std::uint32_t crowd_bit_words = group_words / 32;
template <int Limbs, payload_mode Payload>
constexpr std::uint32_t most_ordered_crowds = std::min<std::size_t>(most_crowds, staged_bytes<Limbs, Payload> /
                                                                                     (crowd_bit_words * 6));

/// The place of each word among its pivot's equals, in the order of the group; crowd_of(k) is no_bin of other words.
template <int Limbs, payload_mode Payload, finish_way Way, class Crowd>
__device__ __forceinline__ void rank_equals(const staged_group<Limbs, Payload, Way>& group, Crowd crowd_of,
                                            packed_numbers<finish_items>& rank) {
  const std::uint32_t crowds = group.shared->crowd_count;
  std::uint32_t* const bits = reinterpret_cast<std::uint32_t*>(group.staged);
  std::uint16_t* const bits_before = reinterpret_cast<std::uint16_t*>(bits + crowds * crowd_bit_words);
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t first = threadIdx.x / 32 * finish_items;  // of the words that have the warp's bits
  for (std::uint32_t i = threadIdx.x; i < crowds * crowd_bit_words; i += finish_threads) bits[i] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    const std::uint32_t c = crowd_of(k);
    if (c != no_bin) atomicOr(&bits[c * crowd_bit_words + first + k], 1U << lane);
  }
  __syncthreads();
  for (std::uint32_t c = threadIdx.x / 32; c < crowds; c += finish_threads / 32) {
    std::uint32_t before = 0;
    for (std::uint32_t i = lane; i - lane < crowd_bit_words; i += 32) {
      const std::uint32_t own = i < crowd_bit_words ? __popc(bits[c * crowd_bit_words + i]) : 0;
      std::uint32_t sum = own;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const std::uint32_t left = __shfl_up_sync(~0U, sum, step);
        if (lane >= step) sum += left;
      }
      if (i < crowd_bit_words) bits_before[c * crowd_bit_words + i] = static_cast<std::uint16_t>(before + sum - own);
      before += __shfl_sync(~0U, sum, 31);
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    const std::uint32_t c = crowd_of(k);
    std::uint32_t r = 0;
    if (c != no_bin) {
      const std::uint32_t at = c * crowd_bit_words + first + k;
      r = bits_before[at] + __popc(bits[at] & ((1U << lane) - 1));
    }
    rank.set(k, r);
  }
  __syncthreads();
}

/// Stages the group's words in order, whose bins have their crowds' numbers; false where a bin has too many words
/// that are not its pivot. `rank`: of the thread's words in their bins.
template <int Limbs, payload_mode Payload, finish_way Way>
__device__ __forceinline__ bool sort_crowds(const staged_group<Limbs, Payload, Way>& group,
                                            const sort_word<Limbs> (&words)[finish_items], const range_digit& digit,
                                            const packed_numbers<finish_items>& rank) {
  using word = sort_word<Limbs>;
  constexpr int items = finish_items;
  constexpr bool is_ordered = is_stable(Payload);
  finish_shared<Limbs, Way>& s = *group.shared;
  constexpr std::uint32_t most = is_ordered ? most_ordered_crowds<Limbs, Payload> : most_crowds;
  if (s.crowd_count > most) return false;
  const auto begin_of = [&](const word& w) { return s.bins[digit_of(w, digit)]; };
  // A word that came to its bin after some others is as likely to be frequent as any.
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (group.place(k) >= group.count || rank.get(k) != most_by_warp / 2) continue;
    const std::uint32_t c = begin_of(words[k]) >> upper_half;
    if (c > 0) s.pivots[c - 1] = words[k];
  }
  __syncthreads();
  constexpr std::uint32_t is_less = 1U << 13;
  constexpr std::uint32_t is_greater = 1U << 14;
  static_assert(group_words <= is_less);
  packed_numbers<items> place_in;  // of a bin, or of the words of a crowd before or behind its pivot
#pragma unroll
  for (int k = 0; k < items; ++k) {
    std::uint32_t r = rank.get(k);
    const std::uint32_t c = group.place(k) < group.count ? begin_of(words[k]) >> upper_half : 0;
    if (c > 0) {
      const word_order order = compare_words(words[k], s.pivots[c - 1], group.key);
      crowd& of = s.crowds[c - 1];
      if (order == word_order::less) r = is_less | atomicAdd(&of.less, 1U);
      if (order == word_order::greater) r = is_greater | atomicAdd(&of.greater, 1U);
    }
    place_in.set(k, r);
  }
  __syncthreads();
  bool is_left = false;  // too many for a warp
  if (threadIdx.x < s.crowd_count) {
    const crowd of = s.crowds[threadIdx.x];
    is_left = of.less > most_by_warp || of.greater > most_by_warp;
    if (!is_left && of.less > 1) group.add_long_run(s.bins[of.bin] & lower_half_mask, of.less);
    if (!is_left && of.greater > 1) {
      group.add_long_run((s.bins[of.bin + 1] & lower_half_mask) - of.greater, of.greater);
    }
  }
  if (__syncthreads_or(is_left) != 0) return false;
  packed_numbers<items> equal_rank;
  if constexpr (is_ordered) {
    const auto crowd_of = [&](int k) {
      if (group.place(k) >= group.count || (place_in.get(k) & (is_less | is_greater)) != 0) return no_bin;
      const std::uint32_t c = begin_of(words[k]) >> upper_half;
      return c == 0 ? no_bin : c - 1;
    };
    rank_equals(group, crowd_of, equal_rank);
  }
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (group.place(k) >= group.count) continue;
    const std::uint32_t begin = begin_of(words[k]);
    const std::uint32_t c = begin >> upper_half;
    const std::uint32_t r = place_in.get(k);
    if (c == 0 || (r & is_less) != 0) {
      group.stage((begin & lower_half_mask) + (r & ~is_less), words[k], group.place(k));
    } else if ((r & is_greater) != 0) {
      const std::uint32_t end = s.bins[digit_of(words[k], digit) + 1] & lower_half_mask;
      group.stage(end - 1 - (r & ~is_greater), words[k], group.place(k));
    } else if constexpr (is_ordered) {
      group.stage((begin & lower_half_mask) + s.crowds[c - 1].less + equal_rank.get(k), words[k], group.place(k));
    }
  }
  if constexpr (!is_ordered) write_equals(group);
  __syncthreads();
  group.order_runs();
  return true;
}

}  // namespace sheaf::cuda
