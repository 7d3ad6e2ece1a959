#include "lab/harness/timed_call.hpp"

#include <fmt/format.h>

namespace sheaf::bench {

void time_and_check(std::span<timed_call> calls, const timing_limits& limits) {
  std::vector<contender> contenders;
  contenders.reserve(calls.size());
  for (const timed_call& c : calls) {
    contenders.push_back({.who = c.who, .queue = [&c](std::uint64_t) { c.run(); }, .wait = c.wait});
  }
  const std::vector<timing> times = measure(contenders, 1, nullptr, limits);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].time = times[i];
    const std::optional<std::string> mistake = calls[i].mistake();
    calls[i].is_right = !mistake;
    if (mistake) fmt::print("  {}, {}: WRONG ANSWER: {}\n", calls[i].where, calls[i].who, *mistake);
  }
}

std::optional<std::uint64_t> runs_to_amortise(double loading_seconds, double run_seconds, double other_seconds) {
  constexpr double most_runs = 1e15;
  const double runs = loading_seconds / (other_seconds - run_seconds);
  if (run_seconds >= other_seconds || runs > most_runs) return std::nullopt;
  return static_cast<std::uint64_t>(std::ceil(runs));
}

std::string runs_text(const std::optional<std::uint64_t>& runs) { return runs ? fmt::to_string(*runs) : "-"; }

}  // namespace sheaf::bench
