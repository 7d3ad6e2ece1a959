#include "plan/plausible.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "core/backends.hpp"

namespace sheaf::plan {
namespace {

// Files of profiles hold no smaller rates and times.
constexpr double least_per_second = 1;
constexpr double most_per_second = 1e15;
constexpr double least_seconds = 1e-12;
constexpr double most_seconds = 1;
constexpr double most_step = 20;  // ratio of neighbours on a curve
// Random accesses may hit nearer caches than a copy does. They may then move more bytes per second than a copy, by
// these factors. The one for the first cache is larger, because a GPU has a hundred or so of these.
constexpr double most_times_streamed = 3;
constexpr double most_times_streamed_in_first_cache = 10;
constexpr std::uint64_t first_cache_multiple = 8;  // footprints of up to so many first caches count as in it

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

struct curve_point {
  std::uint64_t footprint_bytes;
  double value;    // as the profile holds it, a rate or a time
  double seconds;  // of one access or byte
  std::optional<doubt> reason = {};
  std::string why = {};
};

/// Figures of growing footprints.
struct curve {
  figure_kind kind;
  std::size_t first;  // position in the profile's list
  std::uint64_t record_bytes;
  std::string title;
  std::vector<curve_point> points;

  doubtful_figure figure(std::size_t i, doubt reason, std::string_view why) const {
    const curve_point& p = points[i];
    return {
        kind,         first + i, p.footprint_bytes,
        record_bytes, reason,    fmt::format("{} in {}: measured {:.4g}, {}", title, p.footprint_bytes, p.value, why)};
  }
};

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= least_seconds && seconds < most_seconds; }

bool is_rate(double rate) { return std::isfinite(rate) && rate >= least_per_second && rate < most_per_second; }

constexpr std::string_view no_time = "which is not a time in seconds";

curve_point point_of_rate(std::uint64_t footprint_bytes, double rate) {
  curve_point point{footprint_bytes, rate, 1 / rate};
  if (!is_rate(rate)) {
    point.reason = doubt::impossible;
    point.why = "which is not a rate per second";
  }
  return point;
}

curve_point point_of_time(std::uint64_t footprint_bytes, double seconds) {
  curve_point point{footprint_bytes, seconds, seconds};
  if (!is_time(seconds)) {
    point.reason = doubt::impossible;
    point.why = no_time;
  }
  return point;
}

bool are_far_apart(const curve_point& a, const curve_point& b) {
  return a.seconds > b.seconds * most_step || b.seconds > a.seconds * most_step;
}

std::string far_from(const curve_point& neighbour) {
  return fmt::format("more than {} times apart from {:.4g} in {}", most_step, neighbour.value,
                     neighbour.footprint_bytes);
}

// No bound where no copy has a rate.
void bound_by_copies(curve_point& point, std::uint64_t record_bytes, const machine& m, double streamed) {
  if (point.reason || streamed == 0) return;
  const bool in_first_cache = point.footprint_bytes <= first_cache_multiple * m.cache_levels.front();
  const double most = streamed * (in_first_cache ? most_times_streamed_in_first_cache : most_times_streamed);
  const double bytes = point.value * static_cast<double>(record_bytes);
  if (bytes <= most) return;
  point.reason = doubt::faster_than_copies;
  point.why = fmt::format("or {:.4g} bytes a second, where a copy moves {:.4g} at most", bytes, streamed);
}

std::vector<curve> curves_of(const machine& machine) {
  curve copies{figure_kind::copies, 0, 0, std::string(title_of(figure_kind::copies)), {}};
  double streamed = 0;
  for (const stream_rate& rate : machine.streams) {
    copies.points.push_back(point_of_rate(rate.footprint_bytes, rate.bytes_per_second));
    if (!copies.points.back().reason) streamed = std::max(streamed, rate.bytes_per_second);
  }
  curve reads{figure_kind::dependent_reads, 0, 0, std::string(title_of(figure_kind::dependent_reads)), {}};
  for (const latency_point& latency : machine.latencies) {
    reads.points.push_back(point_of_time(latency.footprint_bytes, latency.seconds));
  }
  std::vector<curve> curves{std::move(copies), std::move(reads)};
  const auto add = [&](figure_kind kind, const std::vector<access_rate>& rates) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const std::uint64_t bytes = rates[i].record_bytes;
      if (i == 0 || rates[i - 1].record_bytes != bytes) {
        curves.push_back({kind, i, bytes, fmt::format("{} of {} bytes", title_of(kind), bytes), {}});
      }
      curve_point p = point_of_rate(rates[i].footprint_bytes, rates[i].records_per_second);
      bound_by_copies(p, bytes, machine, streamed);
      curves.back().points.push_back(std::move(p));
    }
  };
  add(figure_kind::random_reads, machine.random_read);
  add(figure_kind::random_writes, machine.random_write);
  add(figure_kind::atomic_adds, machine.atomic_add);
  return curves;
}

// The figures that stand alone and that the machine's backend measures, and how the profile holds each of them.
struct scalar {
  figure_kind kind;
  double machine::*value;
  bool is_rate = false;

  double seconds_of(const machine& m) const { return is_rate ? 1 / (m.*value) : m.*value; }
};

std::vector<scalar> scalars_of(const machine& m) {
  std::vector<scalar> found{{figure_kind::calls, &machine::launch_seconds},
                            {figure_kind::steps, &machine::step_seconds},
                            {figure_kind::barriers, &machine::barrier_seconds}};
  const core::processor_kind processor = core::backend_of(m.backend).processor;
  if (processor == core::processor_kind::host_threads) found.push_back({figure_kind::digits, &machine::digit_seconds});
  if (processor == core::processor_kind::pipeline) {
    found.push_back({figure_kind::uploads, &machine::upload_bytes_per_second, true});
    found.push_back({figure_kind::readbacks, &machine::readback_bytes_per_second, true});
  }
  return found;
}

std::string doubt_of(const scalar& s, const machine& m) {
  return fmt::format("{}: measured {:.4g}, {}", title_of(s.kind), s.seconds_of(m), no_time);
}

std::vector<doubtful_figure> doubtful_scalars(const machine& machine) {
  std::vector<doubtful_figure> found;
  for (const scalar& s : scalars_of(machine)) {
    if (!is_time(s.seconds_of(machine))) found.push_back({.kind = s.kind, .words = doubt_of(s, machine)});
  }
  return found;
}

void add_doubtful_points(const curve& curve, std::vector<doubtful_figure>& found) {
  std::size_t before = none;
  bool before_is_found = false;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const curve_point& point = curve.points[i];
    if (point.reason) {
      found.push_back(curve.figure(i, *point.reason, point.why));
      continue;
    }
    const bool is_far = before != none && are_far_apart(curve.points[before], point);
    if (is_far && !before_is_found) {
      found.push_back(curve.figure(before, doubt::far_from_neighbour, far_from(point)));
    }
    if (is_far) found.push_back(curve.figure(i, doubt::far_from_neighbour, far_from(curve.points[before])));
    before = i;
    before_is_found = is_far;
  }
}

// Positions of the most points of a curve of which no neighbours are far apart. Of as many points those of the least
// time, because disturbances add time.
std::vector<std::size_t> smooth_points(const std::vector<curve_point>& points) {
  struct chain {
    std::size_t length = 0;
    double seconds = 0;
    std::size_t before = none;
    bool operator<(const chain& other) const {
      return length != other.length ? length < other.length : seconds > other.seconds;
    }
  };
  std::vector<chain> ending_at(points.size());
  chain longest;
  std::size_t last = none;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].reason) continue;
    ending_at[i] = {1, points[i].seconds, none};
    for (std::size_t j = 0; j < i; ++j) {
      if (points[j].reason || are_far_apart(points[j], points[i])) continue;
      ending_at[i] = std::max(ending_at[i], {ending_at[j].length + 1, ending_at[j].seconds + points[i].seconds, j});
    }
    if (last == none || longest < ending_at[i]) {
      longest = ending_at[i];
      last = i;
    }
  }
  std::vector<std::size_t> smooth;
  for (std::size_t i = last; i != none; i = ending_at[i].before) smooth.push_back(i);
  std::ranges::reverse(smooth);
  return smooth;
}

// The words of the points of a curve that are not kept: each is impossible or far from the kept one before or after it.
std::vector<std::string> words_of_others(const curve& curve, const std::vector<std::size_t>& kept) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const auto after = std::ranges::lower_bound(kept, i);
    if (after != kept.end() && *after == i) continue;
    const curve_point& point = curve.points[i];
    if (point.reason) {
      words.push_back(curve.figure(i, *point.reason, point.why).words);
      continue;
    }
    const bool is_far_from_before = after != kept.begin() && are_far_apart(curve.points[*(after - 1)], point);
    const curve_point& neighbour = curve.points[is_far_from_before ? *(after - 1) : *after];
    words.push_back(curve.figure(i, doubt::far_from_neighbour, far_from(neighbour)).words);
  }
  return words;
}

template <class Point>
void keep(std::vector<Point>& list, const curve& curve, const std::vector<std::size_t>& kept) {
  const auto begin = list.begin() + static_cast<std::ptrdiff_t>(curve.first);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    *(begin + static_cast<std::ptrdiff_t>(i)) = *(begin + static_cast<std::ptrdiff_t>(kept[i]));
  }
  list.erase(begin + static_cast<std::ptrdiff_t>(kept.size()),
             begin + static_cast<std::ptrdiff_t>(curve.points.size()));
}

void keep(machine& machine, const curve& curve, const std::vector<std::size_t>& kept) {
  switch (curve.kind) {
    case figure_kind::copies: return keep(machine.streams, curve, kept);
    case figure_kind::dependent_reads: return keep(machine.latencies, curve, kept);
    case figure_kind::random_reads: return keep(machine.random_read, curve, kept);
    case figure_kind::random_writes: return keep(machine.random_write, curve, kept);
    case figure_kind::atomic_adds: return keep(machine.atomic_add, curve, kept);
    default: return;
  }
}

// Linear between measured points over the logarithm of the footprint, as rates of accesses are.
double latency_at(const machine& m, std::uint64_t footprint_bytes) {
  const auto above = std::ranges::lower_bound(m.latencies, footprint_bytes, {}, &latency_point::footprint_bytes);
  if (above == m.latencies.begin()) return m.latencies.front().seconds;
  if (above == m.latencies.end()) return m.latencies.back().seconds;
  const latency_point& below = *(above - 1);
  const double begin = std::log2(static_cast<double>(below.footprint_bytes));
  const double part = (std::log2(static_cast<double>(footprint_bytes)) - begin) /
                      (std::log2(static_cast<double>(above->footprint_bytes)) - begin);
  return std::lerp(below.seconds, above->seconds, part);
}

// What a profile says of a point, as a time; 0 where it has no such curve.
double seconds_at(const machine& m, figure_kind kind, std::uint64_t record_bytes, std::uint64_t footprint_bytes) {
  switch (kind) {
    case figure_kind::copies: return m.streamed(1, footprint_bytes);
    case figure_kind::dependent_reads: return latency_at(m, footprint_bytes);
    case figure_kind::random_reads: return m.random_reads(1, record_bytes, footprint_bytes);
    case figure_kind::random_writes: return m.random_writes(1, record_bytes, footprint_bytes);
    case figure_kind::atomic_adds: return m.atomic_adds(1, record_bytes, footprint_bytes);
    default: return 0;
  }
}

// How many times as slow as the shipped profile says a machine is: the median over the points that make sense. 1 where
// none does.
double slowness(const curve& curve, const std::vector<std::size_t>& kept, const machine& shipped) {
  std::vector<double> ratios;
  for (const std::size_t i : kept) {
    const curve_point& p = curve.points[i];
    ratios.push_back(p.seconds / seconds_at(shipped, curve.kind, curve.record_bytes, p.footprint_bytes));
  }
  if (ratios.empty()) return 1;
  const auto median = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, median);
  return *median;
}

// Puts the shipped profile's curve, moved to the points that make sense, in place of all points. Returns how much
// slower than shipped it is.
double take_shape(machine& m, const curve& curve, const std::vector<std::size_t>& kept, const machine& shipped) {
  const double slower = slowness(curve, kept, shipped);
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const std::uint64_t footprint = curve.points[i].footprint_bytes;
    const double seconds = slower * seconds_at(shipped, curve.kind, curve.record_bytes, footprint);
    const std::size_t at = curve.first + i;
    switch (curve.kind) {
      case figure_kind::copies: m.streams[at].bytes_per_second = 1 / seconds; break;
      case figure_kind::dependent_reads: m.latencies[at].seconds = seconds; break;
      case figure_kind::random_reads: m.random_read[at].records_per_second = 1 / seconds; break;
      case figure_kind::random_writes: m.random_write[at].records_per_second = 1 / seconds; break;
      default: m.atomic_add[at].records_per_second = 1 / seconds; break;
    }
  }
  return slower;
}

std::size_t figures_of(const machine& m) {
  return scalars_of(m).size() + m.streams.size() + m.latencies.size() + m.random_read.size() + m.random_write.size() +
         m.atomic_add.size();
}

}  // namespace

std::string_view title_of(figure_kind kind) noexcept {
  switch (kind) {
    case figure_kind::calls: return "calls";
    case figure_kind::steps: return "steps";
    case figure_kind::barriers: return "barriers";
    case figure_kind::digits: return "digits";
    case figure_kind::uploads: return "uploads of a byte";
    case figure_kind::readbacks: return "readbacks of a byte";
    case figure_kind::copies: return "copies";
    case figure_kind::dependent_reads: return "dependent reads";
    case figure_kind::random_reads: return "random reads";
    case figure_kind::random_writes: return "random writes";
    case figure_kind::atomic_adds: break;
  }
  return "atomic adds";
}

bool is_possible(figure_kind kind, double seconds) noexcept {
  switch (kind) {
    case figure_kind::copies:
    case figure_kind::random_reads:
    case figure_kind::random_writes:
    case figure_kind::atomic_adds: return is_rate(1 / seconds);
    default: return is_time(seconds);
  }
}

std::vector<doubtful_figure> doubtful_figures(const machine& m) {
  std::vector<doubtful_figure> found = doubtful_scalars(m);
  for (const curve& c : curves_of(m)) add_doubtful_points(c, found);
  return found;
}

std::vector<std::string> leave_out_doubtful(machine& machine, const sheaf::machine& shipped) {
  const std::size_t figures = figures_of(machine);
  std::vector<std::string> left_out;
  std::size_t senseless = 0;
  std::string first;
  const auto count = [&](std::size_t more, const std::string& words) {
    senseless += more;
    if (first.empty()) first = words;
  };
  for (const scalar& s : scalars_of(machine)) {
    if (is_time(s.seconds_of(machine))) continue;
    const std::string words = doubt_of(s, machine);
    count(1, words);
    machine.*s.value = shipped.*s.value;
    left_out.push_back(fmt::format("{}; {:.4g} of the shipped profile of {} stands for it", words,
                                   s.seconds_of(machine), shipped.name));
  }
  std::vector<stream_rate> shipped_copies;  // which are no bound for accesses that were measured
  // Curves are made anew after each, because what is left out of one moves the others and may lower the fastest copy.
  for (std::size_t i = 0; i < curves_of(machine).size(); ++i) {
    const curve curve = curves_of(machine)[i];
    const std::vector<std::size_t> kept = smooth_points(curve.points);
    const std::vector<std::string> words = words_of_others(curve, kept);
    if (words.empty()) continue;
    count(words.size(), words.front());
    left_out.insert(left_out.end(), words.begin(), words.end());
    if (words.size() <= curve.points.size() / 2) {
      keep(machine, curve, kept);
      continue;
    }
    const double slower = take_shape(machine, curve, kept, shipped);
    if (curve.kind == figure_kind::copies) shipped_copies.swap(machine.streams);
    left_out.push_back(
        fmt::format("{}: {} of {} points make no sense; the curve of the shipped profile of {} stands for them all, "
                    "{:.2f} times as slow",
                    curve.title, words.size(), curve.points.size(), shipped.name, slower));
  }
  if (!shipped_copies.empty()) machine.streams = std::move(shipped_copies);
  if (senseless > figures / 2) {
    throw error(error_code::measurement_failed,
                fmt::format("calibrate: {} of {} figures make no sense, the first being {}; close other programs and "
                            "repeat, with more seconds (--seconds) or fewer threads (--threads)",
                            senseless, figures, first));
  }
  return left_out;
}

}  // namespace sheaf::plan
