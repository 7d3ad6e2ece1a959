#pragma once

#include <algorithm>

#include <cuda_runtime.h>

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

constexpr unsigned block_threads = 256;  ///< block size of kernels that gain nothing from another

constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

constexpr std::size_t dynamic_bytes_always_allowed = 16 * 1024;

/// Lets the blocks of the next kernel start once all of this one have called it, if that is launched overlapped. For
/// the first kernel of a call; the others do it in wait_for_kernel_before.
__device__ __forceinline__ void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Where the kernel before on the stream may still run (launch_overlapped): lets the next kernel's blocks start, and
/// waits until all kernels before are over and what they wrote can be read. Every thread calls it before it touches
/// memory, also where there is nothing to do: the kernel after waits for this one alone.
__device__ __forceinline__ void wait_for_kernel_before() {
  let_next_kernel_start();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Every launch_ function queues a kernel on the context's stream. It throws what require() does if CUDA refuses the
// launch.

/// @param attribute  null: none
template <class... Parameters, class... Arguments>
void launch_kernel(const context& ctx, void (*kernel)(Parameters...), std::uint64_t blocks, unsigned threads,
                   std::size_t shared_bytes, cudaLaunchAttribute* attribute, const Arguments&... arguments) {
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(threads);
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = ctx.stream();
  configuration.attrs = attribute;
  configuration.numAttrs = attribute == nullptr ? 0 : 1;
  require(cudaLaunchKernelEx(&configuration, kernel, arguments...), ctx);
}

/// Launches `blocks` blocks of `threads` threads.
template <class... Parameters, class... Arguments>
void launch_blocks(const context& ctx, void (*kernel)(Parameters...), std::uint64_t blocks, unsigned threads,
                   const Arguments&... arguments) {
  launch_kernel(ctx, kernel, blocks, threads, 0, nullptr, arguments...);
}

/// Launches blocks of block_threads threads.
template <class... Parameters, class... Arguments>
void launch(const context& ctx, void (*kernel)(Parameters...), std::uint64_t blocks, const Arguments&... arguments) {
  launch_kernel(ctx, kernel, blocks, block_threads, 0, nullptr, arguments...);
}

/// A kernel may use 48 KiB, static and dynamic together, unless it is allowed more; this function asks for that
/// whenever the static part might push the sum past the limit.
template <class Kernel>
void allow_shared(const context& ctx, Kernel kernel, std::size_t shared_bytes) {
  if (shared_bytes > dynamic_bytes_always_allowed) state_of(ctx).allow_shared(reinterpret_cast<const void*>(kernel));
}

/// Launches blocks with dynamic shared memory.
template <class... Parameters, class... Arguments>
void launch_shared(const context& ctx, void (*kernel)(Parameters...), std::uint64_t blocks, unsigned threads,
                   std::size_t shared_bytes, const Arguments&... arguments) {
  allow_shared(ctx, kernel, shared_bytes);
  launch_kernel(ctx, kernel, blocks, threads, shared_bytes, nullptr, arguments...);
}

/// Like launch_shared, for a kernel that begins with wait_for_kernel_before: on devices that can do so, its blocks may
/// be launched while the kernel before it on the stream still runs, which saves a microsecond or two between kernels.
/// Not for the first kernel of a call: it would wait for the caller's last kernel alone, which need not have waited for
/// those before.
template <class... Parameters, class... Arguments>
void launch_overlapped(const context& ctx, void (*kernel)(Parameters...), std::uint64_t blocks, unsigned threads,
                       std::size_t shared_bytes, const Arguments&... arguments) {
  allow_shared(ctx, kernel, shared_bytes);
  cudaLaunchAttribute overlapped{};
  overlapped.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlapped.val.programmaticStreamSerializationAllowed = 1;
  const bool overlaps = overlaps_kernels(ctx, reinterpret_cast<const void*>(kernel));
  launch_kernel(ctx, kernel, blocks, threads, shared_bytes, overlaps ? &overlapped : nullptr, arguments...);
}

/// Launches a cooperative kernel, whose blocks synchronize across the grid: at most `most_blocks`, and no more than the
/// device holds at once.
template <class... Parameters, class... Arguments>
void launch_cooperative(const context& ctx, void (*kernel)(Parameters...), std::uint64_t most_blocks, unsigned threads,
                        std::size_t shared_bytes, const Arguments&... arguments) {
  const std::uint64_t resident =
      state_of(ctx).resident_blocks(reinterpret_cast<const void*>(kernel), static_cast<int>(threads), shared_bytes);
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  launch_kernel(ctx, kernel, std::min(resident, most_blocks), threads, shared_bytes, &cooperative, arguments...);
}

}  // namespace sheaf::cuda
