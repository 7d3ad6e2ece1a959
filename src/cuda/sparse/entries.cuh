#pragma once

#include "core/scratch_offsets.hpp"
#include "cuda/sparse/sums/matrix.cuh"
#include "cuda/split/passes.hpp"

// The entries of a matrix one after another, row by row, whatever order its rows lie in, and without places that belong
// to no row: what transposed products sort by column.
namespace sheaf::cuda {

/// Scratch of the entries' numbers.
struct entry_offsets {
  std::uint64_t* offsets;  ///< one for each row and one more: entries of all rows before it
  std::uint64_t* sums;     ///< of tiles of rows

  entry_offsets(std::uint64_t rows, core::scratch_arrays& place);
};

/// Queues the offsets of all rows, and reports rows that are wrong, which count as empty.
void queue_entry_offsets(const context& ctx, const spmv_problem& problem, const csr_view& a, const csr_guard& guard,
                         const entry_offsets& to);

/// Entries that are sorted by column: scratch, and the passes. A kernel writes the column of each, or the number of
/// columns where there is none, and beside it what is sorted.
template <class Written>
struct entries_by_column {
  entry_offsets numbers;
  std::uint32_t* columns;  ///< of each entry
  Written* written;        ///< row by row
  Written* sorted;
  pair_passes passes;
  std::byte* of_passes;

  entries_by_column(const spmv_problem& problem, core::scratch_arrays& place)
      : numbers(problem.rows, place),
        columns(place.take<std::uint32_t>(problem.entries)),
        written(place.take<Written>(problem.entries)),
        sorted(place.take<Written>(problem.entries)),
        passes(passes_by_category(problem.columns, sizeof(Written), problem.entries)),
        of_passes(place.take<std::byte>(problem.entries == 0 ? 0 : pair_scratch_bytes(passes))) {
    passes.keys.data = reinterpret_cast<const std::byte*>(columns);
    passes.values = reinterpret_cast<const std::byte*>(written);
    passes.out = reinterpret_cast<std::byte*>(sorted);
  }

  /// Queues the passes. Returns the sorted columns.
  const std::uint32_t* sort(const context& ctx) const { return run_pair_passes(ctx, passes, of_passes); }
};

constexpr unsigned entries_each = 4;
constexpr unsigned entries_of_a_block = entries_each * block_threads;

/// The last of the rows [low, high) whose entries begin at `entry` or before it; `low` has begun.
__device__ __forceinline__ std::uint64_t row_of_entry(const std::uint64_t* offsets, std::uint64_t low,
                                                      std::uint64_t high, std::uint64_t entry) {
  return last_begun(low, high, [&](std::uint64_t row) { return offsets[row] <= entry; });
}

/// Calls body(i, row, place) for each entry `first + i` of the block's share of `count`, and body(i, row, no_place) for
/// those past the last. All threads of the block call this.
constexpr std::uint64_t no_place = ~std::uint64_t{0};
template <class Body>
__device__ __forceinline__ void for_each_entry(const row_offsets& rows, const std::uint64_t* offsets,
                                               std::uint64_t first, std::uint64_t count, Body body) {
  __shared__ std::uint64_t edge_rows[2];
  const std::uint64_t all = offsets[rows.rows];
  const std::uint64_t base = std::uint64_t{blockIdx.x} * entries_of_a_block;
  if (threadIdx.x < 2) {
    const std::uint64_t edge = first + base + threadIdx.x * (entries_of_a_block - 1);
    edge_rows[threadIdx.x] = row_of_entry(offsets, 0, rows.rows, min(edge, all));
  }
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < entries_each; ++k) {
    const std::uint64_t i = base + k * block_threads + threadIdx.x;
    if (i >= count) continue;
    const std::uint64_t entry = first + i;
    if (entry >= all) {
      body(i, std::uint64_t{0}, no_place);
      continue;
    }
    const std::uint64_t row = row_of_entry(offsets, edge_rows[0], edge_rows[1] + 1, entry);
    body(i, row, rows.begin(row) + (entry - offsets[row]));
  }
}

}  // namespace sheaf::cuda
