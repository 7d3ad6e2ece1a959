#include "apps/sheaf/demo/profile.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>

#include <sheaf/version.hpp>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/output_check.hpp"
#include "core/context_state.hpp"

namespace sheaf::jobs {
namespace {

constexpr double seconds_to_measure = 10;
constexpr int most_measurements = 3;
// The best copies right after are compared with least times of single runs.
constexpr double most_times_apart = 1.5;
constexpr double most_rise = 1.5;
constexpr std::size_t points_for_a_rise = 20;

bool is_of_device(const context& ctx, const machine& m) {
  return m.backend == ctx.backend() && m.name == ctx.state().device_name;
}

// One profile for each number of threads, because the rates of few say little about those of many.
std::string path_of(const context& ctx, const std::string& folder) {
  return fmt::format("{}/{}-{}-threads.json", folder, name(ctx.backend()), ctx.threads());
}

// The profile at a path, if it is of this device, these threads and this version.
std::optional<machine> kept_profile(const context& ctx, const std::string& path) {
  try {
    machine m = load_machine(path);
    const bool has_threads =
        ctx.backend() != backend_kind::cpu || m.parallelism == static_cast<std::uint32_t>(ctx.threads());
    if (is_of_device(ctx, m) && has_threads && m.versions["sheaf"] == SHEAF_VERSION) return m;
  } catch (const error&) {
    // Damaged or of another schema: a new one is measured in its place.
  }
  return std::nullopt;
}

// Random reads get no faster in larger footprints. Profiles of idle machines have at most 1 such point in 96; one of a
// machine that compiled meanwhile had 28 in 84.
std::string doubt_of_reads(const std::vector<access_rate>& rates) {
  std::size_t rises = 0;
  for (std::size_t i = 1; i < rates.size(); ++i) {
    if (rates[i].record_bytes != rates[i - 1].record_bytes) continue;
    rises += rates[i].records_per_second > most_rise * rates[i - 1].records_per_second ? 1 : 0;
  }
  if (rises * points_for_a_rise <= rates.size()) return {};
  return fmt::format("random reads were faster in larger memory at {} of {} points", rises, rates.size());
}

// The machine was as fast when it was measured as it is now.
std::string doubt_of_copies(const machine& m, const copy_limits& now) {
  std::vector<double> ratios;
  for (const stream_rate& rate : now.rates) {
    const auto before = std::ranges::find(m.streams, rate.footprint_bytes, &stream_rate::footprint_bytes);
    if (before != m.streams.end()) ratios.push_back(rate.bytes_per_second / before->bytes_per_second);
  }
  if (ratios.empty()) return {};
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  const double median = ratios[ratios.size() / 2];
  if (median <= most_times_apart && median * most_times_apart >= 1) return {};
  return fmt::format("copies right after were {:.2f} times as fast as measured", median);
}

// Why a measurement does not look like one of an idle machine; empty if it does.
std::string doubt_of(const context& ctx, const demo_calibration& calibration, const machine& m) {
  const std::string doubt = doubt_of_reads(m.random_read);
  return doubt.empty() ? doubt_of_copies(m, calibration.measure_copies(ctx, m.streams.back().footprint_bytes)) : doubt;
}

// Points of both curves, by their places; of a point that both have, the one that `better` prefers.
template <class Point, class Place, class Better>
std::vector<Point> best_points(const std::vector<Point>& a, const std::vector<Point>& b, Place place, Better better) {
  std::vector<Point> best = a;
  for (const Point& point : b) {
    const auto at = std::ranges::lower_bound(best, place(point), {}, place);
    if (at == best.end() || place(*at) != place(point)) {
      best.insert(at, point);
    } else if (better(point, *at)) {
      *at = point;
    }
  }
  return best;
}

std::vector<access_rate> best_rates(const std::vector<access_rate>& a, const std::vector<access_rate>& b) {
  return best_points(
      a, b, [](const access_rate& rate) { return std::pair(rate.record_bytes, rate.footprint_bytes); },
      [](const access_rate& one, const access_rate& other) {
        return one.records_per_second > other.records_per_second;
      });
}

std::string keep(const machine& m, const std::string& path) {
  try {
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
    save_machine(m, path);
    return fmt::format("kept as {}", path);
  } catch (const error& e) {
    return fmt::format("not kept: {}", e.what());
  }
}

// Several measurements of a machine that was never idle.
struct measurements {
  std::optional<machine> best;
  std::vector<std::string> left_out;  ///< of the best; none where one measurement had all figures
  std::vector<std::string> doubts;    ///< of each
};

// Whether the measurement looks like one of an idle machine, alone or as the best of those so far.
bool measure_once(const context& ctx, const demo_calibration& calibration, measurements& all) {
  try {
    std::vector<std::string> left_out;
    const machine measured = calibration.measure(ctx, [&](std::string_view words) { left_out.emplace_back(words); });
    // What stands for figures that were left out is no measurement, which could be the best.
    const bool has_all = left_out.empty();
    if (!all.best || (has_all && !all.left_out.empty())) {
      all.best = measured;
      all.left_out = std::move(left_out);
    } else if (has_all) {
      all.best = best_of(*all.best, measured);
    }
    const std::string doubt = doubt_of(ctx, calibration, *all.best);
    if (doubt.empty()) return true;
    all.doubts.push_back(doubt);
  } catch (const std::exception& e) {
    all.doubts.emplace_back(e.what());
  }
  return false;
}

rates_in_use measured_rates(context& ctx, const demo_calibration& calibration, const std::string& path) {
  measurements all;
  int times = 0;
  bool is_quiet = false;
  while (!is_quiet && times < most_measurements) {
    is_quiet = measure_once(ctx, calibration, all);
    ++times;
  }
  rates_in_use rates;
  if (!all.best) {
    rates.origin = origin_of_rates(ctx);
    rates.doubts.push_back(
        fmt::format("This machine's rates could not be measured, though it was tried {} times: {}. Predictions are "
                    "those of another machine, {}, and say little about this one.",
                    times, all.doubts.back(), ctx.profile().name));
    return rates;
  }
  ctx.use(*all.best);
  rates.origin = origin_of_rates(ctx);
  if (times > 1) rates.origin += fmt::format(", the best of {} measurements", times);
  if (is_quiet) {
    rates.origin += ", " + keep(*all.best, path);
  } else {
    rates.origin += ", not kept";
    rates.doubts.push_back(
        fmt::format("Something else ran while this machine was measured, all {} times: {}. Each rate is the best of "
                    "these measurements, and predictions may be off. The next run measures again.",
                    times, all.doubts.back()));
  }
  for (const std::string& words : all.left_out) rates.doubts.push_back(fmt::format("Left out: {}.", words));
  return rates;
}

}  // namespace

bool has_rates_of_this_machine(const context& ctx) {
  return ctx.profile().source != "shipped" || is_of_device(ctx, ctx.profile());
}

machine best_of(const machine& a, const machine& b) {
  machine best = a;
  for (double machine::*const rate : {&machine::copy_bytes_per_second, &machine::cached_bytes_per_second,
                                      &machine::upload_bytes_per_second, &machine::readback_bytes_per_second}) {
    best.*rate = std::max(a.*rate, b.*rate);
  }
  for (double machine::*const seconds : {&machine::launch_seconds, &machine::step_seconds, &machine::barrier_seconds,
                                         &machine::access_seconds, &machine::digit_seconds}) {
    best.*seconds = std::min(a.*seconds, b.*seconds);
  }
  best.streams = best_points(
      a.streams, b.streams, [](const stream_rate& rate) { return rate.footprint_bytes; },
      [](const stream_rate& one, const stream_rate& other) { return one.bytes_per_second > other.bytes_per_second; });
  best.latencies = best_points(
      a.latencies, b.latencies, [](const latency_point& point) { return point.footprint_bytes; },
      [](const latency_point& one, const latency_point& other) { return one.seconds < other.seconds; });
  best.random_read = best_rates(a.random_read, b.random_read);
  best.random_write = best_rates(a.random_write, b.random_write);
  best.atomic_add = best_rates(a.atomic_add, b.atomic_add);
  return best;
}

demo_calibration calibration_in(std::string folder, std::function<void(std::string_view, double)> progress) {
  const auto measure = [progress = std::move(progress)](const context& ctx, const left_out_words& left_out) {
    // A context of its own gives its memory back at its end.
    return calibrate(context::on(ctx.backend(), ctx.threads()),
                     {.seconds = seconds_to_measure, .progress = progress, .warn = left_out});
  };
  return {std::move(folder), measure, measure_copy_limits};
}

std::string origin_of_rates(const context& ctx) {
  const machine& m = ctx.profile();
  std::string origin = m.source == "measured" ? "rates measured just now" : "rates kept as " + m.source;
  if (m.source == "shipped") {
    origin =
        fmt::format("the shipped profile of {}{}", m.name, is_of_device(ctx, m) ? "" : ", which this machine is not");
  }
  const std::string_view ignored = ctx.ignored_profile();
  return ignored.empty() ? origin : fmt::format("{} (not used: {})", origin, ignored);
}

void require_place_for_rates(const context& ctx, const std::string& folder) {
  const std::string path = path_of(ctx, folder);
  if (has_rates_of_this_machine(ctx) || kept_profile(ctx, path)) return;
  io::require_creatable(path, io::missing_folders::are_made);
}

rates_in_use use_rates_of_this_machine(context& ctx, const demo_calibration& calibration) {
  if (has_rates_of_this_machine(ctx)) return {origin_of_rates(ctx), {}};
  const std::string path = path_of(ctx, calibration.folder);
  if (const auto kept = kept_profile(ctx, path)) {
    ctx.use(*kept);
    return {origin_of_rates(ctx), {}};
  }
  return measured_rates(ctx, calibration, path);
}

}  // namespace sheaf::jobs
