#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include <sheaf/machine.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/version.hpp>

#include "calls.hpp"
#include "documents.hpp"
#include "errors.hpp"
#include "reports.hpp"

// explain, machine and calibrate.
namespace sheaf::python {

using nb::arg;

nb::dict report_of(const preparation_report& report) {
  nb::dict said;
  said["variant"] = report.variant.c_str();
  said["preparation_seconds"] = report.preparation_seconds;
  said["run_seconds"] = report.run_seconds;
  said["unprepared_seconds"] = report.unprepared_seconds;
  said["kept_bytes"] = report.kept_bytes;
  said["pays_after_runs"] = report.pays_after_runs;
  said["trial_seconds"] = report.trial_seconds;
  return said;
}

namespace {

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string terms_text(const variant_estimate& v) {
  std::string text;
  for (const cost_term& term : v.terms)
    text += (text.empty() ? "" : ", ") + fmt::format("{} {}", term.what, time_text(term.seconds));
  return text;
}

std::string text_of(const explanation& e) {
  std::string text = fmt::format("{} on {}\n", e.primitive, e.machine);
  for (const variant_estimate& v : e.variants) {
    text += fmt::format("{} {:<22}", v.chosen ? '*' : ' ', v.variant);
    if (v.applicable) text += fmt::format("{:>11}  {:>12} bytes of scratch  ", time_text(v.seconds), v.scratch_bytes);
    text += v.chosen || v.reason.empty() ? terms_text(v) : v.reason;
    text += '\n';
  }
  text.pop_back();
  if (!e.learned.empty()) text += "\nlearned: " + e.learned;
  return text;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else
      safe += c;
  }
  return safe;
}

std::string html_of(const explanation& e) {
  std::string text = fmt::format(
      "<table><caption>{} on {}</caption><thead><tr><th>variant</th><th>time</th><th>scratch</th><th>terms, or why "
      "not</th></tr></thead><tbody>",
      escaped(e.primitive), escaped(e.machine));
  for (const variant_estimate& v : e.variants) {
    const std::string named = v.chosen ? "<b>" + escaped(v.variant) + "</b>" : escaped(v.variant);
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", named,
                        v.applicable ? time_text(v.seconds) : "", v.applicable ? std::to_string(v.scratch_bytes) : "",
                        escaped(v.chosen || v.reason.empty() ? terms_text(v) : v.reason));
  }
  text += "</tbody></table>";
  if (!e.learned.empty()) text += "<p>learned: " + escaped(e.learned) + "</p>";
  return text;
}

nb::dict variant_dict(const variant_estimate& v) {
  nb::dict said;
  said["variant"] = v.variant.c_str();
  said["applicable"] = v.applicable;
  said["chosen"] = v.chosen;
  said["seconds"] = v.seconds;
  said["scratch_bytes"] = v.scratch_bytes;
  nb::dict terms;
  for (const cost_term& term : v.terms) {
    const nb::str what(term.what);
    terms[what] = term.seconds + (terms.contains(what) ? nb::cast<double>(terms[what]) : 0.0);
  }
  said["terms"] = terms;
  said["reason"] = v.reason.c_str();
  said["timed_calls"] = v.timed_calls;
  said["timed_seconds"] = v.timed_seconds;
  return said;
}

// Calls `function` for its plan alone.
explanation explain_call(nb::handle function, nb::tuple arguments, nb::dict keywords) {
  plan_wanted wanted;
  try {
    function(*nb::borrow<nb::args>(arguments), **nb::borrow<nb::kwargs>(keywords));
  } catch (const nb::python_error&) {
    if (!wanted.plan) throw;
  }
  if (!wanted.plan) refuse("explain: this call has no plan");
  return *wanted.plan;
}

session& session_of(nb::handle ctx) {
  if (ctx.is_none()) return entered_session() != nullptr ? *entered_session() : cpu_session();
  if (!nb::isinstance<session>(ctx)) refuse_type("ctx is not a sheaf.context");
  return *nb::inst_ptr<session>(ctx);
}

std::string profile_text(nb::handle ctx) {
  session& s = session_of(ctx);
  const session_lock lock(s);
  return format_machine(s.ctx.profile());
}

void use_profile(nb::handle ctx, const std::string& json, const std::string& origin) {
  session& s = session_of(ctx);
  const machine profile = parse_machine(json, origin);
  const session_lock lock(s);
  s.ctx.use(profile);
}

std::string measured_text(nb::handle ctx, double seconds, nb::handle progress, bool store) {
  session& s = session_of(ctx);
  calibrate_options options;
  options.seconds = seconds;
  if (!progress.is_none()) {
    options.progress = [progress](std::string_view what, double done_share) {
      const nb::gil_scoped_acquire lock;
      progress(std::string(what), done_share);
    };
  }
  std::vector<std::string> left_out;
  options.warn = [&](std::string_view words) { left_out.emplace_back(words); };
  std::string text;
  {
    const session_lock lock(s);
    const nb::gil_scoped_release unlocked;
    machine measured = calibrate(s.ctx, options);
    if (store) store_machine(measured);
    s.ctx.use(measured);
    text = format_machine(measured);
  }
  for (const std::string& words : left_out) {
    const std::string warning = "calibrate: left out of the profile: " + words;
    if (PyErr_WarnEx(PyExc_RuntimeWarning, warning.c_str(), 2) != 0) throw nb::python_error();
  }
  return text;
}

}  // namespace

void bind_plans(nb::module_& m) {
  nb::class_<explanation>(m, "Explanation", documents::explanation)
      .def_ro("primitive", &explanation::primitive)
      .def_ro("machine", &explanation::machine)
      .def_ro("learned", &explanation::learned)
      .def_prop_ro("choice",
                   [](const explanation& e) -> nb::object {
                     if (e.choice() == nullptr) return nb::none();
                     return nb::str(e.choice()->variant.c_str());
                   })
      .def_prop_ro("variants",
                   [](const explanation& e) {
                     nb::list all;
                     for (const variant_estimate& v : e.variants) all.append(variant_dict(v));
                     return all;
                   })
      .def("__repr__", text_of)
      .def("_repr_html_", html_of);
  m.def("_explain", explain_call, arg("function"), arg("arguments"), arg("keywords"));
  m.def("_profile", profile_text, arg("ctx").none());
  m.def("_use_profile", use_profile, arg("ctx").none(), arg("json"), arg("origin"));
  m.def("_calibrate", measured_text, arg("ctx").none(), arg("seconds"), arg("progress").none(), arg("store"));
  m.attr("__version__") = SHEAF_VERSION;
  m.attr("has_cuda") = SHEAF_HAS_CUDA != 0;
  m.attr("has_opengl") = SHEAF_HAS_OPENGL != 0;
}

}  // namespace sheaf::python
