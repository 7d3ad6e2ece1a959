#pragma once

#include "cuda/sort/radix/arguments.cuh"

// What follows from the order of codes: where the words of each code begin, and which neighbouring codes make a group.
namespace sheaf::cuda {

/// The first of the words [low, high), which are in the order of their codes, that has at least this code; high if none
/// has.
template <class Block, class Coder>
__device__ std::uint32_t first_with_code(const typename Block::word* words, std::uint32_t low, std::uint32_t high,
                                         std::uint32_t code, const Coder& coder) {
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (coder(load_word_streaming(words + middle)) >= code) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Finds where the words of each code begin: the histogram of the highest digit says where those of its bins do, and a
/// bisection where, in the bin, those of the code do.
template <class Block, class Coder>
__device__ void find_codes(const Block& block, const typename Block::word* words, const Coder& coder,
                           std::uint32_t passes) {
  const radix_tables& tables = block.arguments.tables;
  const std::uint32_t codes = block.shared.shape.codes;
  const std::uint32_t bin = threadIdx.x;
  std::uint32_t begin[1] = {bin < radix_bins ? __ldcg(tables.histogram + (passes - 1) * radix_bins + bin) : 0};
  scan_bins<radix_bins, Block::threads>(begin, block.shared.warp_sums);
  if (bin < radix_bins) block.shared.bin_begin[bin] = begin[0];
  if (bin == radix_bins) block.shared.bin_begin[bin] = block.count;
  __syncthreads();
  for (std::uint32_t code = block.grid_thread(); code <= codes; code += block.grid_threads()) {
    const std::uint32_t high_digit = code >> (passes - 1) * block.shared.shape.digit_bits;
    const std::uint32_t low = code < codes ? block.shared.bin_begin[high_digit] : block.count;
    const std::uint32_t high = code < codes ? block.shared.bin_begin[high_digit + 1] : block.count;
    tables.code_begin[code] = passes == 1 ? low : first_with_code<Block>(words, low, high, code, coder);
    if (code < codes) tables.mixed_begin[code] = not_mixed;
  }
}

/// Adds the groups of a warp's lanes that are not empty.
__device__ __forceinline__ void add_groups(const radix_tables& tables, const word_group& own) {
  const unsigned lanes = __ballot_sync(~0U, own.count > 0);
  std::uint32_t index = 0;
  if (threadIdx.x % 32 == 0 && lanes != 0) index = atomicAdd(&tables.counters->group_total, __popc(lanes));
  index = __shfl_sync(~0U, index, 0) + __popc(lanes & ((1U << threadIdx.x % 32) - 1));
  if (own.count > 0) tables.groups[index] = own;
}

/// Lists a crowded code, in parts. A warp calls this.
__device__ __forceinline__ void add_crowded_code(const radix_tables& tables, std::uint32_t begin, std::uint32_t end,
                                                 std::uint32_t code) {
  const std::uint32_t parts = (end - begin - 1) / crowded_part_words + 1;
  std::uint32_t index = 0;
  if (threadIdx.x % 32 == 0) index = atomicAdd(&tables.counters->crowded_total, parts);
  index = __shfl_sync(~0U, index, 0);
  for (std::uint32_t p = threadIdx.x % 32; p < parts; p += 32) {
    const std::uint32_t of_part = begin + p * crowded_part_words;
    tables.crowded[index + p] = {of_part, min(end - of_part, crowded_part_words), code};
  }
}

/// Makes groups of as many neighbouring codes as merged_group_words and codes_of_warp allow, and of single codes with
/// more words. Crowded codes are listed apart.
template <class Block>
__device__ void list_groups(const Block& block) {
  const radix_tables& tables = block.arguments.tables;
  const std::uint32_t codes = block.shared.shape.codes;
  const std::uint32_t most = merged_group_words(block.count);
  const std::uint32_t lane = threadIdx.x % 32;
  for (std::uint32_t first = block.grid_thread() / 32 * codes_of_warp; first < codes;
       first += block.grid_threads() / 32 * codes_of_warp) {
    std::uint32_t begin = __ldcg(tables.code_begin + first);  // of the group
    std::uint32_t end = begin;
    const std::uint32_t last = min(first + codes_of_warp, codes);
    for (std::uint32_t code = first; code < last; code += 32) {
      const std::uint32_t own_end = __ldcg(tables.code_begin + min(code + lane + 1, last));
      word_group own{};  // the group that ends before the lane's code
      for (std::uint32_t k = 0; k < 32; ++k) {
        const std::uint32_t next_end = __shfl_sync(~0U, own_end, static_cast<int>(k));
        if (next_end - begin > most) {
          if (lane == k) own = {begin, end - begin};
          begin = end;
          if (next_end - end > most_group_words) {
            add_crowded_code(tables, end, next_end, code + k);
            begin = next_end;
          }
        }
        end = next_end;
      }
      add_groups(tables, own);
    }
    add_groups(tables, lane == 0 ? word_group{begin, end - begin} : word_group{});
  }
}

}  // namespace sheaf::cuda
