#include <sheaf/machine.hpp>

#include <algorithm>
#include <bit>
#include <span>

namespace sheaf {
namespace {

// The logarithm with straight lines between powers of two: plans are made for every call.
double log2_nearly(std::uint64_t x) {
  const auto whole = static_cast<int>(std::bit_width(x)) - 1;
  return whole + static_cast<double>(x) / static_cast<double>(std::uint64_t{1} << whole) - 1;
}

// Rate of one width over footprint: straight lines between the measured points, over the logarithm of the footprint.
double rate_at(std::span<const access_rate> points, std::uint64_t footprint) {
  const auto above = std::lower_bound(points.begin(), points.end(), footprint,
                                      [](const access_rate& p, std::uint64_t f) { return p.footprint_bytes < f; });
  if (above == points.begin()) return points.front().records_per_second;
  if (above == points.end()) return points.back().records_per_second;
  const access_rate& low = *(above - 1);
  const double part = (log2_nearly(footprint) - log2_nearly(low.footprint_bytes)) /
                      (log2_nearly(above->footprint_bytes) - log2_nearly(low.footprint_bytes));
  return low.records_per_second + part * (above->records_per_second - low.records_per_second);
}

// Widths between two measured ones take the slower bytes per second of the two, which errs on the safe side; wider
// records than any measured go at the widest's bytes per second.
double seconds_at_random(const std::vector<access_rate>& rates, std::uint64_t count, std::uint64_t bytes,
                         std::uint64_t footprint) {
  auto first = rates.begin();
  while (first != rates.end()) {
    const auto last =
        std::find_if(first, rates.end(), [&](const access_rate& r) { return r.record_bytes != first->record_bytes; });
    const bool widest = last == rates.end();
    if (first->record_bytes >= bytes || widest) {
      const double rate = rate_at({first, last}, footprint);
      const double scale = std::max(1.0, static_cast<double>(bytes) / static_cast<double>(first->record_bytes));
      return static_cast<double>(count) * scale / rate;
    }
    first = last;
  }
  return 0;
}

}  // namespace

double machine::streamed(std::uint64_t bytes, std::uint64_t footprint) const {
  return static_cast<double>(bytes) / (footprint <= cache_bytes / 2 ? cached_bytes_per_second : copy_bytes_per_second);
}

double machine::random_reads(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const {
  return seconds_at_random(random_read, count, bytes, footprint);
}

double machine::random_writes(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const {
  return seconds_at_random(random_write, count, bytes, footprint);
}

machine machine::with_parallelism(std::uint32_t threads) const {
  machine scaled = *this;
  const double share = std::min(1.0, static_cast<double>(threads) / static_cast<double>(std::max(1U, parallelism)));
  scaled.parallelism = threads;
  scaled.copy_bytes_per_second *= share;
  scaled.cached_bytes_per_second *= share;
  for (access_rate& rate : scaled.random_read) rate.records_per_second *= share;
  for (access_rate& rate : scaled.random_write) rate.records_per_second *= share;
  return scaled;
}

machine nearest_machine(backend_kind backend, const std::string& device_name) {
  const std::vector<machine> shipped = shipped_machines();
  const machine* nearest = nullptr;
  for (const machine& candidate : shipped) {
    if (candidate.backend != backend) continue;
    if (nearest == nullptr || candidate.name == device_name) nearest = &candidate;
  }
  return *nearest;
}

}  // namespace sheaf
