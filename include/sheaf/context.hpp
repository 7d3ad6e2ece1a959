#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <sheaf/export.hpp>
#include <sheaf/memory.hpp>

struct CUstream_st;

namespace sheaf {

struct machine;

namespace core {
class context_state;
}

enum class backend_kind : std::uint8_t { cpu, cuda };

/// "cpu" or "cuda".
SHEAF_API std::string_view name(backend_kind backend) noexcept;

enum class work_status : std::uint8_t {
  running,  ///< queued work is not done yet
  done,     ///< all work is done and nothing went wrong so far
  failed,   ///< something went wrong; wait() will throw it
};

/// Where work runs: backend, stream or threads, memory resource, machine profile. A cheap handle whose copies
/// share one state. One thread uses it at a time; any number of contexts live side by side.
///
/// The environment is read when a context is made: SHEAF_VARIANT ("gather:cuda.direct,scatter:cpu.direct") forces
/// variants, SHEAF_PROFILE names a machine profile, SHEAF_THREADS the threads of context::cpu(). Without SHEAF_PROFILE
/// the profile that `sheaf machine --calibrate` stored for the device is used, else the shipped one nearest to it.
class SHEAF_API context {
 public:
  /// Threads of this process; 0 takes SHEAF_THREADS, else as many as the machine has for it.
  static context cpu(int threads = 0);
  /// A CUDA device, on a stream of the context's own.
  /// @throws error(backend_unavailable) if the library has no CUDA backend or the machine no such device.
  static context cuda(int device = 0);
  /// A CUDA device, on the caller's stream, which must live longer than the work queued on it.
  static context cuda(int device, CUstream_st* stream);
  /// The first CUDA device where there is one, else the CPU.
  static context best();

  backend_kind backend() const noexcept;
  /// CPU threads; 1 on other backends.
  int threads() const noexcept;
  /// CUDA device number; -1 on other backends.
  int device() const noexcept;
  /// CUDA stream; null on other backends.
  CUstream_st* stream() const noexcept;

  /// The profile that predictions are made from.
  const machine& profile() const noexcept;
  void use(const machine& profile);
  /// Where scratch comes from; blocks taken before keep the resource they came from.
  void use(const memory_resource& memory);

  /// Blocks until all queued work is done, then throws what went wrong since the last wait: the first bad index by
  /// (call, position), or a failure of the device. The context goes on working after a bad index.
  void wait() const;
  /// Looks without blocking.
  work_status status() const;

  /// The library's own view of this context.
  core::context_state& state() const noexcept { return *state_; }

 private:
  explicit context(std::shared_ptr<core::context_state> state);
  friend class buffer;
  std::shared_ptr<core::context_state> state_;
};

}  // namespace sheaf
