#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/split/histogram_kernels.cuh"

// A tile's records of one bin are a run. Here a block finds where each run of its tile begins, in the tile that it
// sorts in shared memory and in the output.
namespace sheaf::cuda {

/// Whether a pass keeps the order of the records inside a bin.
enum class record_order { stable, unordered };

/// Whether all threads of the block have all of their records, with a bin each. Kernels then leave out the tests for
/// it.
enum class tile_kind { full, partial };

/// Where runs begin in the output. Stable pass: in tile t of chunk c, a bin's run begins at bin_begin[bin] +
/// chunk_begin[c][bin] + tile_begin[t][bin]. Unordered pass: a tile takes its run from bin_begin[bin] by an atomic add.
/// A list of one tile needs none of these arrays.
struct run_offsets {
  unsigned long long* bin_begin;          ///< null: the list is one tile
  const unsigned long long* chunk_begin;  ///< null in an unordered pass
  const std::uint32_t* tile_begin;        ///< null in an unordered pass
  std::uint64_t* category_offsets;        ///< offsets that a list of one tile still has to write; null: none
  std::uint32_t categories;               ///< number of category_offsets, less one
};

/// Shared memory of a block, one entry a bin.
template <int Bins, record_order Order>
struct bin_tables {
  std::uint64_t output_shift[Bins];  ///< output position of a record less its position in the sorted tile
  std::uint32_t histogram[Order == record_order::stable ? 1 : Bins];
  alignas(16) std::uint32_t warp_sums[32];
};

/// Scans the counts of a block's warps: writes to bins[].lanes_or_begin where each warp's run of a bin begins in the
/// sorted tile, and returns the count of the thread's bin and where its run begins in the tile.
template <int Bins, int Warps>
__device__ __forceinline__ void scan_warp_bins(warp_bin* bins, std::uint32_t (&count)[1], std::uint32_t (&start)[1],
                                               std::uint32_t* warp_sums) {
  std::uint32_t total = 0;
  if (threadIdx.x < Bins) {
#pragma unroll
    for (int w = 0; w < Warps; ++w) {
      warp_bin& own = bins[w * Bins + threadIdx.x];
      own.lanes_or_begin = total;
      total += own.count;
    }
  }
  count[0] = start[0] = total;
  scan_bins<Bins, Warps * 32>(start, warp_sums);
  if (threadIdx.x < Bins) {
#pragma unroll
    for (int w = 0; w < Warps; ++w) bins[w * Bins + threadIdx.x].lanes_or_begin += start[0];
  }
}

/// Finds where each run begins, after a tile of `records_in_tile` records is ranked. The tables receive the shift from
/// tile to output; warp_bins[].lanes_or_begin (stable) or tables.histogram (unordered) receive what ranks lack to be
/// positions in the sorted tile. All threads of the block call it, with a barrier before and after.
template <int Bins, record_order Order, int Threads>
__device__ __forceinline__ void find_run_offsets(const run_offsets& runs, std::uint32_t records_in_tile,
                                                 warp_bin* warp_bins, bin_tables<Bins, Order>& tables) {
  constexpr int per_thread = bins_per_thread<Bins, Threads>;
  const int first_bin = threadIdx.x * per_thread;
  std::uint64_t run[per_thread] = {};
  std::uint32_t count[per_thread] = {};
  std::uint32_t start[per_thread] = {};
  if constexpr (Order == record_order::stable) {
    if (threadIdx.x < Bins && runs.bin_begin != nullptr) {
      run[0] = runs.bin_begin[threadIdx.x] + runs.chunk_begin[blockIdx.x / tiles_per_chunk * Bins + threadIdx.x] +
               runs.tile_begin[std::uint64_t{blockIdx.x} * Bins + threadIdx.x];
    }
    scan_warp_bins<Bins, Threads / 32>(warp_bins, count, start, tables.warp_sums);
  } else {
    if (first_bin < Bins) {
#pragma unroll
      for (int j = 0; j < per_thread; ++j) {
        count[j] = start[j] = tables.histogram[first_bin + j];
        if (count[j] > 0 && runs.bin_begin != nullptr) {
          run[j] = atomicAdd(runs.bin_begin + first_bin + j, static_cast<unsigned long long>(count[j]));
        }
      }
    }
    scan_bins<Bins, Threads>(start, tables.warp_sums);
    if (first_bin < Bins) {
#pragma unroll
      for (int j = 0; j < per_thread; ++j) tables.histogram[first_bin + j] = start[j];
    }
  }
  if (first_bin < Bins) {
#pragma unroll
    for (int j = 0; j < per_thread; ++j) {
      const std::uint64_t shift = runs.bin_begin != nullptr ? run[j] - start[j] : 0;
      tables.output_shift[first_bin + j] = shift;
      if (runs.category_offsets == nullptr || static_cast<std::uint32_t>(first_bin + j) >= runs.categories) continue;
      runs.category_offsets[first_bin + j] = start[j];
      if (static_cast<std::uint32_t>(first_bin + j) + 1 == runs.categories) {
        runs.category_offsets[runs.categories] = min(start[j] + count[j], records_in_tile);
      }
    }
  }
}

/// Finds the positions of a thread's records in the tile sorted by bin, and where the tile's runs begin in the output:
/// ranks each record in its bin, in its warp (stable) or in the block (unordered), and adds where runs begin. `bin(k)`
/// is the bin of record k, or no_bin. warp_bins are dynamic shared memory that is free again after a barrier.
template <int Items, int Bins, record_order Order, int Threads, bool EveryRecordHasBin, class Bin>
__device__ __forceinline__ void find_positions(const run_offsets& runs, std::uint32_t records_in_tile, const Bin& bin,
                                               warp_bin* warp_bins, bin_tables<Bins, Order>& tables,
                                               packed_numbers<Items>& position) {
  constexpr bool is_stable = Order == record_order::stable;
  if constexpr (is_stable) {
    for (int i = threadIdx.x; i < Threads / 32 * Bins; i += Threads) warp_bins[i] = {0, 0};
  } else {
    for (int i = threadIdx.x; i < Bins; i += Threads) tables.histogram[i] = 0;
  }
  __syncthreads();
  warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * Bins;
  if constexpr (is_stable) {
    rank_in_warp<Items, Bins, EveryRecordHasBin>(bin, own_bins, position);
  } else {
    rank_unordered<Items, Bins, EveryRecordHasBin>(bin, tables.histogram, position);
  }
  __syncthreads();
  find_run_offsets<Bins, Order, Threads>(runs, records_in_tile, warp_bins, tables);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t b = bin(k);
    if (EveryRecordHasBin || b < Bins) {
      position.add(k, is_stable ? own_bins[b].lanes_or_begin : tables.histogram[b]);
    }
  }
}

}  // namespace sheaf::cuda
