#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"

// Counters in shared memory: where what they count begins, and the ranks of a warp's records.
namespace sheaf::cuda {

/// Exclusive prefix sums of n counts in shared memory, in place. Returns their sum. All threads of the block call it;
/// it begins and ends with a barrier.
template <unsigned Threads>
__device__ __forceinline__ std::uint32_t scan_counts(std::uint32_t* counts, std::uint32_t n) {
  __shared__ std::uint32_t warp_sums[Threads / 32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::uint32_t each = (n + Threads - 1) / Threads;
  const std::uint32_t begin = min(threadIdx.x * each, n);
  const std::uint32_t end = min(begin + each, n);
  __syncthreads();
  std::uint32_t sum = 0;
  for (std::uint32_t k = begin; k < end; ++k) sum += counts[k];
  const std::uint32_t inclusive = inclusive_warp_sum(sum, lane);
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  std::uint32_t at = inclusive - sum;
  std::uint32_t total = 0;
  for (unsigned w = 0; w < Threads / 32; ++w) {
    if (w == warp) at += total;
    total += warp_sums[w];
  }
  for (std::uint32_t k = begin; k < end; ++k) {
    const std::uint32_t count = counts[k];
    counts[k] = at;
    at += count;
  }
  __syncthreads();
  return total;
}

/// The rank of the lane's record among the warp's records of its bin, whose number so far is in counts; all lanes call
/// it. Stable: by calls, then by lanes.
template <int Bits, class Count>
__device__ __forceinline__ std::uint32_t rank_in_bin(std::uint32_t bin, bool takes_part, Count* counts) {
  const unsigned lane = threadIdx.x % 32;
  constexpr std::uint32_t no_bin_of_counts = 1U << Bits;
  const std::uint32_t first = __shfl_sync(~0U, bin, 0);
  const std::uint32_t peers = __all_sync(~0U, takes_part && bin == first)
                                  ? ~0U
                                  : match_any<2 * no_bin_of_counts>(takes_part ? bin : no_bin_of_counts);
  const std::uint32_t peers_before = __popc(peers & ((1U << lane) - 1));
  const std::uint32_t found = takes_part ? counts[bin] : 0;
  __syncwarp();
  if (takes_part && peers_before == 0) counts[bin] = static_cast<Count>(found + __popc(peers));
  __syncwarp();
  return found + peers_before;
}

}  // namespace sheaf::cuda
