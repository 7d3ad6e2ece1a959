#pragma once

#include "cuda/sort/radix/group/staged.cuh"

// The usual method for a group: words are distributed into 4096 bins by a digit of at most 12 bits, and the few words
// of a bin are sorted by comparison. Only bins of two words and more are listed for this, because a bin of one word is
// in order. 2^28 keys of 4 bytes are finished in 1.44 ms. Without the list they took 1.85 ms.
namespace sheaf::cuda {

/// A digit minus that of the group's least word, modulo the number of bins. From the least word to the greatest, the
/// bits from the digit's lowest one up take no more values than there are bins, so that no two values share a bin.
struct range_digit {
  digit_field field;
  std::uint32_t least;

  template <int Limbs>
  __device__ __forceinline__ std::uint32_t bin_of(const sort_word<Limbs>& word) const {
    return (digit_of(word, field) - least) & field.mask;
  }
};

/// The digit of up to 32 bits below differing_end, which is one past the highest bit in which keys of the group differ.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ digit_field prefix_of(const staged_group<Limbs, Values, Method>& group,
                                                 std::uint32_t differing_end) {
  const std::uint32_t low = max(differing_end, group.arguments.key_low + 32) - 32;
  return {low / 32, low % 32, ~0U >> (32 - (differing_end - low))};
}

struct prefix_range {
  std::uint32_t least;
  std::uint32_t greatest;
};

/// The prefixes of the group's least word and of its greatest.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ prefix_range range_of(const staged_group<Limbs, Values, Method>& group,
                                                 const sort_word<Limbs> (&words)[finish_items],
                                                 const digit_field& prefix) {
  std::uint32_t least = ~0U;
  std::uint32_t greatest = 0;
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    const std::uint32_t value = digit_of(words[k], prefix);
    least = min(least, value);
    greatest = max(greatest, value);
  }
  least = __reduce_min_sync(~0U, least);
  greatest = __reduce_max_sync(~0U, greatest);
  finish_shared& shared = *group.shared;
  if (threadIdx.x % 32 == 0) {
    atomicMin(&shared.least_prefix, least);
    atomicMax(&shared.greatest_prefix, greatest);
  }
  __syncthreads();
  return {shared.least_prefix, shared.greatest_prefix};
}

/// The digit that numbers the bins from the group's least word to its greatest, so that no bins are wasted on what lies
/// below or above them. The digit ends at differing_end or below.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ range_digit digit_of_range(const staged_group<Limbs, Values, Method>& group,
                                                      const sort_word<Limbs> (&words)[finish_items],
                                                      std::uint32_t differing_end) {
  const digit_field prefix = prefix_of(group, differing_end);
  const std::uint32_t prefix_low = prefix.limb * 32 + prefix.shift;
  const auto [least, greatest] = range_of(group, words, prefix);
  std::uint32_t shift = max(32 - __clz(static_cast<int>(greatest - least)), finish_bits) - finish_bits;
  if ((greatest >> shift) - (least >> shift) >= finish_bins) ++shift;
  const digit_field field =
      digit_at(prefix_low + shift, min(differing_end - prefix_low - shift, static_cast<std::uint32_t>(finish_bits)));
  return {field, least >> shift & field.mask};
}

/// Turns the bins' counts into where they begin, and lists the bins to be sorted.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ void scan_group_bins(const staged_group<Limbs, Values, Method>& group) {
  finish_shared& shared = *group.shared;
  constexpr int per_thread = finish_bins / finish_threads;
  constexpr std::uint32_t one_bin = 1U << upper_half;
  const auto is_listed = [](std::uint32_t size) { return size > 1 && size <= most_words_of_bin<Values>; };
  const std::uint32_t first = threadIdx.x * per_thread;
  std::uint32_t before[per_thread];  // words before the bin in the lower half, listed bins in the upper
#pragma unroll
  for (int j = 0; j < per_thread; ++j) {
    const std::uint32_t size = shared.bins[first + j];
    before[j] = is_listed(size) ? size + one_bin : size;
  }
  const std::uint32_t last = before[per_thread - 1];
  scan_bins<finish_bins, finish_threads>(before, shared.warp_sums);
  const std::uint32_t past = before[per_thread - 1] + last;
#pragma unroll
  for (int j = 0; j < per_thread; ++j) {
    const std::uint32_t next = j + 1 < per_thread ? before[j + 1 < per_thread ? j + 1 : j] : past;
    const std::uint32_t begin = before[j] & lower_half_mask;
    const std::uint32_t size = (next & lower_half_mask) - begin;
    if (is_listed(size)) shared.unsorted_bins[before[j] >> upper_half] = begin | size << upper_half;
    shared.bins[first + j] = begin;
  }
  if (threadIdx.x == finish_threads - 1) shared.unsorted_bin_total = past >> upper_half;
}

/// Stages the group's words in order. Returns false, and stages nothing, if the group has hot bins (most_words_of_bin).
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ bool sort_by_bins(const staged_group<Limbs, Values, Method>& group,
                                             const sort_word<Limbs> (&words)[finish_items], std::uint32_t differing_end,
                                             const std::uint32_t (&differing)[Limbs]) {
  const range_digit digit = digit_of_range(group, words, differing_end);
  finish_shared& shared = *group.shared;
  const std::uint32_t shift = digit.field.limb * 32 + digit.field.shift;
  const bool bins_have_one_key = lowest_bit<Limbs>(differing) >= shift;
  packed_numbers<finish_items> rank;
  std::uint32_t most = 0;
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    std::uint32_t r = 0;
    if (group.position(k) < group.count) r = atomicAdd(&shared.bins[digit.bin_of(words[k])], 1U);
    rank.set(k, r);
    most = max(most, r);
  }
  const bool is_ordered = bins_have_one_key && !carries_values(Values);
  if (__syncthreads_or(most >= most_words_of_bin<Values>) != 0 && !is_ordered) return false;
  scan_group_bins(group);
  __syncthreads();
  // opaque() keeps the compiler from holding 9 digits in registers across the scan: computing them again is cheaper.
  const range_digit again{{digit.field.limb, opaque(digit.field.shift), digit.field.mask}, digit.least};
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (group.position(k) >= group.count) continue;
    group.stage(shared.bins[again.bin_of(words[k])] + rank.get(k), words[k], group.position(k));
  }
  if (is_ordered) return true;
  __syncthreads();
  group.sort_bins();
  return true;
}

/// Cells of a group that has hot bins: up to 65536 equal parts of the range of its keys. Bins are made of those cells
/// that have words. Clustered keys leave most cells empty, so that their bins become as even as those of other keys.
struct range_cells {
  static constexpr std::uint32_t most_bits = 16;
  static constexpr std::uint32_t maps = (1U << most_bits) / 32;  ///< bit maps of 32 cells each

  digit_field prefix;
  std::uint32_t shift;
  std::uint32_t least;
  std::uint32_t* has_words;  ///< bit maps of cells
  std::uint32_t* before;     ///< cells with words before those of each map

  template <int Limbs>
  __device__ __forceinline__ std::uint32_t cell_of(const sort_word<Limbs>& word) const {
    return (digit_of(word, prefix) >> shift) - least;
  }
  template <int Limbs>
  __device__ __forceinline__ std::uint32_t bin_of(const sort_word<Limbs>& word) const {
    const std::uint32_t cell = cell_of(word);
    return before[cell / 32] + __popc(has_words[cell / 32] & ((1U << cell % 32) - 1));
  }
};

/// Numbers the cells that have words; returns how many these cells are.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ std::uint32_t number_cells(const staged_group<Limbs, Values, Method>& group,
                                                      const sort_word<Limbs> (&words)[finish_items],
                                                      const range_cells& cells) {
  finish_shared& shared = *group.shared;
  constexpr int each = range_cells::maps / finish_threads;
  for (std::uint32_t i = threadIdx.x; i < range_cells::maps; i += finish_threads) cells.has_words[i] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (group.position(k) >= group.count) continue;
    const std::uint32_t cell = cells.cell_of(words[k]);
    atomicOr(&cells.has_words[cell / 32], 1U << cell % 32);
  }
  __syncthreads();
  std::uint32_t before[each];
#pragma unroll
  for (int j = 0; j < each; ++j) before[j] = __popc(cells.has_words[threadIdx.x * each + j]);
  const std::uint32_t last = before[each - 1];
  scan_bins<range_cells::maps, finish_threads>(before, shared.warp_sums);
#pragma unroll
  for (int j = 0; j < each; ++j) cells.before[threadIdx.x * each + j] = before[j];
  if (threadIdx.x == finish_threads - 1) shared.unsorted_bin_total = before[each - 1] + last;
  __syncthreads();
  return shared.unsorted_bin_total;
}

/// Stages the words of a group in order, by bins of the cells that have words. Returns false, and stages nothing, if
/// there are more cells than bins, or if these are hot, too. The bit maps lie where words are staged afterwards.
template <int Limbs, value_width Values, finish_method Method>
__device__ __forceinline__ bool sort_by_cells(const staged_group<Limbs, Values, Method>& group,
                                              const sort_word<Limbs> (&words)[finish_items],
                                              std::uint32_t differing_end) {
  finish_shared& shared = *group.shared;
  static_assert(staged_bytes<Limbs, Values> >= 2 * range_cells::maps * sizeof(std::uint32_t));
  const digit_field prefix = prefix_of(group, differing_end);
  const auto [least, greatest] = range_of(group, words, prefix);
  constexpr std::uint32_t bits = range_cells::most_bits;
  std::uint32_t shift = max(32U - __clz(static_cast<int>(greatest - least)), bits) - bits;
  if ((greatest >> shift) - (least >> shift) >= 1U << bits) ++shift;
  auto* const maps = reinterpret_cast<std::uint32_t*>(group.staged);
  const range_cells cells{prefix, shift, least >> shift, maps, maps + range_cells::maps};
  if (number_cells(group, words, cells) > finish_bins) return false;
  packed_numbers<finish_items> place;
  std::uint32_t most = 0;
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    std::uint32_t rank = 0;
    if (group.position(k) < group.count) rank = atomicAdd(&shared.bins[cells.bin_of(words[k])], 1U);
    place.set(k, rank);
    most = max(most, rank);
  }
  if (__syncthreads_or(most >= most_words_of_bin<Values>) != 0) return false;
  scan_group_bins(group);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (group.position(k) < group.count) place.add(k, shared.bins[cells.bin_of(words[k])]);
  }
  __syncthreads();  // the bit maps have been read
#pragma unroll
  for (int k = 0; k < finish_items; ++k) {
    if (group.position(k) < group.count) group.stage(place.get(k), words[k], group.position(k));
  }
  __syncthreads();
  group.sort_bins();
  return true;
}

}  // namespace sheaf::cuda
