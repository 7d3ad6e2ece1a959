#pragma once

#include <algorithm>

#include <cuda_runtime.h>

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

constexpr unsigned block_threads = 256;  ///< block size of kernels that gain nothing from another

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Every launch_ function queues a kernel on the context's stream. It throws an error that names `operation` if CUDA
// refuses the launch.

/// Launches `blocks` blocks of `threads` threads.
template <class... Parameters, class... Arguments>
void launch_blocks(const context& ctx, const char* operation, void (*kernel)(Parameters...), std::uint64_t blocks,
                   unsigned threads, const Arguments&... arguments) {
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(threads);
  configuration.stream = ctx.stream();
  require(cudaLaunchKernelEx(&configuration, kernel, arguments...), operation);
}

/// Launches blocks with dynamic shared memory. A kernel may use 48 KiB, static and dynamic together, unless it is
/// allowed more; this function asks for that whenever the static part might push the sum past the limit.
template <class... Parameters, class... Arguments>
void launch_shared(const context& ctx, const char* operation, void (*kernel)(Parameters...), std::uint64_t blocks,
                   unsigned threads, std::size_t shared_bytes, const Arguments&... arguments) {
  constexpr std::size_t dynamic_bytes_always_allowed = 16 * 1024;
  if (shared_bytes > dynamic_bytes_always_allowed) state_of(ctx).allow_shared(reinterpret_cast<const void*>(kernel));
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(threads);
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = ctx.stream();
  require(cudaLaunchKernelEx(&configuration, kernel, arguments...), operation);
}

/// Launches a cooperative kernel, whose blocks synchronize across the grid: at most `most_blocks`, and no more than the
/// device holds at once.
template <class... Parameters, class... Arguments>
void launch_cooperative(const context& ctx, const char* operation, void (*kernel)(Parameters...),
                        std::uint64_t most_blocks, unsigned threads, std::size_t shared_bytes,
                        const Arguments&... arguments) {
  const std::uint64_t resident =
      state_of(ctx).resident_blocks(reinterpret_cast<const void*>(kernel), static_cast<int>(threads), shared_bytes);
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(std::min(resident, most_blocks)));
  configuration.blockDim = dim3(threads);
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = ctx.stream();
  configuration.attrs = &cooperative;
  configuration.numAttrs = 1;
  require(cudaLaunchKernelEx(&configuration, kernel, arguments...), operation);
}

/// Launches blocks of block_threads threads.
template <class... Parameters, class... Arguments>
void launch(const context& ctx, const char* operation, void (*kernel)(Parameters...), std::uint64_t blocks,
            const Arguments&... arguments) {
  launch_blocks(ctx, operation, kernel, blocks, block_threads, arguments...);
}

}  // namespace sheaf::cuda
