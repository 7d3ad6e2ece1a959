#pragma once

#include <cstdint>

namespace sheaf::cuda {

/// Bins of a histogram that one thread of a block looks after: neighbours, thread 0 the first.
template <int Bins, int Threads>
constexpr int bins_per_thread = (Bins + Threads - 1) / Threads;

/// Turns a block's counts into exclusive prefix sums, in place: thread t holds those of bins t * Per to t * Per + Per -
/// 1, threads past the last bin hold zeros. Every thread calls it; warp_sums is Threads / 32 entries of shared memory,
/// free again after the caller's next barrier. It is read in loads of 16 bytes: aligned to less, these take in what
/// lies before it.
template <int Bins, int Threads, class Count, int Per>
__device__ __forceinline__ void scan_bins(Count (&count)[Per], Count* warp_sums) {
  static_assert(Per == bins_per_thread<Bins, Threads>);
  constexpr int warps = (Bins / Per + 31) / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  Count own = 0;
#pragma unroll
  for (int j = 0; j < Per; ++j) own += count[j];
  Count inclusive = own;
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const Count left = __shfl_up_sync(~0U, inclusive, step);
    if (lane >= step) inclusive += left;
  }
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  Count before = inclusive - own;
#pragma unroll
  for (unsigned w = 0; w < warps; ++w) {
    const Count sum = warp_sums[w];
    if (w < warp) before += sum;
  }
#pragma unroll
  for (int j = 0; j < Per; ++j) {
    const Count mine = count[j];
    count[j] = before;
    before += mine;
  }
}

}  // namespace sheaf::cuda
