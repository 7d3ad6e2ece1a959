#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string_view>

#include <sheaf/records.hpp>

#include "core/context_state.hpp"
#include "cuda/device/index_guard.hpp"

namespace sheaf::cuda {

/// Throws error(device_failure), or out_of_memory, naming `what`, unless CUDA agreed.
void require(cudaError_t result, std::string_view what);

/// Makes a device current for the calling thread until the end of the scope.
class device_scope {
 public:
  explicit device_scope(int device);
  ~device_scope();
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

/// Where a call's blocks leave for each other what they found out about its index.
struct order_verdict {
  static constexpr std::uint32_t copies = 32;      ///< of the word, on lines of their own
  static constexpr std::uint32_t copy_words = 16;  ///< from one to the next

  unsigned long long* place = nullptr;
  std::uint64_t call = 0;
};

/// A CUDA context: a device, a stream, a pool for scratch, and the slot where kernels leave the first bad index.
class cuda_state final : public core::context_state {
 public:
  cuda_state(int device, cudaStream_t stream, bool own_stream, const std::string& own_name);
  ~cuda_state() override;

  void wait() override;
  work_status status() override;
  void copy(void* to, const void* from, std::uint64_t bytes) override;
  void fill(void* to, unsigned char value, std::uint64_t bytes) override;
  void require_reachable(const void* first, std::string_view call, std::string_view what) const override;
  int device() const noexcept override { return device_; }
  CUstream_st* stream() const noexcept override { return stream_; }
  int multiprocessors() const noexcept { return multiprocessors_; }
  /// Blocks of a kernel that the device holds at once, at least one a multiprocessor; asked once, as asking takes
  /// longer than a short kernel. Allows the kernel its dynamic shared memory.
  std::uint64_t resident_blocks(const void* kernel, int threads, std::size_t shared_bytes);
  /// Gives the scratch that the context keeps warm, and nobody uses, back to the device.
  void release_unused() noexcept;

  /// What the kernels of one call compare indices with and report to; a new call number.
  index_guard guard(core::index_role role, index_type type, std::uint64_t records) noexcept;

  /// The calls of a stream take turns with one place; each call that is captured into a graph gets its own, because
  /// graphs may run beside the stream. Null once captures have used them up.
  order_verdict new_verdict();

 private:
  bool has_report() const noexcept { return *static_cast<const volatile std::uint32_t*>(report_flag_) != 0; }

  int device_;
  cudaStream_t stream_;
  bool own_stream_;
  int multiprocessors_ = 0;
  std::vector<std::pair<const void*, std::uint64_t>> resident_;
  cudaMemPool_t pool_ = nullptr;
  report_slot* slot_ = nullptr;             ///< device memory
  unsigned long long* verdicts_ = nullptr;  ///< device memory; the first is for calls that are not captured
  std::uint32_t captured_verdicts_ = 0;
  std::uint64_t sampled_calls_ = 0;
  std::uint32_t* report_flag_ = nullptr;  ///< pinned: wait() looks at it without asking the device
};

/// The state of a context that is known to be CUDA's.
inline cuda_state& state_of(const context& ctx) { return static_cast<cuda_state&>(ctx.state()); }

}  // namespace sheaf::cuda
