#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sheaf/plan.hpp>

// Finds the order of an index list from a sample of it. A preparation does this on the host, because it waits anyway;
// calls that are not prepared leave it to their backend.
namespace sheaf::plan {

/// Entries of one run of the sample, all neighbours in the list.
constexpr std::uint64_t run_entries = std::uint64_t{1} << 15;

/// Positions at which the runs of a sample begin, spread evenly. A list that is not longer than a run is sampled whole.
std::vector<std::uint64_t> sample_runs(std::uint64_t list_entries);

/// The order of one run, by the records that it names among `records`. Entries past these are passed over. Unknown for
/// runs so short that nothing shows.
access_pattern order_of_run(std::span<const std::uint64_t> run, std::uint64_t records);

/// The order of a list, by those of its runs: that of nine tenths of them, random where half of them are scattered, and
/// unknown where neither holds.
access_pattern order_of_runs(std::span<const access_pattern> runs);

}  // namespace sheaf::plan
