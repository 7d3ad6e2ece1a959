#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/pass_state.cuh"

// The levels of a sort from the highest digit down. A level splits every bucket that is still too large by its next
// byte: tiles are counted, places follow from the counts (sort_bucket_places.cuh), tiles are moved. What became small
// enough is written to a list of groups, neighbours together, for sort_finish.cuh; what did not is a bucket of the next
// level. The device alone knows how many levels there are; sort_level_kernels.cuh runs them.
namespace sheaf::cuda {

template <int Limbs, payload_mode Payload, bool FromRows, bool Pivots>
class sort_level {
 public:
  static constexpr bool Ordered = keeps_order(Payload);
  using word = sort_word<Limbs>;
  using reader = word_reader<Limbs, FromRows>;
  using view_type = level_view<Limbs, Payload, Pivots>;
  static constexpr int items = level_items<Limbs>;
  static constexpr std::uint32_t tile_words = level_tile<Limbs>;
  static constexpr int warps = level_threads / 32;

  __device__ sort_level(const msd_pass_arguments& a, level_shared& s, unsigned char* staged, std::uint32_t turn)
      : l_(a, s, staged, turn) {}

  __device__ bool is_over() const { return __ldcg(&l_.t.counters->buckets[l_.now]) == 0; }

  // ---- counting

  /// Counts the level's tiles. A block takes neighbours, and hands on what it counted once a bucket ends, or, where
  /// each tile's counts are wanted, after every tile.
  __device__ void count_tiles() {
    const std::uint32_t tiles = __ldcg(&l_.t.counters->tiles[l_.now]);
    if (blockIdx.x == 0 && threadIdx.x == 0) {  // nobody looks at the turn before any more
      l_.t.counters->buckets[l_.next] = l_.t.counters->tiles[l_.next] = l_.t.counters->rows[l_.next] = 0;
    }
    if (tiles == 0) return;
    const std::uint32_t share = (tiles - 1) / gridDim.x + 1;
    const std::uint32_t last = min(tiles, (blockIdx.x + 1) * share);
    std::uint32_t tile = blockIdx.x * share;
    l_.look_ahead(tile, last);
    for (int i = threadIdx.x; i < 4 * radix_bins; i += level_threads)
      l_.s.histogram[i / radix_bins][i % radix_bins] = 0;
    if (threadIdx.x < Limbs) l_.s.differing[threadIdx.x] = 0;
    __syncthreads();
    std::uint32_t differing[Limbs] = {};
    for (; tile < last; ++tile) {
      const std::uint32_t b = l_.s.coming;
      const sort_bucket bucket = l_.s.coming_bucket;
      const view_type view = l_.view_of(tile, bucket);
      const word first = reader(l_.a, bucket.where, bucket.begin).load_key(0);
      __syncthreads();
      l_.look_ahead(tile + 1, last);
      if (view.left == tile_words) {
        count_words<true>(view, first, differing);
      } else {
        count_words<false>(view, first, differing);
      }
      __syncthreads();
      if (Ordered || tile + 1 == last || l_.s.coming != b) hand_on(tile, b, view.row, differing);
    }
    __syncthreads();
  }

  // ---- places of tiles

  __device__ void begin_chunks() {
    const std::uint32_t rows = __ldcg(&l_.t.counters->rows[l_.now]);
    for (std::uint32_t row = blockIdx.x; row < rows; row += gridDim.x) begin_chunk(row);
  }

  // ---- moving

  __device__ void move_tiles() {
    const std::uint32_t tiles = __ldcg(&l_.t.counters->tiles[l_.now]);
    l_.look_ahead(blockIdx.x, tiles);
    __syncthreads();
    for (std::uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) move_tile(tile, tiles);
  }

 private:
  __device__ void begin_chunk(std::uint32_t row) {
    static_assert(level_threads == 2 * radix_bins);
    constexpr std::uint32_t most = chunk_tiles / 2;
    const sort_bucket bucket = l_.t.buckets[l_.now][l_.t.row_bucket[l_.now][row]];
    if ((bucket.where & stays) != 0) return;
    const std::uint32_t limb = threadIdx.x / radix_bins;
    const std::uint32_t bin = threadIdx.x % radix_bins;
    const std::uint32_t tiles = l_.tiles_of(bucket.count);
    const std::uint32_t skipped = (row - bucket.first_row) * chunk_tiles + limb * most;
    std::uint32_t* const column = l_.t.tile_rows + (std::uint64_t{bucket.first_tile} + skipped) * radix_bins + bin;
    std::uint32_t counts[most];
    std::uint32_t sum = 0;
#pragma unroll
    for (std::uint32_t r = 0; r < most; ++r) {
      counts[r] = skipped + r < tiles ? __ldcg(column + r * radix_bins) : 0;
      sum += counts[r];
    }
    if (limb == 0) l_.s.place[bin] = sum;
    __syncthreads();
    sum = __ldcg(l_.t.rows[l_.now] + std::uint64_t{row} * radix_bins + bin) + (limb == 0 ? 0 : l_.s.place[bin]);
#pragma unroll
    for (std::uint32_t r = 0; r < most; ++r) {
      if (skipped + r < tiles) column[r * radix_bins] = sum;
      sum += counts[r];
    }
    __syncthreads();
  }

  __device__ void move_tile(std::uint32_t tile, std::uint32_t tiles) {
    const sort_bucket bucket = l_.s.coming_bucket;
    const view_type view = l_.view_of(tile, bucket);
    __syncthreads();
    l_.look_ahead(tile + gridDim.x, tiles);
    if ((bucket.where & stays) != 0) return __syncthreads();
    if (view.left == tile_words) {
      move<true>(tile, view);
    } else {
      move<false>(tile, view);
    }
  }

  // Adds what was counted to the bucket's row, and clears it.
  __device__ void hand_on(std::uint32_t tile, std::uint32_t b, std::uint32_t row, std::uint32_t (&differing)[Limbs]) {
#pragma unroll
    for (int i = 0; i < Limbs; ++i) {
      const std::uint32_t bits = __reduce_or_sync(~0U, differing[i]);
      if (threadIdx.x % 32 == 0 && bits != 0) atomicOr(&l_.s.differing[i], bits);
      differing[i] = 0;
    }
    __syncthreads();
    if (threadIdx.x < radix_bins) {
      const std::uint32_t bin = threadIdx.x;
      std::uint32_t sum = 0;
#pragma unroll
      for (int copy = 0; copy < 4; ++copy) {
        sum += l_.s.histogram[copy][bin];
        l_.s.histogram[copy][bin] = 0;
      }
      if constexpr (Ordered) l_.t.tile_rows[std::uint64_t{tile} * radix_bins + bin] = sum;
      if (sum > 0) atomicAdd(l_.t.rows[l_.now] + std::uint64_t{row} * radix_bins + bin, sum);
    } else if (threadIdx.x - radix_bins < Limbs) {
      const std::uint32_t i = threadIdx.x - radix_bins;
      std::uint32_t* const known = l_.t.differing[l_.now] + b * Limbs + i;
      if ((l_.s.differing[i] & ~__ldcg(known)) != 0) atomicOr(known, l_.s.differing[i]);
      l_.s.differing[i] = 0;
    }
    __syncthreads();
  }

  template <bool Full>
  __device__ __forceinline__ void count_words(const view_type& view, const word& first,
                                              std::uint32_t (&differing)[Limbs]) {
    const reader from(l_.a, view.where, view.first);
    std::uint32_t* const mine = l_.s.histogram[threadIdx.x % 4];
    constexpr int at_once = Limbs > 2 ? items / 2 : 8;
#pragma unroll 1
    for (int round = 0; round < items; round += at_once) {
      const std::uint32_t begin = round * level_threads + threadIdx.x;
      word words[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::uint32_t place = begin + k * level_threads;
        words[k] = from.load_key(Full ? place : min(place, view.left - 1));
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
#pragma unroll
        for (int i = 0; i < Limbs; ++i) differing[i] |= words[k].limb[i] ^ first.limb[i];
      }
      const auto bin = [&](int k) {
        return Full || begin + k * level_threads < view.left ? view.bin.of(words[k]) : no_bin;
      };
      if (is_one_bin<at_once>(bin)) {
        if (threadIdx.x % 32 == 0 && (Full || bin(0) < radix_bins)) atomicAdd(&mine[bin(0)], 32U * at_once);
        continue;
      }
      if (is_crowded(bin)) {
#pragma unroll
        for (int k = 0; k < at_once; ++k) add_with_middle_lane<radix_bins, Full>(bin(k), mine);
        continue;
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (Full || bin(k) < radix_bins) atomicAdd(&mine[bin(k)], 1U);
      }
    }
  }

  template <bool Full>
  __device__ __forceinline__ void move(std::uint32_t tile, const view_type& view) {
    word* const staged = reinterpret_cast<word*>(l_.staged);
    warp_bin* const warp_bins = reinterpret_cast<warp_bin*>(l_.staged);
    std::uint32_t* const histogram = l_.s.histogram[0];
    const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
    const int room = static_cast<int>(view.left) - static_cast<int>(first);
    const reader from(l_.a, view.where, view.first);
    word words[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (Full || k * 32 < room) {
        words[k] = from.load(first + k * 32);
      } else {
#pragma unroll
        for (int i = 0; i < Limbs; ++i) words[k].limb[i] = ~0U;
      }
    }
    if constexpr (Ordered) {
      for (int i = threadIdx.x; i < warps * radix_bins; i += level_threads) warp_bins[i] = {0, 0};
    } else {
      if (threadIdx.x < radix_bins) histogram[threadIdx.x] = 0;
    }
    __syncthreads();
    const auto bin = [&](int k) { return Full || k * 32 < room ? view.bin.of(words[k]) : no_bin; };
    packed_numbers<items> rank;
    warp_bin* const own_bins = warp_bins + threadIdx.x / 32 * radix_bins;
    if constexpr (Ordered) {
      rank_in_warp<items, radix_bins, Full>(bin, own_bins, rank);
    } else {
      rank_unordered<items, radix_bins, Full>(bin, histogram, rank);
    }
    __syncthreads();
    place_bins(tile, view, warp_bins);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t b = bin(k);
      if (Full || b < radix_bins) rank.add(k, Ordered ? own_bins[b].lanes : histogram[b]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (Full || k * 32 < room) staged[rank.get(k)] = words[k];
    }
    __syncthreads();
    packed_bytes<items> bins;  // of the places that the thread writes, for the values
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * level_threads + threadIdx.x;
      if (!Full && s >= view.left) continue;
      const word w = staged[s];
      const std::uint32_t b = view.bin.of(w);
      const std::uint32_t to = l_.s.place[b] + s;
      if (!is_left_out(view, b, to)) view.to[to] = w;
      if constexpr (value_bytes_of(Payload) > 0) bins.set(k, b);
    }
    __syncthreads();
    if constexpr (value_bytes_of(Payload) > 0) move_values<Full>(view, room, rank, bins);
  }

  // Words that are all the same are written by the kernel that finishes groups, if they are many.
  __device__ __forceinline__ bool is_left_out(const view_type& view, std::uint32_t bin, std::uint32_t to) const {
    if constexpr (!Pivots || Payload != payload_mode::nothing) return false;
    return view.leaves_pivot_out && bin == view.bin.pivot_bin() && to % group_words != 0;
  }

  // Values take the places of their words, in halves that registers hold.
  template <bool Full>
  __device__ __forceinline__ void move_values(const view_type& view, int room, const packed_numbers<items>& rank,
                                              const packed_bytes<items>& bins) {
    using value = sort_value<Payload>;
    constexpr int at_once = items / 2;
    value* const staged = reinterpret_cast<value*>(l_.staged);
    const std::uint32_t first = threadIdx.x / 32 * (32 * items) + threadIdx.x % 32;
    const value* const from = static_cast<const value*>(l_.a.values[view.where]);
#pragma unroll
    for (int half = 0; half < items; half += at_once) {
      value values[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (Full || (half + k) * 32 < room) values[k] = value_at(from, view.first + first + (half + k) * 32);
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (Full || (half + k) * 32 < room) staged[rank.get(half + k)] = values[k];
      }
    }
    __syncthreads();
    value* const values_to = static_cast<value*>(const_cast<void*>(l_.a.values[next_buffer(view.where)]));
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t s = k * level_threads + threadIdx.x;
      if (Full || s < view.left) values_to[l_.s.place[bins.get(k)] + s] = staged[s];
    }
    __syncthreads();
  }

  // Where each bin's run begins in the tile and, less that, in the output.
  __device__ __forceinline__ void place_bins(std::uint32_t tile, const view_type& view, warp_bin* warp_bins) {
    const std::uint32_t bin = threadIdx.x;
    std::uint32_t count[1] = {};
    std::uint32_t start[1] = {};
    std::uint32_t run = 0;
    if (bin < radix_bins) {
      if constexpr (Ordered) {
        run = __ldcg(l_.t.tile_rows + std::uint64_t{tile} * radix_bins + bin);
#pragma unroll
        for (int w = 0; w < warps; ++w) {
          warp_bin& of = warp_bins[w * radix_bins + bin];
          of.lanes = count[0];
          count[0] += of.count;
        }
      } else {
        count[0] = l_.s.histogram[0][bin];
        if (count[0] > 0) run = atomicAdd(l_.t.rows[l_.now] + std::uint64_t{view.row} * radix_bins + bin, count[0]);
      }
      start[0] = count[0];
    }
    scan_bins<radix_bins, level_threads>(start, l_.s.warp_sums);
    if (bin >= radix_bins) return;
    l_.s.place[bin] = run - start[0];
    if constexpr (Ordered) {
#pragma unroll
      for (int w = 0; w < warps; ++w) warp_bins[w * radix_bins + bin].lanes += start[0];
    } else {
      l_.s.histogram[0][bin] = start[0];
    }
  }

  level_state<Limbs, Payload, FromRows, Pivots> l_;
};

}  // namespace sheaf::cuda
