#include <algorithm>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/composition.hpp"
#include "core/forks.hpp"
#include "core/memory_space.hpp"
#include "cuda/device/state.hpp"

namespace sheaf {
namespace cuda {
namespace {

cudaMemPool_t make_pool(int device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaMemPool_t pool = nullptr;
  require(cudaMemPoolCreate(&pool, &properties), "context::cuda: memory pool");
  std::uint64_t keep_all = ~std::uint64_t{0};  // freed scratch stays in the pool until the context is destroyed
  require(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all), "context::cuda: memory pool");
  return pool;
}

// Whether what is queued on a stream may go into a graph. In doubt it does.
bool may_be_captured(cudaStream_t stream) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  cudaGetLastError();
  return true;
}

constexpr std::uint32_t most_captured_calls = 255;  // that get a verdict slot
constexpr std::size_t verdict_words = std::size_t{order_verdict::copies} * order_verdict::copy_words;

}  // namespace

void* scratch_pool::take(std::uint64_t bytes, CUstream_st* stream) const noexcept {
  void* block = nullptr;
  if (cudaMallocFromPoolAsync(&block, bytes, handle, stream) == cudaSuccess) return block;
  cudaGetLastError();  // clears the error: a full pool must not fail the next call
  return nullptr;
}

void* scratch_pool::allocate(void* state, std::uint64_t bytes, CUstream_st* stream) {
  auto& pool = *static_cast<scratch_pool*>(state);
  // A stream for each thread would be another one where the block is taken again.
  const bool may_be_kept = bytes <= most_kept_bytes && stream != cudaStreamPerThread && !may_be_captured(stream);
  const std::lock_guard lock(pool.mutex_);
  if (may_be_kept && pool.kept_.block != nullptr) {
    const memory_block kept = std::exchange(pool.kept_, {});
    if (bytes <= kept.bytes && bytes >= kept.bytes / 2) return kept.block;  // last_taken_ still says what it is
    pool.last_taken_ = {};
    cudaFreeAsync(kept.block, stream);
  }
  void* block = pool.take(bytes, stream);
  if (block == nullptr && pool.kept_.block != nullptr && !may_be_captured(stream)) {
    cudaFreeAsync(std::exchange(pool.kept_, {}).block, stream);
    pool.last_taken_ = {};
    block = pool.take(bytes, stream);
  }
  if (may_be_kept && block != nullptr) pool.last_taken_ = {block, bytes};
  return block;
}

void scratch_pool::deallocate(void* state, void* block, std::uint64_t, CUstream_st* stream) {
  auto& pool = *static_cast<scratch_pool*>(state);
  if (!may_be_captured(stream)) return pool.give_back(block, stream);
  const std::lock_guard lock(pool.mutex_);
  if (pool.last_taken_.block == block) pool.last_taken_ = {};
  cudaFreeAsync(block, stream);
}

void scratch_pool::give_back(void* block, CUstream_st* stream) {
  const std::lock_guard lock(mutex_);
  if (last_taken_.block == block) {
    kept_ = last_taken_;
  } else {
    cudaFreeAsync(block, stream);
  }
}

void scratch_pool::release_kept() noexcept {
  const std::lock_guard lock(mutex_);
  if (kept_.block != nullptr) cudaFree(kept_.block);
  kept_ = last_taken_ = {};
}

void require(cudaError_t result, std::string_view operation) {
  if (result == cudaSuccess) return;
  const error_code code = result == cudaErrorMemoryAllocation ? error_code::out_of_memory : error_code::device_failure;
  cudaGetLastError();
  throw error(code,
              fmt::format("{}: CUDA says {}: {}", operation, cudaGetErrorName(result), cudaGetErrorString(result)));
}

void require(cudaError_t result, const context& ctx) {
  if (result == cudaSuccess) return;
  const std::string_view running = ctx.state().running();
  require(result, running.empty() ? "sheaf" : running);
}

namespace {

bool is_only_device() noexcept {
  static const bool answer = core::cuda_device_count() == 1;
  return answer;
}

}  // namespace

device_scope::device_scope(int device) {
  if (is_only_device()) return;
  require(cudaGetDevice(&previous_device_), "CUDA device");
  if (previous_device_ == device) return;
  require(cudaSetDevice(device), "CUDA device");
  restores_previous_ = true;
}

device_scope::~device_scope() {
  if (restores_previous_) cudaSetDevice(previous_device_);
}

cuda_state::cuda_state(int device, cudaStream_t stream, bool own_stream, const std::string& own_name)
    : context_state(backend_kind::cuda, own_name, {}), device_(device), stream_(stream), own_stream_(own_stream) {
  const device_scope scope(device);
  if (own_stream) require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "context::cuda: stream");
  require(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device), "context::cuda");
  int shared_bytes = 0;
  require(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "context::cuda");
  shared_bytes_of_block_ = static_cast<std::uint64_t>(shared_bytes);
  pool_.handle = make_pool(device);
  memory = {scratch_pool::allocate, scratch_pool::deallocate, &pool_};
  void* slots = nullptr;
  constexpr std::size_t verdict_bytes = (1 + most_captured_calls) * verdict_words * sizeof(unsigned long long);
  require(cudaMalloc(&slots, verdict_bytes + sizeof(report_slot)), "context::cuda: error slot");
  verdict_slots_ = static_cast<unsigned long long*>(slots);
  report_slot_ = reinterpret_cast<report_slot*>(verdict_slots_ + (1 + most_captured_calls) * verdict_words);
  require(cudaMemset(verdict_slots_, 0, verdict_bytes), "context::cuda: error slot");
  void* flag = nullptr;
  require(cudaHostAlloc(&flag, sizeof(std::uint32_t), cudaHostAllocDefault), "context::cuda: error flag");
  report_flag_ = new (flag) std::uint32_t{0};
  const report_slot empty;
  require(cudaMemcpy(report_slot_, &empty, sizeof empty, cudaMemcpyHostToDevice), "context::cuda: error slot");
}

cuda_state::~cuda_state() {
  if (!made_by_this_process()) return;  // what CUDA keeps is the parent's
  int previous_device = 0;
  cudaGetDevice(&previous_device);
  cudaSetDevice(device_);
  cudaStreamSynchronize(stream_);  // kernels in flight may still report
  cudaFree(verdict_slots_);        // frees the report slot too
  cudaFreeHost(report_flag_);
  pool_.release_kept();
  cudaMemPoolDestroy(pool_.handle);
  if (own_stream_) cudaStreamDestroy(stream_);
  cudaSetDevice(previous_device);
}

void cuda_state::wait() {
  const device_scope scope(device_);  // the null stream belongs to the current device
  const cudaError_t result = cudaStreamSynchronize(stream_);
  if (result == cudaErrorStreamCaptureUnsupported) {
    cudaGetLastError();
    throw error(error_code::bad_argument, "context::wait: the stream is being captured into a graph");
  }
  require(result, "context::wait");
  if (!has_report()) return;
  core::index_report report;
  require(cudaMemcpyAsync(&report, &report_slot_->first, sizeof report, cudaMemcpyDeviceToHost, stream_),
          "context::wait");
  const core::index_report none;
  require(cudaMemcpyAsync(&report_slot_->first, &none, sizeof none, cudaMemcpyHostToDevice, stream_), "context::wait");
  require(cudaStreamSynchronize(stream_), "context::wait");
  *report_flag_ = 0;
  throw error(error_code::bad_index, core::message(report));
}

work_status cuda_state::status() {
  const device_scope scope(device_);
  const cudaError_t result = cudaStreamQuery(stream_);
  if (result == cudaErrorNotReady) return work_status::running;
  return result == cudaSuccess && !has_report() ? work_status::done : work_status::failed;
}

void cuda_state::give_back(const memory_resource& from, void* block, std::uint64_t bytes) {
  if (from.state != &pool_) return context_state::give_back(from, block, bytes);
  pool_.give_back(block, stream_);
}

void cuda_state::fill(void* to, unsigned char value, std::uint64_t bytes) {
  const device_scope scope(device_);
  require(cudaMemsetAsync(to, value, bytes, stream_), "fill");
}

void cuda_state::allow_access_from(int device) {
  const device_scope scope(device_);
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, device};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  require(cudaMemPoolSetAccess(pool_.handle, &access, 1), "memory of the context's pool for another device");
}

void cuda_state::copy(void* to, const void* from, std::uint64_t bytes) {
  const device_scope scope(device_);
  require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copy_bytes");
  require(cudaStreamSynchronize(stream_), "copy_bytes");
}

std::shared_ptr<std::byte> cuda_state::staging_memory(std::uint64_t bytes) {
  const device_scope scope(device_);
  void* block = nullptr;
  require(cudaHostAlloc(&block, std::max<std::uint64_t>(bytes, 1), cudaHostAllocDefault), "page-locked host memory");
  // In a child of this process CUDA is not to be called.
  return {static_cast<std::byte*>(block), [forks = core::forks_so_far()](std::byte* locked) {
            if (core::forks_so_far() == forks) cudaFreeHost(locked);
          }};
}

void cuda_state::queue_copy(void* to, const void* from, std::uint64_t bytes) {
  const device_scope scope(device_);
  require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "queue_copy");
}

void cuda_state::finish_copies() {
  const device_scope scope(device_);
  require(cudaStreamSynchronize(stream_), "finish_copies");
}

graph_memory_scope::graph_memory_scope(const context& ctx, const std::byte* first, std::uint64_t bytes) noexcept
    : state_(state_of(ctx)),
      outer_(state_.graph_memory_),
      first_(reinterpret_cast<std::uintptr_t>(first)),
      bytes_(bytes) {
  state_.graph_memory_ = this;
}

graph_memory_scope::~graph_memory_scope() { state_.graph_memory_ = outer_; }

bool graph_memory_scope::has(const void* address) const noexcept {
  if (reinterpret_cast<std::uintptr_t>(address) - first_ < bytes_) return true;
  return outer_ != nullptr && outer_->has(address);
}

void cuda_state::require_reachable(const void* first, std::string_view call, std::string_view what) const {
  if (known_.has(first)) return;
  if (graph_memory_ != nullptr && graph_memory_->has(first)) return;
  const core::memory_place place = core::place_of(first);
  if (place.space == core::memory_space::managed) return;
  if (place.space == core::memory_space::device && place.device == device_) {
    if (is_only_device() && place.allocation_bytes > 0) known_.keep(place.allocation_begin, place.allocation_bytes);
    return;
  }
  const std::string where = place.space == core::memory_space::device
                                ? fmt::format("the memory of CUDA device {}", place.device)
                                : std::string("host memory");
  throw error(error_code::bad_argument,
              fmt::format("{}: {} is in {}, but the context works on CUDA device {}", call, what, where, device_));
}

std::uint64_t cuda_state::resident_blocks(const void* kernel, int block_threads, std::size_t shared_bytes) {
  for (const auto& [known_kernel, blocks] : resident_blocks_by_kernel_) {
    if (known_kernel == kernel) return blocks;
  }
  allow_shared(kernel);
  int blocks = 0;
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_threads, shared_bytes),
          "resident blocks");
  const std::uint64_t all_blocks =
      static_cast<std::uint64_t>(std::max(blocks, 1)) * static_cast<std::uint64_t>(multiprocessors_);
  resident_blocks_by_kernel_.emplace_back(kernel, all_blocks);
  return all_blocks;
}

std::uint64_t cuda_state::allow_shared(const void* kernel) {
  for (const auto& [known_kernel, bytes] : shared_bytes_by_kernel_) {
    if (known_kernel == kernel) return bytes;
  }
  constexpr const char* operation = "shared memory of a kernel";
  cudaFuncAttributes attributes{};
  require(cudaFuncGetAttributes(&attributes, kernel), operation);
  const int bytes = static_cast<int>(shared_bytes_of_block_ - attributes.sharedSizeBytes);
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), operation);
  shared_bytes_by_kernel_.emplace_back(kernel, static_cast<std::uint64_t>(bytes));
  return static_cast<std::uint64_t>(bytes);
}

void cuda_state::release_unused() noexcept {
  cudaStreamSynchronize(stream_);  // freed blocks return to the pool in stream order
  pool_.release_kept();
  cudaMemPoolTrimTo(pool_.handle, 0);
}

std::uint64_t cuda_state::free_bytes() const {
  const device_scope scope(device_);
  std::size_t free = 0;
  std::size_t all = 0;
  require(cudaMemGetInfo(&free, &all), "free memory of the device");
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  require(cudaMemPoolGetAttribute(pool_.handle, cudaMemPoolAttrReservedMemCurrent, &reserved), "context::cuda: pool");
  require(cudaMemPoolGetAttribute(pool_.handle, cudaMemPoolAttrUsedMemCurrent, &used), "context::cuda: pool");
  return free + (reserved - used);
}

index_guard cuda_state::guard(const core::index_wording& wording, index_type type, std::uint64_t records) noexcept {
  const std::uint32_t is_signed = type == index_type::i32 || type == index_type::i64;
  return {report_slot_, report_flag_, begin_call(), records, &wording, is_signed};
}

order_verdict cuda_state::new_order_verdict() {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  require(cudaStreamIsCapturing(stream_, &capturing), "a sample of a list");
  if (capturing == cudaStreamCaptureStatusNone) return {verdict_slots_, ++sampling_calls_};
  if (captured_calls_ == most_captured_calls) return {};
  return {verdict_slots_ + ++captured_calls_ * verdict_words, ++sampling_calls_};
}

}  // namespace cuda

namespace core {

namespace {

// The driver works in the process that loaded it, and in no child of it.
bool is_child_of_a_user() noexcept {
  static const std::uint32_t forks_before_first_use = forks_so_far();
  return forks_so_far() != forks_before_first_use;
}

}  // namespace

int cuda_device_count() noexcept {
  if (is_child_of_a_user()) return 0;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::shared_ptr<context_state> make_cuda_state(int device, CUstream_st* stream, bool own_stream) {
  if (is_child_of_a_user()) {
    throw error(error_code::backend_unavailable,
                "context::cuda: this process was forked from one that had used CUDA, which works only in the parent; "
                "use it only after the fork");
  }
  const int devices = cuda_device_count();
  if (device < 0 || device >= devices) {
    throw error(error_code::backend_unavailable,
                fmt::format("context::cuda: no CUDA device {}; this machine has {}", device, devices));
  }
  cudaDeviceProp properties{};
  cuda::require(cudaGetDeviceProperties(&properties, device), "context::cuda: device properties");
  return std::make_shared<cuda::cuda_state>(device, stream, own_stream, properties.name);
}

}  // namespace core
}  // namespace sheaf
