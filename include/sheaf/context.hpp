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

enum class backend_kind : std::uint8_t { cpu, cuda, opengl };

/// "cpu", "cuda" or "opengl".
SHEAF_API std::string_view name(backend_kind backend) noexcept;

enum class work_status : std::uint8_t {
  running,  ///< queued work is not done yet
  done,     ///< all work is done and nothing went wrong so far
  failed,   ///< something went wrong; wait() will throw it
};

/// A context says where work runs: backend, stream or threads, memory resource and machine profile. It is a cheap
/// handle, and copies share one state. One thread uses a context at a time; any number of contexts live side by side.
///
/// A new context reads the environment. SHEAF_VARIANT ("gather:cuda.direct,scatter:cpu.direct") forces variants,
/// SHEAF_PROFILE names a machine profile, and SHEAF_THREADS the number of threads of context::cpu(). A variable that is
/// empty counts as not set. Without SHEAF_PROFILE, and where it is of another backend, which ignored_profile() says,
/// the context takes the profile that `sheaf machine --calibrate` stored for the device, else the shipped profile
/// nearest to it. @throws error(bad_argument) for a bad SHEAF_THREADS and for a SHEAF_VARIANT that names no primitive
/// or no variant of this build, error(bad_input) for a bad file of SHEAF_PROFILE.
///
/// A context that was moved from can be assigned to and destroyed. @throws error(bad_argument) where else it is used
///
/// fork() leaves OpenMP's threads, CUDA and OpenGL with the parent. In a child, contexts that the parent made throw
/// error(backend_unavailable) where they are used, and so does the making of a CPU context of several threads, if the
/// parent had made one, or of a CUDA or OpenGL context, if the parent had looked for a device. CPU contexts of one
/// thread work in parent and child, whoever made them, and a child that calls exec() is a new process. Programs that
/// fork workers make their contexts in the workers.
class SHEAF_API context {
 public:
  /// The CPU, with `threads` threads of this process. 0 takes SHEAF_THREADS, else as many as OpenMP gives a parallel
  /// region of the calling thread: those of OMP_NUM_THREADS, within OMP_THREAD_LIMIT, 4096 at most; else one for each
  /// processor that the thread may run on, or fewer if omp_set_num_threads() has said so. Like OpenMP, it does not look
  /// at the quota of a control group.
  /// @throws error(bad_argument) unless threads is 0 to 4096, error(backend_unavailable) for several threads in a child
  /// of a process that had made such a context.
  static context cpu(int threads = 0);
  /// A CUDA device, on a stream of the context's own. Arrays of its calls lie in the memory of that device or in
  /// managed memory; host memory is refused by name. Memory that the caller has freed may not be refused.
  /// @throws error(backend_unavailable) if the library has no CUDA backend or the machine no such device.
  static context cuda(int device = 0);
  /// A CUDA device, on the caller's stream, which must live longer than the work queued on it.
  static context cuda(int device, CUstream_st* stream);
  /// The graphics pipeline of a device, through OpenGL 3.3 or later, without window or display. Devices are numbered
  /// with hardware first and renderers in software last. Arrays of its calls lie in host memory: a call uploads, draws
  /// and reads back, and its work is done when it returns. A call makes the context's OpenGL context current on the
  /// thread that calls and puts back what was current there, so threads may take turns. A call throws
  /// error(device_failure), "... one thread uses a context at a time", while the OpenGL context is current on another
  /// thread, which runs a call of its own or has made it current.
  /// @throws error(backend_unavailable) if the library has no OpenGL backend or the machine no such device.
  static context opengl(int device = 0);
  /// The first device of a backend; `threads` are those of the CPU, as in cpu(). @throws error(backend_unavailable)
  static context on(backend_kind backend, int threads = 0);
  /// The first CUDA device where there is one, else the CPU. OpenGL is taken by name only.
  static context best();

  backend_kind backend() const;
  /// CPU threads; 1 on other backends.
  int threads() const;
  /// Number of the CUDA or OpenGL device; -1 on the CPU.
  int device() const;
  /// CUDA stream; null on other backends.
  CUstream_st* stream() const;

  /// The machine profile from which plans predict time.
  const machine& profile() const;
  /// Which profile was left aside when the context was made, and why, in words; empty if none was. It begins with
  /// "SHEAF_PROFILE: " where that one is of another backend. Else it is one that was stored for the device and is
  /// damaged, of another schema or of another device.
  std::string_view ignored_profile() const;
  /// Plans with this profile from now on. @throws error(bad_argument) if it is of another backend.
  void use(const machine& profile);
  /// Takes scratch from `memory` from now on. Blocks taken before go back to the resource that they came from.
  /// @throws error(bad_argument) if one of its functions is null.
  void use(const memory_resource& memory);

  /// Limits the scratch that one call may take to this many bytes from now on; ~0, the default, is no limit. Calls take
  /// the cheapest plan that keeps to it. They take all of their scratch before they queue anything, and where the
  /// memory resource has less, the cheapest plan that needs less. @throws error(out_of_memory) by a call that no plan
  /// can do. Memory that a result keeps, as of a prepared movement, does not count.
  void limit_scratch(std::uint64_t bytes);
  std::uint64_t scratch_limit() const;

  /// Blocks until all queued work is done. The context goes on working after a bad index.
  /// @throws error(bad_index) for the first bad index since the last wait, in the order of (call, position), and
  /// error(device_failure) where the device failed.
  void wait() const;
  /// The state of queued work, without blocking.
  work_status status() const;

  /// The library's own view of this context.
  core::context_state& state() const {
    if (state_ == nullptr) throw_moved_from();
    return *state_;
  }

 private:
  explicit context(std::shared_ptr<core::context_state> state);
  [[noreturn]] static void throw_moved_from();
  friend class buffer;
  std::shared_ptr<core::context_state> state_;
};

}  // namespace sheaf
