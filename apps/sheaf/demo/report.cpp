#include "apps/sheaf/demo/report.hpp"

#include <sheaf/version.hpp>

#include "apps/sheaf/demo/plots.hpp"
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
:root { --ink: #1c2430; --soft: #566072; --line: #dfe4ec; --bar: #2f6fb0; --rest: #eef2f7; --bad: #b3261e;
  --s1: #b85c00; --s2: #2a7d4f; --s3: #7d4fb3; --s4: #0b7a7a; --note: #fff4de; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: #fff; margin: 2.5rem auto; max-width: 68rem;
  padding: 0 1.5rem; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
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
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; background: var(--rest);
  border-radius: 6px; padding: .8rem 1rem; margin: .6rem 0; }
dt { color: var(--soft); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
p.note { background: var(--note); color: var(--ink); border-radius: 6px; padding: .6rem 1rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem; margin: 1rem 0; }
.plots svg { width: 100%; max-width: 36rem; }
.scroll { overflow-x: auto; }
svg.plot text { font-family: system-ui, sans-serif; font-size: 12px; }
svg.plot text.title { font-weight: 600; font-size: 13px; fill: var(--ink); }
svg.plot text.label { fill: var(--soft); }
.grid { stroke: var(--line); }
.mark { stroke: var(--soft); stroke-dasharray: 2 3; }
.limit { stroke: var(--soft); stroke-width: 2; stroke-dasharray: 6 4; fill: none; }
.even { stroke: var(--ink); }
.point { fill: var(--bar); fill-opacity: .55; }
.curve { stroke-width: 2; fill: none; }
.s0 { stroke: var(--bar); } .s1 { stroke: var(--s1); } .s2 { stroke: var(--s2); } .s3 { stroke: var(--s3); }
.s4 { stroke: var(--s4); }
.wrong { color: var(--bad); font-weight: 600; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9f1; --soft: #a3aec0; --line: #2c3542; --bar: #6ba6e0; --rest: #1c232d; --bad: #ff8a80;
    --s1: #e5a04f; --s2: #63c38d; --s3: #b596e6; --s4: #4fc4c4; --note: #3a2f17; }
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
      "<details{}>\n<summary>All {} problems</summary>\n<div "
      "class=\"scroll\">\n<table>\n<tr><th>Problem</th><th>Variant</th>"
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
  return html + "</table>\n</div>\n</details>\n";
}

bool has_plain_loops(const demo_result& result) {
  return std::ranges::any_of(result.rows, [](const demo_row& row) { return row.plain_seconds > 0; });
}

std::string card_line(std::string_view name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, escaped(value));
}

std::string caches_text(const machine& m) {
  std::string text;
  for (const std::uint64_t bytes : m.cache_levels) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", primitives::bytes_text(bytes));
  }
  return text;
}

// Three digits, and more only before the point.
std::string short_number(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// The rate at the largest footprint where this width was measured.
std::string access_text(const std::vector<access_rate>& rates, std::uint64_t record_bytes) {
  const access_rate* largest = nullptr;
  for (const access_rate& rate : rates) {
    if (rate.record_bytes == record_bytes) largest = &rate;
  }
  if (largest == nullptr) return {};
  return fmt::format("{} million records of {} bytes a second in {}, {} GB/s",
                     short_number(largest->records_per_second / 1e6), record_bytes,
                     primitives::bytes_text(largest->footprint_bytes),
                     short_number(largest->records_per_second * static_cast<double>(record_bytes) / 1e9));
}

// What is known of the machine. Rates of another one are not shown as if they were of this one.
std::string machine_card(const demo_result& result) {
  constexpr std::uint64_t record_bytes = 8;
  const machine& m = result.known;
  std::string lines = card_line("Device", device_text(result));
  if (result.threads > 1) lines += card_line("Runs on", fmt::format("{} threads", result.threads));
  lines += card_line("Limit", limit_text(result.limits));
  if (result.is_of_this_machine) {
    if (m.memory_bytes > 0) lines += card_line("Memory", primitives::bytes_text(m.memory_bytes));
    lines += card_line("Caches", caches_text(m));
    lines += card_line("Random reads", access_text(m.random_read, record_bytes));
    lines += card_line("Random writes", access_text(m.random_write, record_bytes));
    if (m.access_seconds > 0) lines += card_line("Latency", fmt::format("{:.0f} ns a read", m.access_seconds * 1e9));
    if (m.launch_seconds > 0) lines += card_line("Shortest call", shown_time(m.launch_seconds));
  }
  lines += card_line("Predictions", fmt::format("{}; {:.0f} % accurate in the mean", result.rates.origin,
                                                result.mean_accuracy() * 100));
  return fmt::format("<dl>\n{}</dl>\n", lines);
}

std::string notes(const demo_result& result) {
  std::string html;
  for (const std::string& doubt : result.rates.doubts)
    html += fmt::format("<p class=\"note\">{}</p>\n", escaped(doubt));
  const std::string accuracy = accuracy_note(result);
  if (!accuracy.empty()) html += fmt::format("<p class=\"note\">{}</p>\n", escaped(accuracy));
  return html;
}

std::string plots(const demo_result& result) {
  std::string html;
  if (result.is_of_this_machine) {
    const machine& m = result.known;
    html += footprint_plot("Random reads", m.random_read, m.cache_levels, result.limits);
    html += footprint_plot("Random writes", m.random_write, m.cache_levels, result.limits);
  }
  html += prediction_plot(result);
  return html.empty() ? html : fmt::format("<div class=\"plots\">\n{}</div>\n", html);
}

std::string section(const demo_result& result, std::string_view heading) {
  const char* const plain =
      has_plain_loops(result)
          ? "The plain loop is what one would write by hand, or the standard library's sort, on the same arrays."
          : "No plain loop is timed in this memory; sheaf-bench compares with the libraries that users call there.";
  return fmt::format("<{0}>{1}: {2}</{0}>\n{3}{4}{5}<p>{6}</p>\n<div class=\"scroll\">\n{7}</div>\n{8}", heading,
                     escaped(result.backend), escaped(device_text(result)), machine_card(result), notes(result),
                     plots(result), plain, family_table(result), all_rows(result));
}

constexpr const char* of_software =
    "<h2>Renderers in software</h2>\n<p class=\"note\">Without a driver, OpenGL draws by a program on the CPU. That "
    "shows that answers are right; its times say nothing about OpenGL on a GPU, nor about this machine.</p>\n";

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
  const std::string note = accuracy_note(result);
  if (!note.empty()) text += note + "\n";
  return text + fmt::format("{}: {}\n", result.backend, verdict_of(result.rows.size(), result.wrong_rows()));
}

std::string device_text(const demo_result& result) {
  return result.is_software ? result.device + ", a renderer in software, on the CPU" : result.device;
}

std::string accuracy_note(const demo_result& result) {
  constexpr double usual_accuracy = 0.5;  // of predictions from rates of an idle machine, at least
  if (result.rows.empty() || result.mean_accuracy() >= usual_accuracy) return {};
  const std::string accuracy =
      fmt::format("Predictions were {:.0f} % accurate in the mean", result.mean_accuracy() * 100);
  if (result.is_software) return accuracy + ": a renderer in software shares the CPU with all else that runs.";
  if (!result.is_of_this_machine) {
    return fmt::format("{}, because they are made from rates of another machine, {}.", accuracy, result.profile);
  }
  const std::string_view remedy = result.known.source == "shipped"
                                      ? "sheaf machine --calibrate measures this machine."
                                      : "Without the file of rates that is named above, the next run measures again.";
  return fmt::format(
      "{}, far less than on an idle machine: something else runs here, or ran while rates were measured. {}", accuracy,
      remedy);
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
  std::string in_software;
  for (const demo_result& result : results) {
    rows += result.rows.size();
    wrong += result.wrong_rows();
    if (result.is_software) {
      in_software += section(result, "h3");
    } else {
      sections += section(result, "h2");
    }
  }
  if (!in_software.empty()) sections += of_software + in_software;
  const std::string verdict = wrong == 0 ? verdict_of(rows, wrong) : wrong_text(verdict_of(rows, wrong));
  return fmt::format(
      "{}<h1>sheaf demo</h1>\n<p>{}. Times are the least of several runs, because other programs that run meanwhile "
      "slow some of them down. The first numbers of each family are medians of its problems. Bandwidth counts the "
      "bytes of "
      "records, values and keys read plus written, not the index. sheaf {}, compiler {}.</p>\n{}</body>\n"
      "</html>\n",
      head, verdict, SHEAF_VERSION, escaped(__VERSION__), sections);
}

void write_demo_page(const std::vector<demo_result>& results, const std::string& path) {
  io::write_file(io::place_of_output(path), demo_page(results));
}

}  // namespace sheaf::jobs
