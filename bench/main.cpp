#include <algorithm>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "options.hpp"
#include "report.hpp"

namespace sheaf::bench {
namespace {

enum exit_code : int {
  exit_done = 0,
  exit_internal = 1,
  exit_usage = 2,
  exit_wrong_answer = 4,
  exit_out_of_space = 5,
  exit_no_backend = 6,
};

struct planned_row {
  bench::problem problem;
  std::uint64_t copies = 1;
  std::vector<contender> contenders;
  std::uint64_t scratch_bytes = 0;
};

bool passes(const options& o, const planned_row& row) {
  if (!o.filter) return true;
  return std::any_of(row.contenders.begin(), row.contenders.end(),
                     [&](const contender& c) { return std::regex_search(name(row.problem) + "/" + c.who, *o.filter); });
}

std::vector<planned_row> plan_rows(const options& o, const context& ctx, const platform& here, workspace& arrays) {
  std::vector<planned_row> rows;
  for (const problem& p : problems_of(o.what)) {
    planned_row row{p, rotated_copies(p.bytes(), here.cache_bytes, o.effort), contenders_of(ctx, p, o.rows, arrays)};
    for (const contender& c : row.contenders) row.scratch_bytes = std::max(row.scratch_bytes, c.scratch_bytes);
    if (passes(o, row)) rows.push_back(std::move(row));
  }
  return rows;
}

// Why a row cannot be measured here, or empty.
std::string obstacle(const planned_row& row, const platform& here) {
  const std::uint64_t needed = workspace_bytes(row.problem, row.copies) + row.scratch_bytes;
  if (needed > here.memory_bytes) {
    return fmt::format("needs {} MB of memory, {} MB are free", needed >> 20, here.memory_bytes >> 20);
  }
  if (bytes(row.problem.index) == 4 && row.problem.count - 1 > 0xffffffffU) return "index type is too narrow";
  if (row.contenders.empty()) return "no variant can run it";
  return {};
}

std::vector<result> run_row(const options& o, const planned_row& row, backend_kind backend, workspace& arrays,
                            queue_clock* clock) {
  arrays.prepare(row.problem, row.copies);
  const std::vector<timing> timings = measure(row.contenders, row.copies, clock, o.effort);
  const bool has_peer = row.contenders.back().variant.empty();
  std::vector<result> results;
  for (std::size_t c = 0; c < row.contenders.size(); ++c) {
    const contender& who = row.contenders[c];
    result r{row.problem, backend, who.who, who.variant, timings[c], who.predicted_seconds, 0, false};
    if (has_peer && !who.variant.empty()) r.peer_ratio = timings.back().median_seconds / timings[c].median_seconds;
    arrays.wipe_target();
    who.queue(0);
    who.wait();
    r.verified = arrays.count_mismatches() == 0;
    print_result(r);
    results.push_back(std::move(r));
  }
  return results;
}

void run_backend(const options& o, const context& ctx, const platform& here, std::vector<result>& results) {
  workspace arrays(ctx, here.cache_bytes);
  const std::vector<planned_row> rows = plan_rows(o, ctx, here, arrays);
  if (o.list) {
    for (const planned_row& row : rows) {
      for (const contender& c : row.contenders) fmt::print("{}/{}\n", name(row.problem), c.who);
    }
    return;
  }
  print_header(here);
  const std::unique_ptr<queue_clock> clock = make_queue_clock(ctx);
  for (const planned_row& row : rows) {
    if (obstacle(row, here).empty()) arrays.reserve(row.problem, row.copies);
  }
  for (const planned_row& row : rows) {
    if (const std::string why_not = obstacle(row, here); !why_not.empty()) {
      fmt::print("{} skipped: {}\n", name(row.problem), why_not);
      continue;
    }
    for (result& r : run_row(o, row, ctx.backend(), arrays, clock.get())) results.push_back(std::move(r));
  }
}

std::optional<context> make_context(const options& o, backend_kind backend) {
  if (backend == backend_kind::cpu) return context::cpu(o.threads);
  try {
    return context::cuda(0);
  } catch (const error& e) {
    if (o.backends_named) throw;
    fmt::print(stderr, "sheaf-bench: {}\n", e.what());
    return std::nullopt;
  }
}

int run(const options& o) {
  std::vector<result> results;
  platform platforms[2];
  for (const backend_kind backend : o.backends) {
    const std::optional<context> ctx = make_context(o, backend);
    if (!ctx) continue;
    platform& here = platforms[backend == backend_kind::cuda];
    here = platform_of(*ctx);
    run_backend(o, *ctx, here, results);
  }
  if (o.list) return exit_done;
  print_summary(results);
  if (!o.json_path.empty()) write_json(o.json_path, results, platforms[0], platforms[1]);
  const bool all_right = std::all_of(results.begin(), results.end(), [](const result& r) { return r.verified; });
  return all_right ? exit_done : exit_wrong_answer;
}

int exit_code_of(error_code code) {
  switch (code) {
    case error_code::bad_argument: return exit_usage;
    case error_code::out_of_memory:
    case error_code::io_failure: return exit_out_of_space;
    case error_code::backend_unavailable: return exit_no_backend;
    default: return exit_internal;
  }
}

}  // namespace
}  // namespace sheaf::bench

int main(int argc, char** argv) {
  using namespace sheaf;
  try {
    bench::options options;
    if (const std::optional<int> code = bench::parse(argc, argv, options)) return *code;
    return bench::run(options);
  } catch (const error& e) {
    fmt::print(stderr, "sheaf-bench: {}\n", e.what());
    return bench::exit_code_of(e.code());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sheaf-bench: out of memory\n");
    return bench::exit_out_of_space;
  } catch (const std::exception& e) {
    fmt::print(stderr, "sheaf-bench: {}\n", e.what());
    return bench::exit_internal;
  }
}
