#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "cuda/sparse/entries.cuh"

namespace sheaf::cuda {
namespace {

constexpr unsigned rows_each = 8;
constexpr unsigned tile_rows = block_threads * rows_each;
constexpr unsigned scan_threads = 1024;

__device__ __forceinline__ std::uint64_t length_of(const row_offsets& rows, std::uint64_t row) {
  const row_range r{rows.begin(row), rows.end(row)};
  return rows.is_row(r) ? r.length() : 0;
}

__global__ void __launch_bounds__(block_threads)
    sum_lengths(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                std::uint64_t* sums) {
  using block_reduce = cub::BlockReduce<std::uint64_t, block_threads>;
  __shared__ typename block_reduce::TempStorage storage;
  std::uint64_t sum = 0;
#pragma unroll
  for (unsigned k = 0; k < rows_each; ++k) {
    const std::uint64_t row = std::uint64_t{blockIdx.x} * tile_rows + k * block_threads + threadIdx.x;
    if (row < rows.rows) sum += checked_row(guard, rows, row).length();
  }
  sum = block_reduce(storage).Sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// Replaces the sums of tiles by those of all tiles before them. One block.
__global__ void __launch_bounds__(scan_threads) scan_sums(std::uint64_t* sums, std::uint64_t tiles) {
  using block_scan = cub::BlockScan<std::uint64_t, scan_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  std::uint64_t before = 0;
  for (std::uint64_t first = 0; first < tiles; first += scan_threads) {
    const std::uint64_t t = first + threadIdx.x;
    std::uint64_t sum = t < tiles ? sums[t] : 0;
    std::uint64_t all = 0;
    block_scan(storage).ExclusiveSum(sum, sum, all);
    if (t < tiles) sums[t] = before + sum;
    before += all;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(block_threads)
    write_offsets(const __grid_constant__ row_offsets rows, const std::uint64_t* before, std::uint64_t* offsets) {
  using block_scan = cub::BlockScan<std::uint64_t, block_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  std::uint64_t sum_before = before[blockIdx.x];
  for (unsigned k = 0; k < rows_each; ++k) {
    const std::uint64_t row = std::uint64_t{blockIdx.x} * tile_rows + k * block_threads + threadIdx.x;
    std::uint64_t sum = row < rows.rows ? length_of(rows, row) : 0;
    std::uint64_t all = 0;
    block_scan(storage).ExclusiveSum(sum, sum, all);
    if (row < rows.rows) offsets[row] = sum_before + sum;
    sum_before += all;
    if (row + 1 == rows.rows) offsets[rows.rows] = sum_before;
    __syncthreads();
  }
}

}  // namespace

entry_offsets::entry_offsets(std::uint64_t rows, core::scratch_arrays& place)
    : offsets(place.take<std::uint64_t>(rows + 1)), sums(place.take<std::uint64_t>(ceil_div(rows, tile_rows))) {}

void queue_entry_offsets(const context& ctx, const spmv_problem& p, const csr_view& a, const csr_guard& guard,
                         const entry_offsets& to) {
  const row_offsets rows = offsets_of(p, a);
  const std::uint64_t tiles = ceil_div(p.rows, tile_rows);
  if (tiles == 0) return require(cudaMemsetAsync(to.offsets, 0, sizeof *to.offsets, ctx.stream()), ctx);
  launch(ctx, sum_lengths, tiles, guard, rows, to.sums);
  launch_blocks(ctx, scan_sums, 1, scan_threads, to.sums, tiles);
  launch(ctx, write_offsets, tiles, rows, to.sums, to.offsets);
}

}  // namespace sheaf::cuda
