#include "apps/sheaf/subcommands/machine_table.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "apps/sheaf/command.hpp"

namespace sheaf::cli {
namespace {

constexpr double widest_bar = 30;

// A bar whose length is the value's share of the maximum: at least one mark, so that no row looks unmeasured.
std::string bar(double value, double most) {
  return std::string(1 + static_cast<std::size_t>(widest_bar * std::clamp(value / most, 0.0, 1.0)), '#');
}

// A number of at most four digits, without an exponent.
std::string number(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, value >= 10 ? 1 : 2);
}

std::string stream_table(const std::vector<stream_rate>& rates) {
  std::string text = "  copies, GB/s read plus written\n";
  double most = 0;
  for (const stream_rate& rate : rates) most = std::max(most, rate.bytes_per_second);
  for (const stream_rate& rate : rates) {
    text += fmt::format("  {:>10}  {:>8}  {}\n", bytes_text(rate.footprint_bytes), number(rate.bytes_per_second / 1e9),
                        bar(rate.bytes_per_second, most));
  }
  return text;
}

std::string latency_table(const std::vector<latency_point>& latencies) {
  std::string text = "  one read that waits for another, ns\n";
  double most = 0;
  for (const latency_point& latency : latencies) most = std::max(most, latency.seconds);
  for (const latency_point& latency : latencies) {
    text += fmt::format("  {:>10}  {:>8}  {}\n", bytes_text(latency.footprint_bytes), number(latency.seconds * 1e9),
                        bar(latency.seconds, most));
  }
  return text;
}

// A table with a row for each footprint and a column for each width. The bar shows one width: 16 bytes, if measured.
std::string access_table(const char* what, const std::vector<access_rate>& rates) {
  std::set<std::uint64_t> widths;
  std::map<std::uint64_t, std::map<std::uint64_t, double>> rows;
  for (const access_rate& rate : rates) {
    widths.insert(rate.record_bytes);
    rows[rate.footprint_bytes][rate.record_bytes] = rate.records_per_second;
  }
  if (widths.empty()) return {};
  const std::uint64_t drawn = widths.contains(16) ? 16 : *widths.begin();
  double most = 0;
  for (const auto& [footprint, row] : rows) {
    if (row.contains(drawn)) most = std::max(most, row.at(drawn));
  }
  std::string text =
      fmt::format("  {}, millions a second, by bytes of a record; bars for {}\n  {:>10}", what, drawn, "");
  for (const std::uint64_t width : widths) text += fmt::format("  {:>7}", width);
  for (const auto& [footprint, row] : rows) {
    text += fmt::format("\n  {:>10}", bytes_text(footprint));
    for (const std::uint64_t width : widths) {
      text += fmt::format("  {:>7}", row.contains(width) ? number(row.at(width) / 1e6) : "-");
    }
    if (row.contains(drawn)) text += "  " + bar(row.at(drawn), most);
  }
  return text + "\n";
}

}  // namespace

std::string curve_tables(const machine& m) {
  return stream_table(m.streams) + latency_table(m.latencies) + access_table("random reads", m.random_read) +
         access_table("random writes", m.random_write) + access_table("atomic adds", m.atomic_add);
}

}  // namespace sheaf::cli
