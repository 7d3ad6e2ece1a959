#include "cuda/device/capture.hpp"

#include <string>

#include <cuda_runtime.h>
#include <sheaf/error.hpp>

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

bool cuda_state::is_captured() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  require(cudaStreamIsCapturing(stream_, &status), "CUDA stream");
  return status != cudaStreamCaptureStatusNone;
}

void refuse_capture(const context& ctx, std::string_view what) {
  if (state_of(ctx).is_captured()) {
    throw error(error_code::bad_argument,
                std::string(what) + " waits for the device, so it cannot be captured into a graph");
  }
}

}  // namespace sheaf::cuda
