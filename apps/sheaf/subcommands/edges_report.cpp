#include "apps/sheaf/subcommands/edges_report.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "core/context_state.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::cli {
namespace {

/// Runs until preparing has paid, by what was measured; none where it never does.
std::optional<std::uint64_t> runs_to_pay(const edges_timing& t) {
  if (t.preparation.variant == "kept" || t.seconds >= t.unprepared) return std::nullopt;
  return static_cast<std::uint64_t>(t.preparation.preparation_seconds / (t.unprepared - t.seconds)) + 1;
}

nlohmann::json json_of(const dual_report& d) {
  return {{"volume", d.check.volume},
          {"closure_error", d.check.closure_error},
          {"flat_elements", d.flat_elements},
          {"reoriented_elements", d.reoriented_elements},
          {"outputs", d.outputs}};
}

nlohmann::json json_of(const common_options& common, const context& ctx, const edges_report& r) {
  const edge_sum_preparation& p = r.timing.preparation;
  nlohmann::json document = report_of("edges", ctx);
  document.update({{"device", ctx.state().device_name},
                   {"mesh", r.mesh},
                   {"nodes", r.nodes},
                   {"edges", r.edges},
                   {"components", r.components},
                   {"value_type", r.is_f32 ? "f32" : "f64"},
                   {"function", primitives::text_of(r.function, primitives::edge_functions)},
                   {"variant", p.run_variant},
                   {"runs", r.runs},
                   {"seconds", r.timing.seconds},
                   {"mean_seconds", r.timing.mean_seconds},
                   {"runs_per_second", r.timing.runs_per_second()},
                   {"unprepared_variant", p.unprepared_variant},
                   {"unprepared_seconds", r.timing.unprepared},
                   {"loading_seconds", r.timing.loading_seconds()},
                   {"copy_seconds", r.timing.copy_seconds},
                   {"preparation_seconds", p.preparation_seconds},
                   {"preparation",
                    {{"variant", p.variant},
                     {"run_variant", p.run_variant},
                     {"kept_bytes", p.kept_bytes},
                     {"trial_seconds", p.trial_seconds}}},
                   {"verified", common.verify},
                   {"output", r.output},
                   {"warnings", r.warnings}});
  const std::optional<std::uint64_t> pays = runs_to_pay(r.timing);
  document["pays_after_runs"] = pays ? nlohmann::json(*pays) : nlohmann::json();
  if (r.dual) document["dual"] = json_of(*r.dual);
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

void print_edges(const common_options& common, const context& ctx, const edges_report& r) {
  if (common.quiet) return;
  if (common.json) return print_json(json_of(common, ctx, r));
  const edges_timing& t = r.timing;
  const edge_sum_preparation& p = t.preparation;
  fmt::print("{}: {} nodes, {} edges, {} components\n", r.mesh, r.nodes, r.edges, r.components);
  fmt::print("edges: {} in {}, {:.4g} runs a second; {} in the mean of {} runs{}\n", p.run_variant,
             seconds_text(t.seconds), t.runs_per_second(), seconds_text(t.mean_seconds), r.runs,
             common.verify ? "; verified" : "");
  std::string loading = seconds_text(t.loading_seconds());
  if (t.copy_seconds > 0) loading += fmt::format(", {} of it the copy to the device", seconds_text(t.copy_seconds));
  if (p.variant != "kept" && p.variant != p.run_variant) {
    loading += fmt::format(", and {} does not suit these edges", p.variant);
  }
  const std::optional<std::uint64_t> pays = runs_to_pay(t);
  fmt::print("  loading: {}; without, {} in {}; {}\n", loading, p.unprepared_variant, seconds_text(t.unprepared),
             pays ? fmt::format("preparing pays after {} runs", *pays) : "preparing gains nothing here");
  if (r.dual) print_dual(*r.dual);
}

void print_edge_warnings(const common_options& common, const std::vector<std::string>& warnings) {
  if (common.quiet) return;
  for (const std::string& warning : warnings) fmt::print(stderr, "sheaf edges: warning: {}\n", warning);
}

}  // namespace sheaf::cli
