#include <fmt/format.h>

#include "papers/patidar2009/basic_split.hpp"
#include "papers/patidar2009/figures.hpp"
#include "papers/step_clock.hpp"

// Of figure 4: the steps of Algorithm 2, timed apart, by the length of the segments.
namespace sheaf::bench::papers::patidar2009 {
namespace {

using sheaf::papers::patidar2009::basic_split_form;
using sheaf::papers::patidar2009::basic_split_scratch;
using sheaf::papers::patidar2009::split_listener;
using sheaf::papers::patidar2009::split_step;

constexpr std::uint32_t step_bits = 8;
constexpr std::size_t step_count = 4;
using split_seconds = step_seconds<step_count>;

void run_form(const context& ctx, const primitives::split_problem& problem, const basic_split_form& form,
              const primitives::split_buffers& buffers, std::byte* scratch, const split_listener& listener) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) {
    return cuda::run_basic_split(ctx, problem, form, buffers, scratch, &listener);
  }
#endif
  cpu::run_basic_split(ctx, problem, form, buffers, scratch, &listener);
}

// Times a form and checks its answer. None where memory does not suffice.
std::optional<split_seconds> measure_steps(paper_run& run, session& session, std::uint64_t count,
                                           std::uint64_t record_bytes, const basic_split_form& form) {
  const problem row = record_split(count, record_bytes, step_bits, form.is_ordered ? "split" : "split_unstable");
  const records shape(nullptr, count, record_bytes);
  const split_key key = split_key::of_record({0, step_bits});
  const std::uint64_t scratch_bytes =
      basic_split_scratch(primitives::describe_split(session.ctx, shape, key, shape, form.is_ordered), form).bytes;
  if (jobs::bytes_of_arrays(row, 1) + scratch_bytes > session.hardware.memory_bytes) {
    fmt::print("  segments of {} of {} records skipped: too little memory\n", form.segment_records, count);
    return {};
  }
  session.arrays.reserve(row, 1);
  session.arrays.prepare(row, 1);
  primitives::split_buffers buffers;
  buffers.in = buffers.keys = session.arrays.source(0);
  buffers.out = session.arrays.target(0);
  const primitives::split_problem described =
      primitives::describe_split(session.ctx, buffers.in, key, buffers.out, form.is_ordered);
  std::byte* const scratch = session.arrays.scratch(scratch_bytes);
  const split_seconds found = median_steps<split_step, step_count>(session, [&](auto& clock) {
    run_form(session.ctx, described, form, buffers, scratch, {&clock, clock.step_done});
  });
  const bool verified = session.arrays.count_mistakes(false) == 0;
  if (session.size == run_size::device) session.arrays.release();
  if (!verified) fmt::print("  segments of {} of {} records: WRONG\n", form.segment_records, count);
  for (std::size_t i = 0; i < step_count; ++i) {
    if (found.steps[i] == 0) continue;
    const std::string form_name = form.is_ordered ? form.has_two_steps ? "two steps" : "one step" : "hardware atomics";
    run.input_results.push_back(
        {.figure = "patidar2009/4",
         .input = name(row),
         .machine = session.hardware.machine,
         .where = std::string(sheaf::name(session.ctx.backend())),
         .backend = session.ctx.backend(),
         .who = fmt::format("basic split in {}, segments of {}, step {}", form_name, form.segment_records, i + 1),
         .time = found.spread[i],
         .verified = verified});
  }
  return found;
}

struct named_form {
  const char* name;
  basic_split_form form;
};

}  // namespace

void steps_by_segment(paper_run& run, session& session, std::uint64_t count, std::uint64_t record_bytes) {
  print_place(session, fmt::format("{} records of {} bits, 256 categories, steps of Algorithm 2", count_text(count),
                                   8 * record_bytes));
  std::vector<named_form> forms{{"one-step", {.has_two_steps = false}}, {"two-step", {}}};
  if (session.ctx.backend() == backend_kind::cuda) forms.push_back({"two-step, hardware", {.is_ordered = false}});
  const table rows({"segment", "              form", "1 count", "2 scan", "3 local split", "4 scatter", "3 and 4",
                    "all steps", "step 3 / hardware's"});
  for (std::uint32_t segment = 1024; segment <= 16384; segment *= 2) {
    std::vector<std::optional<split_seconds>> found;
    for (named_form& f : forms) {
      f.form.segment_records = segment;
      found.push_back(measure_steps(run, session, count, record_bytes, f.form));
    }
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (!found[i]) continue;
      const auto& [steps, total, spread] = *found[i];
      const bool has_two_steps = forms[i].form.has_two_steps;
      const bool is_compared = has_two_steps && forms[i].form.is_ordered && found.size() > 2 && found[2];
      rows.row({fmt::to_string(segment), forms[i].name, time_text(steps[0]), time_text(steps[1]), time_text(steps[2]),
                has_two_steps ? time_text(steps[3]) : "none", time_text(steps[2] + steps[3]), time_text(total),
                is_compared ? ratio_text(steps[2] / found[2]->steps[2]) : ""});
    }
  }
}

}  // namespace sheaf::bench::papers::patidar2009
