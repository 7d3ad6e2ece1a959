#pragma once

#include <cub/block/block_scan.cuh>

#include "cuda/device/launch.cuh"

// A scan over what the tiles of a kernel come to, in two levels: chunks of tiles, then the chunks.
namespace sheaf::cuda {

constexpr unsigned chunk_threads = 512;
constexpr unsigned tiles_each = 4;
constexpr std::uint64_t chunk_tiles = chunk_threads * tiles_each;

/// Sums of tiles in device memory, and after scan_sums() what comes before each.
template <class T>
struct tile_sums {
  T* of_tile;
  T* of_chunk;  ///< behind the tiles; the last is the sum of all

  __host__ __device__ static std::uint64_t chunks(std::uint64_t tiles) {
    return (tiles + chunk_tiles - 1) / chunk_tiles;
  }
  static std::uint64_t bytes(std::uint64_t tiles) { return (tiles + chunks(tiles) + 1) * sizeof(T); }
  static tile_sums at(void* memory, std::uint64_t tiles) {
    T* const first = static_cast<T*>(memory);
    return {first, first + tiles};
  }

  template <class Add>
  __device__ __forceinline__ T before(std::uint64_t tile, Add add) const {
    return add(of_chunk[tile / chunk_tiles], of_tile[tile]);
  }
};

/// One block for each chunk. A single one also writes what comes before it, and the sum of all.
template <class T, class Add>
__global__ void __launch_bounds__(chunk_threads)
    scan_tiles(const tile_sums<T> sums, std::uint64_t tiles, const T nothing, const Add add) {
  wait_for_kernel_before();
  using block_scan = cub::BlockScan<T, chunk_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  const std::uint64_t first = blockIdx.x * chunk_tiles + threadIdx.x * tiles_each;
  T sum[tiles_each];
#pragma unroll
  for (unsigned k = 0; k < tiles_each; ++k) sum[k] = first + k < tiles ? sums.of_tile[first + k] : nothing;
  T all;
  block_scan(storage).ExclusiveScan(sum, sum, nothing, add, all);
#pragma unroll
  for (unsigned k = 0; k < tiles_each; ++k) {
    if (first + k < tiles) sums.of_tile[first + k] = sum[k];
  }
  if (threadIdx.x != 0) return;
  if (gridDim.x > 1) {
    sums.of_chunk[blockIdx.x] = all;
  } else {
    sums.of_chunk[0] = nothing;
    sums.of_chunk[1] = all;
  }
}

/// One block, for several chunks.
template <class T, class Add>
__global__ void __launch_bounds__(chunk_threads)
    scan_chunks(const tile_sums<T> sums, std::uint64_t chunks, const T nothing, const Add add) {
  wait_for_kernel_before();
  using block_scan = cub::BlockScan<T, chunk_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  T before = nothing;
  for (std::uint64_t first = 0; first < chunks; first += chunk_threads) {
    const std::uint64_t c = first + threadIdx.x;
    T sum = c < chunks ? sums.of_chunk[c] : nothing;
    T all;
    block_scan(storage).ExclusiveScan(sum, sum, nothing, add, all);
    if (c < chunks) sums.of_chunk[c] = add(before, sum);
    before = add(before, all);
    __syncthreads();
  }
  if (threadIdx.x == 0) sums.of_chunk[chunks] = before;
}

/// Queues the scan; returns where the sum of all will be, in device memory.
template <class T, class Add>
const T* scan_sums(const context& ctx, const tile_sums<T>& sums, std::uint64_t tiles, const T& nothing,
                   const Add& add) {
  const std::uint64_t chunks = sums.chunks(tiles);
  launch_overlapped(ctx, scan_tiles<T, Add>, chunks, chunk_threads, 0, sums, tiles, nothing, add);
  if (chunks > 1) launch_overlapped(ctx, scan_chunks<T, Add>, 1, chunk_threads, 0, sums, chunks, nothing, add);
  return sums.of_chunk + chunks;
}

}  // namespace sheaf::cuda
