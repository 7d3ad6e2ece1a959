#pragma once

#include <sheaf/machine_profile.hpp>

// The limit that the demo compares its rows with. The backend's probe measures it, as it measures copies for a machine
// profile: past the caches of a CPU by streaming stores.
namespace sheaf::jobs {

/// Rates of streamed copies between two arrays, by the bytes that both take together.
struct copy_limits {
  std::vector<stream_rate> rates;  ///< ordered by footprint_bytes, which are powers of two

  /// The limit of a call whose arrays take that many bytes: the best rate in as many, rounded down to a power of two,
  /// or more. What large arrays reach, smaller ones may, too.
  double bytes_per_second(std::uint64_t footprint_bytes) const;
};

/// The best rates of several copies in each footprint, from 64 KiB to that of `most_bytes`, or to what there is memory
/// for.
copy_limits measure_copy_limits(const context& ctx, std::uint64_t most_bytes);

}  // namespace sheaf::jobs
