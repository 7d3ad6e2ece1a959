#pragma once

#include "cuda/sort/msd/group/staged.cuh"

// Hot bins, bins of many words: most of them are likely to have one key, the heavy one.
namespace sheaf::cuda {

/// Entries of a bit set with a bit for each word of a group: so many that each lane of a warp has five of them.
constexpr std::uint32_t bit_set_length = 160;
static_assert(bit_set_length * 32 >= group_words && finish_threads / 32 * bit_set_length <= finish_bins);

/// Picks a word of a list of one group that came 33rd to its bin. Whether sixteen threads have its key, or there is
/// none. 1024 narrowed pairs are merged in 21 us, and in 31 after hot bins were tried in vain.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ bool may_have_heavy_keys(const staged_group<Limbs, Payload, Method>& group,
                                                    const sort_word<Limbs> (&words)[finish_items],
                                                    const packed_numbers<finish_items>& rank) {
  std::uint32_t& chosen = group.shared->run_total;  // position + 1 of one of these words; runs are listed later
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (rank.get(k) == 32) atomicMax(&chosen, group.position(k) + 1);
  }
  __syncthreads();
  if (chosen == 0) return true;
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (group.position(k) + 1 == chosen) group.staged[0] = words[k];
  }
  __syncthreads();
  const sort_word<Limbs> heavy = group.staged[0];
  bool is_heavy = false;
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    is_heavy =
        is_heavy || (group.position(k) < group.count && compare_words(words[k], heavy, group.key) == word_order::equal);
  }
  return __syncthreads_count(is_heavy) >= 16;
}

/// Stages copies of the heavy word from index `to` on, in the order of the positions that the bit set has, which is
/// empty afterwards.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ void stage_in_order(const staged_group<Limbs, Payload, Method>& group, std::uint32_t to,
                                               const sort_word<Limbs>& heavy, std::uint32_t* bit_set) {
  constexpr std::uint32_t each = bit_set_length / 32;
  const std::uint32_t first = threadIdx.x % 32 * each;
  std::uint32_t own = 0;
  for (std::uint32_t e = first; e < first + each; ++e) own += __popc(bit_set[e]);
  std::uint32_t sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t left = __shfl_up_sync(~0U, sum, step);
    if (threadIdx.x % 32 >= step) sum += left;
  }
  to += sum - own;
  for (std::uint32_t e = first; e < first + each; ++e) {
    for (std::uint32_t bits = bit_set[e]; bits != 0; bits &= bits - 1) {
      group.stage(to++, heavy, e * 32 + __ffs(static_cast<int>(bits)) - 1);
    }
    bit_set[e] = 0;
  }
}

/// Sorts a hot bin of staged words by one warp. Returns false where more than 32 words have another key than the heavy
/// one, or words of that key differ in other bits: nothing has been moved then. `bit_set` is the warp's own, and is
/// empty.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ bool sort_hot_bin(const staged_group<Limbs, Payload, Method>& group, std::uint32_t begin,
                                             std::uint32_t size, std::uint32_t* bit_set) {
  using positioned_word = typename staged_group<Limbs, Payload, Method>::positioned_word;
  const std::uint32_t lane = threadIdx.x % 32;
  const sort_word<Limbs> heavy = group.staged[begin + size / 2];
  positioned_word own = positioned_word::last();  // one of the words with another key
  std::uint32_t others = 0;                       // these words
  std::uint32_t lesser = 0;                       // those before the heavy key
  for (std::uint32_t i = lane; i - lane < size; i += 32) {
    const positioned_word w = group.staged_word(begin + min(i, size - 1));
    const word_order order = i < size ? compare_words(w.value, heavy, group.key) : word_order::equal;
    if (carries_values(Payload) && i < size && order == word_order::equal) {
      atomicOr(&bit_set[w.position / 32], 1U << w.position % 32);
    }
    bool is_copy = true;
#pragma unroll
    for (int l = 0; l < Limbs; ++l) is_copy = is_copy && w.value.limb[l] == heavy.limb[l];
    if (__any_sync(~0U, i < size && order == word_order::equal && !is_copy)) return false;
    lesser += __popc(__ballot_sync(~0U, order == word_order::less));
    unsigned differing = __ballot_sync(~0U, order != word_order::equal);
    if (others + __popc(differing) > 32) return false;
    for (; differing != 0; differing &= differing - 1, ++others) {
      const positioned_word other = group.shuffled(w, __ffs(static_cast<int>(differing)) - 1);
      if (lane == others) own = other;
    }
  }
  std::uint32_t rank = 0;
  for (std::uint32_t k = 0; k < others; ++k) {
    const positioned_word other = group.shuffled(own, static_cast<int>(k));
    rank +=
        group.is_before(other, own) || (!carries_values(Payload) && k < lane && !group.is_before(own, other)) ? 1 : 0;
  }
  __syncwarp();
  if (lane < others) group.stage(begin + (rank < lesser ? rank : size - others + rank), own.value, own.position);
  if constexpr (carries_values(Payload)) {
    stage_in_order(group, begin + lesser, heavy, bit_set);
  } else {
    for (std::uint32_t i = lane; i < size - others; i += 32) group.staged[begin + lesser + i] = heavy;
  }
  return true;
}

/// Sorts the hot bins that are listed. Returns false where that fails for one of them.
template <int Limbs, payload_mode Payload, finish_method Method>
__device__ __forceinline__ bool sort_hot_bins(const staged_group<Limbs, Payload, Method>& group) {
  finish_shared& s = *group.shared;
  std::uint32_t* const bit_set = s.bins + threadIdx.x / 32 * bit_set_length;  // bins have had their use
  for (std::uint32_t i = threadIdx.x % 32; i < bit_set_length; i += 32) bit_set[i] = 0;
  __syncwarp();
  bool is_sorted = true;
  for (std::uint32_t h = threadIdx.x / 32; h < s.hot_bin_total && is_sorted; h += finish_threads / 32) {
    const std::uint32_t hot = s.runs[last_run - h];
    is_sorted = sort_hot_bin(group, hot & lower_half_mask, hot >> upper_half, bit_set);
    __syncwarp();
  }
  return __syncthreads_and(is_sorted) != 0;
}

}  // namespace sheaf::cuda
