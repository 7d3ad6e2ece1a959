#pragma once

#include "cuda/device/launch.cuh"
#include "primitives/ranks/steps.hpp"

namespace sheaf::cuda {

/// An entry of a list of either width, in a stream that leaves the cache to other data. A negative one of 4 bytes lies
/// past every limit of its type, without its sign being extended.
template <class Index>
__device__ __forceinline__ std::uint64_t entry_at(const void* list, std::uint64_t i) {
  return __ldcs(static_cast<const Index*>(list) + i);
}

/// The last rank whose rows begin at the row or before it: a binary search of 3 steps for 8 ranks, whose numbers lie on
/// one line of L1. Ranks without rows begin where the next one does.
__device__ __forceinline__ std::uint32_t owner_of(const primitives::rows_of_ranks& rows, std::uint64_t row) {
  std::uint32_t owner = 0;
  std::uint32_t end = rows.ranks;
  while (end - owner > 1) {
    const std::uint32_t middle = owner + (end - owner) / 2;
    if (__ldg(reinterpret_cast<const unsigned long long*>(rows.begins) + middle) <= row) {
      owner = middle;
    } else {
      end = middle;
    }
  }
  return owner;
}

/// Keeps the least position of a bad entry. Only threads with a bad entry get here, and of a list that is bad
/// throughout most leave after the load.
__device__ __noinline__ inline void note_bad(std::uint64_t* first_bad, std::uint64_t position) {
  if (*static_cast<volatile std::uint64_t*>(first_bad) <= position) return;
  atomicMin(reinterpret_cast<unsigned long long*>(first_bad), static_cast<unsigned long long>(position));
}

/// Queues that no bad entry is known.
inline void clear_first_bad(const context& ctx, std::uint64_t* first_bad) {
  require(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, ctx.stream()), ctx);
}

}  // namespace sheaf::cuda
