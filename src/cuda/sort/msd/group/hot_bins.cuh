#pragma once

#include "cuda/sort/msd/group/staged.cuh"

// Groups with hot bins. The words of a hot bin that equal its heavy key are placed at once. The few words before and
// behind them are runs, each sorted by a warp.
namespace sheaf::cuda {

/// Stages the heavy keys where the order is not kept: equal words are the same, so that a warp writes as many copies of
/// one as its hot bin has.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ void stage_copies(const staged_group<Limbs, Payload, Method>& group) {
  const finish_shared<Limbs, Method>& s = *group.shared;
  for (std::uint32_t h = threadIdx.x / 32; h < s.hot_bin_total; h += finish_threads / 32) {
    const hot_bin hot = s.hot_bins[h];
    const sort_word<Limbs> heavy = s.heavy_words[h];
    const std::uint32_t begin = (s.bins[hot.number] & lower_half_mask) + hot.words_before;
    const std::uint32_t end = (s.bins[hot.number + 1] & lower_half_mask) - hot.words_after;
    for (std::uint32_t i = begin + threadIdx.x % 32; i < end; i += 32) group.staged[i] = heavy;
  }
}

/// Where the order is kept, a hot bin has a bit set with a bit for each word of the group, and a number of 16 bits for
/// each 32 of them. They lie where words are staged later.
constexpr std::uint32_t bit_set_length = group_words / 32;
template <int Limbs, payload_mode Payload>
constexpr std::uint32_t most_ordered_hot_bins = std::min<std::size_t>(most_hot_bins, staged_bytes<Limbs, Payload> /
                                                                                         (bit_set_length * 6));

/// Ranks the words with a heavy key among their equals, by their positions in the group. A bit set marks the words of a
/// hot bin, and a word's rank is the number of bits before its own. Of the thread's k-th word, hot_bin_of(k) is the
/// index of the hot bin whose heavy key it has, or no_bin.
template <int Limbs, payload_mode Payload, finish_method Method, class HotBinOf>
__device__ __forceinline__ void rank_heavy_keys(const staged_group<Limbs, Payload, Method>& group, HotBinOf hot_bin_of,
                                                packed_numbers<finish_items>& rank) {
  const std::uint32_t hot_bins = group.shared->hot_bin_total;
  std::uint32_t* const bits = reinterpret_cast<std::uint32_t*>(group.staged);
  std::uint16_t* const bits_before = reinterpret_cast<std::uint16_t*>(bits + hot_bins * bit_set_length);
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t first = threadIdx.x / 32 * finish_items;  // entry of the bit sets where the warp's words begin
  for (std::uint32_t i = threadIdx.x; i < hot_bins * bit_set_length; i += finish_threads) bits[i] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    const std::uint32_t h = hot_bin_of(k);
    if (h != no_bin) atomicOr(&bits[h * bit_set_length + first + k], 1U << lane);
  }
  __syncthreads();
  for (std::uint32_t h = threadIdx.x / 32; h < hot_bins; h += finish_threads / 32) {
    std::uint32_t before = 0;
    for (std::uint32_t i = lane; i - lane < bit_set_length; i += 32) {
      const std::uint32_t own = i < bit_set_length ? __popc(bits[h * bit_set_length + i]) : 0;
      std::uint32_t sum = own;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const std::uint32_t left = __shfl_up_sync(~0U, sum, step);
        if (lane >= step) sum += left;
      }
      if (i < bit_set_length) bits_before[h * bit_set_length + i] = static_cast<std::uint16_t>(before + sum - own);
      before += __shfl_sync(~0U, sum, 31);
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    const std::uint32_t h = hot_bin_of(k);
    std::uint32_t r = 0;
    if (h != no_bin) {
      const std::uint32_t entry = h * bit_set_length + first + k;
      r = bits_before[entry] + __popc(bits[entry] & ((1U << lane) - 1));
    }
    rank.set(k, r);
  }
  __syncthreads();
}

/// Stages the words of a group in order, where the upper halves of its bins have the numbers of hot bins, and `rank` is
/// the rank of the thread's words in their bins. Returns false where there are too many hot bins, or one of them has
/// too many words without its heavy key.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ bool sort_hot_bins(const staged_group<Limbs, Payload, Method>& group,
                                              const sort_word<Limbs> (&words)[finish_items], const range_digit& digit,
                                              const packed_numbers<finish_items>& rank) {
  using word = sort_word<Limbs>;
  constexpr int items = finish_items;
  constexpr bool keeps_order = carries_values(Payload);
  finish_shared<Limbs, Method>& s = *group.shared;
  constexpr std::uint32_t most = keeps_order ? most_ordered_hot_bins<Limbs, Payload> : most_hot_bins;
  if (s.hot_bin_total > most) return false;
  const auto bin_entry = [&](const word& w) { return s.bins[digit_of(w, digit)]; };
  // The heavy key of a hot bin is that of the word that came to it 17th: a frequent key is as likely there as anywhere.
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (group.position(k) >= group.count || rank.get(k) != most_words_by_warp / 2) continue;
    const std::uint32_t h = bin_entry(words[k]) >> upper_half;
    if (h > 0) s.heavy_words[h - 1] = words[k];
  }
  __syncthreads();
  // Ranks are in the word's bin, or, marked, among the hot bin's words before or behind its heavy key.
  constexpr std::uint32_t less_mark = 1U << 13;
  constexpr std::uint32_t greater_mark = 1U << 14;
  static_assert(group_words <= less_mark);
  packed_numbers<items> marked_rank;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    std::uint32_t r = rank.get(k);
    const std::uint32_t h = group.position(k) < group.count ? bin_entry(words[k]) >> upper_half : 0;
    if (h > 0) {
      const word_order order = compare_words(words[k], s.heavy_words[h - 1], group.key);
      hot_bin& hot = s.hot_bins[h - 1];
      if (order == word_order::less) r = less_mark | atomicAdd(&hot.words_before, 1U);
      if (order == word_order::greater) r = greater_mark | atomicAdd(&hot.words_after, 1U);
    }
    marked_rank.set(k, r);
  }
  __syncthreads();
  bool is_too_long = false;  // a run for a warp
  if (threadIdx.x < s.hot_bin_total) {
    const hot_bin hot = s.hot_bins[threadIdx.x];
    is_too_long = hot.words_before > most_words_by_warp || hot.words_after > most_words_by_warp;
    if (!is_too_long && hot.words_before > 1) {
      group.add_long_run(s.bins[hot.number] & lower_half_mask, hot.words_before);
    }
    if (!is_too_long && hot.words_after > 1) {
      group.add_long_run((s.bins[hot.number + 1] & lower_half_mask) - hot.words_after, hot.words_after);
    }
  }
  if (__syncthreads_or(is_too_long) != 0) return false;
  packed_numbers<items> equal_rank;
  if constexpr (keeps_order) {
    const auto hot_bin_of = [&](int k) {
      if (group.position(k) >= group.count || (marked_rank.get(k) & (less_mark | greater_mark)) != 0) return no_bin;
      const std::uint32_t h = bin_entry(words[k]) >> upper_half;
      return h == 0 ? no_bin : h - 1;
    };
    rank_heavy_keys(group, hot_bin_of, equal_rank);
  }
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (group.position(k) >= group.count) continue;
    const std::uint32_t entry = bin_entry(words[k]);
    const std::uint32_t h = entry >> upper_half;
    const std::uint32_t r = marked_rank.get(k);
    if (h == 0 || (r & less_mark) != 0) {
      group.stage((entry & lower_half_mask) + (r & ~less_mark), words[k], group.position(k));
    } else if ((r & greater_mark) != 0) {
      const std::uint32_t end = s.bins[digit_of(words[k], digit) + 1] & lower_half_mask;
      group.stage(end - 1 - (r & ~greater_mark), words[k], group.position(k));
    } else if constexpr (keeps_order) {
      const std::uint32_t begin = (entry & lower_half_mask) + s.hot_bins[h - 1].words_before;
      group.stage(begin + equal_rank.get(k), words[k], group.position(k));
    }
  }
  if constexpr (!keeps_order) stage_copies(group);
  __syncthreads();
  group.sort_runs();
  return true;
}

}  // namespace sheaf::cuda
