#pragma once

#include <cooperative_groups.h>

#include "cuda/sort/radix/groups.cuh"

// Crowded codes, those with more words than a group holds. Where all words of such a code have one key, they are in
// order. The words of the other crowded codes, the mixed ones, are taken out, sorted by all digits of the key, and put
// back, unless they are more than half of the list.
namespace sheaf::cuda {

/// Calls body(part) for the parts of crowded codes, of which each block takes its share. Whole blocks call this, and
/// body.
template <class Block, class Body>
__device__ void for_crowded_parts(const Block& block, Body body) {
  const radix_tables& t = block.arguments.tables;
  const std::uint32_t total = __ldcg(&t.counters->crowded_total);
  for (std::uint32_t p = blockIdx.x; p < total; p += gridDim.x) body(t.crowded[p]);
}

/// Calls store(i, from[i]) for `count` elements by one block, of which some of each thread are loaded at once.
template <class Block, class Element, class Store>
__device__ void for_each_element(const Block&, const Element* from, std::uint32_t count, Store store) {
  constexpr std::uint32_t at_once = 8;
  for (std::uint32_t first = threadIdx.x; first < count; first += at_once * Block::threads) {
    Element elements[at_once];
#pragma unroll
    for (std::uint32_t k = 0; k < at_once; ++k) elements[k] = from[min(first + k * Block::threads, count - 1)];
#pragma unroll
    for (std::uint32_t k = 0; k < at_once; ++k) {
      if (first + k * Block::threads < count) store(first + k * Block::threads, elements[k]);
    }
  }
}

/// Gives the mixed codes places in a list of their words.
template <class Block>
__device__ void find_mixed_codes(const Block& block, const typename Block::word* words) {
  using word = typename Block::word;
  const radix_tables& tables = block.arguments.tables;
  const key_mask<word::limbs> key(block.arguments.key_low, block.arguments.key_high);
  for_crowded_parts(block, [&](const crowded_part& part) {
    const std::uint32_t first = __ldcg(tables.code_begin + part.code);
    const word one = load_word_streaming(words + first);
    bool differs = false;
    for_each_element(block, words + part.begin, part.count, [&](std::uint32_t, const word& w) {
      differs = differs || compare_words(w, one, key) != word_order::equal;
    });
    // The first part whose words differ claims the code.
    if (__syncthreads_or(differs) != 0 && threadIdx.x == 0 &&
        atomicCAS(tables.mixed_begin + part.code, not_mixed, 0U) == not_mixed) {
      tables.mixed_begin[part.code] =
          atomicAdd(&tables.counters->mixed_words, __ldcg(tables.code_begin + part.code + 1) - first);
    }
  });
}

/// Moves the words of mixed codes and their values between their places in the list and in the list of such words.
template <class Block>
__device__ void move_mixed_words(const Block& block, const word_move& move, bool puts_back) {
  using word = typename Block::word;
  using value = sort_value<Block::values>;
  const radix_tables& t = block.arguments.tables;
  for_crowded_parts(block, [&](const crowded_part& part) {
    const std::uint32_t mixed = __ldcg(t.mixed_begin + part.code);
    if (mixed == not_mixed) return;
    const std::uint32_t in_mixed = mixed + part.begin - __ldcg(t.code_begin + part.code);
    const std::uint32_t from = puts_back ? in_mixed : part.begin;
    const std::uint32_t to = puts_back ? part.begin : in_mixed;
    for_each_element(block, static_cast<const word*>(move.words) + from, part.count,
                     [&](std::uint32_t i, const word& w) { static_cast<word*>(move.words_to)[to + i] = w; });
    if constexpr (Block::tuning::has_values) {
      for_each_element(block, static_cast<const value*>(move.values) + from, part.count,
                       [&](std::uint32_t i, const value& v) { static_cast<value*>(move.values_to)[to + i] = v; });
    }
  });
}

/// Notes where the words of each mixed code begin in the list of such words, which is sorted.
template <class Block, class Coder>
__device__ void locate_mixed_codes(const Block& block, const typename Block::word* sorted, const Coder& coder) {
  for (std::uint32_t code = block.grid_thread(); code < block.shared.shape.codes; code += block.grid_threads()) {
    std::uint32_t& begin = block.arguments.tables.mixed_begin[code];
    if (begin != not_mixed) begin = first_with_code<Block>(sorted, 0, block.count, code, coder);
  }
}

/// Stores words of a list, and their values, as the sort's result, unless they lie there already. A block calls this.
template <class Block>
__device__ void store_words(const Block& block, const void* words, const void* values, std::uint32_t begin,
                            std::uint32_t count) {
  using word = typename Block::word;
  using value = sort_value<Block::values>;
  const radix_arguments& args = block.arguments;
  if (words != args.target.words) {
    for_each_element(block, static_cast<const word*>(words) + begin, count, [&](std::uint32_t i, const word& w) {
      write_word<word::limbs>(args.target, args.transform, begin + i, w);
    });
  }
  if constexpr (Block::tuning::has_values) {
    if (values != args.values_to) {
      for_each_element(block, static_cast<const value*>(values) + begin, count,
                       [&](std::uint32_t i, const value& v) { static_cast<value*>(args.values_to)[begin + i] = v; });
    }
  }
}

/// A move from the array, 1 or 2, that has the words in the order of their codes to the other one, which is free.
__device__ __forceinline__ word_move from_coded_words(const radix_arguments& a) {
  const std::uint32_t buffer = __ldcg(&a.tables.counters->buffer);
  return {a.buffers[buffer], a.buffers[3 - buffer], a.values[buffer], a.values[3 - buffer]};
}

template <class Block>
__device__ void store_crowded_words(const Block& block, const word_move& coded) {
  for_crowded_parts(
      block, [&](const crowded_part& part) { store_words(block, coded.words, coded.values, part.begin, part.count); });
}

/// Makes all words the list to sort by digits, where more than half are mixed: the free array has no room for two
/// arrays of these, between which passes would move them.
template <class Block>
__device__ void list_all_words(const Block& block, const word_move& coded) {
  const radix_arguments& args = block.arguments;
  // The kernels that finish groups then find nothing to do.
  if (block.grid_thread() == 0) args.tables.counters->group_total = 0;
  // Where passes may have overwritten the first array, the sort begins from the words in the order of their codes.
  if (threadIdx.x == 0 && args.buffers[0] == args.buffers[2]) {
    block.shared.arrays = {{coded.words, coded.words_to, coded.words}, {}, true};
  }
}

/// Makes the words of mixed codes the list to sort by digits: they are taken out to an array that is free.
template <class Block>
__device__ void list_mixed_words(Block& block, const word_move& coded, std::uint32_t mixed_words, std::uint32_t half) {
  block.count = mixed_words;
  move_mixed_words(block, coded, false);
  auto* const words = static_cast<typename Block::word*>(coded.words_to);
  auto* const values = static_cast<sort_value<Block::values>*>(coded.values_to);
  // Arrays 0 and 2 are one: the first pass has read it before the second writes to it.
  if (threadIdx.x == 0) block.shared.arrays = {{words, words + half, words}, {values, values + half, values}, false};
}

/// Looks for mixed codes, and makes the block's list of their words, or of all words if mixed ones are more than half.
/// Returns whether there is a list to sort by digits; if not, words of crowded codes are stored.
template <class Block>
__device__ bool prepare_digit_sort(Block& block) {
  const radix_arguments& args = block.arguments;
  if (__ldcg(&args.tables.counters->crowded_total) == 0) return false;
  const word_move coded = from_coded_words(args);
  find_mixed_codes(block, static_cast<const typename Block::word*>(coded.words));
  cooperative_groups::this_grid().sync();
  const std::uint32_t mixed_words = __ldcg(&args.tables.counters->mixed_words);
  if (mixed_words == 0) {
    store_crowded_words(block, coded);
    return false;
  }
  const std::uint32_t half = args.count / 2;
  mixed_words <= half ? list_mixed_words(block, coded, mixed_words, half) : list_all_words(block, coded);
  cooperative_groups::this_grid().sync();
  return true;
}

/// Stores the words of mixed codes, which sort_by left sorted in arrays[last], and those of other crowded codes.
/// @param locate  calls locate_mixed_codes for these words
template <class Block, class Locate>
__device__ __forceinline__ void put_back_mixed_words(const Block& block, std::uint32_t last, Locate locate) {
  const radix_arguments& args = block.arguments;
  const auto grid = cooperative_groups::this_grid();
  const word_move coded = from_coded_words(args);
  const void* const sorted = block.shared.arrays.words[last];
  const void* const sorted_values = block.shared.arrays.values[last];
  locate(static_cast<const typename Block::word*>(sorted));
  grid.sync();
  move_mixed_words(block, {sorted, const_cast<void*>(coded.words), sorted_values, const_cast<void*>(coded.values)},
                   true);
  grid.sync();
  store_crowded_words(block, coded);
}

/// As put_back_mixed_words, of codes of the map.
template <class Block>
__device__ void store_mixed_words(const Block& block, std::uint32_t last) {
  load_map(block);
  put_back_mixed_words(block, last, [&](const typename Block::word* words) {
    constexpr int limbs = Block::word::limbs;
    block.arguments.tables.map->shape.is_even
        ? locate_mixed_codes(block, words, leading_bits_coder<limbs>(block, whole_code))
        : locate_mixed_codes(block, words, piecewise_coder<limbs>(block, whole_code));
  });
}

}  // namespace sheaf::cuda
