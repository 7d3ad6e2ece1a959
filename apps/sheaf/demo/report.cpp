#include "apps/sheaf/demo/report.hpp"

#include <sheaf/version.hpp>

#include "apps/sheaf/files/streams.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::jobs {
namespace {

struct spread {
  double least = 0;
  double median = 0;
  double most = 0;
};

spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
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

constexpr const char* head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>sheaf demo</title>
<style>
:root { --ink: #1c2430; --soft: #647084; --line: #dfe4ec; --bar: #2f6fb0; --rest: #eef2f7; --bad: #b3261e; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: #fff; margin: 2.5rem auto; max-width: 68rem;
  padding: 0 1.5rem; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem; }
p { color: var(--soft); margin: .2rem 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; font-size: .85rem; color: var(--soft); }
th, td { padding: .28rem .7rem .28rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.n, th.n { text-align: right; }
details { margin-top: 1rem; }
summary { cursor: pointer; color: var(--soft); }
tr.group td { border-bottom: 2px solid var(--line); padding-top: 1rem; font-weight: 600; }
table.families { width: auto; }
td.range { color: var(--soft); }
svg { vertical-align: middle; }
.wrong { color: var(--bad); font-weight: 600; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9f1; --soft: #97a3b6; --line: #2c3542; --bar: #6ba6e0; --rest: #222a35; --bad: #ff8a80; }
  body { background: #12161c; }
}
</style>
</head>
<body>
)";

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char character : text) {
    switch (character) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += character;
    }
  }
  return safe;
}

// A bar whose full length is the machine's limit. Rates beyond it are cut off; the number beside the bar shows them.
std::string bar(double share) {
  constexpr double width = 220;
  return fmt::format(
      "<svg width=\"{0}\" height=\"12\" role=\"img\" aria-label=\"{2:.0f} % of the limit\">"
      "<rect width=\"{0}\" height=\"12\" rx=\"2\" style=\"fill:var(--rest)\"/>"
      "<rect width=\"{1:.1f}\" height=\"12\" rx=\"2\" style=\"fill:var(--bar)\"/></svg>",
      width, width * std::clamp(share, 0.0, 1.0), share * 100);
}

std::string wrong_text(const std::string& text) { return fmt::format("<span class=\"wrong\">{}</span>", text); }

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

// What matters of each family, a line each.
std::string family_table(const demo_result& result) {
  std::string html =
      "<table class=\"families\">\n<tr><th>Family</th><th class=\"n\">Answers right</th>"
      "<th class=\"n\" colspan=\"2\">Of the limit</th><th></th><th class=\"n\">Over a plain loop</th><th></th>"
      "<th class=\"n\">Predictions accurate</th></tr>\n";
  for (const family_summary& summary : summaries_of(result)) {
    const std::string right = fmt::format("{} of {}", summary.rows - summary.wrong, summary.rows);
    const bool has_factor = summary.median_factor > 0;
    html += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"range\">{} to {}</td>"
        "<td class=\"n\">{}</td><td class=\"range\">{}</td><td class=\"n\">{}</td></tr>\n",
        escaped(summary.family), summary.wrong == 0 ? right : wrong_text(right), percent(summary.median_share),
        bar(summary.median_share), percent(summary.least_share), percent(summary.most_share),
        has_factor ? factor_text(summary.median_factor) : "not timed",
        has_factor ? fmt::format("{} to {}", factor_text(summary.least_factor), factor_text(summary.most_factor)) : "",
        percent(summary.mean_accuracy));
  }
  return html + "</table>\n";
}

std::string row_of(const demo_row& row) {
  const bool has_plain = row.plain_seconds > 0;
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
      "<td class=\"n\">{}</td><td class=\"n\">{:.1f}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
      escaped(row.problem), escaped(row.variant), shown_time(row.seconds), shown_time(row.predicted_seconds),
      has_plain ? shown_time(row.plain_seconds) : "", has_plain ? factor_text(row.factor()) : "",
      row.bytes_per_second() / 1e9, percent(row.share()),
      row.mistakes == 0 ? "right" : wrong_text(fmt::format("{} wrong", row.mistakes)));
}

// All rows, folded away unless an answer is wrong.
std::string all_rows(const demo_result& result) {
  std::string html = fmt::format(
      "<details{}>\n<summary>All {} problems</summary>\n<table>\n<tr><th>Problem</th><th>Variant</th>"
      "<th class=\"n\">Time</th><th class=\"n\">Predicted</th><th class=\"n\">Plain loop</th>"
      "<th class=\"n\">Factor</th><th class=\"n\">GB/s</th><th class=\"n\">Of limit</th><th>Answer</th></tr>\n",
      result.wrong_rows() == 0 ? "" : " open", result.rows.size());
  std::string family;
  for (const demo_row& row : result.rows) {
    if (row.family != family) {
      family = row.family;
      html += fmt::format("<tr class=\"group\"><td colspan=\"9\">{}</td></tr>\n", escaped(family));
    }
    html += row_of(row);
  }
  return html + "</table>\n</details>\n";
}

bool has_plain_loops(const demo_result& result) {
  return std::ranges::any_of(result.rows, [](const demo_row& row) { return row.plain_seconds > 0; });
}

std::string section(const demo_result& result) {
  const std::string threads = result.threads > 1 ? fmt::format("{} threads. ", result.threads) : std::string();
  const char* const plain =
      has_plain_loops(result)
          ? "The plain loop is what one would write by hand, or the standard library's sort, on the same arrays."
          : "No plain loop is timed in this memory; sheaf-bench compares with the libraries that users call there.";
  return fmt::format("<h2>{}: {}</h2>\n<p>{}Limit: {}. {}<br>Predictions: {}</p>\n{}{}", escaped(result.backend),
                     escaped(result.device), threads, limit_text(result.limits), plain, escaped(result.rates),
                     family_table(result), all_rows(result));
}

}  // namespace

std::vector<family_summary> summaries_of(const demo_result& result) {
  std::vector<family_summary> all;
  for (const demo_row& row : result.rows) {
    const bool known = std::ranges::any_of(all, [&](const auto& s) { return s.family == row.family; });
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
  for (const family_summary& summary : summaries_of(result)) {
    const std::string factors = summary.median_factor == 0
                                    ? "not timed here"
                                    : fmt::format("{:>6}  ({} to {})", factor_text(summary.median_factor),
                                                  factor_text(summary.least_factor), factor_text(summary.most_factor));
    text += fmt::format("{:<12} {:>8} {:>6} {:>6}   {:<26} {:<32} at {:.0f} % accuracy\n", summary.family, summary.rows,
                        summary.rows - summary.wrong, summary.wrong,
                        fmt::format("{:>4.0f} %  ({:.0f} to {:.0f} %)", summary.median_share * 100,
                                    summary.least_share * 100, summary.most_share * 100),
                        factors, summary.mean_accuracy * 100);
  }
  return text + fmt::format("{}: {}\n", result.backend, verdict_of(result.rows.size(), result.wrong_rows()));
}

std::string shown_time(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

std::string limit_text(const copy_limits& limits) {
  if (limits.rates.empty()) return "not measured";
  const auto in = [&](std::uint64_t footprint) {
    return fmt::format("{:.1f} GB/s in {}", limits.bytes_per_second(footprint) / 1e9,
                       primitives::bytes_text(footprint));
  };
  return fmt::format("a streamed copy of as many bytes, {}, {}", in(limits.rates.back().footprint_bytes),
                     in(limits.rates.front().footprint_bytes));
}

std::string demo_page(const std::vector<demo_result>& results) {
  std::size_t rows = 0;
  std::uint64_t wrong = 0;
  std::string sections;
  for (const demo_result& result : results) {
    rows += result.rows.size();
    wrong += result.wrong_rows();
    sections += section(result);
  }
  const std::string verdict = wrong == 0 ? verdict_of(rows, wrong) : wrong_text(verdict_of(rows, wrong));
  return fmt::format(
      "{}<h1>sheaf demo</h1>\n<p>{}. Times are medians, and so are the first numbers of each family. Bandwidth counts "
      "the bytes of records, values and keys read plus written, not the index. sheaf {}, compiler {}.</p>\n{}</body>\n"
      "</html>\n",
      head, verdict, SHEAF_VERSION, escaped(__VERSION__), sections);
}

void write_demo_page(const std::vector<demo_result>& results, const std::string& path) {
  io::write_file(io::place_of_output(path), demo_page(results));
}

}  // namespace sheaf::jobs
