#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/block/tile_scheduler.cuh"
#include "cuda/device/index_guard.cuh"
#include "cuda/movement/buckets/bucketing.hpp"

// What a block does to sort a tile by bucket in shared memory: the first half of the kernels that fill buckets.
namespace sheaf::cuda {

/// The numbers that are sorted: the caller's list of indices. A source gives a number for each position, whose top bits
/// are the bucket, and of which `stored` holds what the bucket does not tell.
template <class Index>
struct list_source {
  using number = Index;
  using stored = std::uint32_t;

  const Index* index;
  Index last;  ///< the highest index that names a record
  index_guard guard;
  std::uint64_t first_position;  ///< of `index`, in the caller's list

  __device__ __forceinline__ Index load(std::uint64_t position) const { return __ldcs(index + position); }
  __device__ __forceinline__ bool is_good(Index value) const { return value <= last; }
  __device__ __forceinline__ void report(std::uint64_t position, Index value) const {
    report_bad_index(guard, first_position + position, value);
  }
};

/// Shared memory of the block, an entry for each bucket.
struct bucket_runs {
  std::uint32_t begin[most_buckets];          ///< counts, then where runs begin in the sorted tile
  std::uint32_t slot_to_entry[most_buckets];  ///< entry in its bucket of a slot of the sorted tile, less the slot
  alignas(16) std::uint32_t warp_sums[bucketing_threads / 32];
  std::uint32_t good_records;  ///< records that have a bucket
};

/// The run of the thread's bucket.
struct reserved_run {
  std::uint32_t begin;  ///< in the sorted tile
  std::uint32_t entry;  ///< in the bucket; it may lie past the bucket's capacity
};

/// A thread's positions of a tile: position k lies k * bucketing_threads past its first.
template <class Source>
struct positions_of_tile {
  static constexpr int items = bucketing_items;

  typename Source::stored low_bits[items];  ///< of the number: they tell its position in its bucket
  packed_numbers<items> bucket;             ///< no_bin past the end of the list, and for a bad number
  packed_numbers<items> rank;               ///< in its bucket's run

  /// Loads the numbers of a tile that begins at position `first`, and reports bad ones.
  __device__ __forceinline__ void load(const Source& source, std::uint64_t first, std::uint32_t records,
                                       std::uint32_t shift) {
    typename Source::number value[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      value[k] = source.load(first + min(k * bucketing_threads + threadIdx.x, records - 1));
    }
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t i = k * bucketing_threads + threadIdx.x;
      const bool good = source.is_good(value[k]);
      if (i < records && !good) source.report(first + i, value[k]);
      bucket.set(k, i < records && good ? static_cast<std::uint32_t>(value[k] >> shift) : no_bin);
      low_bits[k] = static_cast<typename Source::stored>(value[k]);
    }
  }

  /// Ranks the positions, and reserves the tile's run in every bucket by one atomic on the bucket's size. Afterwards
  /// all threads know all runs.
  __device__ __forceinline__ reserved_run reserve_runs(bucket_runs& runs, std::uint32_t* sizes) {
    static_assert(most_buckets == bucketing_threads, "a thread has a bucket");
    runs.begin[threadIdx.x] = 0;
    __syncthreads();
    rank_unordered<items, most_buckets>([&](int k) { return bucket.get(k); }, runs.begin, rank);
    __syncthreads();
    std::uint32_t begin[1] = {runs.begin[threadIdx.x]};
    const std::uint32_t length = begin[0];
    std::uint32_t entry = 0;
    if (length > 0) entry = atomicAdd(sizes + threadIdx.x, length);
    scan_bins<most_buckets, bucketing_threads>(begin, runs.warp_sums);
    runs.begin[threadIdx.x] = begin[0];
    runs.slot_to_entry[threadIdx.x] = entry - begin[0];
    if (threadIdx.x == bucketing_threads - 1) runs.good_records = begin[0] + length;
    __syncthreads();
    return {begin[0], entry};
  }
};

}  // namespace sheaf::cuda
