#pragma once

#include <cooperative_groups.h>

#include "cuda/sort/radix/crowded.cuh"
#include "cuda/sort/radix/pass.cuh"
#include "cuda/sort/radix/sample.cuh"

// The kernels that sort by passes. A pass reads and writes every word once, because decoupled look-back takes the place
// of a histogram and a scan before each pass (onesweep, Adinets and Merrill 2022).
namespace sheaf::cuda {

/// Sorts by those of the Digits that take a pass, between the device arrays that block.shared.arrays names. Returns the
/// number of the array that the words end in, unless they end at the target. The caller calls grid.sync() before it
/// reads that array.
template <class Block, class Digits>
__device__ __forceinline__ std::uint32_t sort_by(const Block& block, const Digits& digits) {
  const auto grid = cooperative_groups::this_grid();
  const pass_arrays& arrays = block.shared.arrays;
  count_digits(block, arrays.words[0], digits);
  grid.sync();
  std::uint32_t digits_left = digits.digits_to_sort_by(block);
  std::uint32_t source = 0;
  for (std::uint32_t pass = 0; digits_left != 0; ++pass) {
    const std::uint32_t digit = __ffs(static_cast<int>(digits_left)) - 1;
    const std::uint32_t passes_left = __popc(digits_left);
    digits_left &= digits_left - 1;
    const radix_arguments& args = block.arguments;
    // Passes write to arrays 1 and 2 in turn, and the last one to the target if the sort ends there. Array 2 may then
    // be the target's memory, so turns are counted from the end: the last pass has array 2's turn and does not read
    // array 2. In other sorts, and where arrays 0 and 2 are one, so that array 2 is not the target, turns are counted
    // from the first pass, which writes to array 1.
    const bool counts_from_end = arrays.ends_at_target && args.buffers[0] != args.buffers[2];
    const bool writes_to_2 = counts_from_end ? passes_left % 2 != 0 : source == 1;
    const std::uint32_t to = writes_to_2 ? 2 : 1;
    if (threadIdx.x == 0) {
      const bool is_last = arrays.ends_at_target && passes_left == 1;
      const word_move move{arrays.words[source], is_last ? args.target.words : const_cast<void*>(arrays.words[to]),
                           arrays.values[source], is_last ? args.values_to : const_cast<void*>(arrays.values[to])};
      block.shared.pass = {move, pass, digit};
    }
    __syncthreads();
    radix_pass<Block, Digits>(block, digits).move_tiles();
    if (digits_left != 0) grid.sync();
    source = to;
  }
  return source;
}

/// The block's view of the sort, with its shared memory. Passes are between the sort's buffers at first.
template <class Block>
__device__ __forceinline__ Block block_of(const radix_arguments& args, unsigned char* dynamic, bool ends_at_target) {
  unsigned char* const behind = dynamic + sizeof(block_shared);
  auto& shared = *reinterpret_cast<block_shared*>(dynamic);
  if (threadIdx.x == 0) {
    shared.arrays = {{args.rows.data == nullptr ? args.buffers[0] : nullptr, args.buffers[1], args.buffers[2]},
                     {args.values[0], args.values[1], args.values[2]},
                     ends_at_target};
  }
  __syncthreads();
  return {args, shared, reinterpret_cast<std::uint32_t*>(behind), behind + sizeof(code_map::codes_of_piece),
          args.count};
}

/// Sorts by codes, and lists groups of words with neighbouring codes.
template <class Coder, class Block>
__device__ __forceinline__ void sort_by_codes(const Block& block, std::uint32_t passes) {
  const radix_arguments& args = block.arguments;
  const auto grid = cooperative_groups::this_grid();
  const std::uint32_t buffer = sort_by(block, code_digits<Block, Coder>{block, passes});
  grid.sync();
  if (block.grid_thread() == 0) args.tables.counters->buffer = buffer;
  find_codes(block, static_cast<const typename Block::word*>(args.buffers[buffer]), Coder(block, whole_code), passes);
  grid.sync();
  list_groups(block);
}

/// Chooses codes, and sorts by them. Ends early where the sample says that it is better to sort by the digits of keys.
template <int Limbs, value_width Values, tile_length Length>
__global__ void __launch_bounds__(tile_tuning<Limbs, Values, Length>::threads,
                                  tile_tuning<Limbs, Values, Length>::blocks_per_multiprocessor)
    sort_words_by_codes(const __grid_constant__ radix_arguments args) {
  using block_type = radix_block<Limbs, Values, Length>;
  extern __shared__ __align__(16) unsigned char dynamic[];
  const auto block = block_of<block_type>(args, dynamic, false);
  clear_tables(block);
  if (block.grid_thread() == 0) *args.tables.counters = {};
  if (blockIdx.x == 0) choose_map(block);
  cooperative_groups::this_grid().sync();
  const code_map& map = *args.tables.map;
  const std::uint32_t passes = __ldcg(&map.shape.passes);
  if (passes == 0) return;
  load_map(block);
  map.shape.is_even ? sort_by_codes<leading_bits_coder<Limbs>>(block, passes)
                    : sort_by_codes<piecewise_coder<Limbs>>(block, passes);
}

/// Lists groups after a pass by one digit, each of whose values has at most a group of words.
template <class Block>
__device__ __forceinline__ void list_values_of_digit(const Block& block, std::uint32_t digit, std::uint32_t buffer) {
  if (blockIdx.x != 0) return;
  const radix_tables& tables = block.arguments.tables;
  const std::uint32_t bin = threadIdx.x;
  std::uint32_t begin[1] = {bin < radix_bins ? __ldcg(tables.histogram + digit * radix_bins + bin) : 0};
  scan_bins<radix_bins, Block::threads>(begin, block.shared.warp_sums);
  if (bin <= radix_bins) tables.code_begin[bin] = bin < radix_bins ? begin[0] : block.count;
  if (bin == 0) {
    tables.counters->buffer = buffer;
    block.shared.shape.codes = radix_bins;
  }
  __syncthreads();
  list_groups(block);
}

/// Sorts by the digits of keys: the whole list, but for the groups that a pass by the highest digit may leave, or,
/// after sort_words_by_codes, all words or those of mixed codes, or none. Stores the words of other crowded codes.
template <int Limbs, value_width Values, tile_length Length>
__global__ void __launch_bounds__(tile_tuning<Limbs, Values, Length>::threads,
                                  tile_tuning<Limbs, Values, Length>::blocks_per_multiprocessor)
    sort_words_by_digits(const __grid_constant__ radix_arguments args) {
  using block_type = radix_block<Limbs, Values, Length>;
  extern __shared__ __align__(16) unsigned char dynamic[];
  auto block = block_of<block_type>(args, dynamic, true);
  const auto grid = cooperative_groups::this_grid();
  const bool is_whole = !has_codes_kernel(args) || __ldcg(&args.tables.map->shape.passes) == 0;
  if (!is_whole && !prepare_digit_sort(block)) return;
  clear_tables(block);
  if (tries_highest_digit(args) && block.grid_thread() == 0) *args.tables.counters = {};
  grid.sync();
  const std::uint32_t last = sort_by(block, key_digits<Limbs>{args.key_low, args.key_high});
  if (block.shared.arrays.ends_at_target) return;  // all words were sorted: nothing has to be put back
  if (is_whole) return list_values_of_digit(block, block.shared.pass.digit, last);
  grid.sync();
  store_mixed_words(block, last);
}

}  // namespace sheaf::cuda
