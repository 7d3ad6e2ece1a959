#include "jobs/demo/summary.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sheaf::jobs {
namespace {

family_summary summary_of(const demo_result& result, const std::string& family) {
  family_summary all{.family = family};
  std::vector<double> shares;
  for (const demo_row& row : result.rows) {
    if (row.family != family) continue;
    ++all.rows;
    all.wrong += row.mistakes > 0 ? 1 : 0;
    all.mean_accuracy += row.accuracy();
    shares.push_back(result.share(row));
  }
  std::sort(shares.begin(), shares.end());
  all.mean_accuracy /= static_cast<double>(all.rows);
  all.least_share = shares.front();
  all.median_share = shares[shares.size() / 2];
  all.most_share = shares.back();
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

std::string summary_table(const demo_result& result) {
  std::string text = fmt::format("{:<12} {:>8} {:>6} {:>6}   {:<30} {}\n", "family", "problems", "right", "wrong",
                                 "of the copy limit (from, to)", "predicted");
  for (const family_summary& s : summaries_of(result)) {
    text += fmt::format(
        "{:<12} {:>8} {:>6} {:>6}   {:<30} at {:.0f} % accuracy\n", s.family, s.rows, s.rows - s.wrong, s.wrong,
        fmt::format("{:>4.0f} %  ({:.0f} to {:.0f} %)", s.median_share * 100, s.least_share * 100, s.most_share * 100),
        s.mean_accuracy * 100);
  }
  return text + fmt::format("{}: {}\n", result.backend, verdict_of(result.rows.size(), result.wrong_rows()));
}

}  // namespace sheaf::jobs
