#include <sheaf/machine.hpp>

#include <algorithm>
#include <span>

#include "plan/approximate_log2.hpp"

namespace sheaf {
namespace {

using plan::approximate_log2;

// The rate of one width at a footprint: linear interpolation between measured points over the logarithm of the
// footprint.
double rate_at(std::span<const access_rate> points, std::uint64_t footprint) {
  const auto above = std::ranges::lower_bound(points, footprint, {}, &access_rate::footprint_bytes);
  if (above == points.begin()) return points.front().records_per_second;
  if (above == points.end()) return points.back().records_per_second;
  const access_rate& low = *(above - 1);
  const double part = (approximate_log2(footprint) - approximate_log2(low.footprint_bytes)) /
                      (approximate_log2(above->footprint_bytes) - approximate_log2(low.footprint_bytes));
  return low.records_per_second + part * (above->records_per_second - low.records_per_second);
}

// Seconds of one random access: linear interpolation over the record width. Records narrower than any measured one cost
// as much as the narrowest; wider ones move at the bytes per second of the widest.
double seconds_at_random(std::span<const access_rate> rates, std::uint64_t bytes, std::uint64_t footprint) {
  double narrower_bytes = 0;
  double narrower_seconds = 0;
  while (!rates.empty()) {
    const auto end =
        std::ranges::find_if(rates, [&](const access_rate& r) { return r.record_bytes != rates.front().record_bytes; });
    const auto width = static_cast<double>(rates.front().record_bytes);
    const double seconds = 1 / rate_at({rates.begin(), end}, footprint);
    if (width >= static_cast<double>(bytes)) {
      if (narrower_bytes == 0) return seconds;
      const double part = (static_cast<double>(bytes) - narrower_bytes) / (width - narrower_bytes);
      return narrower_seconds + part * (seconds - narrower_seconds);
    }
    narrower_bytes = width;
    narrower_seconds = seconds;
    rates = {end, rates.end()};
  }
  return narrower_bytes == 0 ? 0 : narrower_seconds * static_cast<double>(bytes) / narrower_bytes;
}

}  // namespace

double machine::streamed(std::uint64_t bytes, std::uint64_t footprint) const {
  if (!streams.empty()) {
    const auto above = std::ranges::lower_bound(streams, footprint, {}, &stream_rate::footprint_bytes);
    return static_cast<double>(bytes) / (above == streams.end() ? streams.back() : *above).bytes_per_second;
  }
  return static_cast<double>(bytes) / (footprint <= cache_bytes / 2 ? cached_bytes_per_second : copy_bytes_per_second);
}

double machine::uploaded(std::uint64_t bytes) const {
  return upload_bytes_per_second > 0 ? static_cast<double>(bytes) / upload_bytes_per_second : 0;
}

double machine::read_back(std::uint64_t bytes) const {
  return readback_bytes_per_second > 0 ? static_cast<double>(bytes) / readback_bytes_per_second : 0;
}

double machine::random_reads(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const {
  return static_cast<double>(count) * seconds_at_random(random_read, bytes, footprint);
}

double machine::random_writes(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const {
  return static_cast<double>(count) * seconds_at_random(random_write, bytes, footprint);
}

double machine::atomic_adds(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const {
  if (atomic_add.empty()) return random_writes(count, bytes, footprint);
  return static_cast<double>(count) * seconds_at_random(atomic_add, bytes, footprint);
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
