#include "jobs/demo/report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sheaf/version.hpp>

#include "io/output_file.hpp"
#include "jobs/demo/summary.hpp"

namespace sheaf::jobs {
namespace {

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
tr.group td { border-bottom: 2px solid var(--line); padding-top: 1rem; font-weight: 600; }
table.summary { width: auto; margin-bottom: 1.6rem; }
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
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

// A bar whose full length is the machine's limit. Rates beyond it, which only cached data reach, are cut off; the
// number beside the bar shows them.
std::string bar(double share) {
  constexpr double width = 220;
  return fmt::format(
      "<svg width=\"{0}\" height=\"12\" role=\"img\" aria-label=\"{2:.0f} % of the limit\">"
      "<rect width=\"{0}\" height=\"12\" rx=\"2\" style=\"fill:var(--rest)\"/>"
      "<rect width=\"{1:.1f}\" height=\"12\" rx=\"2\" style=\"fill:var(--bar)\"/></svg>",
      width, width * std::clamp(share, 0.0, 1.0), share * 100);
}

std::string wrong_text(const std::string& text) { return fmt::format("<span class=\"wrong\">{}</span>", text); }

std::string summary_rows(const demo_result& result) {
  std::string html =
      "<table class=\"summary\">\n<tr><th>Family</th><th class=\"n\">Problems</th><th class=\"n\">Right</th>"
      "<th class=\"n\">Wrong</th><th class=\"n\">Of limit, median</th><th></th><th class=\"n\">From</th>"
      "<th class=\"n\">To</th><th class=\"n\">Predicted at</th></tr>\n";
  for (const family_summary& s : summaries_of(result)) {
    html += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{:.0f} %</td><td>{}</td><td class=\"n\">{:.0f} %</td><td class=\"n\">{:.0f} %</td>"
        "<td class=\"n\">{:.0f} % accuracy</td></tr>\n",
        escaped(s.family), s.rows, s.rows - s.wrong, s.wrong == 0 ? "0" : wrong_text(fmt::to_string(s.wrong)),
        s.median_share * 100, bar(s.median_share), s.least_share * 100, s.most_share * 100, s.mean_accuracy * 100);
  }
  return html + "</table>\n";
}

std::string row_of(const demo_result& result, const demo_row& row) {
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f}</td>"
      "<td class=\"n\">{:.0f} %</td><td>{}</td><td>{}</td></tr>\n",
      escaped(row.problem), escaped(row.variant), shown_time(row.seconds), shown_time(row.predicted_seconds),
      row.bytes_per_second() / 1e9, result.share(row) * 100, bar(result.share(row)),
      row.mistakes == 0 ? "right" : wrong_text(fmt::format("{} wrong", row.mistakes)));
}

std::string section(const demo_result& result) {
  std::string html = fmt::format(
      "<h2>{}: {}</h2>\n<p>{}Limit: a streamed copy reaches {:.1f} GB/s here. Predictions from the profile "
      "&ldquo;{}&rdquo;.</p>\n{}<table>\n<tr><th>Problem</th><th>Variant</th><th class=\"n\">Time</th>"
      "<th class=\"n\">Predicted</th><th class=\"n\">GB/s</th><th class=\"n\">Of "
      "limit</th><th></th><th>Answer</th></tr>\n",
      escaped(result.backend), escaped(result.device),
      result.threads > 1 ? fmt::format("{} threads. ", result.threads) : std::string(),
      result.copy_bytes_per_second / 1e9, escaped(result.profile), summary_rows(result));
  std::string family;
  for (const demo_row& row : result.rows) {
    if (row.family != family) {
      family = row.family;
      html += fmt::format("<tr class=\"group\"><td colspan=\"8\">{}</td></tr>\n", escaped(family));
    }
    html += row_of(result, row);
  }
  return html + "</table>\n";
}

}  // namespace

std::string shown_time(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
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
      "{}<h1>sheaf demo</h1>\n<p>{}. Bandwidth counts the bytes of records, values and keys read plus written, not the "
      "index. Times are medians. sheaf {}, compiler {}.</p>\n{}</body>\n</html>\n",
      head, verdict, SHEAF_VERSION, escaped(__VERSION__), sections);
}

void write_demo_page(const std::vector<demo_result>& results, const std::string& path) {
  const std::string page = demo_page(results);
  io::output_file file(path, page.size());
  file.write(page.data(), page.size());
  file.commit();
}

}  // namespace sheaf::jobs
