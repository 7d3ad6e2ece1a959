#pragma once

#include "cuda/sparse/solvers/system.cuh"

// Sums that the blocks of a cooperative kernel give to each other, and a barrier at once: a block goes on when it has
// the sums of all tiles, which others store after all that they wrote before.
namespace sheaf::cuda {

/// A sum of one tile, stored at once with the number of the exchange that it belongs to, so that whoever finds the
/// number has the sum.
struct alignas(16) tile_slot {
  double sum;
  std::uint64_t exchange;  ///< and fault_bit

  static constexpr std::uint64_t fault_bit = std::uint64_t{1} << 63;
};

__device__ __forceinline__ void store_slot(tile_slot* to, double sum, std::uint64_t exchange) {
  asm volatile("{ .reg .b128 slot; mov.b128 slot, {%1, %2}; st.relaxed.gpu.global.b128 [%0], slot; }"
               :
               : "l"(to), "l"(__double_as_longlong(sum)), "l"(exchange)
               : "memory");
}

__device__ __forceinline__ tile_slot load_slot(const tile_slot* from) {
  long long sum;
  std::uint64_t exchange;
  asm volatile("{ .reg .b128 slot; ld.relaxed.gpu.global.b128 slot, [%2]; mov.b128 {%0, %1}, slot; }"
               : "=l"(sum), "=l"(exchange)
               : "l"(from)
               : "memory");
  return {__longlong_as_double(sum), exchange};
}

/// The slots of all tiles, of which every block has one or more. Exchanges take turns with two sets of them. Nobody is
/// overtaken: a block stores its sums of exchange e + 2, over those of e, when it has all sums of e + 1; each block
/// stored its own of e + 1 after it had read all of e.
struct exchange_slots {
  static constexpr unsigned most_sums = 3;  ///< of an exchange
  static constexpr unsigned sets = 2;

  tile_slot* slots;  ///< zeroed before the first exchange
  std::uint64_t tiles;

  static constexpr std::uint64_t bytes(std::uint64_t tiles) { return sets * most_sums * tiles * sizeof(tile_slot); }
  __device__ tile_slot* sum(std::uint64_t exchange, unsigned i) const {
    return slots + (exchange % sets * most_sums + i) * tiles;
  }
};

/// Gives the sums of the tiles [first, last), which are the block's, to all blocks, and adds those of all tiles, in
/// every block in one order. of_row(row) does a row's work and returns what is to be summed; thread 0 has take(sums).
/// What the block's threads wrote before its last barrier, and what of_row writes, others see after their exchange.
/// @param exchange  numbers that ascend by one, from 1
/// @param is_faulty  the block found a fault
/// @return whether any block found one; the same in all threads
template <unsigned Threads, unsigned Count, class Value, class OfRow, class Take>
__device__ __forceinline__ bool exchange_sums(const exchange_slots& slots, const system_vectors<Value>& v,
                                              std::uint64_t exchange, bool is_faulty, std::uint64_t first,
                                              std::uint64_t last, OfRow of_row, Take take) {
  constexpr unsigned warps = Threads / 32;
  __shared__ double of_warp[Count][warps];
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t stored = is_faulty ? exchange | tile_slot::fault_bit : exchange;
  for_tile_sums<Threads, Count>(v, first, last, of_row, [&](std::uint64_t tile, const row_sums<Count>& sums) {
    __threadfence();
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) store_slot(slots.sum(exchange, k) + tile, sums.sum[k], stored);
  });
  row_sums<Count> sums{};
  bool found_fault = false;
  for (std::uint64_t tile = threadIdx.x; tile < slots.tiles; tile += Threads) {
    tile_slot found[Count];
    bool has_all = false;
    for (unsigned tries = 0; !has_all; ++tries) {
      if (tries > 0) __nanosleep(20);
      has_all = true;
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) {
        found[k] = load_slot(slots.sum(exchange, k) + tile);
        has_all &= (found[k].exchange & ~tile_slot::fault_bit) == exchange;
      }
    }
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) sums.sum[k] += found[k].sum;
    found_fault |= (found[0].exchange & tile_slot::fault_bit) != 0;
  }
  __threadfence();
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < Count; ++k) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sums.sum[k] += __shfl_down_sync(~0U, sums.sum[k], d);
    if (lane == 0) of_warp[k][threadIdx.x / 32] = sums.sum[k];
  }
  const bool any_fault = __syncthreads_or(found_fault ? 1 : 0) != 0;
  if (threadIdx.x < 32) {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) {
      sums.sum[k] = lane < warps ? of_warp[k][lane] : 0;
#pragma unroll
      for (int d = 16; d > 0; d /= 2) sums.sum[k] += __shfl_down_sync(~0U, sums.sum[k], d);
    }
    if (lane == 0) take(sums);
  }
  __syncthreads();
  return any_fault;
}

}  // namespace sheaf::cuda
