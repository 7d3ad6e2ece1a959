#include "call.hpp"

#include <charconv>
#include <string>

#include "device.hpp"
#include "errors.hpp"

namespace sheaf::python {

thread_local plan_wanted* plan_wanted::wanted = nullptr;

namespace {

bool checks_now(nb::handle check, const char* name) {
  // The default is one object, which is what most calls pass.
  static const nb::handle deferred = nb::steal(PyUnicode_InternFromString("deferred")).release();
  if (check.is(deferred)) return false;
  return choice_of(check, {"deferred", "now"}, name, "check") == 1;
}

}  // namespace

call::call(const char* call_name, const call_options& options)
    : name(call_name), checks_now_(checks_now(options.check, call_name)) {
  if (!options.ctx.is_none()) {
    if (!nb::isinstance<session>(options.ctx)) refuse_type("{}: ctx is not a sheaf.context", name);
    given_ = nb::inst_ptr<session>(options.ctx);
  } else {
    given_ = entered_session();
  }
}

void call::note(const array& seen) {
  if (!seen.is_on_device() || device_ >= 0) return;
  device_ = seen.device;
  has_stream_ = seen.has_stream;
  stream_ = seen.stream;
}

void call::see_again(const array& seen) {
  note(seen);
  if (!seen.is_on_device() || seen.exchange == nullptr) return;
  void* current = nullptr;
  if (seen.exchange->current_stream(dlpack::cuda, seen.device, &current) == 0) {
    stream_ = static_cast<CUstream_st*>(current);
  } else {
    throw nb::python_error();
  }
}

array call::in(nb::handle source, const char* what) {
  array taken(source, {name, what, false, given_ != nullptr && given_->is_on_device(),
                       given_ != nullptr ? given_->ctx.stream() : nullptr});
  note(taken);
  return taken;
}

array call::out(nb::handle source, const char* what) {
  array taken(source, {name, what, true, given_ != nullptr && given_->is_on_device(),
                       given_ != nullptr ? given_->ctx.stream() : nullptr});
  note(taken);
  return taken;
}

array call::out_or_new(nb::handle source, const char* what, const array& like, std::span<const std::int64_t> shape,
                       const element* type, nb::object& object) {
  object = source.is_none() ? make_array(like, shape, type, name) : nb::borrow(source);
  return out(object, what);
}

session& call::where() {
  if (given_ != nullptr) return *given_;
  return device_ < 0 ? cpu_session() : cuda_session(device_, stream_);
}

namespace {

void wait_unlocked(const session& s) {
  const nb::gil_scoped_release unlocked;
  s.ctx.wait();
}

}  // namespace

void call::before(session& s) {
  // An earlier call's bad index; nothing of this call has happened yet.
  if (has_bad_index(s.ctx)) wait_unlocked(s);
  if (device_ >= 0 && has_stream_ && s.is_on_device() && s.ctx.stream() != stream_) {
    order_streams(device_, stream_, s.ctx.stream());
  }
}

void call::after(session& s) {
  if (!s.is_on_device()) {  // its work is done
    if (has_bad_index(s.ctx)) s.ctx.wait();
    return;
  }
  if (device_ >= 0 && has_stream_ && s.ctx.stream() != stream_) order_streams(device_, s.ctx.stream(), stream_);
  if (checks_now_) wait_unlocked(s);
}

void call::no_plan() const { refuse("explain: there is no plan of {} to show", name); }

access_pattern pattern_of(nb::handle pattern, const char* call) {
  if (pattern.is_none()) return access_pattern::unknown();
  const char* const names[] = {"unknown",   "sequential", "random", "partitioned",
                               "clustered", "strided",    "skewed", "repeated"};
  const bool with_parameter[] = {false, false, false, true, true, true, false, true};
  if (!nb::isinstance<nb::str>(pattern)) refuse_type("{}: pattern is not a string, as 'clustered:4096'", call);
  const std::string text = nb::cast<std::string>(pattern);
  const std::string kind = text.substr(0, text.find(':'));
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (kind != names[i]) continue;
    access_pattern found{static_cast<access_pattern::kind>(i), 0};
    const bool has_parameter = kind.size() < text.size();
    if (has_parameter) {
      const char* const end = text.data() + text.size();
      const auto parsed = std::from_chars(text.data() + kind.size() + 1, end, found.parameter);
      if (parsed.ptr != end || parsed.ec != std::errc{} || found.parameter == 0) break;
    }
    if (has_parameter != with_parameter[i]) break;
    return found;
  }
  refuse(
      "{}: pattern '{}' is none of unknown, sequential, random, partitioned:N, clustered:N, strided:N, skewed, "
      "repeated:N",
      call, text);
}

std::size_t choice_of(nb::handle text, std::initializer_list<std::string_view> names, const char* call,
                      const char* what) {
  if (!nb::isinstance<nb::str>(text)) refuse_type("{}: {} is not a string", call, what);
  const auto given = nb::cast<std::string_view>(text);
  std::size_t at = 0;
  for (const std::string_view name : names) {
    if (given == name) return at;
    ++at;
  }
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "'" : ", '") + std::string(name) + "'";
  refuse("{}: {} is '{}', which is none of {}", call, what, given, all);
}

reduction_order order_of(nb::handle order, const char* call) {
  return static_cast<reduction_order>(choice_of(order, {"deterministic", "any"}, call, "order"));
}

}  // namespace sheaf::python
