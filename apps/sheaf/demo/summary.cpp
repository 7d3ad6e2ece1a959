#include "apps/sheaf/demo/summary.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sheaf::jobs {
namespace {

struct spread {
  double least = 0;
  double median = 0;
  double most = 0;
};

spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

family_summary summary_of(const demo_result& result, const std::string& family) {
  family_summary all{.family = family};
  std::vector<double> shares;
  std::vector<double> factors;
  for (const demo_row& row : result.rows) {
    if (row.family != family) continue;
    ++all.rows;
    all.wrong += row.mistakes > 0 ? 1 : 0;
    all.mean_accuracy += row.accuracy();
    shares.push_back(row.share());
    if (row.plain_seconds > 0) factors.push_back(row.factor());
  }
  all.mean_accuracy /= static_cast<double>(all.rows);
  const spread of_limit = spread_of(shares);
  all.least_share = of_limit.least;
  all.median_share = of_limit.median;
  all.most_share = of_limit.most;
  const spread over_plain = spread_of(factors);
  all.least_factor = over_plain.least;
  all.median_factor = over_plain.median;
  all.most_factor = over_plain.most;
  return all;
}

}  // namespace

std::vector<family_summary> summaries_of(const demo_result& result) {
  std::vector<family_summary> all;
  for (const demo_row& row : result.rows) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const auto& s) { return s.family == row.family; });
    if (!known) all.push_back(summary_of(result, row.family));
  }
  return all;
}

std::string verdict_of(std::uint64_t rows, std::uint64_t wrong) {
  return wrong == 0 ? fmt::format("{} problems, every answer is right", rows)
                    : fmt::format("{} problems, {} of them answered wrong", rows, wrong);
}

std::string factor_text(double factor) {
  return factor < 10 ? fmt::format("{:.2f}x", factor) : fmt::format("{:.0f}x", factor);
}

std::string summary_table(const demo_result& result) {
  std::string text = fmt::format("{:<12} {:>8} {:>6} {:>6}   {:<26} {:<32} {}\n", "family", "problems", "right",
                                 "wrong", "of the copy limit", "over a plain loop", "predicted");
  for (const family_summary& s : summaries_of(result)) {
    const std::string factors = s.median_factor == 0
                                    ? "not timed here"
                                    : fmt::format("{:>6}  ({} to {})", factor_text(s.median_factor),
                                                  factor_text(s.least_factor), factor_text(s.most_factor));
    text += fmt::format(
        "{:<12} {:>8} {:>6} {:>6}   {:<26} {:<32} at {:.0f} % accuracy\n", s.family, s.rows, s.rows - s.wrong, s.wrong,
        fmt::format("{:>4.0f} %  ({:.0f} to {:.0f} %)", s.median_share * 100, s.least_share * 100, s.most_share * 100),
        factors, s.mean_accuracy * 100);
  }
  return text + fmt::format("{}: {}\n", result.backend, verdict_of(result.rows.size(), result.wrong_rows()));
}

}  // namespace sheaf::jobs
