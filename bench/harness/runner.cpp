#include "bench/harness/runner.hpp"

#include <algorithm>
#include <chrono>

namespace sheaf::bench {
namespace {

constexpr double host_timed_below_seconds = 1e-3;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

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

timing summary_of(std::vector<double>& seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  return {median, seconds.front(), seconds.back(), seconds.size()};
}

}  // namespace

std::vector<timing> measure(std::span<const contender> contenders, std::uint64_t copies, queue_clock* clock,
                            const timing_limits& limits) {
  std::uint64_t calls = 0;
  double fastest = 1e300;
  double slowest = 0;
  for (const contender& c : contenders) {
    time_by_host(c, calls++ % copies);  // the first call loads code and fills the scratch pool
    const double seconds = time_by_host(c, calls++ % copies);
    fastest = std::min(fastest, seconds);
    slowest = std::max(slowest, seconds);
  }
  const bool by_queue = clock != nullptr && fastest >= host_timed_below_seconds;
  const std::uint64_t rounds = slowest > limits.slow_seconds ? limits.least_slow_rounds : limits.least_rounds;

  std::vector<std::vector<double>> seconds(contenders.size());
  const double begin = now();
  for (std::uint64_t round = 0;
       round < rounds || (now() - begin < limits.seconds && calls + contenders.size() <= limits.most_calls); ++round) {
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
      const std::size_t which = round % 2 == 0 ? turn : contenders.size() - 1 - turn;
      const std::uint64_t copy = calls++ % copies;
      seconds[which].push_back(by_queue ? time_by_queue(contenders[which], copy, *clock)
                                        : time_by_host(contenders[which], copy));
    }
  }
  std::vector<timing> timings;
  timings.reserve(seconds.size());
  for (std::vector<double>& samples : seconds) timings.push_back(summary_of(samples));
  return timings;
}

std::uint64_t rotated_copies(std::uint64_t bytes, std::uint64_t cache_bytes, const timing_limits& limits) noexcept {
  if (bytes >= 2 * cache_bytes) return 1;
  return std::clamp<std::uint64_t>(3 * cache_bytes / std::max<std::uint64_t>(bytes, 1) + 1, 2, limits.most_calls);
}

}  // namespace sheaf::bench
