#pragma once

#include "cuda/block/category.cuh"
#include "cuda/device/launch.cuh"

// The histogram kernels of a split pass: count_bins counts the categories of the whole list (unordered passes),
// count_tile_bins those of each tile (stable passes).
namespace sheaf::cuda {

constexpr int histogram_threads = 512;
constexpr std::uint32_t tiles_per_chunk = 64;  ///< consecutive tiles whose counts are also summed together

/// Adds a thread's records to the histogram, consecutive records of one bin by one atomic.
template <int Items, int Bins>
__device__ __forceinline__ void count_runs(const std::uint32_t (&bin)[Items], std::uint32_t* histogram) {
  std::uint32_t run = 1;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if (k + 1 < Items && bin[k + 1] == bin[k]) {
      ++run;
      continue;
    }
    if (bin[k] < Bins) atomicAdd(&histogram[bin[k]], run);
    run = 1;
  }
}

/// Counts the categories of the list, in a grid-stride loop of as many blocks as run at once. `total` is zero before.
template <int Bins>
__global__ void __launch_bounds__(histogram_threads)
    count_bins(const __grid_constant__ key_arguments key, std::uint64_t count, unsigned long long* total) {
  wait_for_kernel_before();
  constexpr int items = 8;
  constexpr std::uint32_t tile_records = histogram_threads * items;
  // Warps share out several copies of the histogram, so that fewer of their atomics meet at one address.
  constexpr int copies = Bins > 256 ? 1 : 4;
  __shared__ std::uint32_t histogram[copies][Bins];
  for (int i = threadIdx.x; i < copies * Bins; i += histogram_threads) histogram[i / Bins][i % Bins] = 0;
  __syncthreads();
  std::uint32_t* const warp_histogram = histogram[threadIdx.x / 32 % copies];
  // Counters of 32 bits suffice: a block takes count / gridDim.x records, which are fewer than 2^32.
  with_key_word(key, [&](auto load) {
    for (std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_records; tile < count;
         tile += std::uint64_t{gridDim.x} * tile_records) {
      const auto tile_count = static_cast<std::uint32_t>(min(count - tile, std::uint64_t{tile_records}));
      std::uint32_t bins[items];
      load(tile, threadIdx.x, histogram_threads, tile_count, bins);
      check_bins(key, tile, threadIdx.x, histogram_threads, tile_count, bins);
      count_runs<items, Bins>(bins, warp_histogram);
    }
  });
  __syncthreads();
  for (int b = threadIdx.x; b < Bins; b += histogram_threads) {
    std::uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < copies; ++c) sum += histogram[c][b];
    if (sum > 0) atomicAdd(total + b, std::uint64_t{sum});
  }
}

/// Counts the categories of each tile of Items * 512 records, one block a tile, and adds the counts up over each chunk
/// of tiles. `chunk_total` is zero before.
template <int Bins, int Items>
__global__ void __launch_bounds__(histogram_threads)
    count_tile_bins(const __grid_constant__ key_arguments key, std::uint64_t count, std::uint32_t* tile_count,
                    unsigned long long* chunk_total) {
  wait_for_kernel_before();
  constexpr std::uint32_t tile_records = histogram_threads * Items;
  constexpr int copies = 2;
  __shared__ std::uint32_t histogram[copies][Bins];
  for (int i = threadIdx.x; i < copies * Bins; i += histogram_threads) histogram[i / Bins][i % Bins] = 0;
  __syncthreads();
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_records;
  const auto records_in_tile = static_cast<std::uint32_t>(min(count - tile, std::uint64_t{tile_records}));
  std::uint32_t bins[Items];
  load_bins<Items>(key, tile, threadIdx.x, histogram_threads, records_in_tile, bins);
  count_runs<Items, Bins>(bins, histogram[threadIdx.x / 32 % copies]);
  __syncthreads();
  for (int b = threadIdx.x; b < Bins; b += histogram_threads) {
    const std::uint32_t sum = histogram[0][b] + histogram[1][b];
    tile_count[std::uint64_t{blockIdx.x} * Bins + b] = sum;
    if (sum > 0) atomicAdd(chunk_total + blockIdx.x / tiles_per_chunk * Bins + b, std::uint64_t{sum});
  }
}

}  // namespace sheaf::cuda
