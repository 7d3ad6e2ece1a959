#include "apps/sheaf/demo/limit.hpp"

#include <algorithm>
#include <bit>

#include "core/backends.hpp"
#include "plan/microbenchmarks.hpp"

namespace sheaf::jobs {
namespace {

constexpr std::uint64_t least_footprint = std::uint64_t{64} << 10;
constexpr double least_copy_seconds = 2e-3;  // of a run, long against the clock's resolution and the start of threads
constexpr std::uint64_t least_copied_bytes = std::uint64_t{64} << 20;
constexpr int pilots = 3;
constexpr int runs = 10;

std::unique_ptr<plan::microbenchmarks> probe_of(const context& ctx) {
  std::unique_ptr<plan::microbenchmarks> probe = core::backend_of(ctx.backend()).make_microbenchmarks(ctx);
  probe->describe();  // how it copies depends on the caches that it finds
  return probe;
}

// The fastest of some runs, because a thread that was stopped meanwhile says nothing of the machine.
plan::timing fastest(plan::microbenchmarks& probe, std::uint64_t footprint, std::uint64_t bytes, int times) {
  plan::timing best = probe.stream(footprint, bytes);
  for (int run = 1; run < times; ++run) {
    const plan::timing next = probe.stream(footprint, bytes);
    if (next.seconds < best.seconds) best = next;
  }
  return best;
}

stream_rate best_copy(plan::microbenchmarks& probe, std::uint64_t footprint) {
  std::uint64_t bytes = std::max(footprint, least_copied_bytes);
  while (fastest(probe, footprint, bytes, pilots).seconds < least_copy_seconds) bytes *= 2;
  const plan::timing best = fastest(probe, footprint, bytes, runs);
  return {footprint, static_cast<double>(best.count) / best.seconds};
}

}  // namespace

double copy_limits::bytes_per_second(std::uint64_t footprint_bytes) const {
  double best = 0;
  for (auto rate = rates.rbegin(); rate != rates.rend(); ++rate) {
    best = std::max(best, rate->bytes_per_second);
    if (rate->footprint_bytes <= footprint_bytes) break;
  }
  return best;
}

copy_limits measure_copy_limits(const context& ctx, std::uint64_t most_bytes) {
  const auto probe = probe_of(ctx);
  const std::uint64_t wanted = std::max(least_footprint, std::bit_ceil(most_bytes));
  const std::uint64_t most = std::min(wanted, std::bit_floor(probe->reserve(wanted)));
  copy_limits limits;
  for (std::uint64_t footprint = least_footprint; footprint <= most; footprint *= 2) {
    limits.rates.push_back(best_copy(*probe, footprint));
  }
  return limits;
}

}  // namespace sheaf::jobs
