#pragma once

// For programs that speak CUDA themselves: the one public header that includes the toolkit's.
#include <cuda_runtime_api.h>

#include <sheaf/context.hpp>

namespace sheaf {

/// A context on the caller's device and stream, the current device if none is named.
inline context cuda_context(cudaStream_t stream) {
  int device = 0;
  cudaGetDevice(&device);
  return context::cuda(device, stream);
}

/// The stream on which ctx queues its work.
inline cudaStream_t cuda_stream(const context& ctx) { return ctx.stream(); }

}  // namespace sheaf
