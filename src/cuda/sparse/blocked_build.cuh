#pragma once

#include "core/scratch_offsets.hpp"
#include "cuda/sparse/blocked.hpp"
#include "cuda/sparse/blocked_run.cuh"
#include "cuda/sparse/sums/row_facts.cuh"
#include "cuda/split/passes.hpp"
#include "primitives/split/category.hpp"

#include <cub/block/block_scan.cuh>

// Groups the entries of a matrix: places are sorted by group, stably, and columns and values follow them.
namespace sheaf::cuda {

/// Passes that sort places by group; an entry with a column that is not there belongs to one group more.
inline pair_passes group_passes(const blocked_shape& shape, std::uint64_t entries) {
  pair_passes passes;
  passes.key_bits = std::max(1U, primitives::category_bits(shape.groups() + 1));
  passes.value_bytes = sizeof(std::uint32_t);
  passes.count = entries;
  passes.writes_keys = true;
  passes.keys.stride = passes.keys.word_bytes = sizeof(std::uint32_t);
  passes.keys.bits = {0, passes.key_bits};
  passes.keys.categories = shape.groups();
  return passes;
}

/// Where the parts of the scratch begin, in bytes.
struct blocked_layout {
  std::uint64_t facts, keys, sorted, group_begins, passes;

  blocked_layout(const primitives::spmv_problem& p, const blocked_shape& shape, core::scratch_offsets& place)
      : facts(place.take(sizeof(row_facts))),
        keys(place.take(p.entries * sizeof(std::uint32_t))),
        sorted(place.take(p.entries * sizeof(std::uint32_t))),
        group_begins(place.take((shape.groups() + 1) * sizeof(std::uint32_t))),
        passes(place.take(pair_scratch_bytes(group_passes(shape, p.entries)))) {}
};

/// Row blocks begin at the first row that begins in their share of the entries.
static __global__ void __launch_bounds__(block_threads)
    cut_blocks(const __grid_constant__ row_offsets rows, const __grid_constant__ blocked_shape shape,
               std::uint64_t first_entry, std::uint32_t* block_rows) {
  const std::uint64_t b = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (b > shape.blocks) return;
  std::uint64_t low = 0;
  if (b == shape.blocks) {
    low = rows.rows;  // empty rows behind the last entry, too
  } else {
    for (std::uint64_t high = rows.rows; low < high;) {
      const std::uint64_t middle = (low + high) / 2;
      if (rows.begin(middle) - first_entry < b * shape.block_entries) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
  }
  block_rows[b] = static_cast<std::uint32_t>(low);
}

/// The group of each entry, by a search for its row.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    find_groups(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                const __grid_constant__ blocked_shape shape, const Column* columns, std::uint64_t limit,
                std::uint64_t first_entry, std::uint64_t entries, std::uint32_t* keys) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= entries) return;
  const std::uint64_t place = first_entry + i;
  std::uint64_t low = 0;  // the last row that begins at the place or before it
  for (std::uint64_t high = rows.rows; high - low > 1;) {
    const std::uint64_t middle = (low + high) / 2;
    (rows.begin(middle) <= place ? low : high) = middle;
  }
  const Column column = columns[place];
  if (column >= limit) {
    report_column(guard, columns, limit, place, place + 1, low);
    keys[i] = static_cast<std::uint32_t>(shape.groups());
    return;
  }
  const std::uint64_t block = (rows.begin(low) - first_entry) / shape.block_entries;
  keys[i] = static_cast<std::uint32_t>(column / shape.slice_columns * shape.blocks + block);
}

/// Where each group begins among the sorted keys, and each slice.
static __global__ void __launch_bounds__(block_threads)
    find_group_begins(const std::uint32_t* keys, std::uint64_t entries, const __grid_constant__ blocked_shape shape,
                      std::uint32_t* group_begins, std::uint32_t* slice_begins) {
  const std::uint64_t g = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (g > shape.groups()) return;
  std::uint64_t low = 0;
  for (std::uint64_t high = entries; low < high;) {
    const std::uint64_t middle = (low + high) / 2;
    if (keys[middle] < g) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  group_begins[g] = static_cast<std::uint32_t>(low);
  if (g % shape.blocks == 0) slice_begins[g / shape.blocks] = static_cast<std::uint32_t>(low);
}

/// The runs of each row block, which lie apart by slice. One row block a block.
static __global__ void __launch_bounds__(block_threads)
    list_runs(const std::uint32_t* group_begins, const __grid_constant__ blocked_shape shape, std::uint32_t* run_begins,
              std::uint32_t* run_places) {
  using block_scan = cub::BlockScan<std::uint32_t, block_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  std::uint32_t before = 0;
  for (std::uint64_t base = 0; base < shape.slices; base += block_threads) {
    const std::uint64_t s = base + threadIdx.x;
    const std::uint64_t group = s * shape.blocks + blockIdx.x;
    const std::uint32_t begin = s < shape.slices ? group_begins[group] : 0;
    std::uint32_t place = s < shape.slices ? group_begins[group + 1] - begin : 0;
    std::uint32_t all = 0;
    block_scan(storage).ExclusiveSum(place, place, all);
    if (s < shape.slices) {
      run_begins[blockIdx.x * shape.slices + s] = begin;
      run_places[blockIdx.x * shape.slices + s] = before + place;
    }
    before += all;
    __syncthreads();
  }
}

/// Copies columns and values into the order of groups, and notes for each entry which product of its block is its own.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    copy_groups(const std::uint32_t* keys, const std::uint32_t* places, std::uint64_t entries,
                const __grid_constant__ blocked_shape shape, const std::uint32_t* group_begins,
                const std::uint32_t* run_places, const Column* columns, const Value* values, std::uint16_t* columns_to,
                Value* values_to, std::uint16_t* products_of) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= entries) return;
  const std::uint64_t key = keys[i];
  if (key >= shape.groups()) return;
  const std::uint32_t place = places[i];
  const std::uint64_t slice = key / shape.blocks;
  const std::uint64_t block = key % shape.blocks;
  columns_to[i] = static_cast<std::uint16_t>(columns[place] - slice * shape.slice_columns);
  values_to[i] = values[place];
  products_of[place] = static_cast<std::uint16_t>(run_places[block * shape.slices + slice] + i - group_begins[key]);
}

template <class Value, class Column>
void group_entries(const context& ctx, const primitives::spmv_problem& p, const csr_view& a, const csr_guard& guard,
                   const blocked_shape& shape, const row_facts& facts, const blocked_layout& layout,
                   const blocked_arrays<Value>& to, std::byte* scratch) {
  const auto threads_for = [](std::uint64_t count) { return ceil_div(count, block_threads); };
  const auto writable = []<class T>(const T* array) { return const_cast<T*>(array); };  // the matrix that is made
  const row_offsets rows = offsets_of(p, a);
  const auto* const columns = static_cast<const Column*>(a.column_indices.data);
  const auto* const numbers = static_cast<const Value*>(a.values.data);
  auto* const keys = reinterpret_cast<std::uint32_t*>(scratch + layout.keys);
  auto* const group_begins = reinterpret_cast<std::uint32_t*>(scratch + layout.group_begins);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(p));
  launch(ctx, cut_blocks, threads_for(shape.blocks + 1), rows, shape, facts.first, writable(to.block_rows));
  launch(ctx, find_groups<Column>, threads_for(facts.entries), guard, rows, shape, columns, limit, facts.first,
         facts.entries, keys);
  pair_passes passes = group_passes(shape, facts.entries);
  passes.keys.data = reinterpret_cast<const std::byte*>(keys);
  passes.out = scratch + layout.sorted;
  const std::uint32_t* const sorted = run_pair_passes(ctx, passes, scratch + layout.passes);
  const auto* const places = reinterpret_cast<const std::uint32_t*>(scratch + layout.sorted);
  launch(ctx, find_group_begins, threads_for(shape.groups() + 1), sorted, facts.entries, shape, group_begins,
         writable(to.slice_begins));
  launch(ctx, list_runs, shape.blocks, group_begins, shape, writable(to.run_begins), writable(to.run_places));
  launch(ctx, copy_groups<Value, Column>, threads_for(facts.entries), sorted, places, facts.entries, shape,
         group_begins, to.run_places, columns + facts.first, numbers + facts.first, writable(to.columns),
         writable(to.values), writable(to.products_of));
}

}  // namespace sheaf::cuda
