#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/backends.hpp"
#include "lab/harness/factors.hpp"
#include "lab/harness/scale_out/results.hpp"

namespace sheaf::bench::scale_out {
namespace {

using ordered_json = nlohmann::ordered_json;

std::string seconds_text(double seconds) { return fmt::format("{:.3f} ms", seconds * 1e3); }

std::string place_text(const place& where) { return fmt::format("{} by {}", where.devices, name(where.link)); }

void add_place(ordered_json& to, const place& where) {
  to["backend"] = sheaf::name(where.backend);
  to["devices"] = where.devices;
  to["transport"] = name(where.link);
}

// As many digits as a clock has, and none for what is not there.
ordered_json number(double value) {
  return value > 0 ? ordered_json(std::stod(fmt::format("{:.8g}", value))) : ordered_json();
}

ordered_json json_of_row(const row& r) {
  ordered_json out = {{"problem", r.problem}, {"who", r.who}, {"is_prepared", r.is_prepared}};
  add_place(out, r.where);
  out["calls"] = r.time.calls;
  out["median_seconds"] = number(r.time.median_seconds);
  out["least_seconds"] = number(r.time.least_seconds);
  out["most_seconds"] = number(r.time.most_seconds);
  out["one_seconds"] = number(r.one_seconds);
  out["ratio"] = number(r.ratio());
  out["sent_bytes"] = number(r.sent_bytes);
  out["bound_seconds"] = number(r.bound_seconds);
  out["predicted_seconds"] = number(r.cost.seconds());
  ordered_json terms = ordered_json::object();
  for (const cost_term& term : r.cost.terms()) terms[term.what] = number(term.seconds);
  if (!terms.empty()) out["predicted_terms"] = terms;
  out["verified"] = r.verified;
  return out;
}

ordered_json json_of_link(const link& l) {
  ordered_json out = ordered_json::object();
  add_place(out, l.where);
  out["bytes_per_second"] = number(l.rates.bytes_per_second);
  out["exchange_seconds"] = number(l.rates.exchange_seconds);
  out["message_seconds"] = number(l.rates.message_seconds);
  out["wait_seconds"] = number(l.rates.wait_seconds);
  out["loaded_bytes_per_second"] = number(l.rates.loaded_bytes_per_second);
  return out;
}

}  // namespace

bool results::are_right() const {
  return std::ranges::all_of(rows, [](const row& r) { return r.verified; });
}

std::vector<named_list> results::lists() const {
  named_list of_rows{"scale_out_rows", {}};
  for (const row& r : rows) of_rows.lines.push_back(json_of_row(r).dump());
  named_list of_links{"links", {}};
  for (const link& l : links) of_links.lines.push_back(json_of_link(l).dump());
  return {of_rows, of_links};
}

std::string_view name(distributed::link_kind kind) noexcept {
  switch (kind) {
    case distributed::link_kind::copies: return "copies";
    case distributed::link_kind::nccl: return "nccl";
    default: return "threads";
  }
}

void print(const row& r) {
  std::string line = fmt::format("{:<52} {:>14}  {:<17} {:>11}", r.problem + (r.is_prepared ? " prepared" : ""), r.who,
                                 place_text(r.where), seconds_text(r.time.median_seconds));
  if (r.one_seconds > 0) line += fmt::format(", one {:>11}: {:5.2f}x", seconds_text(r.one_seconds), r.ratio());
  if (r.cost.seconds() > 0) {
    line += fmt::format("; model {:>11}, {:4.2f} of it", seconds_text(r.cost.seconds()),
                        r.cost.seconds() / r.time.median_seconds);
  }
  if (r.bound_seconds > 0)
    line += fmt::format("; NCCL's all-to-all {:3.0f} % of it", 100 * r.bound_seconds / r.time.median_seconds);
  if (!r.verified) line += "  WRONG ANSWER";
  fmt::print("{}\n", line);
  for (const cost_term& term : r.cost.terms()) fmt::print("    {:<36} {:>11}\n", term.what, seconds_text(term.seconds));
  std::fflush(stdout);
}

void print(const link& l) {
  fmt::print(
      "{}: {:.1f} GB/s a device each way, an exchange takes {:.1f} us at least, an all-gather {:.1f} us, a wait {:.1f} "
      "us\n",
      place_text(l.where), l.rates.bytes_per_second * 1e-9, l.rates.exchange_seconds * 1e6,
      l.rates.message_seconds * 1e6, l.rates.wait_seconds * 1e6);
}

void print_summary(const results& all) {
  double sum = 0;
  double worst = 0;
  const row* worst_row = nullptr;
  std::size_t rows = 0;
  for (const row& r : all.rows) {
    if (r.cost.seconds() <= 0) continue;
    const double off = std::abs(r.cost.seconds() / r.time.median_seconds - 1);
    if (worst_row == nullptr || off > worst) {
      worst = off;
      worst_row = &r;
    }
    sum += off;
    ++rows;
  }
  if (rows == 0) return;
  fmt::print("model: off by {:.1f} % in the mean of {} rows, at most by {:.1f} % ({}, {})\n",
             100 * sum / static_cast<double>(rows), rows, 100 * worst, worst_row->problem,
             place_text(worst_row->where));
}

}  // namespace sheaf::bench::scale_out
