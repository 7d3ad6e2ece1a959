#include "lab/harness/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "lab/harness/factors.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::bench {
namespace {

struct spread {
  double least = 0;
  double median = 0;
};

// The peer's own spread is not recorded in the row; its median stands for it.
spread spread_of(const recorded_row& row, bool relative) {
  const double unit = relative ? row.peer_ratio * row.median_seconds : 1;
  return {row.least_seconds / unit, row.median_seconds / unit};
}

bool takes_longer(const spread& a, const spread& b, double threshold) {
  return b.median < threshold * a.median && a.least > b.median;
}

change change_of(const spread& before, const spread& after, double threshold) {
  if (takes_longer(after, before, threshold)) return change::slower;
  if (takes_longer(before, after, threshold)) return change::faster;
  const bool beyond_threshold = before.median < threshold * after.median || after.median < threshold * before.median;
  return beyond_threshold ? change::within_noise : change::none;
}

compared_row compared(const recorded_row& before, const recorded_row& after, const compare_request& request) {
  const spread old_spread = spread_of(before, request.relative);
  const spread new_spread = spread_of(after, request.relative);
  compared_row row{before, after};
  row.speedup = old_spread.median / new_spread.median;
  if (before.peer_ratio > 0 && after.peer_ratio > 0) row.relative_speedup = after.peer_ratio / before.peer_ratio;
  row.change = change_of(old_spread, new_spread, request.threshold);
  return row;
}

constexpr primitives::enum_name<change> changes[] = {
    {"slower", change::slower}, {"faster", change::faster}, {"within noise", change::within_noise}, {"", change::none}};

std::string variants_text(const compared_row& row) {
  if (row.before.variant == row.after.variant || row.before.variant == row.before.who) return row.after.variant;
  return fmt::format("{} -> {}", row.before.variant, row.after.variant);
}

// The times themselves, or both as multiples of the peer's.
std::string measure_text(const recorded_row& row, bool relative) {
  return relative ? fmt::format("{:.3f}", 1 / row.peer_ratio) : time_text(row.median_seconds);
}

void append_row(std::string& text, const compared_row& row, bool relative) {
  std::string line = fmt::format("{:<64} {:>11} {:>11} {:>8.3f}", name(row.after), measure_text(row.before, relative),
                                 measure_text(row.after, relative), row.speedup);
  if (!relative) {
    line += row.relative_speedup > 0 ? fmt::format(" {:>8.3f}", row.relative_speedup) : fmt::format(" {:>8}", "");
  }
  line += fmt::format("  {:<12}  {}{}{}", primitives::text_of(row.change, changes), variants_text(row),
                      row.before.verified ? "" : "  OLD WRONG", row.after.verified ? "" : "  WRONG");
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

struct tally {
  std::uint64_t rows = 0;
  double log_sum = 0;
  std::uint64_t slower = 0;
  std::uint64_t slower_within_noise = 0;
  std::uint64_t faster = 0;
  const compared_row* worst = nullptr;
};

tally tally_of(const comparison& found, bool of_peers) {
  tally all;
  for (const compared_row& row : found.rows) {
    if (row.after.is_peer() != of_peers) continue;
    if (all.worst == nullptr) all.worst = &row;
    ++all.rows;
    all.log_sum += std::log(row.speedup);
    all.slower += row.change == change::slower;
    all.faster += row.change == change::faster;
    all.slower_within_noise += row.change == change::within_noise && row.speedup < 1;
  }
  return all;
}

void append_summary(std::string& text, const comparison& found, const compare_request& request, bool of_peers) {
  const tally all = tally_of(found, of_peers);
  if (all.rows == 0) return;
  text += fmt::format(
      "{}: {} rows, old / new: geometric mean {:.3f}, worst {:.3f} ({}); {} slower beyond noise, {} more below {} "
      "within "
      "noise, {} faster beyond noise\n",
      of_peers ? "peers" : "ours", all.rows, std::exp(all.log_sum / static_cast<double>(all.rows)), all.worst->speedup,
      name(all.worst->after), all.slower, all.slower_within_noise, request.threshold, all.faster);
}

void append_names(std::string& text, const std::vector<std::string>& names, const std::string& path) {
  if (names.empty()) return;
  text += fmt::format("\nonly in {}, {} rows:\n", path, names.size());
  for (const std::string& name : names) text += fmt::format("  {}\n", name);
}

void append_header(std::string& text, const comparison& found, const compare_request& request) {
  std::set<std::string> machines[2];
  std::set<std::string> commits[2];
  for (const compared_row& row : found.rows) {
    machines[0].insert(row.before.machine);
    machines[1].insert(row.after.machine);
    commits[0].insert(row.before.commit);
    commits[1].insert(row.after.commit);
  }
  text += fmt::format("# old: {}, {}, commit {}\n", request.old_path, fmt::join(machines[0], "; "),
                      fmt::join(commits[0], "; "));
  text += fmt::format("# new: {}, {}, commit {}\n", request.new_path, fmt::join(machines[1], "; "),
                      fmt::join(commits[1], "; "));
  if (machines[0] != machines[1] && !request.relative) {
    text += "# the machines differ: --relative compares times as multiples of the peer's\n";
  }
  text += request.relative
              ? fmt::format("# {:<62} {:>11} {:>11} {:>8}\n", "row, times over the peer's", "old", "new", "old/new")
              : fmt::format("# {:<62} {:>11} {:>11} {:>8} {:>8}\n", "row", "old", "new", "old/new", "to peer");
}

}  // namespace

std::uint64_t comparison::slower_count() const noexcept {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      rows, [](const compared_row& row) { return row.change == bench::change::slower && !row.after.is_peer(); }));
}

comparison compare(std::span<const recorded_row> before, std::span<const recorded_row> after,
                   const compare_request& request) {
  std::map<std::string, std::vector<const recorded_row*>> before_by_name;
  for (const recorded_row& row : before) before_by_name[name(row)].push_back(&row);
  std::map<std::string, std::size_t> matched;

  comparison found;
  const auto is_wrong = [](const recorded_row& row) { return !row.verified; };
  found.wrong_before = static_cast<std::uint64_t>(std::ranges::count_if(before, is_wrong));
  for (const recorded_row& row : after) {
    if (!row.verified) ++found.wrong_after;
    const std::string row_name = name(row);
    const auto candidates = before_by_name.find(row_name);
    std::size_t& next = matched[row_name];
    if (candidates == before_by_name.end() || next == candidates->second.size()) {
      found.only_after.push_back(row_name);
      continue;
    }
    const recorded_row& old_row = *candidates->second[next++];
    if (request.relative && (old_row.peer_ratio == 0 || row.peer_ratio == 0)) {
      found.without_peer += !row.is_peer();
      continue;
    }
    found.rows.push_back(compared(old_row, row, request));
  }
  for (const auto& [row_name, rows] : before_by_name) {
    for (std::size_t k = matched[row_name]; k < rows.size(); ++k) found.only_before.push_back(row_name);
  }
  if (found.rows.empty()) {
    throw error(error_code::bad_input, fmt::format("{} and {} have no row in common{}", request.old_path,
                                                   request.new_path, request.relative ? " with a peer in both" : ""));
  }
  std::ranges::stable_sort(found.rows, {}, &compared_row::speedup);
  return found;
}

std::string report_text(const comparison& found, const compare_request& request) {
  std::string text;
  append_header(text, found, request);
  for (const compared_row& row : found.rows) append_row(text, row, request.relative);
  append_names(text, found.only_before, request.old_path);
  append_names(text, found.only_after, request.new_path);
  text += "\n";
  append_summary(text, found, request, false);
  append_summary(text, found, request, true);
  if (found.without_peer > 0)
    text += fmt::format("{} rows without a peer in both files left out\n", found.without_peer);
  if (found.wrong_before > 0) text += fmt::format("{}: {} WRONG answers\n", request.old_path, found.wrong_before);
  if (found.wrong_after > 0) text += fmt::format("{}: {} WRONG answers\n", request.new_path, found.wrong_after);
  return text;
}

comparison run_compare(const compare_request& request) {
  const std::vector<recorded_row> before = load_results(request.old_path);
  const std::vector<recorded_row> after = load_results(request.new_path);
  comparison found = compare(before, after, request);
  fmt::print("{}", report_text(found, request));
  return found;
}

}  // namespace sheaf::bench
