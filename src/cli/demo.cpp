#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sheaf/version.hpp>

#include "cli/command.hpp"
#include "core/backends.hpp"
#include "jobs/demo/report.hpp"
#include "jobs/demo/run.hpp"
#include "jobs/demo/summary.hpp"

namespace sheaf::cli {
namespace {

struct demo_options : common_options {
  std::string size = "full";
  std::string report;
};

constexpr const char* footer = R"(Every answer is checked. Example:

  sheaf demo --size small --report report.html)";

// The contexts to run: that of the backend asked for, or one for each backend of this machine.
std::vector<context> contexts_of(const demo_options& options) {
  if (options.backend != "auto") return {options.make_context()};
  std::vector<context> contexts;
  for (const core::backend& b : core::backends()) {
    if (b.has_device()) contexts.push_back(options.make_context(b.kind));
  }
  return contexts;
}

void print_latest(const jobs::demo_result& result) {
  if (result.rows.empty()) {
    fmt::print("{}: {}; the limit is a streamed copy at {:.1f} GB/s; what passes it came out of a cache\n\n",
               result.backend, result.device, result.copy_bytes_per_second / 1e9);
    fmt::print("{:<65} {:<18} {:>11} {:>8} {:>8} {:>11}  {}\n", "problem", "variant", "time", "GB/s", "of limit",
               "predicted", "answer");
    return;
  }
  const jobs::demo_row& row = result.rows.back();
  if (result.rows.size() == 1 || result.rows[result.rows.size() - 2].family != row.family) {
    fmt::print("{}\n", row.family);
  }
  fmt::print("  {:<63} {:<18} {:>11} {:>8.2f} {:>6.0f} % {:>11}  {}\n", row.problem, row.variant,
             jobs::shown_time(row.seconds), row.bytes_per_second() / 1e9, result.share(row) * 100,
             jobs::shown_time(row.predicted_seconds),
             row.mistakes == 0 ? std::string("right") : fmt::format("WRONG: {} mistakes", row.mistakes));
  std::fflush(stdout);
}

nlohmann::json document_of(const jobs::demo_result& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const jobs::demo_row& row : result.rows) {
    rows.push_back({{"family", row.family},
                    {"problem", row.problem},
                    {"variant", row.variant},
                    {"median_seconds", row.seconds},
                    {"predicted_seconds", row.predicted_seconds},
                    {"bytes", row.bytes},
                    {"bytes_per_second", row.bytes_per_second()},
                    {"share_of_limit", result.share(row)},
                    {"mistakes", row.mistakes}});
  }
  nlohmann::json families = nlohmann::json::array();
  for (const jobs::family_summary& s : jobs::summaries_of(result)) {
    families.push_back({{"family", s.family},
                        {"problems", s.rows},
                        {"wrong", s.wrong},
                        {"median_share_of_limit", s.median_share},
                        {"least_share_of_limit", s.least_share},
                        {"most_share_of_limit", s.most_share},
                        {"mean_accuracy", s.mean_accuracy}});
  }
  return {{"backend", result.backend},
          {"device", result.device},
          {"profile", result.profile},
          {"threads", result.threads},
          {"copy_bytes_per_second", result.copy_bytes_per_second},
          {"families", families},
          {"rows", rows}};
}

void run(const demo_options& options) {
  std::vector<jobs::demo_result> results;
  const bool table = !options.json && !options.quiet;
  for (const context& ctx : contexts_of(options)) {
    jobs::demo_settings settings;
    settings.size = options.size == "small" ? jobs::small_size() : jobs::full_size(ctx.backend());
    settings.variant = options.variant();
    if (table) settings.on_row = print_latest;
    results.push_back(jobs::run_demo(ctx, settings));
    if (options.is_reference()) results.back().backend = "reference";
    if (table) fmt::print("\n{}\n", jobs::summary_table(results.back()));
  }
  nlohmann::json document;
  if (options.json) {
    nlohmann::json machines = nlohmann::json::array();
    for (const jobs::demo_result& result : results) machines.push_back(document_of(result));
    document = {{"command", "demo"}, {"version", SHEAF_VERSION}, {"size", options.size}, {"backends", machines}};
  }
  if (!options.report.empty()) jobs::write_demo_page(results, options.report);

  for (const jobs::demo_result& result : results) {
    for (const jobs::demo_row& row : result.rows) {
      if (row.mistakes == 0) continue;
      throw verification_failed(fmt::format("demo: {} on {}: {} mistakes in the answer ({})", row.problem,
                                            result.backend, row.mistakes, row.variant),
                                std::move(document));
    }
  }
  if (options.json) print_json(std::move(document));
}

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("demo", "Run every primitive on inputs made here and check every answer");
  const auto options = std::make_shared<demo_options>();
  command->add_option("--size", options->size, "full: past the caches; small: a few MiB")
      ->check(CLI::IsMember({"small", "full"}))
      ->capture_default_str();
  command->add_option("--report", options->report, "Write an HTML page")->type_name("FILE");
  options->add_context_to(*command);
  options->add_memory_to(*command);
  options->add_json_to(*command);
  options->add_quiet_to(*command);
  command->footer(footer);
  command->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
