#include "jobs/demo/run.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <sheaf/gather.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/memory.hpp>

#include "jobs/demo/check.hpp"

namespace sheaf::jobs {
namespace {

using clock = std::chrono::steady_clock;
using operation = demo_problem::operation;
using inputs::pattern_kind;

constexpr std::uint64_t input_seed = 0xfeed;
constexpr std::uint64_t output_seed = 0xbad5eed;  // fills the output beforehand, so that no stale answer passes
constexpr std::uint64_t least_copied_bytes = std::uint64_t{64} << 20;  // larger than caches
constexpr std::size_t least_runs = 3;
constexpr std::size_t most_runs = 20;

double seconds_of(const std::function<void()>& work) {
  const clock::time_point start = clock::now();
  work();
  return std::chrono::duration<double>(clock::now() - start).count();
}

double median_seconds(double enough, const std::function<void()>& work) {
  std::vector<double> times;
  double total = 0;
  while (times.size() < least_runs || (times.size() < most_runs && total < enough)) {
    times.push_back(seconds_of(work));
    total += times.back();
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void copy_on_threads(std::byte* to, const std::byte* from, std::uint64_t bytes, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int chunk = 0; chunk < threads; ++chunk) {
    const std::uint64_t begin = bytes / threads * chunk;
    const std::uint64_t end = chunk + 1 == threads ? bytes : bytes / threads * (chunk + 1);
    std::memcpy(to + begin, from + begin, end - begin);
  }
}

// Memory that all rows share.
struct demo_memory {
  buffer sequential;
  buffer indexed;
  buffer index;
  std::string index_content;  // pattern and length of the list in `index`, which consecutive rows share
};

double measure_copy(const context& ctx, const demo_memory& memory) {
  const std::uint64_t bytes = memory.sequential.size();
  double best = 1e30;
  for (int run = 0; run < 6; ++run) {
    best = std::min(best, seconds_of([&] {
                      if (ctx.backend() == backend_kind::cpu) {
                        copy_on_threads(memory.sequential.data(), memory.indexed.data(), bytes, ctx.threads());
                      } else {
                        copy_bytes(ctx, memory.sequential.data(), memory.indexed.data(), bytes);
                      }
                    }));
  }
  return 2 * static_cast<double>(bytes) / best;
}

std::string device_name(const context& ctx) {
  if (ctx.backend() != backend_kind::cpu) return ctx.profile().name;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  }
  return "CPU";
}

demo_row run_row(const context& ctx, const demo_settings& settings, const demo_problem& problem, demo_memory& memory) {
  const std::uint64_t count = std::min(settings.size.most_records, settings.size.array_bytes / problem.record_bytes);
  const records sequential(memory.sequential.data(), count, problem.record_bytes);
  const records indexed(memory.indexed.data(), count, problem.record_bytes);
  const index_span index(memory.index.data(), count, index_type::u32);
  const bool gathers = problem.what == operation::gather;
  const gather_options gather_settings{.pattern = inputs::hint(problem.pattern), .variant = settings.variant};
  const scatter_options scatter_settings{
      .pattern = inputs::hint(problem.pattern),
      .duplicates = problem.what == operation::scatter_last ? duplicates::last : duplicates::any,
      .variant = settings.variant};

  const std::string list = fmt::format("{} {}", inputs::name(problem.pattern), count);
  if (memory.index_content != list) inputs::fill_index(ctx, problem.pattern, count, index);
  memory.index_content = list;
  inputs::fill_records(ctx, gathers ? indexed : sequential, input_seed);
  inputs::fill_records(ctx, gathers ? sequential : indexed, output_seed);
  ctx.wait();

  demo_row row;
  row.problem = name(problem, count);
  row.bytes = 2 * count * problem.record_bytes;
  const explanation why = gathers ? explain_gather(ctx, indexed, index, sequential, gather_settings)
                                  : explain_scatter(ctx, sequential, index, indexed, scatter_settings);
  if (const variant_estimate* choice = why.choice()) {
    row.variant = choice->variant;
    row.predicted_seconds = choice->seconds;
  }
  row.seconds = median_seconds(settings.size.seconds_per_row, [&] {
    if (gathers) {
      settings.calls.gather(ctx, indexed, index, sequential, gather_settings);
    } else {
      settings.calls.scatter(ctx, sequential, index, indexed, scatter_settings);
    }
    ctx.wait();
  });
  switch (problem.what) {
    case operation::gather:
      row.wrong_records = inputs::count_gather_mismatches(ctx, sequential, problem.pattern, count, input_seed);
      break;
    case operation::scatter:
      row.wrong_records = inputs::count_scatter_mismatches(ctx, indexed, problem.pattern, count, input_seed);
      break;
    case operation::scatter_last:
      row.wrong_records = count_last_writer_mismatches(ctx, indexed, problem.pattern, count, input_seed, output_seed);
      break;
  }
  return row;
}

}  // namespace

demo_size full_size(backend_kind backend) {
  if (backend == backend_kind::cpu) return {std::uint64_t{128} << 20, std::uint64_t{1} << 23, 0.1};
  return {std::uint64_t{512} << 20, std::uint64_t{1} << 26, 0.1};
}

demo_size small_size() { return {std::uint64_t{2} << 20, std::uint64_t{1} << 17, 0.001}; }

std::vector<demo_problem> demo_problems() {
  std::vector<demo_problem> problems;
  const auto add = [&](operation what, pattern_kind kind) {
    for (const std::uint64_t record_bytes : {4, 8, 16, 100, 128, 1024}) {
      problems.push_back({what, {kind, 0, 1}, record_bytes});
    }
  };
  for (const auto kind :
       {pattern_kind::identity, pattern_kind::permutation, pattern_kind::uniform, pattern_kind::zipf}) {
    add(operation::gather, kind);
  }
  for (const auto kind : {pattern_kind::identity, pattern_kind::permutation}) add(operation::scatter, kind);
  add(operation::scatter_last, pattern_kind::uniform);
  return problems;
}

std::string name(const demo_problem& problem, std::uint64_t count) {
  constexpr const char* operations[] = {"gather", "scatter", "scatter-last"};
  return fmt::format("{}/{}/r{}/u32/n={}", operations[static_cast<int>(problem.what)], inputs::name(problem.pattern),
                     problem.record_bytes, count);
}

std::uint64_t demo_result::wrong_rows() const {
  return static_cast<std::uint64_t>(
      std::count_if(rows.begin(), rows.end(), [](const demo_row& row) { return row.wrong_records > 0; }));
}

demo_result run_demo(const context& ctx, const demo_settings& settings) {
  const std::uint64_t array_bytes = std::max(settings.size.array_bytes, least_copied_bytes);
  demo_memory memory{
      buffer(ctx, array_bytes), buffer(ctx, array_bytes), buffer(ctx, settings.size.most_records * 4), {}};
  demo_result result;
  result.backend = name(ctx.backend());
  result.device = device_name(ctx);
  result.profile = ctx.profile().name;
  result.threads = ctx.threads();
  inputs::fill_records(ctx, records(memory.indexed.data(), memory.indexed.size() / 8, 8), input_seed);
  inputs::fill_records(ctx, records(memory.sequential.data(), memory.sequential.size() / 8, 8), output_seed);
  ctx.wait();
  result.copy_bytes_per_second = measure_copy(ctx, memory);
  if (settings.on_row) settings.on_row(result);
  for (const demo_problem& problem : demo_problems()) {
    result.rows.push_back(run_row(ctx, settings, problem, memory));
    if (settings.on_row) settings.on_row(result);
  }
  return result;
}

}  // namespace sheaf::jobs
