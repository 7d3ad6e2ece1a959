#pragma once

#include <cstdint>

namespace sheaf::cuda {

/// Assigns tiles to the blocks of a kernel. Without a tile counter the schedule is static: a block takes every
/// gridDim.x-th tile. With one (zero before the kernel) it is dynamic: a block draws the next tile that no block has
/// taken, so that all blocks work on one stretch of the input. Under the static schedule blocks drift apart, and lines
/// that they share leave the cache in between: a bucketed gather of 2^28 records takes 1.7 times as long. All threads
/// of the block call first() and next(), with a barrier between two calls.
class tile_scheduler {
 public:
  __device__ __forceinline__ explicit tile_scheduler(std::uint32_t* tile_counter) : tile_counter_(tile_counter) {}
  __device__ __forceinline__ std::uint64_t first() const { return tile_counter_ == nullptr ? blockIdx.x : draw(); }
  __device__ __forceinline__ std::uint64_t next(std::uint64_t tile) const {
    return tile_counter_ == nullptr ? tile + gridDim.x : draw();
  }

 private:
  __device__ __forceinline__ std::uint64_t draw() const {
    __shared__ std::uint32_t drawn;
    if (threadIdx.x == 0) drawn = atomicAdd(tile_counter_, 1U);
    __syncthreads();
    return drawn;
  }

  std::uint32_t* tile_counter_;
};

/// Kernels of one call that draw tiles through a tile_scheduler; each has a counter of its own.
constexpr std::uint32_t most_scheduled_kernels = 4;

/// One counter hands out a tile every 2.2 ns, which is too slow for short tiles. A kernel with short tiles draws from
/// several counters in turn, so that all of them advance alike: counter c hands out the tiles c, c + parallel_counters,
/// c + 2 * parallel_counters and so on.
constexpr std::uint32_t parallel_counters = 8;
constexpr std::uint32_t counter_stride = 32;  ///< words from one parallel counter to the next: a line for each
/// Words of scratch for the counters of a call: one for each scheduled kernel, then the parallel counters.
constexpr std::uint32_t all_counter_words = most_scheduled_kernels + parallel_counters * counter_stride;

}  // namespace sheaf::cuda
