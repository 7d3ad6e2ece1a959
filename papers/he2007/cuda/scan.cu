#include "cuda/device/launch.cuh"
#include "papers/he2007/scan.hpp"

namespace sheaf::bench::papers::he2007::device {
namespace {

constexpr int words_of_thread = 4;  // under way at once, as many as in the copies of calibration

// Loads bypass L1: no word is read twice.
__global__ void __launch_bounds__(cuda::block_threads) scan_words(const uint4* from, uint4* to, std::uint64_t words) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (cuda::block_threads * words_of_thread) + threadIdx.x;
  uint4 word[words_of_thread];
#pragma unroll
  for (int k = 0; k < words_of_thread; ++k) {
    const std::uint64_t at = first + std::uint64_t{cuda::block_threads} * k;
    if (at < words) word[k] = __ldcg(from + at);
  }
#pragma unroll
  for (int k = 0; k < words_of_thread; ++k) {
    const std::uint64_t at = first + std::uint64_t{cuda::block_threads} * k;
    if (at < words) to[at] = word[k];
  }
}

}  // namespace

void queue_scan(const context& ctx, const std::byte* from, std::byte* to, std::uint64_t bytes) {
  const cuda::device_scope scope(ctx.device());
  const std::uint64_t words = bytes / sizeof(uint4);
  cuda::launch(ctx, scan_words, cuda::ceil_div(words, cuda::block_threads * words_of_thread),
               reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to), words);
}

}  // namespace sheaf::bench::papers::he2007::device
