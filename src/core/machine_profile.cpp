#include <sheaf/machine_profile.hpp>

#include <algorithm>

// The rest of a profile is src/plan/machine.cpp; this is here because a context scales its profile.
namespace sheaf {

machine machine::with_parallelism(std::uint32_t threads) const {
  machine scaled = *this;
  const double share = std::min(1.0, static_cast<double>(threads) / static_cast<double>(std::max(1U, parallelism)));
  scaled.parallelism = threads;
  scaled.copy_bytes_per_second *= share;
  scaled.cached_bytes_per_second *= share;
  for (stream_rate& rate : scaled.streams) rate.bytes_per_second *= share;
  for (auto* curve : {&scaled.random_read, &scaled.random_write, &scaled.atomic_add}) {
    for (access_rate& rate : *curve) rate.records_per_second *= share;
  }
  return scaled;
}

}  // namespace sheaf
