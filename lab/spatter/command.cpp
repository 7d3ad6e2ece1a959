#include "lab/spatter/command.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/error.hpp>

#include "lab/spatter/run.hpp"
#include "plan/store/output_file.hpp"

namespace sheaf::bench {
namespace {

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::vector<std::uint64_t> deltas_of(const spatter_sequence& sequence) {
  std::vector<std::uint64_t> deltas(sequence.offsets.begin() + 1, sequence.offsets.end());
  deltas.push_back(sequence.period_delta);
  for (std::size_t i = deltas.size() - 1; i > 0; --i) deltas[i] -= deltas[i - 1];
  return deltas;
}

std::string delta_text(const spatter_sequence& sequence) {
  return sequence.period() == 1 ? fmt::to_string(sequence.period_delta) : fmt::format("list of {}", sequence.period());
}

std::string delta_text(const spatter_config& config) {
  if (config.gathers() && config.scatters()) {
    return fmt::format("{}, {}", delta_text(config.gather), delta_text(config.scatter));
  }
  return delta_text(config.gathers() ? config.gather : config.scatter);
}

void print_header() {
  fmt::print("{:>3}  {:<16} {:<12} {:>7} {:>10} {:>12} {:>10} {:>10} {:>9}  {}\n", "#", "name", "kernel", "length",
             "delta", "count", "best ms", "median ms", "GB/s", "variant");
}

void print_row(const spatter_config& config, const spatter_result& result) {
  const char* verdict = !result.faults ? "" : result.faults->count == 0 ? "  ok" : "  WRONG";
  fmt::print("{:>3}  {:<16} {:<12} {:>7} {:>10} {:>12} {:>10.3f} {:>10.3f} {:>9.2f}  {}{}\n", config.number,
             printable(config.name), name(config.kernel), config.length(), delta_text(config), config.count,
             result.best_seconds * 1e3, result.median_seconds * 1e3, result.bytes_per_second() / 1e9, result.variant,
             verdict);
  std::fflush(stdout);
}

nlohmann::json row_of(const spatter_config& config, const spatter_result& result) {
  nlohmann::json row = {{"number", config.number},
                        {"name", config.name},
                        {"kernel", name(config.kernel)},
                        {"pattern_length", config.length()},
                        {"count", config.count},
                        {"wrap", config.wrap},
                        {"runs", result.runs},
                        {"best_seconds", result.best_seconds},
                        {"median_seconds", result.median_seconds},
                        {"bytes", result.bytes},
                        {"bytes_per_second", result.bytes_per_second()},
                        {"variant", result.variant},
                        {"verified", nullptr}};
  if (config.gathers()) row["gather_deltas"] = deltas_of(config.gather);
  if (config.scatters()) row["scatter_deltas"] = deltas_of(config.scatter);
  if (result.faults) {
    row["verified"] = result.faults->count == 0;
    row["wrong_entries"] = result.faults->count;
  }
  return row;
}

std::string title(const spatter_request& request, const spatter_config& config) {
  return fmt::format("{}: configuration {} ({})", request.file, config.number, name(config.kernel));
}

}  // namespace

bool run_spatter(const context& ctx, const spatter_request& request, const std::string& json_path) {
  const std::vector<spatter_config> configs = load_spatter(request.file);
  spatter_settings settings;
  settings.runs = request.runs;
  settings.most_seconds = request.seconds;
  settings.verify = request.verify;
  settings.variant = request.variant;
  spatter_session session(ctx, settings);

  nlohmann::json rows = nlohmann::json::array();
  std::string first_fault;
  print_header();
  for (const spatter_config& config : configs) {
    spatter_result result;
    try {
      result = session.run(config);
    } catch (const error& e) {
      throw error(e.code(), fmt::format("{}: {}", title(request, config), e.what()));
    }
    print_row(config, result);
    rows.push_back(row_of(config, result));
    if (result.faults && result.faults->count > 0 && first_fault.empty()) {
      first_fault =
          fmt::format("{}: {} wrong entries: {}", title(request, config), result.faults->count, result.faults->first);
    }
  }
  if (!json_path.empty()) {
    const nlohmann::json document = {{"schema_version", 1},      {"command", "spatter"},
                                     {"file", request.file},     {"backend", name(ctx.backend())},
                                     {"threads", ctx.threads()}, {"configurations", rows}};
    io::write_file(json_path, document.dump(1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
  }
  if (!first_fault.empty()) fmt::print(stderr, "sheaf-bench spatter: {}\n", first_fault);
  return first_fault.empty();
}

}  // namespace sheaf::bench
