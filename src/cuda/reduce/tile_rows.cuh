#pragma once

#include <cooperative_groups.h>

#include "cuda/reduce/tile_sort.cuh"

// The kernels of cuda.tiled for lists of one tile, and for few slots: each tile writes a row of sums, one for every
// slot, and then columns are added up, always in the same order.
namespace sheaf::cuda {

/// out[index[i]] += in[i] for a list of one tile.
template <class T>
__global__ void __launch_bounds__(block_threads) sum_one_tile(const __grid_constant__ tile_sums_arguments<T> a) {
  __shared__ tile_sort_memory<T> shared;
  thread_values<T> values;
  values.load(a, [] {});
  sort_tile(a, values, shared);
  slot_sums<T> sums;
  sum_segments(shared.tile, [&](int k, std::uint32_t slot, T sum) { sums.set(k, slot, sum); });
  sums.add_to(a.out);
}

/// out[index[i]] += in[i] for few slots, by a block for each tile. `rows` has room for a sum of each tile and slot.
/// Cooperative.
template <class T>
__global__ void __launch_bounds__(block_threads, 4)
    sum_tiles_in_rows(const __grid_constant__ tile_sums_arguments<T> a, T* rows) {
  __shared__ tile_sort_memory<T> shared;
  __shared__ T column[tile_warps][32];
  const std::uint32_t slots = a.highest_slot + 1;
  T* const row = rows + std::uint64_t{blockIdx.x} * slots;
  thread_values<T> values;
  values.load(a, [&] {
    for (std::uint32_t slot = threadIdx.x; slot < slots; slot += block_threads) row[slot] = empty_sum<T>;
  });
  sort_tile(a, values, shared);
  sum_segments(shared.tile, [&](int, std::uint32_t slot, T sum) { row[slot] = sum; });
  cooperative_groups::this_grid().sync();
  // A block adds up 32 columns at a time: each warp every eighth row of them, then the first warp what the warps have.
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t warp = threadIdx.x / 32;
  for (std::uint32_t first = blockIdx.x * 32; first < slots; first += gridDim.x * 32) {
    const std::uint32_t slot = min(first + lane, a.highest_slot);
    T sum = empty_sum<T>;
#pragma unroll 8
    for (std::uint32_t tile = warp; tile < gridDim.x; tile += tile_warps)
      sum += __ldcg(rows + std::uint64_t{tile} * slots + slot);
    column[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && first + lane < slots) {
#pragma unroll
      for (int w = 1; w < tile_warps; ++w) sum += column[w][lane];
      if (!is_empty_sum(sum)) a.out[slot] += sum;
    }
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
