#include <cuda_runtime_api.h>

#include "lab/harness/platform.hpp"
#include "lab/peers/movement.hpp"

namespace sheaf::bench::device {
namespace {

void require(cudaError_t result, const char* operation) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(operation) + ": " + cudaGetErrorString(result));
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

class event_clock final : public queue_clock {
 public:
  explicit event_clock(cudaStream_t stream) : stream_(stream) {
    require(cudaEventCreate(&first_), "cudaEventCreate");
    require(cudaEventCreate(&last_), "cudaEventCreate");
  }
  ~event_clock() override {
    cudaEventDestroy(first_);
    cudaEventDestroy(last_);
  }
  event_clock(const event_clock&) = delete;
  event_clock& operator=(const event_clock&) = delete;

  void start() override { require(cudaEventRecord(first_, stream_), "cudaEventRecord"); }
  void stop() override { require(cudaEventRecord(last_, stream_), "cudaEventRecord"); }
  double seconds() override {
    float milliseconds = 0;
    require(cudaEventSynchronize(last_), "cudaEventSynchronize");
    require(cudaEventElapsedTime(&milliseconds, first_, last_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t first_ = nullptr;
  cudaEvent_t last_ = nullptr;
};

}  // namespace

void describe(const context& ctx, platform& platform) {
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, ctx.device()), "cudaGetDeviceProperties");
  platform.machine = properties.name;
  platform.cache_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);

  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  require(cudaSetDevice(ctx.device()), "cudaSetDevice");
  require(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  platform.memory_bytes = free_bytes / 100 * 92;

  int driver = 0;
  int runtime = 0;
  require(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  require(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  platform.versions["cuda driver"] = version_text(driver);
  platform.versions["cuda runtime"] = version_text(runtime);
  platform.versions["thrust"] = peers::device::thrust_version();
}

std::unique_ptr<queue_clock> make_queue_clock(const context& ctx) {
  require(cudaSetDevice(ctx.device()), "cudaSetDevice");
  return std::make_unique<event_clock>(ctx.stream());
}

std::shared_ptr<std::byte[]> pinned_memory(const context& ctx, std::uint64_t bytes) {
  require(cudaSetDevice(ctx.device()), "cudaSetDevice");
  void* memory = nullptr;
  const cudaError_t result = cudaMallocHost(&memory, bytes);
  if (result != cudaSuccess) static_cast<void>(cudaGetLastError());  // else a later call takes it for its own
  require(result, "cudaMallocHost");
  return {static_cast<std::byte*>(memory), [](std::byte* pinned) { cudaFreeHost(pinned); }};
}

void make_current(const context& ctx) { require(cudaSetDevice(ctx.device()), "cudaSetDevice"); }

}  // namespace sheaf::bench::device
