#include "plan/calibrate.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>
#include <sheaf/version.hpp>

#include "core/backends.hpp"
#include "core/context_state.hpp"
namespace sheaf {
namespace plan {
namespace {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t GiB = std::uint64_t{1} << 30;

constexpr std::size_t least_samples = 3;
constexpr std::size_t most_samples = 25;
constexpr double settled_spread = 0.02;  // spread of the middle half of the samples, over the median
constexpr int most_pilots = 12;
constexpr std::uint64_t most_count = std::uint64_t{1} << 40;
constexpr std::uint64_t least_memory = std::uint64_t{1} << 20;  // however short the budget

constexpr std::uint64_t cpu_widths[] = {4, 8, 16, 64, 256, 1024};
constexpr std::uint64_t cuda_widths[] = {4, 8, 16, 32, 64, 128, 256, 1024};
constexpr std::uint64_t atomic_widths[] = {4, 8};

// Footprints and widths that are measured, and how long a sample takes.
struct measuring_plan {
  double sample_seconds;  // long against the clock's resolution and the launch, short against disturbances
  std::uint64_t least_stream;
  std::uint64_t most_stream;
  std::uint64_t most_random;
  double bytes_per_budget_second;  // memory to take for each second of the budget: first touches and cycles cost time
  std::span<const std::uint64_t> widths;
};

constexpr measuring_plan host_plan{8e-3, 32 * KiB, GiB, 2 * GiB, 80e6, cpu_widths};
constexpr measuring_plan gpu_plan{1e-3, 64 * KiB, 8 * GiB, 32 * GiB, 2e9, cuda_widths};
constexpr std::uint64_t least_random = 32 * KiB;
constexpr std::uint64_t least_chase = 4 * KiB;
constexpr std::uint64_t most_chase = GiB;

std::vector<std::uint64_t> powers_of_two(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> powers;
  for (std::uint64_t size = first; size <= last; size *= 2) powers.push_back(size);
  return powers;
}

double middle_half(const std::vector<double>& sorted) {
  const std::size_t quarter = sorted.size() / 4;
  return sorted[sorted.size() - 1 - quarter] - sorted[quarter];
}

// Four digits: the others are noise.
double rounded(double value) {
  const std::string text = fmt::format("{:.4g}", value);
  double shorter = value;
  std::from_chars(text.data(), text.data() + text.size(), shorter);
  return shorter;
}

class measurement {
 public:
  measurement(probe& device, const calibrate_options& options, const clock_function& now)
      : device_(device), options_(options), now_(now), start_(now()), m_(device.describe()) {
    plan_ = is_host() ? host_plan : gpu_plan;
  }

  machine run() {
    announce("taking memory");
    take_memory();
    m_.launch_seconds = rounded(median_seconds("calls", 1e-6, [&](std::uint64_t n) { return device_.calls(n); }));
    m_.step_seconds = rounded(median_seconds("steps", 1e-6, [&](std::uint64_t n) { return device_.steps(n); }));
    m_.barrier_seconds =
        rounded(median_seconds("barriers", 1e-6, [&](std::uint64_t n) { return device_.barriers(n); }));
    if (is_host()) {
      m_.digit_seconds = rounded(median_seconds("digits", 1e-9, [&](std::uint64_t n) { return device_.digits(n); }));
    }
    measure_streams();
    measure_latencies();
    m_.random_read = curves("random reads", access_kind::read, plan_.widths);
    m_.random_write = curves("random writes", access_kind::write, plan_.widths);
    m_.atomic_add = curves("atomic adds", access_kind::atomic_add, atomic_widths);
    announce("done");
    m_.source = "measured";
    return m_;
  }

 private:
  bool is_host() const { return core::backend_of(m_.backend).processor == core::processor_kind::host_threads; }

  void take_memory() {
    const auto affordable = static_cast<std::uint64_t>(plan_.bytes_per_budget_second * std::max(0.0, options_.seconds));
    const std::uint64_t wanted = std::min({m_.memory_bytes / 2, plan_.most_random, std::max(affordable, least_memory)});
    const std::uint64_t memory = device_.reserve(wanted);
    stream_footprints_ = powers_of_two(plan_.least_stream, std::min({memory, m_.memory_bytes / 4, plan_.most_stream}));
    chase_footprints_ = powers_of_two(least_chase, std::min(memory, most_chase));
    random_footprints_ = powers_of_two(least_random, std::min(memory, plan_.most_random));
    if (stream_footprints_.empty() || random_footprints_.empty()) {
      throw error(error_code::out_of_memory, fmt::format("calibrate: {} bytes of memory are too few", memory));
    }
    points_ = (is_host() ? 4 : 3) + stream_footprints_.size() + chase_footprints_.size() +
              random_footprints_.size() * (2 * plan_.widths.size() + std::size(atomic_widths));
  }

  void measure_streams() {
    double guess = 1e-10;
    for (const std::uint64_t footprint : stream_footprints_) {
      guess = median_seconds("copies", guess, [&](std::uint64_t n) { return device_.stream(footprint, n); });
      m_.streams.push_back({footprint, rounded(1 / guess)});
    }
    m_.copy_bytes_per_second = m_.streams.back().bytes_per_second;
    m_.cached_bytes_per_second = m_.streams.front().bytes_per_second;
    for (const stream_rate& rate : m_.streams) {
      if (rate.footprint_bytes <= m_.cache_bytes / 4) m_.cached_bytes_per_second = rate.bytes_per_second;
    }
  }

  void measure_latencies() {
    double guess = 1e-8;
    for (const std::uint64_t footprint : chase_footprints_) {
      guess = median_seconds("dependent reads", guess, [&](std::uint64_t n) { return device_.chase(footprint, n); });
      m_.latencies.push_back({footprint, rounded(guess)});
    }
    m_.access_seconds = m_.latencies.back().seconds;
  }

  std::vector<access_rate> curves(const char* what, access_kind kind, std::span<const std::uint64_t> widths) {
    std::vector<access_rate> rates;
    for (const std::uint64_t width : widths) {
      const std::string title = fmt::format("{} of {} bytes", what, width);
      double guess = 1e-9;
      for (const std::uint64_t footprint : random_footprints_) {
        guess =
            median_seconds(title, guess, [&](std::uint64_t n) { return device_.access(kind, width, footprint, n); });
        rates.push_back({footprint, width, rounded(1 / guess)});
      }
    }
    return rates;
  }

  void announce(std::string_view what) const {
    const double share = points_ == 0 ? 0 : static_cast<double>(points_done_) / static_cast<double>(points_);
    if (options_.progress) options_.progress(what, share);
  }

  // The count of a run of about `target` seconds, found by pilot runs from a guess of the seconds of one.
  template <class Run>
  std::uint64_t count_for(double target, double guess, Run& run) {
    double wanted = target / guess;
    std::uint64_t count = 1;
    for (int pilot = 0; pilot < most_pilots; ++pilot) {
      count = wanted >= 1 ? static_cast<std::uint64_t>(std::min(wanted, static_cast<double>(most_count))) : 1;
      const timing t = run(count);
      if (!std::isfinite(t.seconds)) break;
      if (t.seconds > target / 3 && t.seconds < target * 3) break;
      if (t.seconds >= target && (count == 1 || t.count > count)) break;  // a run cannot do less
      if (t.seconds < target && t.count < count) break;                   // a run cannot do more
      const double factor = t.seconds > 0 ? std::clamp(target / t.seconds, 0.01, 100.0) : 100.0;
      wanted = static_cast<double>(count) * factor;
    }
    return count;
  }

  // The seconds of one access or byte: the median over samples, which are taken until their middle half agrees or the
  // point has used its share of the budget. The remaining points share the remaining budget evenly.
  template <class Run>
  double median_seconds(std::string_view what, double guess, Run run) {
    announce(what);
    const double begin = now_();
    const double seconds_left = std::max(0.0, options_.seconds - (begin - start_));
    const double share = 1.5 * seconds_left / static_cast<double>(std::max<std::size_t>(1, points_ - points_done_));
    const double target = std::clamp(share / 8, plan_.sample_seconds / 20, plan_.sample_seconds);
    const bool usable = std::isfinite(guess) && guess > 0;
    const std::uint64_t count = count_for(target, usable ? guess : 1e-9, run);
    std::vector<double> samples;
    for (bool settled = false; !settled && samples.size() < most_samples;) {
      const timing t = run(count);
      const double one = t.seconds / static_cast<double>(t.count);
      samples.insert(std::upper_bound(samples.begin(), samples.end(), one), one);
      if (std::isnan(one)) break;  // NaN cannot be sorted
      if (samples.size() < least_samples) continue;
      settled = middle_half(samples) < settled_spread * samples[samples.size() / 2] || now_() - begin > share;
    }
    ++points_done_;
    return std::isnan(samples.back()) ? samples.back() : samples[samples.size() / 2];
  }

  probe& device_;
  const calibrate_options& options_;
  const clock_function& now_;
  double start_;
  machine m_;
  measuring_plan plan_{};
  std::vector<std::uint64_t> stream_footprints_;
  std::vector<std::uint64_t> chase_footprints_;
  std::vector<std::uint64_t> random_footprints_;
  std::size_t points_ = 0;
  std::size_t points_done_ = 0;
};

std::string compiler_name() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

machine measure(probe& device, const calibrate_options& options, const clock_function& now) {
  machine m = measurement(device, options, now).run();
  require_plausible(m);
  return m;
}

}  // namespace plan

machine calibrate(const context& ctx, const calibrate_options& options) {
  if (!(options.seconds > 0)) {
    throw error(error_code::bad_argument, fmt::format("calibrate: {} seconds to measure in", options.seconds));
  }
  ctx.state().require_this_process("calibrate");
  const auto probe = core::backend_of(ctx.backend()).make_probe(ctx);
  machine m = plan::measure(*probe, options, [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  });
  m.versions["sheaf"] = SHEAF_VERSION;
  m.versions["compiler"] = plan::compiler_name();
  return m;
}

}  // namespace sheaf
