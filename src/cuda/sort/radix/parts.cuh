#pragma once

#include "cuda/sort/radix/kernel.cuh"
#include "cuda/sort/radix/launch.cuh"
#include "cuda/sort/radix/part_pass.cuh"

// The kernels of a sort in parts, and how they are queued. parts.cu.in instantiates them, in one file for each width of
// words. Groups are finished by the kernels of other sorts.
namespace sheaf::cuda {

/// Tiles as of sorts by codes: a bin is computed once and kept.
template <int Limbs, value_width Values>
using part_tuning = tile_tuning<Limbs, Values, tile_length::of_coded_list>;

/// Moves words to the bins of their parts, and lists groups of neighbouring bins.
template <int Limbs, value_width Values>
__global__ void __launch_bounds__(part_tuning<Limbs, Values>::threads,
                                  part_tuning<Limbs, Values>::blocks_per_multiprocessor)
    sort_words_in_parts(const __grid_constant__ radix_arguments args, const __grid_constant__ part_tables tables) {
  using block_type = radix_block<Limbs, Values, tile_length::of_coded_list>;
  extern __shared__ __align__(16) unsigned char dynamic[];
  const auto block = block_of<block_type>(args, dynamic, false);
  const auto grid = cooperative_groups::this_grid();
  if (blockIdx.x == 0) count_tiles(block, tables);
  for (std::uint32_t i = block.grid_thread(); i < tables.most_tiles * radix_bins; i += block.grid_threads())
    args.tables.tile_states[0][i] = 0;
  for (std::uint32_t i = block.grid_thread(); i < tables.codes(); i += block.grid_threads())
    args.tables.histogram[i] = 0;
  if (block.grid_thread() == 0) {
    *args.tables.counters = {};
    args.tables.counters->buffer = 2;
  }
  if (threadIdx.x == 0) block.shared.shape.codes = tables.codes();
  grid.sync();
  list_tiles(block, tables);
  grid.sync();
  const std::uint32_t tiles = __ldcg(tables.tiles_before + tables.list.run_count);
  count_bins_of_parts(block, tables, tiles);
  grid.sync();
  find_bins_of_parts(block, tables);
  grid.sync();
  list_groups(block);
  part_pass<block_type>(block, tables, tiles).move_tiles();
}

/// Sorts words of mixed codes by the digits of keys, or all words where these are most, or none.
template <int Limbs, value_width Values>
__global__ void __launch_bounds__(tile_tuning<Limbs, Values, tile_length::of_long_list>::threads,
                                  tile_tuning<Limbs, Values, tile_length::of_long_list>::blocks_per_multiprocessor)
    sort_mixed_words_of_parts(const __grid_constant__ radix_arguments args,
                              const __grid_constant__ part_tables tables) {
  using block_type = radix_block<Limbs, Values, tile_length::of_long_list>;
  extern __shared__ __align__(16) unsigned char dynamic[];
  auto block = block_of<block_type>(args, dynamic, true);
  const auto grid = cooperative_groups::this_grid();
  if (!prepare_digit_sort(block)) return;
  clear_tables(block);
  grid.sync();
  const std::uint32_t last = sort_by(block, key_digits<Limbs>{args.key_low, args.key_high});
  if (block.shared.arrays.ends_at_target) return;
  grid.sync();
  if (threadIdx.x == 0) block.shared.shape.codes = tables.codes();
  __syncthreads();
  put_back_mixed_words(block, last, [&](const sort_word<Limbs>* words) {
    locate_mixed_codes(block, words, code_in_parts<Limbs>{tables});
  });
}

/// The tables of a sort in its scratch; without scratch, their size alone.
struct part_scratch {
  radix_tables tables{};
  part_tables parts{};
  std::uint64_t bytes = 0;

  part_scratch(const word_sort& sort, const words_in_parts& list, std::uint64_t tile_words, std::byte* scratch) {
    core::scratch_arrays arrays(scratch);
    const std::uint64_t codes = std::uint64_t{list.part_count} * radix_bins;
    const std::uint64_t tiles = sort.count / tile_words + list.run_count + 1;
    // As radix_scratch counts them.
    const std::uint64_t groups = 2 * (sort.count / merged_group_words(sort.count) + sort.count / most_group_words) +
                                 2 * (codes / codes_of_warp) + 4;
    tables.counters = arrays.take<radix_counters>(1);
    tables.histogram =
        arrays.take<std::uint32_t>(std::max<std::uint64_t>(codes, sort.limbs * std::uint64_t{4} * radix_bins));
    for (std::uint32_t*& states : tables.tile_states) states = arrays.take<std::uint32_t>(tiles * radix_bins);
    tables.code_begin = arrays.take<std::uint32_t>(codes + 1);
    tables.mixed_begin = arrays.take<std::uint32_t>(codes);
    tables.crowded = arrays.take<crowded_part>(sort.count / crowded_part_words + sort.count / most_group_words + 1);
    tables.groups = arrays.take<word_group>(groups);
    tables.hot_groups = arrays.take<word_group>(groups);
    parts.list = list;
    parts.scales = arrays.take<part_scale>(list.part_count);
    parts.tiles_before = arrays.take<std::uint32_t>(list.run_count + 1);
    parts.tiles = arrays.take<tile_of_run>(tiles);
    parts.most_tiles = static_cast<std::uint32_t>(tiles);
    bytes = arrays.bytes();
  }
};

/// Calls body with the width of values that a sort in parts takes.
template <class Body>
auto with_part_values(std::uint32_t value_bytes, Body body) {
  if (value_bytes == 8) return body(std::integral_constant<value_width, value_width::values_8>());
  if (value_bytes == 4) return body(std::integral_constant<value_width, value_width::values_4>());
  return body(std::integral_constant<value_width, value_width::none>());
}

/// Words of the shortest tile of either kernel.
template <int Limbs, value_width Values>
constexpr std::uint64_t shortest_part_tile =
    std::min(part_tuning<Limbs, Values>::tile_words, tile_tuning<Limbs, Values, tile_length::of_long_list>::tile_words);

template <int Limbs>
std::uint64_t part_sort_scratch_bytes_of(const word_sort& s, const words_in_parts& list) {
  return with_part_values(s.value_bytes, [&](auto values) {
    return part_scratch(s, list, shortest_part_tile<Limbs, values()>, nullptr).bytes;
  });
}

template <int Limbs>
void sort_in_parts_of(const context& ctx, const word_sort& s, const words_in_parts& list, std::byte* scratch) {
  with_part_values(s.value_bytes, [&](auto values) {
    constexpr value_width width = values();
    const part_scratch of(s, list, shortest_part_tile<Limbs, width>, scratch);
    const radix_arguments args{s, of.tables};
    const auto launch = [&](auto kernel, auto tuning, std::size_t shared_bytes) {
      launch_cooperative(ctx, kernel, ceil_div(std::uint64_t{args.count}, tuning.tile_words), tuning.threads,
                         shared_bytes, args, of.parts);
    };
    launch(sort_words_in_parts<Limbs, width>, part_tuning<Limbs, width>(),
           radix_shared_bytes<Limbs, width, tile_length::of_coded_list>(true));
    launch(sort_mixed_words_of_parts<Limbs, width>, tile_tuning<Limbs, width, tile_length::of_long_list>(),
           radix_shared_bytes<Limbs, width, tile_length::of_long_list>(false));
    finish_groups_of<Limbs>(ctx, args);
  });
}

extern template std::uint64_t part_sort_scratch_bytes_of<1>(const word_sort&, const words_in_parts&);
extern template std::uint64_t part_sort_scratch_bytes_of<2>(const word_sort&, const words_in_parts&);
extern template void sort_in_parts_of<1>(const context&, const word_sort&, const words_in_parts&, std::byte*);
extern template void sort_in_parts_of<2>(const context&, const word_sort&, const words_in_parts&, std::byte*);

}  // namespace sheaf::cuda
