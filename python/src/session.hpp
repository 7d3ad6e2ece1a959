#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <mutex>

#include <sheaf/context.hpp>

namespace sheaf::python {

namespace nb = nanobind;

/// A context as calls from Python use it: by one thread at a time, whichever thread that is.
class session {
 public:
  explicit session(context where);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() = default;

  /// Takes scratch by `allocate(bytes, stream) -> address` and gives it back by `release(address, bytes, stream)`.
  void take_scratch_from(nb::object allocate, nb::object release);
  bool is_on_device() const { return ctx.backend() == backend_kind::cuda; }

  nb::object stream_owner;
  context ctx;
  std::recursive_mutex busy;  ///< recursive: an operator of cg may call the library on the same context
 private:
  static void* allocate(void* state, std::uint64_t bytes, CUstream_st* stream);
  static void release(void* state, void* block, std::uint64_t bytes, CUstream_st* stream);

  nb::object allocate_;
  nb::object release_;
};

/// Holds a session for a call. Waits for another thread without the interpreter's lock.
class session_lock {
 public:
  explicit session_lock(session& s) : held_(s.busy, std::try_to_lock) {
    if (held_.owns_lock()) return;
    const nb::gil_scoped_release unlocked;
    held_.lock();
  }

 private:
  std::unique_lock<std::recursive_mutex> held_;
};

/// The context that this thread's innermost `with` names, or null.
session* entered_session();
/// This thread's context of the CPU.
session& cpu_session();
/// This thread's context of a device and a stream of somebody else's.
session& cuda_session(int device, CUstream_st* stream);

/// The context of a device and a stream that threads of somebody else's share. They take turns by `busy`.
session& shared_session(int device, CUstream_st* stream);
/// Waits for the work of all shared contexts. @throws what the first of them that failed throws
void wait_for_shared_sessions();

void bind_sessions(nb::module_& module);

}  // namespace sheaf::python
