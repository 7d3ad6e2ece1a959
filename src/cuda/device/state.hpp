#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <mutex>

#include <sheaf/records.hpp>

#include "core/context_state.hpp"
#include "cuda/device/index_guard.hpp"

namespace sheaf::cuda {

/// Throws unless `result` is cudaSuccess: error(out_of_memory) or error(device_failure), with a message that begins
/// with `operation` and quotes CUDA.
void require(cudaError_t result, std::string_view operation);
/// The same for work of a call: the message begins with the variant that runs.
void require(cudaError_t result, const context& ctx);

/// Makes a device current for the calling thread until the end of the scope.
class device_scope {
 public:
  explicit device_scope(int device);
  ~device_scope();
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  int previous_device_ = 0;
  bool restores_previous_ = false;
};

/// What a run of prepared work needs first: its device, and a name for errors.
struct run_scope {
  run_scope(const context& ctx, std::string_view variant) : device(ctx.device()), running(ctx.state(), variant) {}

  device_scope device;
  core::running_scope running;
};

/// The slot in device memory through which one block tells the later blocks and kernels of a call what a sample says:
/// whether the index list is ordered or scattered (movement/if_ordered/sample.cuh), or whether columns are hot
/// (sparse/spmv_atomic.cu). Every copy of the verdict lies on a cache line of its own.
struct order_verdict {
  static constexpr std::uint32_t copies = 32;
  static constexpr std::uint32_t copy_words = 16;  ///< words from one copy to the next

  unsigned long long* slot = nullptr;  ///< first copy; null if no slot was free
  std::uint64_t call_number = 0;       ///< number by which readers know that the verdict is this call's
};

class cuda_state;

/// Memory that a captured call has taken, of which the driver knows nothing before the graph runs: until the end of the
/// scope, calls inside of that call may be given it.
class graph_memory_scope {
 public:
  graph_memory_scope(const context& ctx, const std::byte* first, std::uint64_t bytes) noexcept;
  ~graph_memory_scope();
  graph_memory_scope(const graph_memory_scope&) = delete;
  graph_memory_scope& operator=(const graph_memory_scope&) = delete;

  /// Whether this scope or one around it has the address.
  bool has(const void* address) const noexcept;

 private:
  cuda_state& state_;
  const graph_memory_scope* outer_;
  std::uintptr_t first_;
  std::uint64_t bytes_;
};

/// The memory of a context: the device's pool, and the block that was taken last, once it is given back. Calls that
/// take as many bytes one after another, or not less than half as many, get that block again without asking the driver.
/// It takes 1.4 us, and for 100 MB and more several.
class scratch_pool {
 public:
  /// The functions of a memory_resource whose state is the pool.
  static void* allocate(void* pool, std::uint64_t bytes, CUstream_st* stream);
  static void deallocate(void* pool, void* block, std::uint64_t bytes, CUstream_st* stream);
  /// As deallocate, in the call that took the block. Nobody can have begun or ended a capture of the stream since, so
  /// that CUDA need not be asked again, which takes up to 0.8 us.
  void give_back(void* block, CUstream_st* stream);
  /// Gives the kept block back, which nothing on the device may use any more.
  void release_kept() noexcept;

  cudaMemPool_t handle = nullptr;

 private:
  struct memory_block {
    void* block = nullptr;
    std::uint64_t bytes = 0;
  };

  /// A block of the driver's pool, or null.
  void* take(std::uint64_t bytes, CUstream_st* stream) const noexcept;

  /// Larger blocks are for calls that take so long that the driver does not count.
  static constexpr std::uint64_t most_kept_bytes = std::uint64_t{512} << 20;

  std::mutex mutex_;
  memory_block kept_;        ///< free in the order of the stream, but the driver's pool does not know it
  memory_block last_taken_;  ///< outside of a capture, and small enough to be kept; in use, or the same as kept_
};

/// Allocations in the memory of a context's device. Looking one up takes the driver 0.1 us, and 0.5 where its data have
/// left the caches, of some 10 us that a short call takes. Managed memory is none of them, because the process may get
/// its address once it is freed, nor is any where the process sees several devices, because another one may.
class known_allocations {
 public:
  bool has(const void* address) const noexcept {
    for (const range& r : ranges_) {
      if (reinterpret_cast<std::uintptr_t>(address) - r.begin < r.bytes) return true;
    }
    return false;
  }
  void keep(std::uintptr_t begin, std::uint64_t bytes) noexcept {
    ranges_[next_] = {begin, bytes};
    next_ = (next_ + 1) % ranges_.size();
  }

 private:
  struct range {
    std::uintptr_t begin = 0;
    std::uint64_t bytes = 0;
  };
  std::array<range, 8> ranges_{};
  std::size_t next_ = 0;  ///< the oldest
};

/// A CUDA context: a device, a stream, a memory pool for scratch, and the slot where kernels report the first bad
/// index.
class cuda_state final : public core::context_state {
 public:
  cuda_state(int device, cudaStream_t stream, bool own_stream, const std::string& own_name);
  ~cuda_state() override;

  void wait() override;
  work_status status() override;
  void give_back(const memory_resource& from, void* block, std::uint64_t bytes) override;
  void copy(void* to, const void* from, std::uint64_t bytes) override;
  std::shared_ptr<std::byte> staging_memory(std::uint64_t bytes) override;
  void queue_copy(void* to, const void* from, std::uint64_t bytes) override;
  void finish_copies() override;
  void fill(void* to, unsigned char value, std::uint64_t bytes) override;
  void allow_access_from(int device) override;
  void require_reachable(const void* first, std::string_view call, std::string_view what) const override;
  int device() const noexcept override { return device_; }
  CUstream_st* stream() const noexcept override { return stream_; }
  bool is_captured() const override;
  int multiprocessors() const noexcept { return multiprocessors_; }
  /// Most shared memory of a block, static and dynamic.
  std::uint64_t shared_bytes_of_block() const noexcept { return shared_bytes_of_block_; }
  /// Blocks of a kernel that the device holds at once, at least one for each multiprocessor. Allows the kernel its
  /// dynamic shared memory. The answer is cached by kernel, because the occupancy query takes longer than a short
  /// kernel.
  std::uint64_t resident_blocks(const void* kernel, int threads, std::size_t shared_bytes);
  /// Lets a kernel have all dynamic shared memory that a block can have on the device, and returns how much that is.
  /// The limit belongs to the kernel, which contexts of other threads may launch with more than one launch needs: hence
  /// all of it, always.
  std::uint64_t allow_shared(const void* kernel);
  /// Whether finished work has reported a bad index. Reads host memory alone, so that it may be called at any time.
  bool has_report() const noexcept { return *static_cast<const volatile std::uint32_t*>(report_flag_) != 0; }
  /// Returns the pool's unused memory to the device.
  void release_unused() noexcept;
  /// Memory that is free on the device, or unused in the pool.
  std::uint64_t free_bytes() const;

  /// Begins a call: gives it a number, and its kernels the limit that they check indices against and the report slot.
  index_guard guard(const core::index_wording& wording, index_type type, std::uint64_t records) noexcept;

  /// A slot for the verdict of one call. Calls on the stream share one slot, because they run one after another. A call
  /// that is captured into a graph gets a slot of its own, because graphs may run beside the stream. The slot is null
  /// once captures have used all of them.
  order_verdict new_order_verdict();

 private:
  friend graph_memory_scope;

  std::string_view lost_in_a_fork() const noexcept override { return "CUDA works only in the parent"; }

  int device_;
  cudaStream_t stream_;
  bool own_stream_;
  int multiprocessors_ = 0;
  std::uint64_t shared_bytes_of_block_ = 0;
  const graph_memory_scope* graph_memory_ = nullptr;  ///< the innermost
  mutable known_allocations known_;
  std::vector<std::pair<const void*, std::uint64_t>> resident_blocks_by_kernel_;
  std::vector<std::pair<const void*, std::uint64_t>> shared_bytes_by_kernel_;
  scratch_pool pool_;
  report_slot* report_slot_ = nullptr;           ///< in device memory, behind the verdicts
  unsigned long long* verdict_slots_ = nullptr;  ///< in device memory; the first slot serves calls on the stream
  std::uint32_t captured_calls_ = 0;             ///< verdict slots given to captured calls
  std::uint64_t sampling_calls_ = 0;
  std::uint32_t* report_flag_ = nullptr;  ///< in pinned host memory, so that wait() need not ask the device
};

/// The state of a context whose backend is known to be CUDA.
inline cuda_state& state_of(const context& ctx) { return static_cast<cuda_state&>(ctx.state()); }

/// For calls that wait for the device, and say what it is that does. @throws error(bad_argument) while the context's
/// stream is captured
void refuse_capture(const context& ctx, std::string_view what);

/// Whether the device of a context can launch blocks while the kernel before still runs (programmatic dependent
/// launch), and runs code of this library that waits for it: not, say, code for sm_80 that the driver compiled for a
/// newer device. One kernel answers for all. @throws what require() does if CUDA does not say
bool overlaps_kernels(const context& ctx, const void* kernel);

}  // namespace sheaf::cuda
