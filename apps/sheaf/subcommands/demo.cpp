#include <cstdio>

#include <sheaf/version.hpp>

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/demo/profile.hpp"
#include "apps/sheaf/demo/report.hpp"
#include "apps/sheaf/demo/run.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "core/backends.hpp"

namespace sheaf::cli {
namespace {

struct demo_options : common_options {
  std::string size = "full";
  std::string report;
  std::string profiles;
};

constexpr const char* demo_footer =
    R"(Every answer is checked. The limit is a streamed copy between arrays of as many bytes.
The plain loop is what one would write by hand, or the standard library's sort, and is timed only in host memory.
Times are the least of several runs, because other programs that run meanwhile slow some of them down.
Example: a minute's look at this machine, and its page
  sheaf demo --size small --profiles profiles --report report.html)";

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
  io::clear_progress();
  if (result.rows.empty()) {
    fmt::print("{}: {}\n", result.backend, jobs::device_text(result));
    fmt::print("limit: {}\npredictions: {}\n", jobs::limit_text(result.limits), result.rates.origin);
    for (const std::string& doubt : result.rates.doubts) fmt::print("note: {}\n", doubt);
    fmt::print("\n");
    fmt::print("{:<65} {:<18} {:>11} {:>8} {:>8} {:>11} {:>8}  {}\n", "problem", "variant", "time", "GB/s", "of limit",
               "predicted", "vs plain", "answer");
    std::fflush(stdout);
    return;
  }
  const jobs::demo_row& row = result.rows.back();
  if (result.rows.size() == 1 || result.rows[result.rows.size() - 2].family != row.family) {
    fmt::print("{}\n", row.family);
  }
  fmt::print("  {:<63} {:<18} {:>11} {:>8.2f} {:>6.0f} % {:>11} {:>8}  {}\n", row.problem, row.variant,
             jobs::shown_time(row.seconds), row.bytes_per_second() / 1e9, row.share() * 100,
             jobs::shown_time(row.predicted_seconds), row.plain_seconds > 0 ? jobs::factor_text(row.factor()) : "",
             row.mistakes == 0 ? std::string("right") : fmt::format("WRONG: {} mistakes", row.mistakes));
  std::fflush(stdout);
}

// A JSON null where there is no plain loop.
nlohmann::json positive(double number) { return number > 0 ? nlohmann::json(number) : nlohmann::json(); }

nlohmann::json document_of(const jobs::demo_result& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const jobs::demo_row& row : result.rows) {
    rows.push_back({{"family", row.family},
                    {"problem", row.problem},
                    {"variant", row.variant},
                    {"least_seconds", row.seconds},
                    {"median_seconds", row.median_seconds},
                    {"predicted_seconds", row.predicted_seconds},
                    {"bytes", row.bytes},
                    {"bytes_per_second", row.bytes_per_second()},
                    {"footprint_bytes", row.footprint_bytes},
                    {"limit_bytes_per_second", row.limit_bytes_per_second},
                    {"share_of_limit", row.share()},
                    {"plain_loop_seconds", positive(row.plain_seconds)},
                    {"factor_over_plain_loop", positive(row.factor())},
                    {"mistakes", row.mistakes}});
  }
  nlohmann::json families = nlohmann::json::array();
  for (const jobs::family_summary& summary : jobs::summaries_of(result)) {
    families.push_back({{"family", summary.family},
                        {"problems", summary.rows},
                        {"wrong", summary.wrong},
                        {"median_share_of_limit", summary.median_share},
                        {"least_share_of_limit", summary.least_share},
                        {"most_share_of_limit", summary.most_share},
                        {"median_factor_over_plain_loop", positive(summary.median_factor)},
                        {"least_factor_over_plain_loop", positive(summary.least_factor)},
                        {"most_factor_over_plain_loop", positive(summary.most_factor)},
                        {"mean_accuracy", summary.mean_accuracy}});
  }
  nlohmann::json limits = nlohmann::json::array();
  for (const stream_rate& rate : result.limits.rates) {
    limits.push_back({{"footprint_bytes", rate.footprint_bytes}, {"bytes_per_second", rate.bytes_per_second}});
  }
  return {{"backend", result.backend},
          {"device", result.device},
          {"profile", result.profile},
          {"rates", result.rates.origin},
          {"doubts", result.rates.doubts},
          {"rates_of_this_machine", result.is_of_this_machine},
          {"software_renderer", result.is_software},
          {"threads", result.threads},
          {"copy_limits", limits},
          {"mean_accuracy", result.mean_accuracy()},
          {"families", families},
          {"rows", rows}};
}

// Where the rates of the context are from; with --profiles they are this machine's from here on.
jobs::rates_in_use rates_of(context& ctx, const demo_options& options) {
  if (options.profiles.empty()) return {jobs::origin_of_rates(ctx), {}};
  io::progress_step step(fmt::format("{}: measuring its rates", name(ctx.backend())));
  const auto progress = [&](std::string_view what, double share) {
    step.reach(share);
    if (step.wants_words()) step.say(std::string(what));
  };
  return jobs::use_rates_of_this_machine(ctx, jobs::calibration_in(options.profiles, progress));
}

// The contexts, if what comes of them has somewhere to go: looked at before any work, which would be lost.
std::vector<context> contexts_with_places(const demo_options& options) {
  if (!options.report.empty()) io::require_place(options.report);
  std::vector<context> contexts = contexts_of(options);
  if (options.profiles.empty()) return contexts;
  for (const context& ctx : contexts) jobs::require_place_for_rates(ctx, options.profiles);
  return contexts;
}

jobs::demo_result run_rows(const context& ctx, jobs::demo_settings& settings, bool table) {
  io::progress_step step(fmt::format("demo on {}: rows", name(ctx.backend())), io::progress_unit::items,
                         static_cast<double>(jobs::demo_row_count(ctx.backend(), settings)));
  settings.on_row = [&step, table](const jobs::demo_result& result) {
    if (!result.rows.empty()) step.add(1);
    if (table) print_latest(result);
  };
  return jobs::run_demo(ctx, settings);
}

void run(const demo_options& options) {
  std::vector<jobs::demo_result> results;
  const bool table = !options.json && !options.quiet;
  for (context& ctx : contexts_with_places(options)) {
    jobs::demo_settings settings;
    settings.rates = rates_of(ctx, options);
    settings.size = options.size == "small" ? jobs::small_size() : jobs::full_size(ctx);
    settings.variant = options.variant();
    settings.on_arrays = [&options](const context& of_row) { options.limit_scratch(of_row); };
    results.push_back(run_rows(ctx, settings, table));
    if (options.is_reference()) results.back().backend = "reference";
    if (table) fmt::print("\n{}\n", jobs::summary_table(results.back()));
  }
  nlohmann::json document;
  if (options.json) {
    nlohmann::json machines = nlohmann::json::array();
    for (const jobs::demo_result& result : results) machines.push_back(document_of(result));
    document = {{"command", "demo"},
                {"version", SHEAF_VERSION},
                {"size", options.size},
                {"device", results.size() == 1 ? nlohmann::json(results.front().device) : nlohmann::json()},
                {"output", json_path(options.report)},
                {"backends", machines}};
  }
  if (!options.report.empty()) jobs::write_demo_page(results, options.report);

  for (const jobs::demo_result& result : results) {
    for (const jobs::demo_row& row : result.rows) {
      if (row.mistakes == 0) continue;
      throw verification_failed(fmt::format("{} on {}: {} mistakes in the answer ({})", row.problem, result.backend,
                                            row.mistakes, row.variant),
                                std::move(document));
    }
  }
  if (options.json && !options.quiet) print_json(std::move(document));
}

}  // namespace

void add_demo(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("demo", "Run every primitive on inputs made here and check every answer");
  const auto options = std::make_shared<demo_options>();
  options->shows_profile = true;
  command->add_option("--size", options->size, "full: past the caches; small: a few MiB")
      ->check(CLI::IsMember({"small", "full"}))
      ->capture_default_str();
  command->add_option("--report", options->report, "Write an HTML page")->type_name("FILE");
  command
      ->add_option("--profiles", options->profiles,
                   "Predict from this machine's rates, kept in this folder; where it has none, measure them first, for "
                   "ten seconds or, where other programs run, thirty")
      ->type_name("FOLDER");
  options->add_context_to(*command);
  options->add_memory_to(*command);
  options->add_json_to(*command);
  options->add_quiet_to(*command);
  command->footer(demo_footer);
  command->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
