#include "cuda/device/capture.hpp"

#include <string>

#include <cuda_runtime.h>
#include <sheaf/error.hpp>

#include "core/stream_capture.hpp"
#include "cuda/device/state.hpp"

namespace sheaf::cuda {

bool is_captured(CUstream_st* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  require(cudaStreamIsCapturing(stream, &status), "CUDA stream");
  return status != cudaStreamCaptureStatusNone;
}

void refuse_capture(const context& ctx, const char* operation) {
  if (is_captured(ctx.stream())) {
    throw error(error_code::bad_argument,
                std::string(operation) + " waits for the device, so it cannot be captured into a graph");
  }
}

}  // namespace sheaf::cuda
