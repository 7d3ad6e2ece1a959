#include "apps/sheaf/demo/run.hpp"

#include <bit>
#include <chrono>
#include <fstream>

#include "apps/sheaf/files/memory_limit.hpp"
#include "core/backends.hpp"
#include "lab/description/arrays.hpp"

namespace sheaf::jobs {
namespace {

using primitives::entry;
using clock = std::chrono::steady_clock;

constexpr std::size_t least_runs = 5;
constexpr double slow_seconds = 0.5;  // after so long, even fewer runs are enough
constexpr std::size_t most_runs = 20;
/// Records and keys on both sides have no more bytes together than so many arrays of records.
constexpr std::uint64_t arrays_of_a_row = 4;
/// The number of runs that a preparation is told; it has to pay for itself in fewer.
constexpr std::uint64_t expected_runs = 1000;

double seconds_of(const std::function<void()>& work) {
  const clock::time_point start = clock::now();
  work();
  return std::chrono::duration<double>(clock::now() - start).count();
}

struct run_times {
  double least;
  double median;
};

run_times times_of(double enough, const std::function<void()>& work) {
  std::vector<double> times;
  double total = 0;
  while (times.empty() || (times.size() < least_runs && total < slow_seconds) ||
         (times.size() < most_runs && total < enough)) {
    times.push_back(seconds_of(work));
    total += times.back();
  }
  std::ranges::sort(times);
  return {times.front(), times[times.size() / 2]};
}

std::string device_name(const context& ctx) {
  if (ctx.backend() == backend_kind::opengl) return ctx.state().device_name;
  if (ctx.backend() != backend_kind::cpu) return ctx.profile().name;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  }
  return "CPU";
}

// What is known of a row before it runs.
struct planned_call {
  std::string variant;
  double predicted_seconds = 0;
  std::function<void()> run;
};

planned_call planned(const context& ctx, const demo_settings& settings, const entry& entry, const problem_spec& problem,
                     const array_set& arrays) {
  planned_call call;
  const explanation why = entry.explain(ctx, problem, settings.variant);
  if (const variant_estimate* choice = why.choice()) {
    call.variant = choice->variant;
    call.predicted_seconds = choice->seconds;
  }
  call.run = [&ctx, &j = *entry.job, problem, arrays, variant = settings.variant] {
    j.run(ctx, problem, arrays, {.variant = variant});
  };
  return call;
}

planned_call prepared(const context& ctx, const entry& e, const problem_spec& p, const array_set& arrays) {
  const prepared_run made = e.job->prepare(ctx, p, arrays, expected_runs);
  return {made.report.variant, made.report.run_seconds, made.run};
}

// 0 where the arrays are not in host memory, or no loop is written for the problem.
double plain_seconds(const context& ctx, const demo_settings& settings, const entry& e, const problem_spec& p,
                     const array_set& arrays) {
  if (!core::backend_of(ctx.backend()).uses_host_memory) return 0;
  const std::function<void()> loop = e.job->plain_loop(ctx, p, arrays);
  return loop ? times_of(settings.size.seconds_per_row, loop).least : 0;
}

problem_spec problem_in(const demo_settings& settings, const sample& s) {
  const problem_spec shape = problem_of(s, 1);
  return problem_of(s, std::min(settings.size.most_records, settings.size.array_bytes / shape.record_bytes));
}

// A backend may lack a primitive, or take some records only.
bool can_run(const context& ctx, const demo_settings& settings, const entry& e, const sample& s) {
  return e.explain(ctx, problem_in(settings, s), settings.variant).choice() != nullptr;
}

demo_row run_row(const context& ctx, const demo_settings& settings, const entry& entry, const sample& sample,
                 const copy_limits& limits, problem_arrays& memory) {
  const problem_spec problem = problem_in(settings, sample);
  memory.fill(problem, 1);
  memory.reset_outputs();
  ctx.wait();
  const io::held_memory held("the arrays of " + name(problem), memory.held_bytes());
  if (settings.on_arrays) settings.on_arrays(ctx);
  const array_set arrays = memory.of_copy(0);
  const planned_call call =
      sample.is_prepared ? prepared(ctx, entry, problem, arrays) : planned(ctx, settings, entry, problem, arrays);
  demo_row row{.family = std::string(entry.family),
               .problem = name(problem) + (sample.is_prepared ? "/prepared" : ""),
               .variant = call.variant,
               .predicted_seconds = call.predicted_seconds,
               .bytes = entry.job->moved_bytes(problem),
               .footprint_bytes = bytes_of_copy(entry.job->shapes(problem))};
  row.limit_bytes_per_second = limits.bytes_per_second(row.footprint_bytes);
  row.plain_seconds = plain_seconds(ctx, settings, entry, problem, arrays);
  const run_times times = times_of(settings.size.seconds_per_row, [&] {
    settings.around(call.run, arrays);
    ctx.wait();
  });
  row.seconds = times.least;
  row.median_seconds = times.median;
  // Runs that read what they write have gone on from each other's answers.
  memory.reset_outputs();
  settings.around(call.run, arrays);
  ctx.wait();
  row.mistakes = memory.count_mistakes(false);
  return row;
}

bool is_left_out(const sample& s, const demo_settings& settings) { return s.is_prepared && !settings.variant.empty(); }

// Calls use(entry, sample) for every row of a backend, family by family.
template <class Use>
void for_each_row(backend_kind backend, const demo_settings& settings, Use use) {
  for (const entry* const e : primitives::entries()) {
    if (!e->runs_on(backend)) continue;
    for (const sample& s : e->job->samples) {
      if (!is_left_out(s, settings)) use(*e, s);
    }
  }
}

}  // namespace

demo_size full_size(const context& ctx) {
  // A pipeline in software draws some ten million points a second.
  if (ctx.backend() == backend_kind::opengl) return {std::uint64_t{8} << 20, std::uint64_t{1} << 20, 0.1};
  if (ctx.backend() == backend_kind::cpu) {
    constexpr int few_threads = 4;
    const int halvings = ctx.threads() <= few_threads ? 1 : 0;
    return {std::uint64_t{128} << 20 >> halvings, std::uint64_t{1} << 23 >> halvings, 0.1};
  }
  return {std::uint64_t{512} << 20, std::uint64_t{1} << 26, 0.1};
}

demo_size small_size() { return {std::uint64_t{2} << 20, std::uint64_t{1} << 17, 0.001}; }

double demo_row::accuracy() const { return std::max(0.0, 1 - std::abs(seconds - predicted_seconds) / seconds); }

std::uint64_t demo_result::wrong_rows() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(rows, [](const demo_row& row) { return row.mistakes > 0; }));
}

double demo_result::mean_accuracy() const {
  double sum = 0;
  for (const demo_row& row : rows) sum += row.accuracy();
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

std::size_t demo_row_count(backend_kind backend, const demo_settings& settings) {
  std::size_t count = 0;
  for_each_row(backend, settings, [&](const entry&, const sample&) { ++count; });
  return count;
}

demo_result run_demo(const context& ctx, const demo_settings& settings) {
  demo_result result;
  result.backend = sheaf::name(ctx.backend());
  result.device = device_name(ctx);
  result.profile = ctx.profile().name;
  result.rates = settings.rates;
  if (result.rates.origin.empty()) result.rates.origin = origin_of_rates(ctx);
  result.known = ctx.profile();
  result.is_of_this_machine = has_rates_of_this_machine(ctx);
  result.is_software = core::is_named_as_software(ctx.state().device_name);
  result.threads = ctx.threads();
  {
    // Of a copy from one array to another.
    const io::held_memory held("the arrays that copies are timed with",
                               2 * std::bit_ceil(arrays_of_a_row * settings.size.array_bytes));
    result.limits = measure_copy_limits(ctx, arrays_of_a_row * settings.size.array_bytes);
  }
  if (settings.on_row) settings.on_row(result);
  problem_arrays memory(ctx);
  for_each_row(ctx.backend(), settings, [&](const entry& e, const sample& s) {
    if (!can_run(ctx, settings, e, s)) return;
    result.rows.push_back(run_row(ctx, settings, e, s, result.limits, memory));
    if (settings.on_row) settings.on_row(result);
  });
  return result;
}

}  // namespace sheaf::jobs
