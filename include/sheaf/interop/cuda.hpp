#pragma once

// For programs that use CUDA themselves. Beside sheaf/cuda, no other public header includes one of the CUDA toolkit.
#include <cuda_runtime_api.h>

#include <sheaf/context.hpp>

namespace sheaf {

/// A context on the current device and the caller's stream, which must outlive all copies of the context and its
/// buffers. @throws what context::cuda throws
inline context cuda_context(cudaStream_t stream) {
  int device = 0;
  cudaGetDevice(&device);
  return context::cuda(device, stream);
}

/// The stream on which ctx queues its work; null on other backends.
inline cudaStream_t cuda_stream(const context& ctx) { return ctx.stream(); }

}  // namespace sheaf
