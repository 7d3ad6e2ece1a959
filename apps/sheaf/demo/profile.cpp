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
// The best copies right after are compared with lower quartiles, which are a little slower where nothing else runs.
constexpr double most_times_apart = 1.5;
constexpr double most_rise = 1.5;
constexpr std::size_t points_for_a_rise = 20;

bool is_of_device(const context& ctx, const machine& m) {
  return m.backend == ctx.backend() && m.name == ctx.state().device_name;
}

bool has_rates_of_this_machine(const context& ctx) {
  return ctx.profile().source != "shipped" || is_of_device(ctx, ctx.profile());
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

[[noreturn]] void refuse(const std::string& what) {
  io::throw_error(error_code::measurement_failed, "calibrate: {}; is something else running?", what);
}

// Random reads get no faster in larger footprints. Profiles of idle machines have at most 1 such point in 96; one of a
// machine that compiled meanwhile had 28 in 84.
void require_falling(const std::vector<access_rate>& rates) {
  std::size_t rises = 0;
  for (std::size_t i = 1; i < rates.size(); ++i) {
    if (rates[i].record_bytes != rates[i - 1].record_bytes) continue;
    rises += rates[i].records_per_second > most_rise * rates[i - 1].records_per_second ? 1 : 0;
  }
  if (rises * points_for_a_rise > rates.size()) {
    refuse(fmt::format("random reads are faster in larger memory at {} of {} points", rises, rates.size()));
  }
}

// The machine was as fast when it was measured as it is now.
void require_same_copies(const machine& m, const copy_limits& now) {
  std::vector<double> ratios;
  for (const stream_rate& rate : now.rates) {
    const auto before = std::ranges::find(m.streams, rate.footprint_bytes, &stream_rate::footprint_bytes);
    if (before != m.streams.end()) ratios.push_back(rate.bytes_per_second / before->bytes_per_second);
  }
  if (ratios.empty()) return;
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  const double median = ratios[ratios.size() / 2];
  if (median > most_times_apart || median * most_times_apart < 1) {
    refuse(fmt::format("copies right after were {:.2f} times as fast as measured", median));
  }
}

void require_quiet(const context& ctx, const demo_calibration& calibration, const machine& m) {
  require_falling(m.random_read);
  require_same_copies(m, calibration.measure_copies(ctx, m.streams.back().footprint_bytes));
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

}  // namespace

demo_calibration calibration_in(std::string folder, std::function<void(std::string_view, double)> progress) {
  const auto measure = [progress = std::move(progress)](const context& ctx) {
    return calibrate(ctx, {.seconds = seconds_to_measure, .progress = progress});
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

std::string use_rates_of_this_machine(context& ctx, const demo_calibration& calibration) {
  if (has_rates_of_this_machine(ctx)) return origin_of_rates(ctx);
  const std::string path = path_of(ctx, calibration.folder);
  if (const auto kept = kept_profile(ctx, path)) {
    ctx.use(*kept);
    return origin_of_rates(ctx);
  }
  try {
    const machine measured = calibration.measure(ctx);
    require_quiet(ctx, calibration, measured);
    ctx.use(measured);
    return fmt::format("{}, {}", origin_of_rates(ctx), keep(measured, path));
  } catch (const std::exception& e) {
    return fmt::format("{}: {}", origin_of_rates(ctx), e.what());
  }
}

}  // namespace sheaf::jobs
