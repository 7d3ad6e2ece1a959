#include "lab/harness/factors.hpp"

#include <fmt/format.h>

#include "lab/description/entry.hpp"

namespace sheaf::bench {
namespace {

constexpr double short_seconds = 20e-6;
constexpr double hold_ratio = 0.97;
constexpr double short_hold_ratio = 0.93;  // of calls of short_seconds and less
constexpr double weaker_hold_ratio = 0.7;  // over a peer whose answer may vary where ours may not
constexpr std::uint64_t many = std::uint64_t{1} << 24;
constexpr std::size_t most_worst = 10;

struct mean_of_factors {
  double log_sum = 0;
  std::uint64_t rows = 0;
  std::uint64_t below = 0;

  void add(double factor, double hold) {
    log_sum += std::log(factor);
    ++rows;
    below += factor < hold;
  }
  double mean() const { return std::exp(log_sum / static_cast<double>(rows)); }
};

bool are_of_one_problem(const recorded_row& a, const recorded_row& b) {
  return a.backend == b.backend && a.problem == b.problem && a.figure == b.figure;
}

// The factor of the problem whose rows these are; a factor of no seconds where a side is missing.
factor_row factor_of(std::span<const recorded_row> rows) {
  factor_row found{.backend = rows.front().backend, .problem = rows.front().problem};
  for (const recorded_row& row : rows) {
    if (row.who == "sheaf") found.seconds = row.median_seconds;
    if (row.is_peer() && row.promises_less &&
        (found.weaker_peer_seconds == 0 || row.median_seconds < found.weaker_peer_seconds)) {
      found.weaker_peer_seconds = row.median_seconds;
    }
    const bool counts = row.is_peer() && !row.promises_less;
    if (!counts || (!found.peer.empty() && row.median_seconds >= found.peer_seconds)) continue;
    found.peer = row.who;
    found.peer_seconds = row.median_seconds;
  }
  return found;
}

void describe(factor_row& row) {
  try {
    const primitives::problem_spec p = primitives::parse_problem(row.problem);
    row.family = primitives::entry_of(p).family;
    row.count = p.count;
  } catch (const error& e) {
    throw error(error_code::bad_input, e.what());
  }
}

// "cuda sort: 480 rows, peer / ours: geometric mean 1.213, ..."
std::string text_of_family(std::span<const factor_row> rows, const std::string& backend, std::string_view family) {
  mean_of_factors all;
  mean_of_factors large;
  mean_of_factors over_weaker;
  for (const factor_row& row : rows) {
    if (row.backend != backend || (!family.empty() && row.family != family)) continue;
    const double hold = row.seconds <= short_seconds ? short_hold_ratio : hold_ratio;
    all.add(row.factor(), hold);
    if (row.count >= many) large.add(row.factor(), hold);
    if (row.weaker_peer_seconds > 0) over_weaker.add(row.weaker_peer_seconds / row.seconds, weaker_hold_ratio);
  }
  if (all.rows == 0) return {};
  std::string text = fmt::format("{} {}: {} rows, peer / ours: geometric mean {:.3f}, {} below {}", backend,
                                 family.empty() ? "all" : family, all.rows, all.mean(), all.below, hold_ratio);
  if (large.rows > 0) {
    text += fmt::format("; {} of 2^24 and more records: {:.3f}, {} below", large.rows, large.mean(), large.below);
  }
  if (over_weaker.rows > 0) {
    text += fmt::format("; {} over peers whose answers vary: {:.3f}, {} below {}", over_weaker.rows, over_weaker.mean(),
                        over_weaker.below, weaker_hold_ratio);
  }
  return text + "\n";
}

}  // namespace

std::string_view short_mark(double seconds) noexcept { return seconds <= short_seconds ? " *" : ""; }

std::vector<factor_row> factors_of(std::span<const recorded_row> rows) {
  std::vector<factor_row> all;
  for (std::size_t first = 0, end; first < rows.size(); first = end) {
    for (end = first + 1; end < rows.size() && are_of_one_problem(rows[first], rows[end]);) ++end;
    factor_row row = factor_of(rows.subspan(first, end - first));
    if (row.seconds == 0 || row.peer.empty()) continue;
    describe(row);
    all.push_back(std::move(row));
  }
  return all;
}

std::string factors_text(std::vector<factor_row> rows) {
  if (rows.empty()) return "no row has a peer\n";
  std::vector<std::string> backends;
  for (const factor_row& row : rows) {
    if (std::ranges::find(backends, row.backend) == backends.end()) backends.push_back(row.backend);
  }
  std::string text;
  for (const std::string& backend : backends) {
    for (const std::string_view family : primitives::families()) text += text_of_family(rows, backend, family);
    text += text_of_family(rows, backend, {});
  }
  std::ranges::stable_sort(rows, {}, &factor_row::factor);
  rows.resize(std::min(rows.size(), most_worst));
  text += fmt::format("the {} worst, ours and the peer (* for calls of 20 us and less)\n", rows.size());
  for (const factor_row& row : rows) {
    text += fmt::format("{:>8.3g}  {} {}  {}, {} {}{}\n", row.factor(), row.backend, row.problem,
                        time_text(row.seconds), row.peer, time_text(row.peer_seconds), short_mark(row.seconds));
  }
  return text;
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

}  // namespace sheaf::bench
