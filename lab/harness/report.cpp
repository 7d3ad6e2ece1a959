#include "lab/harness/report.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/backends.hpp"
#include "lab/description/row_name.hpp"
#include "lab/harness/factors.hpp"
#include "plan/store/output_file.hpp"

namespace sheaf::bench {
namespace {

using json = nlohmann::ordered_json;

constexpr double hold_ratio = 0.97;  // a row at this factor or above counts as no slower than its best peer

std::string row_name(const result& r) { return fmt::format("{}/{}", name(r.problem), r.who); }

// Mean and worst of a value over rows, and the row that has the worst.
struct spread {
  double sum = 0;
  double worst = 0;
  const result* worst_row = nullptr;
  std::uint64_t rows = 0;

  void add(double value, bool is_worse, const result& r) {
    if (worst_row == nullptr || is_worse) {
      worst = value;
      worst_row = &r;
    }
    sum += value;
    ++rows;
  }
  double mean() const { return sum / static_cast<double>(rows); }
};

void print_peer_summary(std::span<const result> results, backend_kind backend, std::string_view primitive) {
  spread logs;
  std::uint64_t below = 0;
  for (const result& r : results) {
    if (r.backend != backend || r.problem.primitive != primitive || r.who != "sheaf" || r.peer_ratio <= 0) continue;
    const double log = std::log(r.peer_ratio);
    logs.add(log, log < logs.worst, r);
    below += r.peer_ratio < hold_ratio;
  }
  if (logs.rows == 0) return;
  fmt::print("{} {}: {} rows, peer / ours: geometric mean {:.3f}, worst {:.3f} ({}), {} below {}\n", name(backend),
             primitive, logs.rows, std::exp(logs.mean()), logs.worst_row->peer_ratio, row_name(*logs.worst_row), below,
             hold_ratio);
}

// A plan for a list of unknown order is one for any list, and its accuracy says as much of the list as of the plan.
void print_accuracy(std::span<const result> results, backend_kind backend, std::string_view primitive,
                    bool order_is_unknown) {
  spread ours;
  spread paper;
  for (const result& r : results) {
    if (r.backend != backend || r.problem.primitive != primitive || r.who != "sheaf") continue;
    if (r.order_is_unknown != order_is_unknown) continue;
    ours.add(r.accuracy(), r.accuracy() < ours.worst, r);
    if (r.he2007_seconds > 0) paper.add(r.he2007_accuracy(), r.he2007_accuracy() < paper.worst, r);
  }
  if (ours.rows == 0) return;
  fmt::print("{} {}{}: predicted at {:.1f} % accuracy in the mean, worst {:.1f} % ({})", name(backend), primitive,
             order_is_unknown ? ", lists of unknown order" : "", ours.mean() * 100, ours.worst * 100,
             row_name(*ours.worst_row));
  if (paper.rows > 0) {
    fmt::print("; by the 2007 model {:.1f} %, worst {:.1f} % ({})", paper.mean() * 100, paper.worst * 100,
               row_name(*paper.worst_row));
  }
  fmt::print("\n");
}

// Regrets of some rows: time of the planner's choice over that of the best variant, and how well the choice was
// predicted.
struct regret {
  spread ratios;
  double accuracies = 0;

  void add(const result& choice, double best_seconds) {
    const double ratio = choice.time.median_seconds / best_seconds;
    ratios.add(ratio, ratio > ratios.worst, choice);
    accuracies += choice.accuracy();
  }
  std::string text(const std::string& whose) const {
    return fmt::format(
        "{}: planner's choice / best variant over {} rows: mean {:.3f}, worst {:.3f} ({}); choices predicted at {:.1f} "
        "% accuracy in the mean\n",
        whose, ratios.rows, ratios.mean(), ratios.worst, name(ratios.worst_row->problem),
        accuracies / static_cast<double>(ratios.rows) * 100);
  }
};

// Eight digits: no clock has more.
double rounded(double value) { return std::strtod(fmt::format("{:.8g}", value).c_str(), nullptr); }

json json_of(const timing& t) {
  return {{"calls", t.calls},
          {"median_seconds", rounded(t.median_seconds)},
          {"least_seconds", rounded(t.least_seconds)},
          {"most_seconds", rounded(t.most_seconds)}};
}

void add_facts(json& row, std::span<const primitives::fact> facts) {
  for (const primitives::fact& f : facts) {
    std::visit([&](const auto& value) { row[std::string(f.name)] = value; }, f.value);
  }
}

json json_of(const result& result) {
  json row = {{"problem", name(result.problem)},
              {"backend", name(result.backend)},
              {"who", result.who},
              {"variant", result.variant},
              {"primitive", result.problem.primitive},
              {"pattern", pattern_name(result.problem)},
              {"record_bytes", result.problem.record_bytes},
              {"index_type", type_name(result.problem)},
              {"count", result.problem.count}};
  row.update(json_of(result.time));
  row["predicted_seconds"] = result.predicted_seconds > 0 ? json(rounded(result.predicted_seconds)) : json();
  row["peer_ratio"] = result.peer_ratio > 0 ? json(rounded(result.peer_ratio)) : json();
  row["bytes_per_second"] = rounded(result.bytes_per_second());
  row["verified"] = result.verified;
  if (result.he2007_seconds > 0) row["he2007_seconds"] = rounded(result.he2007_seconds);
  if (!result.figure.empty()) row["figure"] = result.figure;
  if (result.promises_less) row["promises_less"] = true;
  add_facts(row, result.facts);
  return row;
}

json json_of(const input_result& result) {
  json row = {{"figure", result.figure},
              {"input", result.input},
              {"where", result.where},
              {"backend", name(result.backend)},
              {"who", result.who},
              {"is_prepared", result.is_prepared},
              {"loading_seconds", rounded(result.loading_seconds)}};
  row.update(json_of(result.time));
  row["verified"] = result.verified;
  row["largest_error"] = result.largest_error >= 0 ? json(rounded(result.largest_error)) : json();
  row["machine"] = result.machine;  // that of `where`
  add_facts(row, result.facts);
  return row;
}

// ASCII on one line.
std::string text_of(const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); }

// A list with a line for each row.
template <class Rows>
std::string lines_of(const Rows& rows) {
  std::string text;
  for (const auto& r : rows) text += (text.empty() ? "\n" : ",\n") + text_of(json_of(r));
  return fmt::format("[{}\n]", text);
}

// "2026-11-20T12:00:00Z": of two files with the same problem, script/update-tables takes the newer.
std::string time_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

double result::accuracy_of(double predicted) const noexcept {
  return 1 - std::abs(time.median_seconds - predicted) / time.median_seconds;
}

void print_header(const platform& p) {
  fmt::print("# {}, last cache {} MB", p.machine, p.cache_bytes >> 20);
  for (const auto& [what, version] : p.versions) fmt::print(", {} {}", what, version);
  fmt::print(", commit {}\n# {:<58} {:>11} {:>25} {:>12} {:>9} {:>20}\n", SHEAF_BENCH_COMMIT, "row", "median",
             "least..most", "bandwidth", "peer/this", "predicted, accuracy");
}

void print_result(const result& result) {
  std::string line =
      fmt::format("{:<60} {:>11} {:>25} {:>7.1f} GB/s", row_name(result), time_text(result.time.median_seconds),
                  fmt::format("{}..{}", time_text(result.time.least_seconds), time_text(result.time.most_seconds)),
                  result.bytes_per_second() * 1e-9);
  if (result.peer_ratio > 0)
    line += fmt::format(" {:>8.3f}x{}", result.peer_ratio, short_mark(result.time.median_seconds));
  if (result.predicted_seconds > 0) {
    line += fmt::format(" {:>12} {:>6.0f}%", time_text(result.predicted_seconds), result.accuracy() * 100);
  }
  if (result.he2007_seconds > 0) {
    line += fmt::format("  2007 {:>12} {:>6.0f}%", time_text(result.he2007_seconds), result.he2007_accuracy() * 100);
  }
  if (result.who != result.variant && !result.variant.empty()) line += fmt::format("  took {}", result.variant);
  if (result.promises_less) line += "  promises less";
  if (!result.verified) line += "  WRONG ANSWER";
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void print_factors(std::span<const result> results) {
  std::vector<recorded_row> rows;
  for (const result& result : results) {
    rows.push_back({.backend = std::string(name(result.backend)),
                    .problem = name(result.problem),
                    .who = result.who,
                    .variant = result.variant,
                    .median_seconds = result.time.median_seconds,
                    .promises_less = result.promises_less});
  }
  fmt::print("\n{}", factors_text(factors_of(rows)));
}

// The results of a row are consecutive, and the choice is the first of them.
std::string regret_text(std::span<const result> results, backend_kind backend) {
  std::vector<std::pair<std::string_view, regret>> of_primitives;
  regret of_all;
  for (std::size_t first = 0, last; first < results.size(); first = last) {
    const result& choice = results[first];
    double best = choice.time.median_seconds;
    bool compared = false;
    for (last = first + 1; last < results.size() && results[last].who != "sheaf"; ++last) {
      if (results[last].who != results[last].variant) continue;
      best = std::min(best, results[last].time.median_seconds);
      compared = true;
    }
    if (!compared || choice.who != "sheaf" || choice.backend != backend) continue;
    const std::string_view primitive = choice.problem.primitive;
    auto found = std::ranges::find(of_primitives, primitive, &std::pair<std::string_view, regret>::first);
    if (found == of_primitives.end()) found = of_primitives.insert(found, {primitive, {}});
    found->second.add(choice, best);
    of_all.add(choice, best);
  }
  std::string text;
  for (const auto& [primitive, spread] : of_primitives) {
    text += spread.text(fmt::format("{} {}", name(backend), primitive));
  }
  if (of_primitives.size() > 1) text += of_all.text(std::string(name(backend)));
  return text;
}

void print_summary(std::span<const result> results) {
  fmt::print("\n");
  for (const core::backend& backend : core::backends()) {
    for (const primitives::entry* const e : primitives::entries()) print_peer_summary(results, backend.kind, e->name);
    for (const primitives::entry* const e : primitives::entries()) {
      for (const bool order_is_unknown : {false, true})
        print_accuracy(results, backend.kind, e->name, order_is_unknown);
    }
    fmt::print("{}", regret_text(results, backend.kind));
  }
  const auto wrong = std::ranges::count_if(results, [](const result& r) { return !r.verified; });
  fmt::print("{} answers, {} wrong\n", results.size(), wrong);
}

void write_json(const std::string& path, std::span<const result> results, const platforms& measured,
                std::span<const input_result> input_results, std::span<const named_list> further) {
  json machines = json::object();
  for (const auto& [backend, p] : measured) {
    machines[std::string(name(backend))] = {{"machine", p.machine}, {"versions", p.versions}};
  }
  std::string text = fmt::format(
      "{{\n\"schema_version\": {},\n\"recorded\": \"{}\",\n\"commit\": {},\n\"machines\": {},\n\"rows\": {}",
      results_schema_version, time_now(), text_of(SHEAF_BENCH_COMMIT), text_of(machines), lines_of(results));
  if (!input_results.empty()) text += fmt::format(",\n\"input_rows\": {}", lines_of(input_results));
  for (const auto& [name, lines] : further) text += fmt::format(",\n\"{}\": [\n{}\n]", name, fmt::join(lines, ",\n"));
  io::write_file(path, text + "\n}\n");
}

}  // namespace sheaf::bench
