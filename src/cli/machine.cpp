#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sheaf/machine.hpp>

#include "cli/command.hpp"

namespace sheaf::cli {
namespace {

constexpr const char* footer =
    "Predictions are made from these numbers. SHEAF_PROFILE=FILE takes another profile.\n\n"
    "Example: keep the profile, change it, and plan with it\n"
    "  sheaf machine --save mine.json\n"
    "  SHEAF_PROFILE=mine.json sheaf plan gather --count 1000000 --table 1000000 --bytes 16";

constexpr double widest_bar = 40;

struct machine_command : common_options {
  std::string save_path;
};

std::string origin_text(const machine& m) {
  return m.source == "shipped" ? "shipped with sheaf, not measured on this machine" : "read from " + m.source;
}

void print_curve(const char* title, const std::vector<access_rate>& rates) {
  const double fastest = std::max_element(rates.begin(), rates.end(), [](const access_rate& a, const access_rate& b) {
                           return a.records_per_second < b.records_per_second;
                         })->records_per_second;
  std::uint64_t width = 0;
  for (const access_rate& rate : rates) {
    if (rate.record_bytes != width)
      fmt::print("  {}, records of {} bytes, millions a second\n", title, rate.record_bytes);
    width = rate.record_bytes;
    const auto bar = static_cast<std::size_t>(1 + widest_bar * rate.records_per_second / fastest);
    fmt::print("  {:>12}  {:>10.0f}  {}\n", bytes_text(rate.footprint_bytes), rate.records_per_second / 1e6,
               std::string(bar, '#'));
  }
}

void print_machine(const machine& m, bool used) {
  fmt::print("{}: {}{}\n", name(m.backend), m.name, used ? ", used by --backend auto" : "");
  fmt::print("  profile           {}\n", origin_text(m));
  fmt::print("  memory            {}, last cache {}\n", bytes_text(m.memory_bytes), bytes_text(m.cache_bytes));
  fmt::print("  moves at least    {} bytes reading, {} bytes writing\n", m.fetch_bytes, m.sector_bytes);
  fmt::print("  streams           {} from memory, {} from cache\n", rate_text(m.copy_bytes_per_second),
             rate_text(m.cached_bytes_per_second));
  fmt::print("  waits             {} for memory, {} for a call\n", seconds_text(m.access_seconds),
             seconds_text(m.launch_seconds));
  fmt::print("  rates are for     {} {}\n", m.parallelism,
             m.backend == backend_kind::cpu ? "threads" : "multiprocessors");
  print_curve("random reads", m.random_read);
  print_curve("random writes", m.random_write);
}

std::optional<machine> cuda_machine() {
  try {
    return context::cuda().profile();
  } catch (const error& e) {
    if (e.code() != error_code::backend_unavailable) throw;
    return std::nullopt;
  }
}

// The machines asked for: all that are here, or the one of a backend.
std::vector<machine> machines(const machine_command& o) {
  if (o.backend != "auto") return {o.make_context().profile()};
  std::vector<machine> found = {context::cpu(o.threads).profile()};
  if (auto gpu = cuda_machine()) found.push_back(*std::move(gpu));
  return found;
}

nlohmann::json machine_json(const machine& m, bool used) {
  nlohmann::json document = nlohmann::json::parse(format_machine(m));
  document.erase("schema_version");
  document["source"] = m.source;
  document["used"] = used;
  return document;
}

void run(const machine_command& o) {
  const std::vector<machine> found = machines(o);
  const machine& used = found.back();  // a GPU comes after the CPU and before it in the choice of --backend auto
  if (!o.save_path.empty()) save_machine(used, o.save_path);
  if (o.quiet) return;
  if (o.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const machine& m : found) list.push_back(machine_json(m, &m == &used));
    print_json({{"command", "machine"}, {"machines", list}});
    return;
  }
  for (const machine& m : found) print_machine(m, o.backend == "auto" && &m == &used);
  if (!o.save_path.empty()) fmt::print("{} saved to {}\n", used.name, o.save_path);
}

}  // namespace

void add_machine(CLI::App& app) {
  const auto options = std::make_shared<machine_command>();
  CLI::App* subcommand = app.add_subcommand("machine", "The measured rates that predictions are made from");
  subcommand->add_option("--save", options->save_path, "Write the profile in use as JSON")->type_name("FILE");
  options->add_to(*subcommand);
  subcommand->footer(footer);
  subcommand->callback([options] { run(*options); });
}

}  // namespace sheaf::cli
