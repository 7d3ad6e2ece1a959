#include "cuda/device/capture.hpp"

#include <string>

#include <cuda_runtime.h>
#include <sheaf/error.hpp>

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

void refuse_capture(const context& ctx, const char* operation) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  require(cudaStreamIsCapturing(ctx.stream(), &status), operation);
  if (status != cudaStreamCaptureStatusNone) {
    throw error(error_code::bad_argument,
                std::string(operation) + " waits for the device, so it cannot be captured into a graph");
  }
}

}  // namespace sheaf::cuda
