#include "plan/calibrate.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <sheaf/error.hpp>
#include <sheaf/version.hpp>

#include "core/backends.hpp"
#include "core/context_state.hpp"
#include "plan/plausible.hpp"

namespace sheaf {
namespace plan {
namespace {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t GiB = std::uint64_t{1} << 30;

constexpr std::size_t least_samples = 5;  // fewer that follow each other may all be disturbed alike
constexpr std::size_t most_samples = 25;
constexpr double settled_spread = 0.02;  // spread of the middle half of the samples, over the figure
constexpr int most_pilots = 12;
constexpr int most_repeats = 3;             // of a figure in doubt
constexpr double share_of_overtime = 0.25;  // of the budget, to measure figures in doubt again
constexpr double repeated_shares = 4;       // time of such a figure, over a point's even share of the budget
constexpr std::uint64_t most_count = std::uint64_t{1} << 40;
constexpr std::uint64_t least_memory = std::uint64_t{1} << 20;  // however short the budget

constexpr std::uint64_t cpu_widths[] = {4, 8, 16, 64, 256, 1024};
constexpr std::uint64_t cuda_widths[] = {4, 8, 16, 32, 64, 128, 256, 1024};
constexpr std::uint64_t pipeline_widths[] = {4, 8, 16};
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
// A pipeline in software draws some million points a second.
constexpr measuring_plan pipeline_plan{4e-3, 64 * KiB, GiB / 4, GiB / 2, 8e6, pipeline_widths};
constexpr std::uint64_t least_random = 32 * KiB;
constexpr std::uint64_t least_chase = 4 * KiB;
constexpr std::uint64_t most_chase = GiB;

std::vector<std::uint64_t> powers_of_two(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> powers;
  for (std::uint64_t size = first; size <= last; size *= 2) powers.push_back(size);
  return powers;
}

double lower_quartile(const std::vector<double>& sorted) { return sorted[(sorted.size() - 1) / 4]; }

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

bool holds_rates(figure_kind kind) {
  return kind == figure_kind::copies || kind == figure_kind::random_reads || kind == figure_kind::random_writes ||
         kind == figure_kind::atomic_adds || kind == figure_kind::uploads || kind == figure_kind::readbacks;
}

class measurement {
 public:
  measurement(microbenchmarks& device, const calibrate_options& options, const clock_function& now)
      : device_(device), options_(options), now_(now), start_(now()), machine_(device.describe()) {
    plan_ = is_host() ? host_plan : is_pipeline() ? pipeline_plan : gpu_plan;
  }

  machine run() {
    announce("taking memory");
    take_memory();
    machine_.launch_seconds = rounded(measured(figure_kind::calls, 1e-6));
    machine_.step_seconds = rounded(measured(figure_kind::steps, 1e-6));
    machine_.barrier_seconds = rounded(measured(figure_kind::barriers, 1e-6));
    if (is_host()) machine_.digit_seconds = rounded(measured(figure_kind::digits, 1e-9));
    if (is_pipeline()) {
      machine_.upload_bytes_per_second = rounded(1 / measured(figure_kind::uploads, 1e-9));
      machine_.readback_bytes_per_second = rounded(1 / measured(figure_kind::readbacks, 1e-9));
    }
    measure_streams();
    measure_latencies();
    machine_.random_read = curves(figure_kind::random_reads, plan_.widths);
    machine_.random_write = curves(figure_kind::random_writes, plan_.widths);
    machine_.atomic_add = curves(figure_kind::atomic_adds, atomic_widths);
    measure_doubtful_again();
    announce("done");
    const std::vector<std::string> left_out = leave_out_doubtful(machine_);
    if (options_.warn) {
      for (const std::string& words : left_out) options_.warn(words);
    }
    summarize_curves();
    machine_.source = "measured";
    return machine_;
  }

 private:
  core::processor_kind processor() const { return core::backend_of(machine_.backend).processor; }
  bool is_host() const { return processor() == core::processor_kind::host_threads; }
  bool is_pipeline() const { return processor() == core::processor_kind::pipeline; }

  void take_memory() {
    const auto affordable = static_cast<std::uint64_t>(plan_.bytes_per_budget_second * std::max(0.0, options_.seconds));
    const std::uint64_t wanted =
        std::min({machine_.memory_bytes / 2, plan_.most_random, std::max(affordable, least_memory)});
    const std::uint64_t memory = device_.reserve(wanted);
    stream_footprints_ =
        powers_of_two(plan_.least_stream, std::min({memory, machine_.memory_bytes / 4, plan_.most_stream}));
    chase_footprints_ = powers_of_two(least_chase, std::min(memory, most_chase));
    random_footprints_ = powers_of_two(least_random, std::min(memory, plan_.most_random));
    if (stream_footprints_.empty() || random_footprints_.empty()) {
      throw error(error_code::out_of_memory, fmt::format("calibrate: {} bytes of memory are too few", memory));
    }
    points_ = (is_pipeline() ? 5
               : is_host()   ? 4
                             : 3) +
              stream_footprints_.size() + chase_footprints_.size() +
              random_footprints_.size() * (2 * plan_.widths.size() + std::size(atomic_widths));
  }

  // The seconds of one access, or of one byte of a copy.
  double measured(figure_kind kind, double guess, std::uint64_t footprint = 0, std::uint64_t width = 0) {
    const auto access = [&](access_kind how, std::string_view what) {
      return undisturbed_seconds(fmt::format("{} of {} bytes", what, width), guess,
                                 [&](std::uint64_t n) { return device_.access(how, width, footprint, n); });
    };
    const auto times = [&](timing (microbenchmarks::*pass)(std::uint64_t), std::string_view what) {
      return undisturbed_seconds(what, guess, [&](std::uint64_t n) { return (device_.*pass)(n); });
    };
    switch (kind) {
      case figure_kind::calls: return times(&microbenchmarks::calls, "calls");
      case figure_kind::steps: return times(&microbenchmarks::steps, "steps");
      case figure_kind::barriers: return times(&microbenchmarks::barriers, "barriers");
      case figure_kind::digits: return times(&microbenchmarks::digits, "digits");
      case figure_kind::uploads: return times(&microbenchmarks::upload, "uploads");
      case figure_kind::readbacks: return times(&microbenchmarks::read_back, "readbacks");
      case figure_kind::copies:
        return undisturbed_seconds("copies", guess, [&](std::uint64_t n) { return device_.stream(footprint, n); });
      case figure_kind::dependent_reads:
        return undisturbed_seconds("dependent reads", guess,
                                   [&](std::uint64_t n) { return device_.chase(footprint, n); });
      case figure_kind::random_reads: return access(access_kind::read, "random reads");
      case figure_kind::random_writes: return access(access_kind::write, "random writes");
      case figure_kind::atomic_adds: return access(access_kind::atomic_add, "atomic adds");
    }
    return 0;
  }

  void measure_streams() {
    double guess = 1e-10;
    for (const std::uint64_t footprint : stream_footprints_) {
      guess = measured(figure_kind::copies, guess, footprint);
      machine_.streams.push_back({footprint, rounded(1 / guess)});
    }
  }

  void measure_latencies() {
    double guess = 1e-8;
    for (const std::uint64_t footprint : chase_footprints_) {
      guess = measured(figure_kind::dependent_reads, guess, footprint);
      machine_.latencies.push_back({footprint, rounded(guess)});
    }
  }

  std::vector<access_rate> curves(figure_kind kind, std::span<const std::uint64_t> widths) {
    std::vector<access_rate> rates;
    for (const std::uint64_t width : widths) {
      double guess = 1e-9;
      for (const std::uint64_t footprint : random_footprints_) {
        guess = measured(kind, guess, footprint, width);
        rates.push_back({footprint, width, rounded(1 / guess)});
      }
    }
    return rates;
  }

  // A figure in doubt is measured again until none is, a few times at most. What replaces a doubt may raise another one
  // beside it: of a load that came or went during a curve, the border moves point by point.
  void measure_doubtful_again() {
    const double overtime = share_of_overtime * std::max(0.0, options_.seconds);
    const double deadline = std::max(start_ + options_.seconds, now_() + overtime);
    std::map<std::pair<figure_kind, std::size_t>, int> repeats;
    const auto repeat = [&](const doubtful_figure& f) {
      if (now_() > deadline || repeats[{f.kind, f.position}]++ >= most_repeats) return false;
      measure_again(f);
      return true;
    };
    for (bool repeated = true; repeated;) {
      repeated = false;
      for (const doubtful_figure& f : doubtful_figures(machine_)) {
        // A copy that was disturbed would put many accesses in doubt.
        const bool copies_come_first = f.reason == doubt::faster_than_copies && repeat(fastest_copy());
        repeated = copies_come_first || repeat(f) || repeated;
        if (copies_come_first) break;
      }
    }
  }

  doubtful_figure fastest_copy() const {
    const auto fastest = std::ranges::max_element(machine_.streams, {}, &stream_rate::bytes_per_second);
    return {.kind = figure_kind::copies,
            .position = static_cast<std::size_t>(fastest - machine_.streams.begin()),
            .footprint_bytes = fastest->footprint_bytes,
            .reason = doubt::far_from_neighbour};
  }

  // What is wrong by itself is replaced. Of two times that neighbours put in doubt the shorter one stays, because
  // disturbances add time.
  void measure_again(const doubtful_figure& figure) {
    double& value = value_of(figure.kind, figure.position);
    const bool is_rate = holds_rates(figure.kind);
    const double before = is_rate ? 1 / value : value;
    const double now = measured(figure.kind, before, figure.footprint_bytes, figure.record_bytes);
    const double better = figure.reason == doubt::far_from_neighbour ? std::min(before, now) : now;
    value = rounded(is_rate ? 1 / better : better);
  }

  double& value_of(figure_kind kind, std::size_t position) {
    switch (kind) {
      case figure_kind::calls: return machine_.launch_seconds;
      case figure_kind::steps: return machine_.step_seconds;
      case figure_kind::barriers: return machine_.barrier_seconds;
      case figure_kind::digits: return machine_.digit_seconds;
      case figure_kind::uploads: return machine_.upload_bytes_per_second;
      case figure_kind::readbacks: return machine_.readback_bytes_per_second;
      case figure_kind::copies: return machine_.streams[position].bytes_per_second;
      case figure_kind::dependent_reads: return machine_.latencies[position].seconds;
      case figure_kind::random_reads: return machine_.random_read[position].records_per_second;
      case figure_kind::random_writes: return machine_.random_write[position].records_per_second;
      case figure_kind::atomic_adds: break;
    }
    return machine_.atomic_add[position].records_per_second;
  }

  void summarize_curves() {
    machine_.copy_bytes_per_second = machine_.streams.back().bytes_per_second;
    machine_.cached_bytes_per_second = machine_.streams.front().bytes_per_second;
    for (const stream_rate& rate : machine_.streams) {
      if (rate.footprint_bytes <= machine_.cache_bytes / 4) machine_.cached_bytes_per_second = rate.bytes_per_second;
    }
    // Where a call costs more than its bytes, small copies are the slower ones, but not because of the cache.
    machine_.cached_bytes_per_second = std::max(machine_.cached_bytes_per_second, machine_.copy_bytes_per_second);
    machine_.access_seconds = machine_.latencies.back().seconds;
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
      const timing timing = run(count);
      if (!std::isfinite(timing.seconds)) break;
      if (timing.seconds > target / 3 && timing.seconds < target * 3) break;
      if (timing.seconds >= target && (count == 1 || timing.count > count)) break;  // a run cannot do less
      if (timing.seconds < target && timing.count < count) break;                   // a run cannot do more
      const double factor = timing.seconds > 0 ? std::clamp(target / timing.seconds, 0.01, 100.0) : 100.0;
      wanted = static_cast<double>(count) * factor;
    }
    return count;
  }

  // The lower quartile of samples, which are taken until their middle half agrees or the point has used its share of
  // the budget. What else runs on a machine only adds time. The lower quartile is right while one sample in four is
  // undisturbed; the median needs more than half of them. The least of all would need one, but it falls with every
  // sample that is taken, so points that were sampled often would seem fast, and it keeps a sample that was lucky in
  // what the caches held.
  template <class Run>
  double undisturbed_seconds(std::string_view what, double guess, Run run) {
    announce(what);
    const double begin = now_();
    const double share = share_of_point(begin);
    const double target = std::clamp(share / 10, plan_.sample_seconds / 20, plan_.sample_seconds);
    const bool usable = std::isfinite(guess) && guess > 0;
    const std::uint64_t count = count_for(target, usable ? guess : 1e-9, run);
    std::vector<double> samples;
    for (bool settled = false; !settled && samples.size() < most_samples;) {
      const timing t = run(count);
      const double one = t.seconds / static_cast<double>(t.count);
      samples.insert(std::ranges::upper_bound(samples, one), one);
      if (std::isnan(one)) break;  // NaN cannot be sorted
      if (samples.size() < least_samples) continue;
      settled = middle_half(samples) < settled_spread * lower_quartile(samples) || now_() - begin > share;
    }
    points_done_ = std::min(points_, points_done_ + 1);
    return std::isnan(samples.back()) ? samples.back() : lower_quartile(samples);
  }

  // The remaining points share the remaining budget evenly. Points that are measured again get more than others had,
  // since short samples on a busy machine may all be disturbed.
  double share_of_point(double begin) const {
    const double points = static_cast<double>(std::max<std::size_t>(1, points_));
    if (points_done_ == points_) return repeated_shares * options_.seconds / points;
    const double seconds_left = std::max(0.0, options_.seconds - (begin - start_));
    return 1.5 * seconds_left / static_cast<double>(points_ - points_done_);
  }

  microbenchmarks& device_;
  const calibrate_options& options_;
  const clock_function& now_;
  double start_;
  machine machine_;
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

machine measure(microbenchmarks& device, const calibrate_options& options, const clock_function& now) {
  return measurement(device, options, now).run();
}

}  // namespace plan

machine calibrate(const context& ctx, const calibrate_options& options) {
  if (!(options.seconds > 0)) {
    throw error(error_code::bad_argument,
                fmt::format("calibrate: {} seconds to measure in, not above 0", options.seconds));
  }
  ctx.state().require_this_process("calibrate");
  const auto microbenchmarks = core::backend_of(ctx.backend()).make_microbenchmarks(ctx);
  machine machine = plan::measure(*microbenchmarks, options, [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  });
  machine.versions["sheaf"] = SHEAF_VERSION;
  machine.versions["compiler"] = plan::compiler_name();
  return machine;
}

}  // namespace sheaf
