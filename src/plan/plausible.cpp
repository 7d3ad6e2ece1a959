#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/backends.hpp"
#include "plan/calibrate.hpp"

namespace sheaf::plan {
namespace {

constexpr double most_per_second = 1e15;
constexpr double most_seconds = 1;
constexpr double most_step = 20;  // ratio of the figures at one footprint and at twice that footprint
// Random accesses may hit nearer caches than a copy does. They may then move more bytes per second than a copy, by
// these factors. The one for the first cache is larger, because a GPU has a hundred or so of these.
constexpr double most_times_streamed = 3;
constexpr double most_times_streamed_in_first_cache = 10;
constexpr std::uint64_t first_cache_multiple = 8;  // footprints of up to so many first caches count as in it

[[noreturn]] void refuse(const std::string& point, double value, std::string_view reason) {
  throw error(error_code::device_failure,
              fmt::format("calibrate: {}: measured {:.4g}, {}; is something else running?", point, value, reason));
}

void require_rate(const std::string& point, double value) {
  if (!(std::isfinite(value) && value > 0 && value < most_per_second)) {
    refuse(point, value, "which is no rate a second");
  }
}

void require_seconds(const std::string& point, double value) {
  if (!(std::isfinite(value) && value > 0 && value < most_seconds)) refuse(point, value, "which is no time in seconds");
}

void require_sequential(const std::string& point, double value, double neighbour) {
  if (value > neighbour * most_step || neighbour > value * most_step) {
    refuse(point, value, fmt::format("more than {} times apart from {:.4g} at half of it", most_step, neighbour));
  }
}

void require_curves(const char* what, const std::vector<access_rate>& rates, const machine& m, double streamed) {
  const access_rate* before = nullptr;
  for (const access_rate& rate : rates) {
    const std::string point = fmt::format("{} of {} bytes in {}", what, rate.record_bytes, rate.footprint_bytes);
    require_rate(point, rate.records_per_second);
    if (before != nullptr && before->record_bytes == rate.record_bytes) {
      require_sequential(point, rate.records_per_second, before->records_per_second);
    }
    const bool in_first_cache = rate.footprint_bytes <= first_cache_multiple * m.cache_levels.front();
    const double most = streamed * (in_first_cache ? most_times_streamed_in_first_cache : most_times_streamed);
    const double bytes = rate.records_per_second * static_cast<double>(rate.record_bytes);
    if (bytes > most) refuse(point, bytes, fmt::format("bytes a second, where a copy moves {:.4g} at most", streamed));
    before = &rate;
  }
}

}  // namespace

void require_plausible(const machine& m) {
  require_seconds("calls", m.launch_seconds);
  require_seconds("steps", m.step_seconds);
  require_seconds("barriers", m.barrier_seconds);
  if (core::backend_of(m.backend).processor == core::processor_kind::host_threads)
    require_seconds("digits", m.digit_seconds);
  double streamed = 0;
  double before = 0;
  for (const stream_rate& rate : m.streams) {
    const std::string point = fmt::format("copies in {}", rate.footprint_bytes);
    require_rate(point, rate.bytes_per_second);
    if (before > 0) require_sequential(point, rate.bytes_per_second, before);
    before = rate.bytes_per_second;
    streamed = std::max(streamed, rate.bytes_per_second);
  }
  before = 0;
  for (const latency_point& latency : m.latencies) {
    const std::string point = fmt::format("dependent reads in {}", latency.footprint_bytes);
    require_seconds(point, latency.seconds);
    if (before > 0) require_sequential(point, latency.seconds, before);
    before = latency.seconds;
  }
  require_curves("random reads", m.random_read, m, streamed);
  require_curves("random writes", m.random_write, m, streamed);
  require_curves("atomic adds", m.atomic_add, m, streamed);
}

}  // namespace sheaf::plan
