#pragma once

#include "cuda/block/rank.cuh"

// How a ranked tile is written: words are staged in shared memory in the order of their bins, each bin's run goes to
// consecutive addresses, and values follow their words. In a tile each warp has neighbouring items, and each lane every
// 32nd of them.
namespace sheaf::cuda {

/// Index in the tile of the thread's first item. Its k-th item is k * 32 behind it.
template <int Items>
__device__ __forceinline__ std::uint32_t first_item_of_thread() {
  return threadIdx.x / 32 * (32 * Items) + threadIdx.x % 32;
}

/// Scans the counts of bin threadIdx.x over the warps of a block, in place, and returns their sum; 0 for threads past
/// the last bin.
template <int Warps, int Bins>
__device__ __forceinline__ std::uint32_t scan_over_warps(std::uint32_t* warp_bins) {
  std::uint32_t sum = 0;
  if (threadIdx.x < Bins) {
#pragma unroll
    for (int w = 0; w < Warps; ++w) {
      std::uint32_t& of_warp = warp_bins[w * Bins + threadIdx.x];
      const std::uint32_t count = of_warp;
      of_warp = sum;
      sum += count;
    }
  }
  return sum;
}

/// Adds where bin threadIdx.x begins to the entries that scan_over_warps left.
template <int Warps, int Bins>
__device__ __forceinline__ void add_to_warps(std::uint32_t* warp_bins, std::uint32_t begin) {
  if (threadIdx.x >= Bins) return;
#pragma unroll
  for (int w = 0; w < Warps; ++w) warp_bins[w * Bins + threadIdx.x] += begin;
}

/// Writes the runs of a staged tile of `size` words, `Threads` of them at once: store(i, word) for the word's index i
/// in the output, which is its index in the tile plus the shift of its bin. Leaves the bins of the places that the
/// thread wrote in `bins`.
template <bool IsFull, int Threads, int Items, class Word, class BinOf, class Store>
__device__ __forceinline__ void write_runs(const Word* staged, std::uint32_t size, BinOf bin_of,
                                           const std::uint32_t* shift, packed_bytes<Items>& bins, Store store) {
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t i = k * Threads + threadIdx.x;
    if (!IsFull && i >= size) continue;
    const Word word = staged[i];
    const std::uint32_t bin = bin_of(i, word);
    store(shift[bin] + i, word);
    bins.set(k, bin);
  }
}

/// Moves the values of a tile to the places of their words. `value_of(i)` is the value of the tile's item i, `rank`
/// says where the thread's words were staged, and `bins` is what write_runs left. Registers hold `AtOnce` loaded
/// values.
template <bool IsFull, int Threads, int AtOnce, int Items, class ValueOf, class Value>
__device__ __forceinline__ void move_values_of_tile(ValueOf value_of, Value* staged, std::uint32_t size,
                                                    const packed_numbers<Items>& rank, const packed_bytes<Items>& bins,
                                                    const std::uint32_t* shift, Value* to) {
  const std::uint32_t first = first_item_of_thread<Items>();
#pragma unroll
  for (int begin = 0; begin < Items; begin += AtOnce) {
    Value values[AtOnce];
#pragma unroll
    for (int k = begin; k < min(begin + AtOnce, Items); ++k) {
      if (IsFull || first + k * 32 < size) values[k - begin] = value_of(first + k * 32);
    }
#pragma unroll
    for (int k = begin; k < min(begin + AtOnce, Items); ++k) {
      if (IsFull || first + k * 32 < size) staged[rank.get(k)] = values[k - begin];
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t i = k * Threads + threadIdx.x;
    if (IsFull || i < size) to[shift[bins.get(k)] + i] = staged[i];
  }
}

}  // namespace sheaf::cuda
