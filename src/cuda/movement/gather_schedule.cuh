#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/block/tile_tickets.cuh"
#include "cuda/device/index_guard.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/movement/buckets.hpp"
#include "cuda/movement/order_sample.cuh"

// A gather at random in three streams: a tile's indices go to the windows of the table that they name; each window,
// which L2 holds, is read by its own list; and each tile collects its records from the windows' runs and puts them back
// in its order in shared memory. What the first stream leaves behind is a route, which any table can go.
namespace sheaf::cuda {

/// Marks of a position that has no place in its tile's order.
constexpr std::uint16_t position_is_bad = 0xffff;       ///< its index named no record
constexpr std::uint16_t position_has_no_room = 0xfffe;  ///< its window's list was full

/// The routes of an index list, in device memory. Window w of the table has the records from w << shift on; its list is
/// window_index[list(w)...], of indices inside the window.
struct routes {
  std::uint32_t* window_index;
  std::uint32_t* fill;                     ///< entries of each window's list, some past its room
  const unsigned long long* window_begin;  ///< where lists begin, windows + 1 values; null: every `room` entries
  std::uint64_t room;
  std::uint16_t* place;      ///< of each position in its tile's order, or a mark
  std::uint32_t* run;        ///< for each tile and window: where the tile's run begins in the list
  std::uint16_t* run_begin;  ///< and in the tile
  std::uint64_t count;       ///< positions
  std::uint64_t first;       ///< of them in the call's list
  std::uint32_t windows;
  std::uint32_t shift;
};

__device__ __forceinline__ std::uint64_t list_begin(const routes& r, std::uint32_t w) {
  return r.window_begin == nullptr ? w * r.room : r.window_begin[w];
}

__device__ __forceinline__ std::uint64_t list_room(const routes& r, std::uint32_t w) {
  return r.window_begin == nullptr ? r.room : r.window_begin[w + 1] - r.window_begin[w];
}

/// Shared memory of find_routes: indices, and windows where 32 bits of an index do not tell them.
template <class Index>
constexpr std::size_t routes_shared = cluster_tile*(sizeof(Index) == 8 ? 6 : 4);

template <class Index>
struct route_arguments {
  const Index* index;
  Index last;
  index_guard guard;
  order_sample sample;
  std::uint32_t* ticket;  ///< where tiles are drawn; null where the list is known to be scattered
};

template <class Index>
__global__ void __launch_bounds__(cluster_threads, 2)
    find_routes(const __grid_constant__ routes r, const __grid_constant__ route_arguments<Index> a) {
  constexpr int items = cluster_items;
  extern __shared__ __align__(16) unsigned char shared[];
  std::uint32_t* const staged = reinterpret_cast<std::uint32_t*>(shared);
  std::uint16_t* const staged_window = reinterpret_cast<std::uint16_t*>(shared + cluster_tile * sizeof(std::uint32_t));
  __shared__ std::uint32_t histogram[most_clusters];
  __shared__ std::uint32_t taken[most_clusters];
  __shared__ __align__(16) std::uint32_t warp_sums[cluster_threads / 32];
  __shared__ std::uint32_t kept;
  if (a.ticket != nullptr && !was_scattered(a.sample)) return;
  const std::uint64_t tiles = (r.count + cluster_tile - 1) / cluster_tile;
  const std::uint32_t inside = (r.shift < 32 ? 1U << r.shift : 0U) - 1;
  const tile_walk walk(a.ticket);
  for (std::uint64_t t = walk.first(); t < tiles; t = walk.after(t)) {
    const std::uint64_t first = t * cluster_tile;
    const auto left = static_cast<std::uint32_t>(min(r.count - first, std::uint64_t{cluster_tile}));
    histogram[threadIdx.x] = 0;
    __syncthreads();
    std::uint32_t sequential_bits[items];
    packed_numbers<items> window;
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
        if (s < left && !good) report_bad_index(a.guard, r.first + first + s, index[k]);
        window.set(k, s < left && good ? static_cast<std::uint32_t>(index[k] >> r.shift) : no_bin);
        sequential_bits[k] = static_cast<std::uint32_t>(index[k]);
      }
    }
    rank_unordered<items, most_clusters>([&](int k) { return window.get(k); }, histogram, rank);
    __syncthreads();
    std::uint32_t begin[1] = {histogram[threadIdx.x]};
    const std::uint32_t mine = begin[0];
    std::uint32_t from = 0;
    if (mine > 0) from = atomicAdd(r.fill + threadIdx.x, mine);
    scan_bins<most_clusters, cluster_threads>(begin, warp_sums);
    histogram[threadIdx.x] = begin[0];
    taken[threadIdx.x] = from - begin[0];
    if (threadIdx.x < r.windows) {
      r.run[t * r.windows + threadIdx.x] = from;
      r.run_begin[t * r.windows + threadIdx.x] = static_cast<std::uint16_t>(begin[0]);
    }
    if (threadIdx.x == cluster_threads - 1) kept = begin[0] + mine;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t at = k * cluster_threads + threadIdx.x;
      const std::uint32_t w = window.get(k);
      std::uint16_t mark = position_is_bad;
      if (w != no_bin) {
        const std::uint32_t s = histogram[w] + rank.get(k);
        staged[s] = sequential_bits[k];
        if constexpr (sizeof(Index) == 8) staged_window[s] = static_cast<std::uint16_t>(w);
        mark = taken[w] + s < list_room(r, w) ? static_cast<std::uint16_t>(s) : position_has_no_room;
      }
      if (at < left) __stcs(r.place + first + at, mark);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * cluster_threads + threadIdx.x;
      if (s >= kept) continue;
      const std::uint32_t index = staged[s];
      std::uint32_t w;
      if constexpr (sizeof(Index) == 8) {
        w = staged_window[s];
      } else {
        w = index >> r.shift;
      }
      const std::uint32_t q = taken[w] + s;
      if (q < list_room(r, w)) __stcs(r.window_index + list_begin(r, w) + q, index & inside);
    }
    __syncthreads();
  }
}

/// How many of the list's entries name each window; total is zero before.
template <class Index>
__global__ void __launch_bounds__(cluster_threads)
    count_windows(const Index* index, std::uint64_t count, Index last, std::uint32_t shift, unsigned long long* total) {
  __shared__ std::uint32_t histogram[most_clusters];
  histogram[threadIdx.x] = 0;
  __syncthreads();
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * cluster_threads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * cluster_threads) {
    const Index value = __ldcs(index + i);
    if (value <= last) atomicAdd(&histogram[value >> shift], 1U);
  }
  __syncthreads();
  if (histogram[threadIdx.x] > 0)
    atomicAdd(total + threadIdx.x, static_cast<unsigned long long>(histogram[threadIdx.x]));
}

/// Where lists that lie side by side begin, and where the last one ends. One block of most_clusters threads.
static __global__ void __launch_bounds__(most_clusters)
    begin_windows(const unsigned long long* total, unsigned long long* begin) {
  __shared__ __align__(16) unsigned long long warp_sums[most_clusters / 32];
  unsigned long long sum[1] = {total[threadIdx.x]};
  const unsigned long long mine = sum[0];
  scan_bins<most_clusters, most_clusters>(sum, warp_sums);
  begin[threadIdx.x] = sum[0];
  if (threadIdx.x == most_clusters - 1) begin[most_clusters] = sum[0] + mine;
}

/// Reads each window's records in the order of its list.
template <class Word, int Items>
__global__ void __launch_bounds__(block_threads)
    read_windows(const __grid_constant__ routes r, const std::byte* table, std::uint32_t stride, Word* word,
                 std::uint32_t tiles_per_window, const order_sample sample, std::uint32_t* ticket) {
  constexpr std::uint32_t tile_records = block_threads * Items;
  if (ticket != nullptr && !was_scattered(sample)) return;
  const std::uint64_t tiles = std::uint64_t{tiles_per_window} * r.windows;
  const tile_walk walk(ticket);
  for (std::uint64_t t = walk.first(); t < tiles; t = walk.after(t)) {
    if (ticket != nullptr) __syncthreads();
    const auto w = static_cast<std::uint32_t>(t / tiles_per_window);
    const std::uint64_t have = min(std::uint64_t{r.fill[w]}, list_room(r, w));
    const std::uint64_t first = (t - std::uint64_t{w} * tiles_per_window) * tile_records;
    if (first >= have) continue;
    const auto left = static_cast<std::uint32_t>(min(have - first, std::uint64_t{tile_records}));
    const std::uint32_t* const index = r.window_index + list_begin(r, w) + first;
    Word* const to = word + list_begin(r, w) + first;
    const std::byte* const from = table + (std::uint64_t{w} << r.shift) * stride;
    std::uint32_t i[Items];
    Word read[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) i[k] = __ldcs(index + min(k * block_threads + threadIdx.x, left - 1));
#pragma unroll
    for (int k = 0; k < Items; ++k) read[k] = load_word<Word>(from + std::uint64_t{i[k]} * stride);
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if (k * block_threads + threadIdx.x < left) __stcs(to + k * block_threads + threadIdx.x, read[k]);
    }
  }
}

/// What positions without a place in the lists are gathered by, one after another; null where there are none.
struct leftovers {
  const void* index;
  std::uint32_t wide_index;
  const std::byte* table;
  std::uint64_t stride;
};

/// Collects each tile's records. Skips positions that are bad, instead of clearing them, where `keeps` says so.
template <class Word>
__global__ void __launch_bounds__(cluster_threads)
    collect_tiles(const __grid_constant__ routes r, const Word* word, std::byte* out, std::uint64_t out_stride,
                  const leftovers rest, std::uint32_t keeps, const order_sample sample, std::uint32_t* ticket) {
  constexpr int items = cluster_items;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const staged = reinterpret_cast<Word*>(shared);
  __shared__ std::uint64_t from[most_clusters];
  __shared__ std::uint16_t begin[most_clusters];
  __shared__ std::uint16_t length[most_clusters];
  __shared__ std::uint32_t all_good;
  if (ticket != nullptr && !was_scattered(sample)) return;
  const std::uint64_t tiles = (r.count + cluster_tile - 1) / cluster_tile;
  const tile_walk walk(ticket);
  for (std::uint64_t t = walk.first(); t < tiles; t = walk.after(t)) {
    const std::uint64_t first = t * cluster_tile;
    const auto left = static_cast<std::uint32_t>(min(r.count - first, std::uint64_t{cluster_tile}));
    std::uint16_t place[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      place[k] = __ldcs(r.place + first + min(k * cluster_threads + threadIdx.x, left - 1));
    }
    std::uint32_t good = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      good += k * cluster_threads + threadIdx.x < left && place[k] != position_is_bad ? 1 : 0;
    }
    const std::uint32_t warp_good = __reduce_add_sync(~0U, good);
    if (threadIdx.x == 0) all_good = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicAdd(&all_good, warp_good);
    for (std::uint32_t w = threadIdx.x; w < r.windows; w += cluster_threads) begin[w] = r.run_begin[t * r.windows + w];
    __syncthreads();
    for (std::uint32_t w = threadIdx.x; w < r.windows; w += cluster_threads) {
      const std::uint32_t end = w + 1 < r.windows ? begin[w + 1] : all_good;
      const std::uint64_t run = r.run[t * r.windows + w];
      const std::uint64_t room = list_room(r, w);
      from[w] = list_begin(r, w) + run;
      length[w] = static_cast<std::uint16_t>(run < room ? min(std::uint64_t{end - begin[w]}, room - run) : 0);
    }
    __syncthreads();
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll 4
    for (std::uint32_t w = threadIdx.x / 32; w < r.windows; w += cluster_threads / 32) {
      const Word* const run = word + from[w];
      for (std::uint32_t i = lane; i < length[w]; i += 32) staged[begin[w] + i] = __ldcs(run + i);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * cluster_threads + threadIdx.x;
      if (s >= left) continue;
      Word moved{};
      if (place[k] < cluster_tile) {
        moved = staged[place[k]];
      } else if (place[k] == position_is_bad) {
        if (keeps != 0) continue;
      } else {
        const std::uint64_t i = first + s;
        const std::uint64_t index = rest.wide_index != 0 ? static_cast<const std::uint64_t*>(rest.index)[i]
                                                         : static_cast<const std::uint32_t*>(rest.index)[i];
        moved = load_word<Word>(rest.table + index * rest.stride);
      }
      store_streamed(out + (first + s) * out_stride, moved);
    }
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
