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
  failed,   ///< something went wrong; wait() throws it
};

/// A context says where work runs: backend, stream or threads, memory resource and machine profile. It is a cheap
/// handle, and copies share one state. One thread at a time uses a context; any number of contexts exist side by side.
///
/// A new context reads the environment, where an empty variable counts as not set. SHEAF_VARIANT
/// ("gather:cuda.direct,scatter:cpu.direct") forces variants, SHEAF_PROFILE names the file of a machine profile,
/// SHEAF_THREADS is the number of threads of context::cpu(), and SHEAF_LEARN=1 makes the context learn (see learn()).
/// If SHEAF_PROFILE is not set, or if its profile is of another backend, the context takes the profile that
/// store_machine() or `sheaf machine --calibrate` stored for the device, and else the nearest shipped profile;
/// ignored_profile() says what was left aside.
/// @throws error(bad_argument) for a bad SHEAF_THREADS, for a SHEAF_LEARN that is not 0 or 1, and for a SHEAF_VARIANT
/// that is malformed or names an unknown primitive or variant, or a primitive twice; error(bad_input) for a bad file of
/// SHEAF_PROFILE.
///
/// Every call on a context may throw, beside what its own comment says: error(bad_argument) if options name an unknown
/// variant, error(no_variant) if no variant of the backend can run it, error(out_of_memory) if no variant's scratch
/// fits the context's limit and memory, error(backend_unavailable) if the process cannot start the context's threads,
/// and error(device_failure).
///
/// A context that was moved from can be assigned to and destroyed.
/// @throws error(bad_argument) on any other use
///
/// fork() leaves OpenMP's threads, CUDA and OpenGL with the parent. In a child, the use of a context that the parent
/// made throws error(backend_unavailable). So does making a CPU context of several threads if the parent had made one,
/// and making a CUDA or OpenGL context if the parent had looked for a device. CPU contexts of one thread work in parent
/// and child, whichever made them, and a child that calls exec() is a new process. Programs that fork workers make
/// their contexts in the workers.
class SHEAF_API context {
 public:
  /// The CPU, with `threads` threads of this process. 0 takes SHEAF_THREADS. If that is not set, the number is the one
  /// that OpenMP gives a parallel region of the calling thread: OMP_NUM_THREADS, or else one for each processor that
  /// the thread may run on, or fewer if omp_set_num_threads() has said so; OMP_THREAD_LIMIT and 4096 are upper limits.
  /// Like OpenMP, it does not look at the quota of a control group. Arrays of its calls lie in host memory or in
  /// managed memory; the memory of a CUDA device is refused.
  /// @throws error(bad_argument) unless threads is 0 to 4096, error(backend_unavailable) for several threads in a child
  /// of a process that had made such a context.
  static context cpu(int threads = 0);
  /// A CUDA device, on a stream of the context's own, which does not synchronize with the default stream. Arrays of its
  /// calls lie in the memory of that device or in managed memory; host memory is refused. Memory that the caller has
  /// freed may go unnoticed. The context's state, which its copies and buffers share, waits for queued work when it is
  /// destroyed.
  /// @throws error(backend_unavailable) if the library has no CUDA backend or the machine no such device.
  static context cuda(int device = 0);
  /// A CUDA device, on the caller's stream, which must outlive all copies of the context and its buffers. Otherwise as
  /// above.
  static context cuda(int device, CUstream_st* stream);
  /// The graphics pipeline of a device, through OpenGL 3.3 or later, without window or display. Device numbers begin
  /// with hardware; renderers in software come last. Arrays of its calls lie in host memory: a call uploads, draws and
  /// reads back, and its work is done when it returns. A call makes the context's OpenGL context current on the calling
  /// thread and then restores what was current there, so threads may take turns. While the OpenGL context is current on
  /// another thread, a call throws error(device_failure), "... one thread uses a context at a time".
  /// @throws error(backend_unavailable) if the library has no OpenGL backend or the machine no such device.
  static context opengl(int device = 0);
  /// The first device of a backend; `threads` counts on the CPU alone. @throws what cpu(), cuda() and opengl() throw
  static context on(backend_kind backend, int threads = 0);
  /// The first CUDA device if there is one, else the CPU. OpenGL is taken by name only.
  static context best();

  backend_kind backend() const;
  /// Number of CPU threads; 1 on other backends.
  int threads() const;
  /// Number of the CUDA or OpenGL device; -1 on the CPU.
  int device() const;
  /// CUDA stream; null on other backends.
  CUstream_st* stream() const;

  /// The machine profile from which plans predict times.
  const machine& profile() const;
  /// Which profile was left aside when the context was made, and why; empty if none was. It begins with
  /// "SHEAF_PROFILE:" if that profile is of another backend. Otherwise it names a stored profile that is damaged, of
  /// another schema or of another device.
  std::string_view ignored_profile() const;
  /// Plans with this profile from now on, as it is: only a new CPU context scales its profile to its threads.
  /// @throws error(bad_argument) if the profile is of another backend.
  void use(const machine& profile);
  /// Takes memory from `memory` from now on. Blocks taken before go back to the resource that they came from.
  /// @throws error(bad_argument) if one of its functions is null.
  void use(const memory_resource& memory);

  /// Limits the scratch that one call may take to this many bytes from now on; ~0, the default, is no limit. A call
  /// takes the cheapest plan within the limit. It takes all of its scratch before it queues anything, and if the memory
  /// resource has less, it takes the cheapest plan that needs less. Memory that a result keeps, such as that of a
  /// prepared movement, does not count. A call that no plan fits throws error(out_of_memory).
  void limit_scratch(std::uint64_t bytes);
  std::uint64_t scratch_limit() const;

  /// Whether the context learns from now on which of two variants is the faster here; false, the default, does not.
  /// Where the two cheapest plans of a call are predicted to take at least 0.5 ms and lie within a factor of 2, the
  /// first calls of its shape run by one and the other in turn and are timed: two calls each, not counting the first by
  /// a variant that takes scratch. Later calls of the shape run by the faster; after 16, 64, 256 of them and so on each
  /// variant is timed once more. A shape is the call with its options, types and widths, counts and ranges to a factor
  /// of 2, and the order of its index list, told or sampled. Of 256 shapes, the one that was used least recently is
  /// forgotten; all are with use(machine), limit_scratch() and learn(). It holds for gather, scatter, scatter_reduce,
  /// sorts and splits on the CPU and on OpenGL, and never where a variant is forced. Results have the bits that they
  /// have without it, where the call promises bits. Explanations say what was learned. Times are this machine's: which
  /// variant runs may differ from run to run of a program.
  void learn(bool wanted);
  bool learns() const;

  /// Blocks until all queued work is done. The context remains usable after a bad index.
  /// @throws error(bad_index) for the first bad index since the last wait, in the order of (call, position);
  /// error(bad_argument) while the stream is captured into a CUDA graph; error(backend_unavailable) in a child process,
  /// as above; error(device_failure)
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
