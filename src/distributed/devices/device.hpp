#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include <sheaf/error.hpp>

// What the transports between GPUs need of CUDA's runtime.
namespace sheaf::distributed {

/// Makes a device current for the calling thread until the end of the scope. Throws nothing: where CUDA refuses, what
/// follows fails.
class current_device {
 public:
  explicit current_device(int device) noexcept {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    cudaSetDevice(device);
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;
  ~current_device() {
    if (before_ >= 0) cudaSetDevice(before_);
  }

 private:
  int before_ = -1;
};

/// What CUDA answers, which a later cudaGetLastError() of the caller's does not answer again.
inline cudaError_t cleared(cudaError_t result) noexcept {
  if (result != cudaSuccess) cudaGetLastError();
  return result;
}

/// A point in a stream of one device.
class stream_event {
 public:
  /// Made for the device that is current.
  stream_event() noexcept {
    if (cudaEventCreateWithFlags(&event_, cudaEventDisableTiming) != cudaSuccess) event_ = nullptr;
    cudaGetDevice(&device_);
  }
  stream_event(const stream_event&) = delete;
  stream_event& operator=(const stream_event&) = delete;
  ~stream_event() {
    if (event_ == nullptr) return;
    const current_device here(device_);
    cudaEventDestroy(event_);
  }

  /// On a stream of the event's device, which is current.
  cudaError_t record(cudaStream_t stream) noexcept {
    return event_ == nullptr ? cudaErrorMemoryAllocation : cleared(cudaEventRecord(event_, stream));
  }
  /// Work that is queued on the stream, of any device, from now on begins after the event.
  cudaError_t hold(cudaStream_t stream) const noexcept { return cleared(cudaStreamWaitEvent(stream, event_, 0)); }
  /// cudaErrorNotReady: not reached yet.
  cudaError_t query() const noexcept { return cleared(cudaEventQuery(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
  int device_ = 0;
};

}  // namespace sheaf::distributed
