#include <cstdio>
#include <new>
#include <system_error>

#include "apps/sheaf/exit_code.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "lab/harness/describe.hpp"
#include "lab/harness/factors.hpp"
#include "lab/harness/options.hpp"
#include "lab/harness/report.hpp"
#include "papers/run.hpp"
#include "papers/variants.hpp"
#include "plan/store/temporary_names.hpp"
#include "primitives/views.hpp"

namespace sheaf::bench {
namespace {

using namespace cli;  // the exit codes of the command, and these
constexpr int exit_wrong_answer = exit_verification_failed;
constexpr int exit_slower = 7;

// With --warm the last cache counts as this small, so that rows have few copies and nothing is evicted.
constexpr std::uint64_t warm_cache_bytes = std::uint64_t{1} << 16;

bool passes(const options& o, const planned_row& row) {
  if (!o.filter) return true;
  if (row.contenders.empty()) return std::regex_search(name(row.problem) + "/", *o.filter);
  return std::ranges::any_of(row.contenders, [&](const contender& c) {
    return std::regex_search(name(row.problem) + "/" + c.who, *o.filter);
  });
}

/// The rows of the shard. `passed` counts those of all shards.
std::vector<planned_row> plan_rows(const options& options, const context& ctx, const platform& hardware,
                                   workspace& arrays, std::uint64_t& passed) {
  std::vector<planned_row> rows;
  for (const problem& p : options.named_rows.empty() ? problems_of(options.sweep) : options.named_rows) {
    planned_row row =
        planned(p, rotated_copies(jobs::bytes_of_copy(jobs::job_of(p).shapes(p)), hardware.cache_bytes, options.limits),
                contenders_of(ctx, p, options.rows, arrays));
    if (passes(options, row) && passed++ % options.shard.count == options.shard.index) rows.push_back(std::move(row));
  }
  return rows;
}

/// Returns how many rows the options ask for.
std::uint64_t run_backend(const options& options, const context& ctx, const platform& hardware,
                          std::vector<result>& results) {
  workspace arrays(ctx, hardware.cache_bytes);
  std::uint64_t passed = 0;
  const std::vector<planned_row> rows = plan_rows(options, ctx, hardware, arrays, passed);
  if (options.list) {
    for (const planned_row& row : rows) {
      for (const contender& c : row.contenders) fmt::print("{}/{}\n", name(row.problem), c.who);
    }
    return passed;
  }
  if (passed == 0) return 0;
  print_header(hardware);
  const std::unique_ptr<queue_clock> clock = make_queue_clock(ctx);
  for (const planned_row& row : rows) {
    if (reason_to_skip(row, hardware).empty()) arrays.reserve(row.problem, row.copies);
  }
  for (const planned_row& row : rows) {
    if (const std::string why_not = reason_to_skip(row, hardware); !why_not.empty()) {
      fmt::print("{} skipped: {}\n", name(row.problem), why_not);
      continue;
    }
    try {
      for (result& r : run_row(row, ctx.backend(), arrays, clock.get(), options.limits)) {
        print_result(r);
        results.push_back(std::move(r));
      }
    } catch (const error& e) {
      // What a row keeps beside its arrays, an index for example, is known only once it is made.
      const bool leaves_others = e.code() == error_code::out_of_memory || e.code() == error_code::no_variant;
      if (!leaves_others || rows.size() == 1) throw;
      fmt::print("{} skipped: {}\n", name(row.problem), e.what());
    }
  }
  return passed;
}

std::optional<context> make_context(const options& options, backend_kind backend) {
  try {
    context ctx = context::on(backend, options.threads);
    if (!ctx.ignored_profile().empty()) fmt::print(stderr, "sheaf-bench: not used: {}\n", ctx.ignored_profile());
    return ctx;
  } catch (const error& e) {
    if (options.backends_named || e.code() != error_code::backend_unavailable) throw;
    fmt::print(stderr, "sheaf-bench: {}\n", e.what());
    return std::nullopt;
  }
}

int write_and_judge(const options& o, const std::vector<result>& results, const platforms& measured,
                    const std::vector<input_result>& input_results = {}) {
  if (!o.json_path.empty()) write_json(o.json_path, results, measured, input_results);
  const auto is_right = [](const auto& r) { return r.verified; };
  const bool all_right = std::ranges::all_of(results, is_right) && std::ranges::all_of(input_results, is_right);
  return all_right ? exit_done : exit_wrong_answer;
}

/// Calls use(context) for each backend that is there.
template <class Use>
void on_each_backend(const options& o, Use use) {
  for (const backend_kind backend : o.backends) {
    if (const std::optional<context> ctx = make_context(o, backend)) use(*ctx);
  }
}

int run_papers(const options& options) {
  if (options.papers.list) {
    papers::print_figure_numbers(options.papers);
    return exit_done;
  }
  std::vector<context> contexts;
  papers::sessions sessions;
  platforms measured;
  on_each_backend(options, [&](const context& ctx) {
    contexts.push_back(ctx);
    if (!papers::has_sessions(ctx.backend())) return;
    sessions.emplace_back(ctx, options.papers);
    measured[ctx.backend()] = sessions.back().hardware;
  });
  const papers::findings found = papers::print_papers(contexts, sessions, options.papers);
  measured.insert(found.machines.begin(), found.machines.end());
  const auto is_wrong = [](const auto& r) { return !r.verified; };
  const auto wrong = std::ranges::count_if(found.rows, is_wrong) + std::ranges::count_if(found.input_rows, is_wrong);
  fmt::print("\n{} answers, {} wrong\n", found.rows.size() + found.input_rows.size(), wrong);
  return write_and_judge(options, found.rows, measured, found.input_rows);
}

/// Runs what says whether all of its answers are right on each backend.
template <class Run>
int run_and_judge(const options& o, Run run) {
  bool all_right = true;
  on_each_backend(o, [&](const context& ctx) { all_right = run(ctx) && all_right; });
  return all_right ? exit_done : exit_wrong_answer;
}

int run_spatter_on(const options& o) {
  if (o.backends.size() > 1 && !o.json_path.empty()) primitives::refuse("spatter: --json needs exactly one --backend");
  return run_and_judge(o, [&](const context& ctx) { return run_spatter(ctx, o.spatter, o.json_path); });
}

int run_edges_on(const options& options) {
  std::vector<input_result> rows;
  on_each_backend(options, [&](const context& ctx) {
    for (input_result& row : run_edges(ctx, options.edges)) rows.push_back(std::move(row));
  });
  return write_and_judge(options, {}, {}, rows);
}

int run_scale_out_on(const options& options) {
  const int threads = options.threads > 0 ? options.threads : context::cpu().threads();
  const scale_out::results found = run_scale_out(options.scale_out, options.backends, threads, options.backends_named);
  platforms measured;
  for (const scale_out::link& link : found.links) {
    const bool is_host = link.where.backend == backend_kind::cpu;
    measured[link.where.backend] = platform_of(is_host ? context::cpu(threads) : context::on(link.where.backend, 0));
  }
  if (!options.json_path.empty()) write_json(options.json_path, {}, measured, {}, found.lists());
  return found.are_right() ? exit_done : exit_wrong_answer;
}

int compare_files(const compare_request& request) {
  const comparison found = run_compare(request);
  if (found.wrong_after > 0) return exit_wrong_answer;
  return found.slower_count() > 0 ? exit_slower : exit_done;
}

int print_factors_of_files(const std::vector<std::string>& paths) {
  std::vector<factor_row> all;
  for (const std::string& path : paths) {
    for (factor_row& row : factors_of(load_results(path))) all.push_back(std::move(row));
  }
  fmt::print("{}", factors_text(std::move(all)));
  return exit_done;
}

// Before anything is measured, which would be lost if the rows had nowhere to go.
void require_outputs(const options& options) {
  std::vector<std::string> inputs = options.edges.files;
  inputs.push_back(options.spatter.file);
  for (const auto& [option, path] :
       {std::pair{"--json", options.json_path}, std::pair{"--record", options.record_path}}) {
    if (path.empty()) continue;
    io::require_not_an_input(path, inputs, option);
    io::require_creatable(path);
  }
  if (!options.json_path.empty() && !options.record_path.empty() &&
      io::name_one_file(options.json_path, options.record_path)) {
    primitives::refuse("--json and --record are both {}", options.json_path);
  }
}

int run(const options& options) {
  if (!options.described.empty()) return print_descriptions(options.described) ? exit_done : exit_usage;
  if (!options.factor_files.empty()) return print_factors_of_files(options.factor_files);
  if (options.compare) return compare_files(*options.compare);
  require_outputs(options);
  if (options.papers.is_requested) return run_papers(options);
  if (options.spatter.is_requested) return run_spatter_on(options);
  if (options.spmv.is_requested)
    return run_and_judge(options, [&](const context& ctx) { return run_spmv(ctx, options.spmv); });
  if (options.edges.is_requested) return run_edges_on(options);
  if (options.solve.is_requested)
    return run_and_judge(options, [&](const context& ctx) { return run_solve(ctx, options.solve); });
  if (options.scale_out.is_requested) return run_scale_out_on(options);
  std::vector<result> results;
  platforms measured;
  std::uint64_t asked_for = 0;
  on_each_backend(options, [&](const context& ctx) {
    platform& hardware = measured[ctx.backend()];
    hardware = platform_of(ctx);
    if (options.warm) hardware.cache_bytes = warm_cache_bytes;
    asked_for += run_backend(options, ctx, hardware, results);
    // Where no row matches, what was recorded before stays.
    if (!options.record_path.empty() && !results.empty())
      write_record(options.record_path, results, ctx.profile(), hardware);
  });
  if (asked_for == 0 && !measured.empty()) primitives::refuse("no row matches all options");
  if (options.list) return exit_done;
  print_summary(results);
  if (options.sweep.is_brief) print_factors(results);
  return write_and_judge(options, results, measured);
}

// A report that is lost in part must not read as one that found nothing.
void require_written_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw error(error_code::io_failure, "standard output cannot be written");
  }
}

int exit_code_of(error_code code) {
  switch (code) {
    case error_code::bad_argument: return exit_usage;
    case error_code::bad_input: return exit_bad_input;
    case error_code::out_of_memory:
    case error_code::io_failure: return exit_out_of_space;
    case error_code::backend_unavailable: return exit_no_backend;
    default: return exit_internal;
  }
}

}  // namespace
}  // namespace sheaf::bench

// NOLINTNEXTLINE(bugprone-exception-escape): saying what went wrong may go wrong
int main(int argc, char** argv) {
  using namespace sheaf;
  primitives::add_variants(papers::variants);
  io::remove_temporaries_on_signals();
  try {
    bench::options options;
    if (const std::optional<int> code = bench::parse(argc, argv, options)) return *code;
    const int code = bench::run(options);
    bench::require_written_output();
    return code;
  } catch (const error& e) {
    fmt::print(stderr, "sheaf-bench: {}\n", e.what());
    return bench::exit_code_of(e.code());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "sheaf-bench: out of memory\n");
    return bench::exit_out_of_space;
  } catch (const std::system_error& e) {
    fmt::print(stderr, "sheaf-bench: {}\n", e.what());
    return bench::exit_out_of_space;
  } catch (const std::exception& e) {
    fmt::print(stderr, "sheaf-bench: {}\n", e.what());
    return bench::exit_internal;
  }
}
