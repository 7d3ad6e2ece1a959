
#include <cuda_runtime.h>
#include <sheaf/error.hpp>

#include "cuda/device/state.hpp"

// What CUDA answers about a context's stream: whether it is captured, and whether kernels on it may overlap.
namespace sheaf::cuda {
namespace {

enum class answer : std::uint8_t { unknown, no, yes };

answer look_up(const context& ctx, const void* kernel) {
  constexpr int least_version = 90;
  int major = 0;
  require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ctx.device()), ctx);
  cudaFuncAttributes attributes{};
  require(cudaFuncGetAttributes(&attributes, kernel), ctx);
  return major * 10 >= least_version && attributes.ptxVersion >= least_version ? answer::yes : answer::no;
}

}  // namespace

bool overlaps_kernels(const context& ctx, const void* kernel) {
  static std::array<std::atomic<answer>, 64> known{};
  const int device = ctx.device();
  if (device < 0 || static_cast<std::size_t>(device) >= known.size()) return false;
  answer known_answer = known[device].load(std::memory_order_relaxed);
  if (known_answer == answer::unknown) {
    known_answer = look_up(ctx, kernel);
    known[device].store(known_answer, std::memory_order_relaxed);
  }
  return known_answer == answer::yes;
}

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
