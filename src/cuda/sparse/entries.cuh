#pragma once

#include "cuda/sparse/entries.hpp"
#include "cuda/sparse/sums/matrix.cuh"

namespace sheaf::cuda {

constexpr unsigned entries_each = 4;
constexpr unsigned entries_of_a_block = entries_each * block_threads;

/// The last of the rows [low, high) whose entries begin at `entry` or before it; `low` has begun.
__device__ __forceinline__ std::uint64_t row_of_entry(const std::uint64_t* offsets, std::uint64_t low,
                                                      std::uint64_t high, std::uint64_t entry) {
  while (high - low > 1) {
    const std::uint64_t middle = (low + high) / 2;
    (offsets[middle] <= entry ? low : high) = middle;
  }
  return low;
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
