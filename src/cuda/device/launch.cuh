#pragma once

#include <algorithm>

#include <cuda_runtime.h>

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

constexpr unsigned block_threads = 256;

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// Queues a kernel of `blocks` blocks of `threads` threads on the context's stream.
template <class... Parameters, class... Arguments>
void launch_blocks(const context& ctx, const char* what, void (*kernel)(Parameters...), std::uint64_t blocks,
                   unsigned threads, const Arguments&... arguments) {
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(threads);
  configuration.stream = ctx.stream();
  require(cudaLaunchKernelEx(&configuration, kernel, arguments...), what);
}

/// The same with dynamic shared memory, past the 48 KiB that a kernel has unasked too, counting what it declares.
template <class... Parameters, class... Arguments>
void launch_shared(const context& ctx, const char* what, void (*kernel)(Parameters...), std::uint64_t blocks,
                   unsigned threads, std::size_t shared_bytes, const Arguments&... arguments) {
  constexpr std::size_t unasked = 16 * 1024;
  if (shared_bytes > unasked) {
    require(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes)),
            what);
  }
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(threads);
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = ctx.stream();
  require(cudaLaunchKernelEx(&configuration, kernel, arguments...), what);
}

/// The same for a kernel whose blocks wait for each other: no more than the device holds at once.
template <class... Parameters, class... Arguments>
void launch_cooperative(const context& ctx, const char* what, void (*kernel)(Parameters...), std::uint64_t most_blocks,
                        unsigned threads, std::size_t shared_bytes, const Arguments&... arguments) {
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
  require(cudaLaunchKernelEx(&configuration, kernel, arguments...), what);
}

/// The same with block_threads threads.
template <class... Parameters, class... Arguments>
void launch(const context& ctx, const char* what, void (*kernel)(Parameters...), std::uint64_t blocks,
            const Arguments&... arguments) {
  launch_blocks(ctx, what, kernel, blocks, block_threads, arguments...);
}

}  // namespace sheaf::cuda
