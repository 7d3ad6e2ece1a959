#include "jobs/demo/profile.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>
#include <sheaf/version.hpp>

#include "core/context_state.hpp"
#include "jobs/demo/limit.hpp"

namespace sheaf::jobs {
namespace {

constexpr double seconds_to_measure = 10;
// A copy that is that much faster or slower right after the measurement shows that something else was running.
constexpr double most_times_apart = 2;

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

void require_quiet(const context& ctx, const demo_calibration& calibration, const machine& m) {
  const stream_rate now = calibration.copy(ctx, m.streams.back().footprint_bytes);
  const double before = 1 / m.streamed(1, now.footprint_bytes);
  if (std::max(now.bytes_per_second, before) <= most_times_apart * std::min(now.bytes_per_second, before)) return;
  throw error(
      error_code::device_failure,
      fmt::format("calibrate: a copy in {} bytes moved {:.1f} GB/s while rates were measured and {:.1f} GB/s right "
                  "after; is something else running?",
                  now.footprint_bytes, before / 1e9, now.bytes_per_second / 1e9));
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
  return {std::move(folder), measure, measure_copy};
}

std::string origin_of_rates(const context& ctx) {
  const machine& m = ctx.profile();
  if (m.source == "shipped") {
    return fmt::format("the shipped profile of {}{}", m.name,
                       is_of_device(ctx, m) ? "" : ", which this machine is not");
  }
  return m.source == "measured" ? "rates measured just now" : "rates kept as " + m.source;
}

std::string use_rates_of_this_machine(context& ctx, const demo_calibration& calibration) {
  if (ctx.profile().source != "shipped" || is_of_device(ctx, ctx.profile())) return origin_of_rates(ctx);
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
