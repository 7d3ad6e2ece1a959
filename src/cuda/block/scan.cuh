#pragma once

#include <cstdint>

namespace sheaf::cuda {

/// The sum of the values of a warp's lanes up to and with the caller's, which has number `lane`.
template <class T>
__device__ __forceinline__ T inclusive_warp_sum(T sum, unsigned lane) {
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const T lower_lanes = __shfl_up_sync(~0U, sum, distance);
    if (lane >= distance) sum += lower_lanes;
  }
  return sum;
}

/// Bins of a histogram for each thread of a block that scans it: consecutive bins, from thread 0 on.
template <int Bins, int Threads>
constexpr int bins_per_thread = (Bins + Threads - 1) / Threads;

/// Block-wide exclusive prefix sum over the counts of a histogram, in place. Thread t holds the counts of the bins t *
/// Per to t * Per + Per - 1; threads past the last bin hold zeros. All threads of the block call it. `warp_sums` is
/// shared memory of Threads / 32 entries, which the caller may use again after its next barrier. It must be aligned to
/// 16 bytes: the loop below reads it in loads of 16 bytes, and at a lesser alignment those take in what lies before it.
template <int Bins, int Threads, class Count, int Per>
__device__ __forceinline__ void scan_bins(Count (&count)[Per], Count* warp_sums) {
  static_assert(Per == bins_per_thread<Bins, Threads>);
  constexpr int warps = (Bins / Per + 31) / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  Count thread_sum = 0;
#pragma unroll
  for (int j = 0; j < Per; ++j) thread_sum += count[j];
  const Count inclusive = inclusive_warp_sum(thread_sum, lane);
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  Count prefix = inclusive - thread_sum;
#pragma unroll
  for (unsigned w = 0; w < warps; ++w) {
    const Count sum = warp_sums[w];
    if (w < warp) prefix += sum;
  }
#pragma unroll
  for (int j = 0; j < Per; ++j) {
    const Count bin_count = count[j];
    count[j] = prefix;
    prefix += bin_count;
  }
}

}  // namespace sheaf::cuda
