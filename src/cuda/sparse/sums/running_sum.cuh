#pragma once

#include <cstdint>

namespace sheaf::cuda {

/// The sum of what the threads of a block give, call after call, in the order of threads.
template <unsigned Threads>
class running_sum {
 public:
  __device__ explicit running_sum(std::uint32_t start) : all_(start) {}

  /// The start, and the sum of what came before `own`. All threads of the block call this.
  __device__ std::uint32_t before(std::uint32_t own) {
    constexpr unsigned warps = Threads / 32;
    __shared__ std::uint32_t of_warp[warps];
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t sum = own;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0U, sum, step);
      if (lane >= step) sum += other;
    }
    if (lane == 31) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    std::uint32_t before_warp = 0;
    std::uint32_t of_block = 0;
    for (unsigned warp = 0; warp < warps; ++warp) {
      if (warp < threadIdx.x / 32) before_warp += of_warp[warp];
      of_block += of_warp[warp];
    }
    const std::uint32_t result = all_ + before_warp + sum - own;
    all_ += of_block;
    __syncthreads();
    return result;
  }

 private:
  std::uint32_t all_;
};

}  // namespace sheaf::cuda
