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

constexpr std::size_t first_runs = 4;       // of a figure in the first pass
constexpr std::size_t more_runs = 2;        // in each pass after that
constexpr std::size_t runs_in_a_pass = 12;  // at most
constexpr std::size_t agreeing_runs = 3;    // that settle a figure if they lie this close to each other
constexpr double settled_spread = 0.02;
constexpr double settled_gain = 0.03;  // a pass that lowers a figure by more has shown that the ones before were slowed
// The time by which the first two passes, which visit all figures, end, as shares of the budget.
constexpr double ends_of_passes[] = {0.55, 0.85};
constexpr double budgets_for_all = 3;  // for a run of every figure, where runs wait for their turn
constexpr int most_pilots = 12;
constexpr int most_repeats = 3;             // of a figure in doubt
constexpr int most_more_passes = 8;         // of a figure that has not settled
constexpr double least_dip = 1.25;          // slower than both neighbours by so much: what other programs look like
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
  double sample_seconds;        // long against the clock's resolution and the launch, short against disturbances
  double least_sample_seconds;  // of short budgets and busy machines
  std::uint64_t least_stream;
  std::uint64_t most_stream;
  std::uint64_t most_random;
  double bytes_per_budget_second;  // memory to take for each second of the budget: first touches and cycles cost time
  double seconds_for_all;          // however short the budget, in which a busy machine may have a run of every figure
  std::span<const std::uint64_t> widths;
};

// Runs of 0.1 ms at random in gigabytes, which a busy machine got, were up to 5 times as slow as those of 2 ms: they
// begin with cold translations of addresses. 2 GiB take 9 s.
constexpr measuring_plan host_plan{2e-3, 0.5e-3, 32 * KiB, GiB, 2 * GiB, 240e6, 10, cpu_widths};
constexpr measuring_plan gpu_plan{1e-3, 0.05e-3, 64 * KiB, 8 * GiB, 32 * GiB, 2e9, 60, cuda_widths};
// A pipeline in software draws some million points a second.
constexpr measuring_plan pipeline_plan{4e-3, 0.2e-3, 64 * KiB, GiB / 4, GiB / 2, 8e6, 60, pipeline_widths};
constexpr std::uint64_t least_random = 32 * KiB;
constexpr std::uint64_t least_chase = 4 * KiB;
constexpr std::uint64_t most_chase = GiB;

std::vector<std::uint64_t> powers_of_two(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> powers;
  for (std::uint64_t size = first; size <= last; size *= 2) powers.push_back(size);
  return powers;
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

// A figure, and what its runs took.
struct point {
  figure_kind kind;
  std::uint64_t footprint_bytes = 0;
  std::uint64_t record_bytes = 0;
  double guess = 1e-9;
  std::vector<double> samples = {};  // possible seconds of one access, byte or call, least first
  double impossible = 0;             // the last that no machine takes
  std::uint64_t passes = 0;
  bool is_settled = false;

  // The least time that two runs reached. What else runs on a machine only adds time, so one undisturbed run would be
  // enough, but one alone may have been lucky in what the caches held.
  double seconds() const {
    return samples.empty() ? impossible : samples[std::min<std::size_t>(1, samples.size() - 1)];
  }
  // The least sample is not looked at: it may be the lucky one.
  bool runs_agree() const {
    return samples.size() > agreeing_runs && samples[agreeing_runs] <= (1 + settled_spread) * samples[1];
  }
  bool is_of_curve(const point& other) const { return kind == other.kind && record_bytes == other.record_bytes; }
};

class measurement {
 public:
  measurement(microbenchmarks& device, const calibrate_options& options, const clock_function& now)
      : device_(device), options_(options), now_(now), start_(now()), machine_(device.describe()) {
    plan_ = is_host() ? host_plan : is_pipeline() ? pipeline_plan : gpu_plan;
  }

  machine run() {
    announce("taking memory");
    take_memory();
    list_points();
    for (const double end : ends_of_passes) measure_all(start_ + end * options_.seconds);
    measure_again();
    announce("done");
    const std::vector<std::string> left_out = leave_out_doubtful(machine_, shipped_beside(machine_));
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
    memory_bytes_ = device_.reserve(wanted);
  }

  void list_points() {
    const std::vector<std::uint64_t> streams =
        powers_of_two(plan_.least_stream, std::min({memory_bytes_, machine_.memory_bytes / 4, plan_.most_stream}));
    const std::vector<std::uint64_t> chases = powers_of_two(least_chase, std::min(memory_bytes_, most_chase));
    random_footprints_ = powers_of_two(least_random, std::min(memory_bytes_, plan_.most_random));
    if (streams.empty() || random_footprints_.empty()) {
      throw error(error_code::out_of_memory, fmt::format("calibrate: {} bytes of memory are too few", memory_bytes_));
    }
    // Guesses are high: where a thread is woken some 10 ms late, a thousand barriers would take as many seconds.
    constexpr double high_guess = 1e-4;
    points_ = {{.kind = figure_kind::calls, .guess = high_guess},
               {.kind = figure_kind::steps, .guess = high_guess},
               {.kind = figure_kind::barriers, .guess = high_guess}};
    if (is_host()) points_.push_back({.kind = figure_kind::digits});
    if (is_pipeline()) {
      points_.push_back({.kind = figure_kind::uploads});
      points_.push_back({.kind = figure_kind::readbacks});
    }
    for (const std::uint64_t footprint : streams) {
      points_.push_back({.kind = figure_kind::copies, .footprint_bytes = footprint, .guess = 1e-10});
      machine_.streams.push_back({footprint, 0});
    }
    for (const std::uint64_t footprint : chases) {
      points_.push_back({.kind = figure_kind::dependent_reads, .footprint_bytes = footprint, .guess = 1e-8});
      machine_.latencies.push_back({footprint, 0});
    }
    list_accesses(figure_kind::random_reads, plan_.widths, machine_.random_read);
    list_accesses(figure_kind::random_writes, plan_.widths, machine_.random_write);
    list_accesses(figure_kind::atomic_adds, atomic_widths, machine_.atomic_add);
  }

  void list_accesses(figure_kind kind, std::span<const std::uint64_t> widths, std::vector<access_rate>& rates) {
    for (const std::uint64_t width : widths) {
      for (const std::uint64_t footprint : random_footprints_) {
        points_.push_back({.kind = kind, .footprint_bytes = footprint, .record_bytes = width});
        rates.push_back({footprint, width, 0});
      }
    }
  }

  // Visits all figures. A load that lasts for some points of a pass is gone when the next pass comes there. Where runs
  // wait for their turn so long that the time is over three times, figures have no run, and the shipped profile stands
  // for them.
  void measure_all(double end) {
    const double last_end = start_ + std::max(budgets_for_all * options_.seconds, plan_.seconds_for_all);
    for (std::size_t i = 0; i < points_.size(); ++i, ++visits_) {
      point& p = points_[i];
      const double now = now_();
      // The figure that took longest may have waited alone: for a machine that slept, say.
      if (now - longest_ > last_end || (p.passes > 0 && now > end)) continue;
      if (p.samples.empty() && i > 0 && p.is_of_curve(points_[i - 1])) p.guess = points_[i - 1].seconds();
      measure(p, share_of(end, points_.size() - i));
      longest_ = std::max(longest_, now_() - now);
    }
  }

  // What is left of a time for each of so many figures. Most settle earlier, so each may take more.
  double share_of(double end, std::size_t figures) const {
    return 1.5 * std::max(0.0, end - now_()) / static_cast<double>(figures);
  }

  // Runs one figure again and again until the runs agree, or its share of the budget is used.
  void measure(point& p, double share) {
    announce(words_of(p));
    const double begin = now_();
    const double before = p.samples.empty() ? 0 : p.seconds();
    const double target = std::clamp(share / 8, plan_.least_sample_seconds, plan_.sample_seconds);
    const std::uint64_t count = count_for(p, target, begin + share);
    const std::size_t least = p.passes == 0 ? first_runs : more_runs;
    for (std::size_t runs = 0; runs < runs_in_a_pass; ++runs) {
      const bool is_late = now_() - begin > share;
      if (is_late && runs >= (share > 0 ? more_runs : 1)) break;
      if (runs >= least && p.runs_agree()) break;
      keep(p, run_of(p, count));
    }
    p.is_settled = p.passes > 0 && p.runs_agree() && p.seconds() >= (1 - settled_gain) * before;
    ++p.passes;
    set(p);
  }

  static void keep(point& p, const timing& t) {
    const double one = t.seconds / static_cast<double>(t.count);
    if (is_possible(p.kind, one)) {
      p.samples.insert(std::ranges::upper_bound(p.samples, one), one);
    } else {
      p.impossible = one;
    }
  }

  // The count of a run of about `target` seconds, found by pilot runs, while there is time for them, from what is known
  // of the seconds of one.
  std::uint64_t count_for(const point& p, double target, double end_of_pilots) {
    const double known = p.samples.empty() ? p.guess : p.seconds();
    double wanted = target / (std::isfinite(known) && known > 0 ? known : 1e-9);
    std::uint64_t count = 1;
    for (int pilot = 0; pilot < most_pilots; ++pilot) {
      count = wanted >= 1 ? static_cast<std::uint64_t>(std::min(wanted, static_cast<double>(most_count))) : 1;
      if (!p.samples.empty() || now_() >= end_of_pilots) break;
      const timing timing = run_of(p, count);
      if (!std::isfinite(timing.seconds)) break;
      if (timing.seconds > target / 3 && timing.seconds < target * 3) break;
      if (timing.seconds >= target && (count == 1 || timing.count > count)) break;  // a run cannot do less
      if (timing.seconds < target && timing.count < count) break;                   // a run cannot do more
      const double factor = timing.seconds > 0 ? std::clamp(target / timing.seconds, 0.01, 100.0) : 100.0;
      wanted = static_cast<double>(count) * factor;
    }
    return count;
  }

  timing run_of(const point& p, std::uint64_t count) {
    switch (p.kind) {
      case figure_kind::calls: return device_.calls(count);
      case figure_kind::steps: return device_.steps(count);
      case figure_kind::barriers: return device_.barriers(count);
      case figure_kind::digits: return device_.digits(count);
      case figure_kind::uploads: return device_.upload(count);
      case figure_kind::readbacks: return device_.read_back(count);
      case figure_kind::copies: return device_.stream(p.footprint_bytes, count);
      case figure_kind::dependent_reads: return device_.chase(p.footprint_bytes, count);
      case figure_kind::random_reads: return access(access_kind::read, p, count);
      case figure_kind::random_writes: return access(access_kind::write, p, count);
      case figure_kind::atomic_adds: return access(access_kind::atomic_add, p, count);
    }
    return {};
  }

  timing access(access_kind how, const point& p, std::uint64_t count) {
    return device_.access(how, p.record_bytes, p.footprint_bytes, count);
  }

  // Figures in doubt are measured again until none is, a few times at most, and figures that have not settled for as
  // long as the budget lasts. What replaces a doubt may raise another one beside it: of a load that came or went during
  // a curve, the border moves point by point.
  void measure_again() {
    const double end = start_ + options_.seconds;
    const double deadline = std::max(end, now_() + share_of_overtime * std::max(0.0, options_.seconds));
    const double share = repeated_shares * options_.seconds / static_cast<double>(points_.size());
    std::map<const point*, int> repeats;
    const auto repeat = [&](const doubtful_figure& f) {
      point& p = point_of(f.kind, f.position);
      if (now_() > deadline || repeats[&p]++ >= most_repeats) return false;
      if (f.reason != doubt::far_from_neighbour) p.samples.clear();  // what is too fast would stay the least
      measure(p, share);
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
      repeated = measure_unsettled(end) || repeated;
    }
  }

  // Whether there was one, and time for it.
  bool measure_unsettled(double end) {
    std::vector<point*> unsettled;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      point& p = points_[i];
      if ((!p.is_settled || is_dip(i)) && p.passes < std::size(ends_of_passes) + most_more_passes)
        unsettled.push_back(&p);
    }
    bool measured = false;
    for (std::size_t i = 0; i < unsettled.size() && now_() < end; ++i) {
      measure(*unsettled[i], share_of(end, unsettled.size() - i));
      measured = true;
    }
    return measured;
  }

  // Whether a point is slower than both neighbours on its curve.
  bool is_dip(std::size_t i) const {
    if (i == 0 || i + 1 == points_.size()) return false;
    const auto is_faster = [&](const point& neighbour) {
      return points_[i].is_of_curve(neighbour) && neighbour.seconds() * least_dip < points_[i].seconds();
    };
    return is_faster(points_[i - 1]) && is_faster(points_[i + 1]);
  }

  doubtful_figure fastest_copy() const {
    const auto fastest = std::ranges::max_element(machine_.streams, {}, &stream_rate::bytes_per_second);
    return {.kind = figure_kind::copies,
            .position = static_cast<std::size_t>(fastest - machine_.streams.begin()),
            .footprint_bytes = fastest->footprint_bytes,
            .reason = doubt::far_from_neighbour};
  }

  // The points of a kind stand together, in the order of its list.
  point& point_of(figure_kind kind, std::size_t position) {
    return *(std::ranges::find(points_, kind, &point::kind) + static_cast<std::ptrdiff_t>(position));
  }

  void set(const point& p) {
    const auto position = static_cast<std::size_t>(&p - &point_of(p.kind, 0));
    value_of(p.kind, position) = rounded(holds_rates(p.kind) ? 1 / p.seconds() : p.seconds());
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

  static std::string words_of(const point& p) {
    const std::string_view words = title_of(p.kind);
    return p.record_bytes == 0 ? std::string(words) : fmt::format("{} of {} bytes", words, p.record_bytes);
  }

  void announce(std::string_view what) const {
    const auto most = static_cast<double>(std::size(ends_of_passes) * points_.size());
    if (options_.progress) options_.progress(what, points_.empty() ? 0 : static_cast<double>(visits_) / most);
  }

  microbenchmarks& device_;
  const calibrate_options& options_;
  const clock_function& now_;
  double start_;
  machine machine_;
  measuring_plan plan_{};
  std::uint64_t memory_bytes_ = 0;
  std::vector<std::uint64_t> random_footprints_;
  std::vector<point> points_;  // in the order in which they are measured
  std::size_t visits_ = 0;     // of the passes that visit all
  double longest_ = 0;         // seconds of a visit
};

std::string compiler_name() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

machine shipped_beside(const machine& measured) {
  const machine nearest = nearest_machine(measured.backend, measured.name);
  const bool is_host = core::backend_of(measured.backend).processor == core::processor_kind::host_threads;
  return is_host ? nearest.with_parallelism(measured.parallelism) : nearest;
}

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
