#pragma once

#include "cuda/block/category.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/launch.cuh"

// How many records each category has, of the whole list or tile by tile, and where its runs begin: the prefix sums in
// column-major order of Patidar and Narayanan 2009 (section 3.1), two levels deep so that one read of the counts will
// do.
namespace sheaf::cuda {

constexpr int histogram_threads = 512;
constexpr std::uint32_t tiles_per_chunk = 128;

/// Counts a thread's records, a run of one bin at once.
template <int Items, int Bins>
__device__ __forceinline__ void count_runs(const packed_numbers<Items>& bins, std::uint32_t* histogram) {
  std::uint32_t run = 1;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t b = bins.get(k);
    if (k + 1 < Items && bins.get(k + 1) == b) {
      ++run;
      continue;
    }
    if (b < Bins) atomicAdd(&histogram[b], run);
    run = 1;
  }
}

/// Adds up categories over the list, with as many blocks as run at once; total is zero before.
template <int Bins>
__global__ void __launch_bounds__(histogram_threads)
    count_bins(const __grid_constant__ key_arguments key, std::uint64_t count, unsigned long long* total) {
  constexpr int items = 8;
  constexpr std::uint32_t tile_records = histogram_threads * items;
  constexpr int copies = Bins > 256 ? 1 : 4;  // so that warps seldom meet
  __shared__ std::uint32_t histogram[copies][Bins];
  for (int i = threadIdx.x; i < copies * Bins; i += histogram_threads) histogram[i / Bins][i % Bins] = 0;
  __syncthreads();
  std::uint32_t* const mine = histogram[threadIdx.x / 32 % copies];
  // Less than 2^32 records a block come together, so counts fit: a block takes count / blocks of them.
  for (std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_records; tile < count;
       tile += std::uint64_t{gridDim.x} * tile_records) {
    const auto left = static_cast<std::uint32_t>(min(count - tile, std::uint64_t{tile_records}));
    packed_numbers<items> bins;
    load_bins<items>(key, tile, threadIdx.x, histogram_threads, left, bins);
    count_runs<items, Bins>(bins, mine);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < Bins; b += histogram_threads) {
    std::uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < copies; ++c) sum += histogram[c][b];
    if (sum > 0) atomicAdd(total + b, std::uint64_t{sum});
  }
}

/// Counts each tile of Items * 512 records; a chunk of tiles adds up in chunk_total, which is zero before.
template <int Bins, int Items>
__global__ void __launch_bounds__(histogram_threads)
    count_tile_bins(const __grid_constant__ key_arguments key, std::uint64_t count, std::uint32_t* tile_count,
                    unsigned long long* chunk_total) {
  constexpr std::uint32_t tile_records = histogram_threads * Items;
  constexpr int copies = 2;
  __shared__ std::uint32_t histogram[copies][Bins];
  for (int i = threadIdx.x; i < copies * Bins; i += histogram_threads) histogram[i / Bins][i % Bins] = 0;
  __syncthreads();
  const std::uint64_t tile = std::uint64_t{blockIdx.x} * tile_records;
  const auto left = static_cast<std::uint32_t>(min(count - tile, std::uint64_t{tile_records}));
  packed_numbers<Items> bins;
  load_bins<Items>(key, tile, threadIdx.x, histogram_threads, left, bins);
  count_runs<Items, Bins>(bins, histogram[threadIdx.x / 32 % copies]);
  __syncthreads();
  for (int b = threadIdx.x; b < Bins; b += histogram_threads) {
    const std::uint32_t sum = histogram[0][b] + histogram[1][b];
    tile_count[std::uint64_t{blockIdx.x} * Bins + b] = sum;
    if (sum > 0) atomicAdd(chunk_total + blockIdx.x / tiles_per_chunk * Bins + b, std::uint64_t{sum});
  }
}

/// Loads in flight of the column sums below.
constexpr int rows_at_once = 8;

/// Turns the counts of `chunks` rows of Bins totals into where each chunk's run of a bin begins inside the bin, writes
/// where bins begin, and the categories' offsets, if asked for. One block.
template <int Bins>
__global__ void __launch_bounds__(Bins < 1024 ? Bins : 1024)
    begin_chunks(unsigned long long* chunk, std::uint32_t chunks, unsigned long long* bin_begin, std::uint64_t* offsets,
                 std::uint64_t categories) {
  constexpr int threads = Bins < 1024 ? Bins : 1024;
  constexpr int per_thread = bins_per_thread<Bins, threads>;
  __shared__ unsigned long long warp_sums[threads / 32];
  unsigned long long total[per_thread];
#pragma unroll
  for (int j = 0; j < per_thread; ++j) {
    unsigned long long* const column = chunk + threadIdx.x * per_thread + j;
    total[j] = 0;
    for (std::uint32_t c = 0; c < chunks; c += rows_at_once) {
      unsigned long long row[rows_at_once];
#pragma unroll
      for (std::uint32_t r = 0; r < rows_at_once; ++r)
        row[r] = c + r < chunks ? column[std::uint64_t{c + r} * Bins] : 0;
#pragma unroll
      for (std::uint32_t r = 0; r < rows_at_once; ++r) {
        if (c + r < chunks) column[std::uint64_t{c + r} * Bins] = total[j];
        total[j] += row[r];
      }
    }
  }
  unsigned long long sum[per_thread];
#pragma unroll
  for (int j = 0; j < per_thread; ++j) sum[j] = total[j];
  scan_bins<Bins, threads>(sum, warp_sums);
#pragma unroll
  for (int j = 0; j < per_thread; ++j) {
    const int b = threadIdx.x * per_thread + j;
    bin_begin[b] = sum[j];
    if (offsets == nullptr) continue;
    if (static_cast<std::uint64_t>(b) < categories) offsets[b] = sum[j];
    if (static_cast<std::uint64_t>(b) + 1 == categories) offsets[categories] = sum[j] + total[j];
  }
}

/// Turns the tiles' counts into where each tile's run of a bin begins inside its chunk. A block for each chunk.
template <int Bins>
__global__ void __launch_bounds__(Bins) begin_tiles(std::uint32_t* tile_count, std::uint64_t tiles) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * tiles_per_chunk;
  const auto rows = static_cast<std::uint32_t>(min(tiles - first, std::uint64_t{tiles_per_chunk}));
  std::uint32_t* const column = tile_count + first * Bins + threadIdx.x;
  std::uint32_t total = 0;
  for (std::uint32_t c = 0; c < rows; c += rows_at_once) {
    std::uint32_t row[rows_at_once];
#pragma unroll
    for (std::uint32_t r = 0; r < rows_at_once; ++r) row[r] = c + r < rows ? column[std::uint64_t{c + r} * Bins] : 0;
#pragma unroll
    for (std::uint32_t r = 0; r < rows_at_once; ++r) {
      if (c + r < rows) column[std::uint64_t{c + r} * Bins] = total;
      total += row[r];
    }
  }
}

}  // namespace sheaf::cuda
