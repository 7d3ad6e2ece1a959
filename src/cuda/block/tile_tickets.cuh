#pragma once

#include <cstdint>

namespace sheaf::cuda {

/// The tiles that a block takes: its own and every gridDim.x-th after it, or, with a ticket (zero before), the next one
/// that no block has taken. Blocks that walk drift apart, and what they read together leaves the cache in between: a
/// clustered gather of 2^28 records takes 1.7 times as long without tickets. Called by all threads of the block, which
/// have a barrier between two calls.
class tile_walk {
 public:
  __device__ __forceinline__ explicit tile_walk(std::uint32_t* ticket) : ticket_(ticket) {}
  __device__ __forceinline__ std::uint64_t first() const { return ticket_ == nullptr ? blockIdx.x : drawn(); }
  __device__ __forceinline__ std::uint64_t after(std::uint64_t tile) const {
    return ticket_ == nullptr ? tile + gridDim.x : drawn();
  }

 private:
  __device__ __forceinline__ std::uint64_t drawn() const {
    __shared__ std::uint32_t next;
    if (threadIdx.x == 0) next = atomicAdd(ticket_, 1U);
    __syncthreads();
    return next;
  }

  std::uint32_t* ticket_;
};

/// Kernels of a call that each draw tickets of their own.
constexpr std::uint32_t most_walks = 4;

/// Short tiles want more tickets than one counter gives, some 2.2 ns each: then there are several, which blocks draw
/// from in turn, so that all advance alike. A counter c hands out the tiles c, c + ticket_counters, and so on.
constexpr std::uint32_t ticket_counters = 8;
constexpr std::uint32_t ticket_step = 32;  ///< words from one counter to the next
constexpr std::uint32_t most_tickets = most_walks + ticket_counters * ticket_step;

}  // namespace sheaf::cuda
