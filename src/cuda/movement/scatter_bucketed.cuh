#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/block/tile_tickets.cuh"
#include "cuda/movement/buckets.hpp"
#include "cuda/movement/direct_if_ordered.cuh"

// The kernels of a scatter in streams: one sends records with their indices to the regions or windows they belong to,
// one puts a window in order in shared memory and writes it.
namespace sheaf::cuda {

constexpr std::uint32_t window_threads = 512;

/// A level's input: the caller's list, or a region of the level before.
template <class Index>
struct cluster_arguments {
  const Index* index;
  const std::byte* in;
  std::uint64_t in_stride;
  std::uint64_t count;  ///< of the list
  Index last;           ///< highest index that names a record
  index_guard guard;
  std::uint32_t tiles;           ///< of the list, or of a region's room
  std::uint32_t regions;         ///< of the input
  const std::uint32_t* in_fill;  ///< records of each region; null: the input is the list
  std::uint64_t in_room;         ///< places of a region
  std::uint32_t region_bits;     ///< of an index inside a region
  std::uint32_t shift;           ///< bits of an index inside a cluster
  std::uint32_t clusters;        ///< of a region
  std::uint32_t* fill;
  void* out_index;  ///< u32, or u16 in the last level
  std::byte* out_word;
  std::uint64_t room;
  std::byte* out;  ///< of the call
  std::uint64_t out_stride;
  order_sample sample;
  std::uint32_t* ticket;  ///< where tiles are drawn; null where the list is known to be scattered
};

template <class Word, class Index, class OutIndex>
__global__ void __launch_bounds__(cluster_threads, sizeof(Word) < 16 ? 2 : 1)
    split_into_clusters(const __grid_constant__ cluster_arguments<Index> a) {
  constexpr int items = cluster_items;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const staged = reinterpret_cast<Word*>(shared);
  std::uint32_t* const staged_index = reinterpret_cast<std::uint32_t*>(shared + cluster_tile * sizeof(Word));
  __shared__ std::uint32_t histogram[most_clusters];
  __shared__ std::uint32_t place[most_clusters];
  __shared__ __align__(16) std::uint32_t warp_sums[cluster_threads / 32];
  __shared__ std::uint32_t kept;
  if (a.ticket != nullptr && !was_scattered(a.sample)) return;
  const std::uint64_t all_tiles = std::uint64_t{a.tiles} * a.regions;
  const tile_walk walk(a.ticket);
  for (std::uint64_t t = walk.first(); t < all_tiles; t = walk.after(t)) {
    if (a.ticket != nullptr) __syncthreads();
    const auto region = static_cast<std::uint32_t>(t / a.tiles);
    const std::uint64_t tile = (t - std::uint64_t{region} * a.tiles) * cluster_tile;
    const std::uint64_t have = a.in_fill == nullptr ? a.count : min(std::uint64_t{a.in_fill[region]}, a.in_room);
    if (tile >= have) continue;
    const std::uint64_t first = region * a.in_room + tile;
    const auto left = static_cast<std::uint32_t>(min(have - tile, std::uint64_t{cluster_tile}));
    histogram[threadIdx.x] = 0;
    __syncthreads();

    // What a cluster is told of an index fits 32 bits; bad ones get a cluster that there is not.
    std::uint32_t sequential_bits[items];
    packed_numbers<items> cluster;
    packed_numbers<items> rank;
    {
      Index index[items];
#pragma unroll
      for (int k = 0; k < items; ++k) {
        index[k] = __ldcs(a.index + first + min(k * cluster_threads + threadIdx.x, left - 1));
      }
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const std::uint32_t s = k * cluster_threads + threadIdx.x;
        const bool good = index[k] <= a.last;
        if (s < left && !good) report_bad_index(a.guard, first + s, index[k]);
        cluster.set(k, s < left && good ? static_cast<std::uint32_t>(index[k] >> a.shift) : no_bin);
        sequential_bits[k] = static_cast<std::uint32_t>(index[k]);
      }
    }
    rank_unordered<items, most_clusters>([&](int k) { return cluster.get(k); }, histogram, rank);
    __syncthreads();
    std::uint32_t begin[1] = {histogram[threadIdx.x]};
    const std::uint32_t mine = begin[0];
    std::uint32_t taken = 0;
    if (mine > 0) taken = atomicAdd(a.fill + region * a.clusters + threadIdx.x, mine);
    scan_bins<most_clusters, cluster_threads>(begin, warp_sums);
    histogram[threadIdx.x] = begin[0];
    place[threadIdx.x] = taken - begin[0];
    if (threadIdx.x == cluster_threads - 1) kept = begin[0] + mine;
    __syncthreads();
    const std::byte* const words = a.in + first * a.in_stride;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t c = cluster.get(k);
      if (c == no_bin) continue;
      const std::uint32_t s = histogram[c] + rank.get(k);
      staged[s] =
          __ldcs(reinterpret_cast<const Word*>(words + std::uint64_t{k * cluster_threads + threadIdx.x} * a.in_stride));
      staged_index[s] = sequential_bits[k];
    }
    __syncthreads();
    const std::uint32_t inside = (a.shift < 32 ? 1U << a.shift : 0U) - 1;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * cluster_threads + threadIdx.x;
      if (s >= kept) continue;
      const std::uint32_t index = staged_index[s];
      // The cluster of a staged index: its bits above the window, or, where they are past 32, by search.
      std::uint32_t c = sizeof(Index) == 4 ? index >> a.shift : 0;
      if constexpr (sizeof(Index) == 8) {
        std::uint32_t step = most_clusters / 2;
#pragma unroll 1
        for (; step > 0; step /= 2) {
          if (c + step < a.clusters && histogram[c + step] <= s) c += step;
        }
      }
      const std::uint32_t q = place[c] + s;
      const Word word = staged[s];
      if (q < a.room) {
        const std::uint64_t at = (std::uint64_t{region} * a.clusters + c) * a.room + q;
        __stcs(static_cast<OutIndex*>(a.out_index) + at, static_cast<OutIndex>(index & inside));
        __stcs(reinterpret_cast<Word*>(a.out_word) + at, word);
      } else {
        const std::uint64_t to =
            (std::uint64_t{region} << a.region_bits) + (std::uint64_t{c} << a.shift) + (index & inside);
        store_word(a.out + to * a.out_stride, word);
      }
    }
    __syncthreads();
  }
}

/// Puts a window's records in order in shared memory, and writes those that were named.
template <class Word>
__global__ void __launch_bounds__(window_threads)
    place_windows(const std::uint16_t* index, const Word* word, const std::uint32_t* fill, std::uint64_t room,
                  std::uint32_t window_bits, std::uint32_t windows, std::byte* out, std::uint64_t out_stride,
                  const order_sample sample, std::uint32_t* ticket) {
  constexpr int at_once = 8;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const placed = reinterpret_cast<Word*>(shared);
  const std::uint32_t records = 1U << window_bits;
  unsigned char* const named = shared + records * sizeof(Word);
  if (ticket != nullptr && !was_scattered(sample)) return;
  const tile_walk walk(ticket);
  for (std::uint64_t w = walk.first(); w < windows; w = walk.after(w)) {
    if (ticket != nullptr) __syncthreads();
    const auto have = static_cast<std::uint32_t>(min(std::uint64_t{fill[w]}, room));
    if (have == 0) continue;
    for (std::uint32_t i = threadIdx.x; i < records / 4; i += window_threads)
      reinterpret_cast<std::uint32_t*>(named)[i] = 0;
    __syncthreads();
    const std::uint16_t* const from_index = index + w * room;
    const Word* const from = word + w * room;
    for (std::uint32_t f = threadIdx.x; f < have; f += window_threads * at_once) {
      std::uint16_t to[at_once];
      Word moved[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t i = min(f + k * window_threads, have - 1);
        to[k] = __ldcs(from_index + i);
        moved[k] = __ldcs(from + i);
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (f + k * window_threads >= have) continue;
        placed[to[k]] = moved[k];
        named[to[k]] = 1;
      }
    }
    __syncthreads();
    std::byte* const to = out + (std::uint64_t{w} << window_bits) * out_stride;
#pragma unroll 8
    for (std::uint32_t i = threadIdx.x; i < records; i += window_threads) {
      if (named[i] != 0) store_streamed(to + i * out_stride, placed[i]);
    }
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
