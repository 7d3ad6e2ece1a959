#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string_view>
#include <utility>

#include <sheaf/plan.hpp>
#include <sheaf/scatter_reduce.hpp>

#include "array.hpp"
#include "session.hpp"

namespace sheaf::python {

/// What a call does for explain(): not its work, but the plan of it.
class plan_wanted {
 public:
  plan_wanted() : before_(std::exchange(wanted, this)) {}
  plan_wanted(const plan_wanted&) = delete;
  plan_wanted& operator=(const plan_wanted&) = delete;
  ~plan_wanted() { wanted = before_; }

  static plan_wanted* now() { return wanted; }
  std::optional<explanation> plan;

 private:
  static thread_local plan_wanted* wanted;
  plan_wanted* before_;
};

/// What ends a call that explain() made, once there is a plan.
struct plan_was_made {};

/// Options that every call has.
struct call_options {
  nb::handle check;
  nb::handle ctx;
};

/// One call of the library from Python: takes its arrays, finds its context, runs, and raises what went wrong.
class call {
 public:
  /// @throws error(bad_argument) if check is neither "deferred" nor "now"
  call(const char* name, const call_options& options);

  array in(nb::handle source, const char* what);
  array out(nb::handle source, const char* what);
  /// `source`, or where it is None an array like `like` of this shape; the array itself is put into `object`.
  array out_or_new(nb::handle source, const char* what, const array& like, std::span<const std::int64_t> shape,
                   const element* type, nb::object& object);

  /// Lets an array that was taken by an earlier call say where this one runs.
  void see_again(const array& seen);

  /// The context: that of ctx=, that of a `with`, or this thread's for the arrays seen so far.
  session& where();

  /// Runs `work(ctx)`, or for explain() `plan(ctx)`. Work on `bytes` bytes or more lets other threads of Python run.
  template <class Work, class Plan>
  void run(std::uint64_t bytes, const Work& work, const Plan& plan) {
    session& s = where();
    const session_lock lock(s);
    if (plan_wanted* const wanted = plan_wanted::now()) {
      wanted->plan = plan(std::as_const(s.ctx));
      throw plan_was_made();
    }
    before(s);
    if (bytes < bytes_without_lock && !s.is_on_device()) {
      work(std::as_const(s.ctx));
    } else {
      const nb::gil_scoped_release unlocked;
      work(std::as_const(s.ctx));
    }
    after(s);
  }

  /// run() for work that explain() has no plan of.
  template <class Work>
  void run(std::uint64_t bytes, const Work& work) {
    run(bytes, work, [this](const context&) -> explanation { no_plan(); });
  }

  const char* name;

 private:
  /// Below, the work takes about as long as giving the interpreter's lock away and getting it back.
  static constexpr std::uint64_t bytes_without_lock = std::uint64_t{32} << 10;

  void note(const array& seen);
  void before(session& s);
  void after(session& s);
  [[noreturn]] void no_plan() const;

  bool checks_now_;
  session* given_ = nullptr;
  int device_ = -1;
  bool has_stream_ = false;
  CUstream_st* stream_ = nullptr;
};

/// "random", "clustered:4096", or None.
access_pattern pattern_of(nb::handle pattern, const char* call);
/// The member of a list of names; anything else is refused, naming all.
std::size_t choice_of(nb::handle text, std::initializer_list<std::string_view> names, const char* call,
                      const char* what);
/// "deterministic" or "any".
reduction_order order_of(nb::handle order, const char* call);

}  // namespace sheaf::python
