#include "papers/cuda/table_scan.hpp"

#include "cuda/block/scan.cuh"
#include "cuda/device/launch.cuh"

// Prefix sums in two levels: of tiles of entries, and of the sums of tiles.
namespace sheaf::cuda {
namespace {

using papers::scan_tile_entries;

constexpr std::uint32_t table_scan_threads = 256;

/// Sum of the entries of each tile. A block takes every gridDim.x-th tile.
template <class Entry>
__global__ void __launch_bounds__(table_scan_threads)
    sum_table_tiles(const Entry* table, std::uint64_t entries, unsigned long long* tile_sums) {
  __shared__ unsigned long long sums[table_scan_threads];
  for (std::uint64_t tile = blockIdx.x; tile * scan_tile_entries < entries; tile += gridDim.x) {
    const std::uint64_t begin = tile * scan_tile_entries;
    const std::uint64_t end = min(begin + scan_tile_entries, entries);
    unsigned long long sum = 0;
    for (std::uint64_t i = begin + threadIdx.x; i < end; i += table_scan_threads) sum += table[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (std::uint32_t half = table_scan_threads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) tile_sums[tile] = sums[0];
    __syncthreads();
  }
}

/// Writes the sums of the values before each, from `before` on, by a whole block. in and out may be the same.
template <class Value>
__device__ __forceinline__ void scan_by_block(const Value* in, unsigned long long* out, std::uint64_t count,
                                              unsigned long long before) {
  __shared__ __align__(16) unsigned long long warp_sums[table_scan_threads / 32];
  __shared__ unsigned long long chunk_sum;
  for (std::uint64_t first = 0; first < count; first += table_scan_threads) {
    const std::uint64_t i = first + threadIdx.x;
    const unsigned long long own = i < count ? in[i] : 0;
    unsigned long long sum[1] = {own};
    scan_bins<table_scan_threads, table_scan_threads>(sum, warp_sums);
    if (i < count) out[i] = before + sum[0];
    if (threadIdx.x == table_scan_threads - 1) chunk_sum = sum[0] + own;
    __syncthreads();
    before += chunk_sum;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(table_scan_threads)
    scan_tile_sums(unsigned long long* tile_sums, std::uint64_t tiles) {
  scan_by_block(tile_sums, tile_sums, tiles, 0);
}

/// Prefix sums of the table, which may be written over it. A block takes every gridDim.x-th tile.
template <class Entry>
__global__ void __launch_bounds__(table_scan_threads)
    scan_table_tiles(const Entry* table, std::uint64_t entries, const unsigned long long* tile_begin,
                     unsigned long long* run_begin) {
  for (std::uint64_t tile = blockIdx.x; tile * scan_tile_entries < entries; tile += gridDim.x) {
    const std::uint64_t begin = tile * scan_tile_entries;
    const std::uint64_t end = min(begin + scan_tile_entries, entries);
    scan_by_block(table + begin, run_begin + begin, end - begin, tile_begin[tile]);
  }
}

/// Queues the prefix sums of `entries` numbers; they may be written over these.
/// @param tile_sums    memory for a number of each tile
/// @param most_blocks  as of scan_counts
template <class Entry>
void scan_entries(const context& ctx, const Entry* numbers, std::uint64_t entries, std::uint64_t* tile_sums,
                  unsigned long long* sums_before, std::uint32_t most_blocks) {
  const std::uint64_t tiles = ceil_div(entries, std::uint64_t{scan_tile_entries});
  const std::uint64_t blocks = most_blocks == 0 ? tiles : std::min<std::uint64_t>(most_blocks, tiles);
  auto* const sums = reinterpret_cast<unsigned long long*>(tile_sums);
  launch_blocks(ctx, sum_table_tiles<Entry>, blocks, table_scan_threads, numbers, entries, sums);
  launch_blocks(ctx, scan_tile_sums, 1, table_scan_threads, sums, tiles);
  launch_blocks(ctx, scan_table_tiles<Entry>, blocks, table_scan_threads, numbers, entries,
                static_cast<const unsigned long long*>(sums), sums_before);
}

}  // namespace

void scan_counts(const context& ctx, const std::uint32_t* counts, std::uint64_t entries, std::uint64_t* tile_sums,
                 std::uint64_t* sums, std::uint32_t most_blocks) {
  scan_entries(ctx, counts, entries, tile_sums, reinterpret_cast<unsigned long long*>(sums), most_blocks);
}

void scan_numbers(const context& ctx, std::uint64_t* numbers, std::uint64_t count, std::uint64_t* tile_sums) {
  auto* const words = reinterpret_cast<unsigned long long*>(numbers);
  scan_entries(ctx, static_cast<const unsigned long long*>(words), count, tile_sums, words, 0);
}

}  // namespace sheaf::cuda
