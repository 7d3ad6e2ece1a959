#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/spatter_run.hpp"
#include "io/spatter.hpp"

namespace sheaf::cli {
namespace {

struct spatter_options : common_options {
  std::string file;
  std::uint64_t runs = 0;
  double seconds = 2;
};

constexpr std::uint64_t most_runs = 1000000;

constexpr const char* footer = R"(A pattern file is Spatter's (github.com/hpcgarage/spatter), such as

  [{"kernel": "Gather", "pattern": "UNIFORM:8:4:NR", "count": 1000000},
   {"kernel": "Scatter", "pattern": [0, 24, 48, 1], "delta": 8, "count": 1000000}]

  sheaf spatter patterns.json --verify

Bandwidth is that of the best run and counts 8 bytes for every entry of the pattern in every step, and 16 for GS.
Every step has a dense row of its own for as long as a call of the library lasts (64 million entries); row r of a call
stands for Spatter's row r modulo wrap.)";

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::vector<std::uint64_t> deltas_of(const io::spatter_walk& walk) {
  std::vector<std::uint64_t> deltas(walk.offsets.begin() + 1, walk.offsets.end());
  deltas.push_back(walk.period_delta);
  for (std::size_t i = deltas.size() - 1; i > 0; --i) deltas[i] -= deltas[i - 1];
  return deltas;
}

std::string delta_text(const io::spatter_walk& walk) {
  return walk.period() == 1 ? fmt::to_string(walk.period_delta) : fmt::format("list of {}", walk.period());
}

std::string delta_text(const io::spatter_config& config) {
  if (config.gathers() && config.scatters()) {
    return fmt::format("{}, {}", delta_text(config.gather), delta_text(config.scatter));
  }
  return delta_text(config.gathers() ? config.gather : config.scatter);
}

void print_header() {
  fmt::print("{:>3}  {:<16} {:<12} {:>7} {:>10} {:>12} {:>10} {:>10} {:>9}  {}\n", "#", "name", "kernel", "length",
             "delta", "count", "best ms", "median ms", "GB/s", "variant");
}

void print_row(const io::spatter_config& config, const spatter_result& result) {
  const char* verdict = !result.faults ? "" : result.faults->count == 0 ? "  ok" : "  WRONG";
  fmt::print("{:>3}  {:<16} {:<12} {:>7} {:>10} {:>12} {:>10.3f} {:>10.3f} {:>9.2f}  {}{}\n", config.number,
             printable(config.name), io::name(config.kernel), config.length(), delta_text(config), config.count,
             result.best_seconds * 1e3, result.median_seconds * 1e3, result.bytes_per_second() / 1e9, result.variant,
             verdict);
  std::fflush(stdout);
}

nlohmann::json row_of(const io::spatter_config& config, const spatter_result& result) {
  nlohmann::json row = {{"number", config.number},
                        {"name", config.name},
                        {"kernel", io::name(config.kernel)},
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

std::string title(const spatter_options& options, const io::spatter_config& config) {
  return fmt::format("{}: configuration {} ({})", options.file, config.number, io::name(config.kernel));
}

void run_spatter(const spatter_options& options) {
  const std::vector<io::spatter_config> configs = io::load_spatter(options.file);
  const context ctx = options.make_context();
  spatter_settings settings;
  settings.runs = options.runs;
  settings.most_seconds = options.seconds;
  settings.verify = options.verify;
  settings.variant = options.variant();
  spatter_session session(ctx, settings);

  nlohmann::json rows = nlohmann::json::array();
  std::string first_fault;
  const bool table = !options.json && !options.quiet;
  if (table) print_header();
  for (const io::spatter_config& config : configs) {
    spatter_result result;
    try {
      result = session.run(config);
    } catch (const error& e) {
      throw error(e.code(), fmt::format("{}: {}", title(options, config), e.what()));
    }
    if (table) print_row(config, result);
    if (options.json) rows.push_back(row_of(config, result));
    if (result.faults && result.faults->count > 0 && first_fault.empty()) {
      first_fault =
          fmt::format("{}: {} wrong entries: {}", title(options, config), result.faults->count, result.faults->first);
    }
  }
  if (options.json) {
    print_json({{"command", "spatter"},
                {"file", options.file},
                {"backend", options.is_reference() ? "reference" : name(ctx.backend())},
                {"threads", ctx.threads()},
                {"configurations", rows}});
  }
  if (!first_fault.empty()) throw verification_failed(first_fault);
}

}  // namespace

void add_spatter(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("spatter", "Run the gather and scatter patterns of a Spatter file");
  const auto options = std::make_shared<spatter_options>();
  command->add_option("FILE", options->file, "Pattern file, JSON")->required();
  add_number(
      *command, "--runs", 1, most_runs, [options](std::uint64_t runs) { options->runs = runs; },
      "Timed runs of each pattern; the file's nruns, else 10, unless given");
  command->add_option("--seconds", options->seconds, "Begin no further run of a pattern after so long")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  options->add_to(*command, "Check every entry moved, whose value is a function of its place");
  command->footer(footer);
  command->callback([options] { run_spatter(*options); });
}

}  // namespace sheaf::cli
