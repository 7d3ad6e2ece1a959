#include "session.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device.hpp"
#include "documents.hpp"
#include "errors.hpp"

namespace sheaf::python {
namespace {

// Forks since this module was loaded: 0 in the process that loaded it.
std::atomic<unsigned> forks{0};

using place = std::pair<int, CUstream_st*>;  // the CPU's device is -1

// Contexts that no thread of ours uses now. None is ever destroyed: captured graphs refer to what a context keeps, and
// when the process ends a driver may be gone before its contexts are.
struct idle_sessions {
  std::mutex mutex;
  std::multimap<place, session*> all;
  std::map<place, session*> shared;  ///< of devices, which threads of somebody else's use in turn
};
idle_sessions* idle = new idle_sessions;

// In a child: another thread of the parent may have held the lock, and no context there is the child's.
void forget_in_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  idle = new idle_sessions;
}

// The contexts of one thread, which the next thread gets when this one ends.
struct thread_sessions {
  unsigned forks_before = forks;
  session* cpu = nullptr;
  std::map<place, session*> of_devices;
  std::vector<session*> entered;

  // A child forgets what is its parent's: neither threads nor a driver came along.
  void forget_parents() {
    if (forks_before == forks.load(std::memory_order_relaxed)) return;
    forks_before = forks;
    cpu = nullptr;
    of_devices.clear();
  }

  ~thread_sessions() {
    if (forks_before != forks) return;
    const std::lock_guard lock(idle->mutex);
    if (cpu != nullptr) idle->all.emplace(place{-1, nullptr}, cpu);
    for (const auto& [at, held] : of_devices) idle->all.emplace(at, held);
  }
};
thread_local thread_sessions here;

session* take_idle(const place& at) {
  const std::lock_guard lock(idle->mutex);
  const auto found = idle->all.find(at);
  if (found == idle->all.end()) return nullptr;
  session* const taken = found->second;
  idle->all.erase(found);
  return taken;
}

int threads_here(int threads) { return threads == 0 && forks != 0 ? 1 : threads; }

// A stream as an address: of torch, of CuPy, of CUDA's own Python, or a number.
CUstream_st* stream_of(nb::handle stream) {
  if (nb::isinstance<nb::int_>(stream)) return reinterpret_cast<CUstream_st*>(nb::cast<std::uintptr_t>(stream));
  if (nb::hasattr(stream, "__cuda_stream__")) {
    const nb::object said = stream.attr("__cuda_stream__")();
    return reinterpret_cast<CUstream_st*>(nb::cast<std::uintptr_t>(said[1]));
  }
  for (const char* const attribute : {"cuda_stream", "ptr"}) {
    if (!nb::hasattr(stream, attribute)) continue;
    return reinterpret_cast<CUstream_st*>(nb::cast<std::uintptr_t>(stream.attr(attribute)));
  }
  refuse_type("context: stream is neither an address nor a stream of torch, CuPy or CUDA");
}

// The device of a stream of torch, CuPy or CUDA's own Python; the current one where there is an address alone.
int device_of_stream(nb::handle stream) {
  int device = -1;
  if (nb::hasattr(stream, "device_index")) {
    device = nb::cast<int>(stream.attr("device_index"));
  } else if (nb::hasattr(stream, "device_id")) {
    device = nb::cast<int>(stream.attr("device_id"));  // -1 for CuPy's default streams
  } else if (nb::hasattr(stream, "device") && nb::hasattr(stream.attr("device"), "device_id")) {
    device = nb::cast<int>(stream.attr("device").attr("device_id"));
  }
  return device < 0 ? current_device() : device;
}

// "cuda:1" as 1; without a number -1.
struct device_name {
  backend_kind backend = backend_kind::cpu;
  int device = -1;
};
device_name parse_device(const std::string& text) {
  const std::string kind = text.substr(0, text.find(':'));
  device_name found;
  if (kind == "cuda") {
    found.backend = backend_kind::cuda;
  } else if (kind == "opengl") {
    found.backend = backend_kind::opengl;
  } else if (kind != "cpu") {
    refuse("context: device '{}' is not 'cpu', 'cuda', 'opengl' or one of these with a number, as 'cuda:1'", text);
  }
  if (kind.size() == text.size()) return found;
  const std::string digits = text.substr(kind.size() + 1);
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos ||
      (found.backend == backend_kind::cpu && digits != "0")) {
    refuse("context: device '{}' has no such number", text);
  }
  found.device = std::stoi(digits);
  return found;
}

context make_context(nb::handle device, nb::handle stream, int threads) {
  const bool has_stream = !stream.is_none();
  if (device.is_none() && !has_stream) {
    if (forks != 0) return context::cpu(threads_here(threads));
    const backend_kind best = context::best().backend();
    return best == backend_kind::cuda && threads == 0 ? context::cuda(current_device()) : context::on(best, threads);
  }
  const device_name named = device.is_none()
                                ? device_name{backend_kind::cuda}
                                : parse_device(nb::cast<std::string>(nb::str(device)));  // torch.device too
  if (threads != 0 && named.backend != backend_kind::cpu) refuse("context: only the CPU has threads to choose");
  if (has_stream && named.backend != backend_kind::cuda) refuse("context: only CUDA has streams");
  switch (named.backend) {
    case backend_kind::cuda: {
      const bool is_numbered = named.device >= 0;
      if (!has_stream) return context::cuda(is_numbered ? named.device : current_device());
      return context::cuda(is_numbered ? named.device : device_of_stream(stream), stream_of(stream));
    }
    case backend_kind::opengl: return context::opengl(std::max(0, named.device));
    case backend_kind::cpu: break;
  }
  return context::cpu(threads_here(threads));
}

}  // namespace

session::session(context where) : ctx(std::move(where)) {}

void session::take_scratch_from(nb::object allocate, nb::object release) {
  allocate_ = std::move(allocate);
  release_ = std::move(release);
  ctx.use(memory_resource{session::allocate, session::release, this});
}

void* session::allocate(void* state, std::uint64_t bytes, CUstream_st* stream) {
  const nb::gil_scoped_acquire lock;
  try {
    const nb::object address = static_cast<session*>(state)->allocate_(bytes, reinterpret_cast<std::uintptr_t>(stream));
    return address.is_none() ? nullptr : reinterpret_cast<void*>(nb::cast<std::uintptr_t>(address));
  } catch (nb::python_error& e) {
    // Whatever it was, there is no memory: the library takes a plan that needs less, or says so.
    if (!e.matches(PyExc_MemoryError)) e.discard_as_unraisable("the allocator of a sheaf.context");
    return nullptr;
  }
}

void session::release(void* state, void* block, std::uint64_t bytes, CUstream_st* stream) {
  if (Py_IsInitialized() == 0) return;
  const nb::gil_scoped_acquire lock;
  try {
    static_cast<session*>(state)->release_(reinterpret_cast<std::uintptr_t>(block), bytes,
                                           reinterpret_cast<std::uintptr_t>(stream));
  } catch (nb::python_error& e) {
    e.discard_as_unraisable("the allocator of a sheaf.context");
  }
}

session* entered_session() { return here.entered.empty() ? nullptr : here.entered.back(); }

session& cpu_session() {
  here.forget_parents();
  if (here.cpu == nullptr) here.cpu = take_idle({-1, nullptr});
  if (here.cpu == nullptr) here.cpu = new session(context::cpu(threads_here(0)));
  return *here.cpu;
}

session& cuda_session(int device, CUstream_st* stream) {
  here.forget_parents();
  session*& held = here.of_devices[{device, stream}];
  if (held == nullptr) held = take_idle({device, stream});
  if (held == nullptr) {
    try {
      held = new session(context::cuda(device, stream));
    } catch (...) {
      here.of_devices.erase({device, stream});
      throw;
    }
  }
  return *held;
}

session& shared_session(int device, CUstream_st* stream) {
  const std::lock_guard lock(idle->mutex);
  session*& held = idle->shared[{device, stream}];
  if (held == nullptr) held = new session(context::cuda(device, stream));
  return *held;
}

namespace {

void wait_for(session& s) {
  const session_lock lock(s);
  const nb::gil_scoped_release unlocked;
  s.ctx.wait();
}

}  // namespace

void wait_for_shared_sessions() {
  std::vector<session*> all;
  {
    const std::lock_guard lock(idle->mutex);
    for (const auto& [at, held] : idle->shared) {
      if (held != nullptr) all.push_back(held);
    }
  }
  for (session* const held : all) wait_for(*held);
}

namespace {

std::string device_text(const session& s) {
  const std::string kind(name(s.ctx.backend()));
  return s.ctx.device() < 0 ? kind : fmt::format("{}:{}", kind, s.ctx.device());
}

void make_session(session* at, nb::handle device, nb::handle stream, int threads, nb::handle scratch_limit,
                  nb::handle scratch, nb::handle learn) {
  context made = make_context(device, stream, threads);
  if (!learn.is_none()) made.learn(nb::cast<bool>(learn));
  if (!scratch_limit.is_none()) made.limit_scratch(nb::cast<std::uint64_t>(scratch_limit));
  nb::object functions;
  if (!scratch.is_none()) {
    functions = nb::module_::import_("sheaf._scratch").attr("functions_of")(scratch, made.device());
  }
  new (at) session(std::move(made));  // from here on nothing throws
  if (!stream.is_none()) at->stream_owner = nb::borrow(stream);
  if (functions.is_valid()) at->take_scratch_from(functions[0], functions[1]);
}

void leave(session& s, nb::handle exception) {
  if (here.entered.empty() || here.entered.back() != &s) {
    refuse("context: it is not the one that this thread entered last");
  }
  const nb::object held = nb::find(s);
  here.entered.pop_back();
  held.dec_ref();  // what __enter__ took
  if (exception.is_none()) return wait_for(s);
  try {
    wait_for(s);
  } catch (const error&) {  // what the block raised counts
  }
}

}  // namespace

void bind_sessions(nb::module_& module) {
  pthread_atfork(nullptr, nullptr, forget_in_child);
  nb::class_<session>(module, "context", documents::context)
      .def("__init__", make_session, nb::arg("device") = nb::none(), nb::arg("stream") = nb::none(),
           nb::arg("threads") = 0, nb::arg("scratch_limit") = nb::none(), nb::arg("scratch") = nb::none(),
           nb::arg("learn") = nb::none())
      .def("wait", wait_for, documents::wait)
      .def("__enter__",
           [](nb::handle self) {
             self.inc_ref();  // until __exit__
             here.entered.push_back(nb::inst_ptr<session>(self));
             return nb::borrow(self);
           })
      .def(
          "__exit__", [](session& s, nb::handle type, nb::handle, nb::handle) { leave(s, type); },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none())
      .def_prop_ro("device", device_text)
      .def_prop_ro("backend", [](const session& s) { return std::string(name(s.ctx.backend())).c_str(); })
      .def_prop_ro("threads", [](const session& s) { return s.ctx.threads(); })
      .def_prop_ro("stream", [](const session& s) { return reinterpret_cast<std::uintptr_t>(s.ctx.stream()); })
      .def_prop_rw(
          "scratch_limit",
          [](const session& s) -> nb::object {
            if (s.ctx.scratch_limit() == ~std::uint64_t{0}) return nb::none();
            return nb::int_(s.ctx.scratch_limit());
          },
          [](session& s, nb::handle bytes) {
            const session_lock lock(s);
            s.ctx.limit_scratch(bytes.is_none() ? ~std::uint64_t{0} : nb::cast<std::uint64_t>(bytes));
          },
          nb::arg("bytes").none())
      .def_prop_rw(
          "learns", [](const session& s) { return s.ctx.learns(); },
          [](session& s, bool wanted) {
            const session_lock lock(s);
            s.ctx.learn(wanted);
          },
          nb::arg("wanted"))
      .def_prop_ro("status",
                   [](session& s) {
                     const session_lock lock(s);
                     switch (s.ctx.status()) {
                       case work_status::running: return "running";
                       case work_status::done: return "done";
                       case work_status::failed: break;
                     }
                     return "failed";
                   })
      .def("__repr__", [](const session& s) {
        return fmt::format("sheaf.context('{}', threads={})", device_text(s), s.ctx.threads());
      });
}

}  // namespace sheaf::python
