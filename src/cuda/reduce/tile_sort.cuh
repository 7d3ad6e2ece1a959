#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/movement/copy/records.cuh"
#include "cuda/reduce/segmented_sum.cuh"

// What the kernels of cuda.tiled begin with: each block loads a tile of the list and sorts it by slot in shared memory,
// so that sum_segments yields the tile's sum of each slot.
namespace sheaf::cuda {

constexpr std::uint32_t tile_bins = 256;
constexpr std::uint32_t tile_digit_bits = 8;
static_assert(tile_bins == 1U << tile_digit_bits && tile_bins == block_threads, "a thread scans the bin of its number");
constexpr int tile_warps = block_threads / 32;

/// out[index[i]] += in[i], or -= where is_negated says so.
template <class T>
struct tile_sums_arguments {
  move_arguments list;  ///< the index list
  const T* in;
  T* out;
  bool is_negated;
  std::uint32_t first_tile;    ///< tile of block 0
  std::uint32_t highest_slot;  ///< 0 where there are no slots
  std::uint32_t slot_bits;     ///< bits of the highest slot, at least 1
  std::uint32_t digit_bits;    ///< bits by which a pass sorts a tile
};

template <class T>
struct tile_sort_memory {
  sorted_tile<T> tile;
  std::uint32_t warp_bins[tile_warps * tile_bins];
  alignas(16) std::uint32_t warp_sums[tile_warps];
};

/// The values of a thread: 32 apart, from place first_place() of the block's tile on.
template <class T>
struct thread_values {
  std::uint32_t slot[segment_items];
  T value[segment_items];

  static __device__ __forceinline__ std::uint32_t first_place() {
    return threadIdx.x / 32 * (32 * segment_items) + threadIdx.x % 32;
  }

  /// Bad indices and places past the end of the list become empty sums of the highest slot. Calls meanwhile() while the
  /// loads are under way.
  template <class Meanwhile>
  __device__ __forceinline__ void load(const tile_sums_arguments<T>& args, Meanwhile meanwhile) {
    const std::uint64_t begin = (std::uint64_t{args.first_tile} + blockIdx.x) * segment_tile + first_place();
    std::uint64_t index[segment_items];
    // No branch stands between the loads, so that all of them are under way at once.
#pragma unroll
    for (int k = 0; k < segment_items; ++k) {
      const std::uint64_t i = min(begin + k * 32, args.list.count - 1);
      index[k] = index_at(args.list, i);
      value[k] = __ldcs(args.in + i);
    }
    meanwhile();
#pragma unroll
    for (int k = 0; k < segment_items; ++k) {
      const bool is_good = begin + k * 32 < args.list.count && check_index(args.list, begin + k * 32, index[k]);
      slot[k] = is_good ? static_cast<std::uint32_t>(index[k]) : args.highest_slot;
      value[k] = is_good ? (args.is_negated ? -value[k] : value[k]) : empty_sum<T>;
    }
  }
};

/// Sorts the block's tile by slot, stably, into shared memory: LSD radix sort, ranked by warp votes.
template <class T>
__device__ __forceinline__ void sort_tile(const tile_sums_arguments<T>& args, thread_values<T>& own,
                                          tile_sort_memory<T>& shared) {
  const std::uint32_t first = thread_values<T>::first_place();
  std::uint32_t* const own_bins = shared.warp_bins + threadIdx.x / 32 * tile_bins;
  for (std::uint32_t low = 0; low < args.slot_bits; low += args.digit_bits) {
    const auto digit = [&](int k) { return own.slot[k] >> low & ((1U << args.digit_bits) - 1); };
    if (low > 0) {
      __syncthreads();
#pragma unroll
      for (int k = 0; k < segment_items; ++k) {
        own.slot[k] = shared.tile.slot[first + k * 32];
        own.value[k] = shared.tile.value[first + k * 32];
      }
    }
    for (std::uint32_t b = threadIdx.x % 32; b < tile_bins; b += 32) own_bins[b] = 0;
    __syncwarp();
    packed_numbers<segment_items> rank;  // in the warp's bin
    rank_by_match<segment_items, tile_bins>(digit, own_bins, rank);
    __syncthreads();
    // Thread t turns the counts of bin t into the places where the bin's values of each warp begin.
    std::uint32_t bin_begin[1] = {};
#pragma unroll
    for (int w = 0; w < tile_warps; ++w) {
      const std::uint32_t count = shared.warp_bins[w * tile_bins + threadIdx.x];
      shared.warp_bins[w * tile_bins + threadIdx.x] = bin_begin[0];
      bin_begin[0] += count;
    }
    scan_bins<tile_bins, block_threads>(bin_begin, shared.warp_sums);
#pragma unroll
    for (int w = 0; w < tile_warps; ++w) shared.warp_bins[w * tile_bins + threadIdx.x] += bin_begin[0];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < segment_items; ++k) {
      const std::uint32_t place = own_bins[digit(k)] + rank.get(k);
      shared.tile.slot[place] = own.slot[k];
      shared.tile.value[place] = own.value[k];
    }
  }
  __syncthreads();
}

}  // namespace sheaf::cuda
