#pragma once

#include <algorithm>
#include <span>

#include <sheaf/plan.hpp>

// Finds the order of an index list from a sample of it. A preparation does this on the host, because it waits anyway;
// calls that are not prepared leave it to their backend.
namespace sheaf::plan {

/// How long a look is worth while. Large: up to 16 runs, of 0.7 ms each. Small: two runs, of 0.05 ms each. Quick, for
/// calls that are not prepared: two runs of a quarter of that.
enum class list_sample { large, small, quick };

/// Entries of one run of the sample, all neighbours in the list: a thirty-second of it, but between 2^11 and 2^15; 2^11
/// in a small sample, and 2^9 in a quick one.
constexpr std::uint64_t run_entries(std::uint64_t list_entries, list_sample size = list_sample::large) {
  constexpr std::uint64_t least = std::uint64_t{1} << 11;
  constexpr std::uint64_t most = std::uint64_t{1} << 15;
  if (size == list_sample::quick) return std::min(list_entries, least / 4);
  return std::min(list_entries, std::clamp(list_entries / 32, least, size == list_sample::small ? least : most));
}

/// Positions at which the runs of a sample begin, spread evenly. A list that is not longer than a run is sampled whole.
std::vector<std::uint64_t> sample_runs(std::uint64_t list_entries, list_sample size = list_sample::large);

/// The order of one run, by the records that it names among `records`. Entries past these are passed over. Unknown for
/// runs so short that nothing shows.
access_pattern order_of_run(std::span<const std::uint64_t> run, std::uint64_t records);

/// The order of a list, by those of its runs: that of nine tenths of them, random where half of them are scattered, and
/// unknown where neither holds.
access_pattern order_of_runs(std::span<const access_pattern> runs);

}  // namespace sheaf::plan
