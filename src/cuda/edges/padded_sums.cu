#include "cuda/edges/padded_sums.hpp"

#include "cuda/device/launch.cuh"
#include "cuda/edges/bad_ends.cuh"

namespace sheaf::cuda {
namespace {

/// Clears `words` words of four bytes, and begins the note of bad ends. Words before the first multiple of 16 bytes and
/// behind the last one are cleared one by one, the others by four.
__global__ void __launch_bounds__(block_threads)
    clear_sums(std::uint32_t* sums, std::uint64_t words, unsigned long long* first_bad) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (thread == 0) *first_bad = ~0ULL;
  const std::uint64_t odd = (16 - reinterpret_cast<std::uintptr_t>(sums) % 16) % 16 / 4;
  const std::uint64_t before = min(odd, words);
  const std::uint64_t fours = (words - before) / 4;
  if (thread < fours) reinterpret_cast<uint4*>(sums + before)[thread] = make_uint4(0, 0, 0, 0);
  if (thread < before) sums[thread] = 0;
  const std::uint64_t behind = before + 4 * fours + thread;
  if (thread < 4 && behind < words) sums[behind] = 0;
}

/// A thread for each number, so that neighbouring threads write neighbouring words.
__global__ void __launch_bounds__(block_threads)
    unpad_sums(const float* from, std::uint32_t padded, float* to, std::uint32_t components, std::uint64_t numbers,
               const __grid_constant__ index_guard guard, const __grid_constant__ edge_kernels::end_arrays edges,
               const unsigned long long* first_bad) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i < numbers) to[i] = __ldcs(from + i / components * padded + i % components);
  if (i == 0) report_noted_end(guard, edges, first_bad);
}

}  // namespace

void queue_cleared(const context& ctx, void* sums, std::uint64_t words, unsigned long long* first_bad) {
  launch(ctx, clear_sums, ceil_div(words, 4 * block_threads) + 1, static_cast<std::uint32_t*>(sums), words, first_bad);
}

void queue_unpadded(const context& ctx, const float* from, std::uint32_t padded, float* to, std::uint32_t components,
                    std::uint64_t nodes, const bad_end_report& bad_ends, const edge_kernels::end_arrays& edges) {
  const std::uint64_t numbers = nodes * components;
  launch(ctx, unpad_sums, std::max<std::uint64_t>(1, ceil_div(numbers, block_threads)), from, padded, to, components,
         numbers, bad_ends.guard(), edges, bad_ends.first_bad());
}

}  // namespace sheaf::cuda
