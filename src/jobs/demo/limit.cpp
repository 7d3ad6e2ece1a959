#include "jobs/demo/limit.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "core/backends.hpp"
#include "plan/probe.hpp"

namespace sheaf::jobs {
namespace {

constexpr std::uint64_t least_footprint = std::uint64_t{64} << 10;
constexpr double least_seconds = 2e-3;  // of a run, long against the clock's resolution and the start of threads
constexpr int runs = 5;

std::unique_ptr<plan::probe> probe_of(const context& ctx) {
  std::unique_ptr<plan::probe> probe = core::backend_of(ctx.backend()).make_probe(ctx);
  probe->describe();  // how it copies depends on the caches that it finds
  return probe;
}

stream_rate best_copy(plan::probe& probe, std::uint64_t footprint) {
  std::uint64_t bytes = footprint;
  plan::timing run = probe.stream(footprint, bytes);
  while (run.seconds < least_seconds) run = probe.stream(footprint, bytes *= 2);
  double best = 0;
  for (int i = 0; i < runs; ++i) {
    best = std::max(best, static_cast<double>(run.count) / run.seconds);
    run = probe.stream(footprint, bytes);
  }
  return {footprint, best};
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
