#include "apps/sheaf/subcommands/edges_report.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace sheaf::cli {
namespace {

/// Runs until preparing has paid, by what was measured; none where it never does.
std::optional<std::uint64_t> runs_to_pay(const edges_timing& t) {
  if (t.preparation.variant == "kept" || t.seconds >= t.unprepared) return std::nullopt;
  return static_cast<std::uint64_t>(t.preparation.preparation_seconds / (t.unprepared - t.seconds)) + 1;
}

nlohmann::json json_of(const dual_report& report) {
  return {{"volume", report.check.volume},
          {"closure_error", report.check.closure_error},
          {"flat_elements", report.flat_elements},
          {"reoriented_elements", report.reoriented_elements},
          {"outputs", report.outputs}};
}

nlohmann::json json_of(const common_options& common, const context& ctx, const edges_report& report) {
  const edge_sum_preparation& preparation = report.timing.preparation;
  nlohmann::json document = report_of("edges", ctx);
  document.update({{"mesh", report.mesh},
                   {"nodes", report.nodes},
                   {"edges", report.edges},
                   {"components", report.components},
                   {"value_type", report.is_f32 ? "f32" : "f64"},
                   {"function", primitives::text_of(report.function, primitives::edge_functions)},
                   {"variant", preparation.run_variant},
                   {"runs", report.runs},
                   {"seconds", report.timing.seconds},
                   {"mean_seconds", report.timing.mean_seconds},
                   {"median_seconds", report.timing.median_seconds},
                   {"runs_per_second", report.timing.runs_per_second()},
                   {"predicted_seconds", report.timing.predicted_seconds},
                   {"predicted_unprepared_seconds", report.timing.predicted_unprepared_seconds},
                   {"unprepared_variant", preparation.unprepared_variant},
                   {"unprepared_seconds", report.timing.unprepared},
                   {"loading_seconds", report.timing.loading_seconds()},
                   {"copy_seconds", report.timing.copy_seconds},
                   {"preparation_seconds", preparation.preparation_seconds},
                   {"preparation",
                    {{"variant", preparation.variant},
                     {"run_variant", preparation.run_variant},
                     {"kept_bytes", preparation.kept_bytes},
                     {"trial_seconds", preparation.trial_seconds}}},
                   {"verified", common.verify},
                   {"output", json_path(report.output)},
                   {"warnings", report.warnings}});
  const std::optional<std::uint64_t> pays = runs_to_pay(report.timing);
  document["pays_after_runs"] = pays ? nlohmann::json(*pays) : nlohmann::json();
  if (report.dual) document["dual"] = json_of(*report.dual);
  return document;
}

std::string elements_text(std::uint64_t count, const char* kind) {
  return fmt::format("{} {} element{}", count, kind, count == 1 ? "" : "s");
}

void print_dual(const dual_report& d) {
  fmt::print("dual: volume {:.9g}, closure error {:.2g}, {}, {}\n", d.check.volume, d.check.closure_error,
             elements_text(d.flat_elements, "flat"), elements_text(d.reoriented_elements, "reoriented"));
}

}  // namespace

void print_edges(const common_options& common, const context& ctx, const edges_report& report) {
  if (common.quiet) return;
  if (common.json) return print_json(json_of(common, ctx, report));
  const edges_timing& timing = report.timing;
  const edge_sum_preparation& preparation = timing.preparation;
  print_variants(common, timing.plan);
  fmt::print("{}: {} nodes, {} edges, {} components\n", shown_file(stdout, report.mesh), report.nodes, report.edges,
             report.components);
  fmt::print("edges: {} in {}, {:.4g} runs a second; {} in the median and {} in the mean of {} runs{}\n",
             preparation.run_variant, seconds_text(timing.seconds), timing.runs_per_second(),
             seconds_text(timing.median_seconds), seconds_text(timing.mean_seconds), report.runs,
             common.verify ? "; verified" : "");
  std::string loading = seconds_text(timing.loading_seconds());
  if (timing.copy_seconds > 0)
    loading += fmt::format(", {} of it the copy to the device", seconds_text(timing.copy_seconds));
  if (preparation.variant != "kept" && preparation.variant != preparation.run_variant) {
    loading += fmt::format(", and {} does not suit these edges", preparation.variant);
  }
  const std::optional<std::uint64_t> pays = runs_to_pay(timing);
  fmt::print("  loading: {}; without, {} in {}; {}\n", loading, preparation.unprepared_variant,
             seconds_text(timing.unprepared),
             pays ? fmt::format("preparing pays after {} runs", *pays) : "preparing gains nothing here");
  if (report.dual) print_dual(*report.dual);
}

void print_edge_warnings(const common_options& common, const std::vector<std::string>& warnings) {
  if (common.quiet) return;
  for (const std::string& warning : warnings)
    fmt::print(stderr, "sheaf edges: warning: {}\n", shown_on(stderr, warning));
}

}  // namespace sheaf::cli
