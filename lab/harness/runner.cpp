#include "lab/harness/runner.hpp"
#include "lab/harness/now.hpp"

#include <algorithm>

namespace sheaf::bench {
namespace {

constexpr double host_timed_below_seconds = 1e-3;

double time_by_host(const contender& c, std::uint64_t copy) {
  const double begin = now();
  c.queue(copy);
  c.wait();
  return now() - begin;
}

double time_by_queue(const contender& c, std::uint64_t copy, queue_clock& clock) {
  clock.start();
  c.queue(copy);
  clock.stop();
  c.wait();
  return clock.seconds();
}

// Seconds of each contender's call, after one that loads code and fills the scratch pool.
std::vector<double> time_first_calls(std::span<const contender> contenders, std::uint64_t copies,
                                     const timing_limits& limits, std::uint64_t& calls) {
  std::vector<double> seconds;
  for (const contender& c : contenders) {
    seconds.push_back(time_by_host(c, calls++ % copies));
    if (seconds.back() < limits.long_seconds) seconds.back() = time_by_host(c, calls++ % copies);
  }
  return seconds;
}

// The contenders whose calls are timed in turn.
std::vector<std::size_t> those_in_turn(std::span<const contender> contenders, std::span<const double> first_seconds,
                                       const timing_limits& limits) {
  double fastest_peer = 1e300;
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    const bool may_be_best = contenders[c].is_peer() && !contenders[c].promises_less;
    if (may_be_best) fastest_peer = std::min(fastest_peer, first_seconds[c]);
  }
  std::vector<std::size_t> in_turn;
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    const bool is_hopeless = first_seconds[c] >= limits.long_seconds && contenders[c].is_peer() &&
                             first_seconds[c] > limits.hopeless_factor * fastest_peer;
    if (!is_hopeless) in_turn.push_back(c);
  }
  return in_turn;
}

}  // namespace

timing summary_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t middle = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return {median, seconds.front(), seconds.back(), seconds.size()};
}

std::vector<timing> measure(std::span<const contender> contenders, std::uint64_t copies, queue_clock* clock,
                            const timing_limits& limits) {
  std::uint64_t calls = 0;
  const std::vector<double> first_seconds = time_first_calls(contenders, copies, limits, calls);
  const std::vector<std::size_t> in_turn = those_in_turn(contenders, first_seconds, limits);
  double fastest = 1e300;
  double slowest = 0;
  for (const std::size_t c : in_turn) {
    fastest = std::min(fastest, first_seconds[c]);
    slowest = std::max(slowest, first_seconds[c]);
  }
  const bool by_queue = clock != nullptr && fastest >= host_timed_below_seconds;
  const std::uint64_t rounds = slowest > limits.slow_seconds ? limits.least_slow_rounds : limits.least_rounds;

  std::vector<std::vector<double>> seconds(contenders.size());
  const double begin = now();
  for (std::uint64_t round = 0;
       round < rounds || (now() - begin < limits.seconds && calls + in_turn.size() <= limits.most_calls); ++round) {
    for (std::size_t turn = 0; turn < in_turn.size(); ++turn) {
      const std::size_t which = in_turn[round % 2 == 0 ? turn : in_turn.size() - 1 - turn];
      const std::uint64_t copy = calls++ % copies;
      seconds[which].push_back(by_queue ? time_by_queue(contenders[which], copy, *clock)
                                        : time_by_host(contenders[which], copy));
    }
  }
  std::vector<timing> timings;
  timings.reserve(seconds.size());
  for (std::size_t c = 0; c < seconds.size(); ++c) {
    if (seconds[c].empty()) seconds[c].push_back(first_seconds[c]);
    timings.push_back(summary_of(seconds[c]));
  }
  return timings;
}

std::uint64_t rotated_copies(std::uint64_t bytes, std::uint64_t cache_bytes, const timing_limits& limits) noexcept {
  if (bytes >= 2 * cache_bytes) return 1;
  return std::clamp<std::uint64_t>(3 * cache_bytes / std::max<std::uint64_t>(bytes, 1) + 1, 2, limits.most_calls);
}

}  // namespace sheaf::bench
