#include "device.hpp"

#include <sheaf/context.hpp>

#include "core/context_state.hpp"
#if SHEAF_HAS_CUDA
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <sheaf/error.hpp>

#include "cuda/device/state.hpp"
#endif

namespace sheaf::python {

#if SHEAF_HAS_CUDA
namespace {

void require(cudaError_t result) {
  if (result != cudaSuccess) throw error(error_code::device_failure, cudaGetErrorString(result));
}

// Events for as long as the process runs, one for each thread and device: a wait for an event is of its last record.
cudaEvent_t event_of(int device) {
  constexpr int most_devices = 64;
  thread_local cudaEvent_t events[most_devices] = {};
  if (device < 0 || device >= most_devices) throw error(error_code::bad_argument, "a device number above 63");
  if (events[device] == nullptr) require(cudaEventCreateWithFlags(&events[device], cudaEventDisableTiming));
  return events[device];
}

}  // namespace

int device_of_address(const void* address) noexcept {
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, address) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged ? found.device : 0;
}

int current_device() noexcept {
  // Each copy of the CUDA runtime in a process remembers a device of its own; the driver knows what the last one of
  // them has made current.
  using get_device = int (*)(int*);
  int device = 0;
  if (void* const driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY)) {
    const auto of_context = reinterpret_cast<get_device>(dlsym(driver, "cuCtxGetDevice"));
    const bool is_known = of_context != nullptr && of_context(&device) == 0;
    dlclose(driver);
    if (is_known) return device;
  }
  if (cudaGetDevice(&device) == cudaSuccess) return device;
  cudaGetLastError();
  return 0;
}

void order_streams(int device, CUstream_st* earlier, CUstream_st* later) {
  int previous = 0;
  require(cudaGetDevice(&previous));
  if (previous != device) require(cudaSetDevice(device));
  cudaError_t result = cudaSuccess;
  try {
    const cudaEvent_t event = event_of(device);
    result = cudaEventRecord(event, earlier);
    if (result == cudaSuccess) result = cudaStreamWaitEvent(later, event, 0);
  } catch (...) {
    if (previous != device) cudaSetDevice(previous);
    throw;
  }
  if (previous != device) cudaSetDevice(previous);
  require(result);
}

bool has_bad_index(const context& ctx) noexcept {
  core::context_state& state = ctx.state();
  if (state.backend == backend_kind::cuda) return static_cast<const cuda::cuda_state&>(state).has_report();
  return state.status() == work_status::failed;
}
#else
int device_of_address(const void*) noexcept { return 0; }
int current_device() noexcept { return 0; }
void order_streams(int, CUstream_st*, CUstream_st*) {}
bool has_bad_index(const context& ctx) noexcept { return ctx.state().status() == work_status::failed; }
#endif

}  // namespace sheaf::python
