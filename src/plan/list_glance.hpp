#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <sheaf/plan.hpp>

// Finds the order of an index list at a glance, in a small part of the time of a call on the host's threads: a few runs
// of 64 entries and, of long lists that seem scattered, some thousand neighbours. Preparations look longer
// (list_order.hpp).
namespace sheaf::plan {

/// Entries of a list below which a call takes no glance at it. On an EPYC of family 25 one takes 4 to 9 us at so many,
/// and 30 us at 2^20; a gather of 7 * 10^5 records of 4 bytes takes 620 us.
constexpr std::uint64_t least_glanced = std::uint64_t{1} << 16;
/// Entries of a list from which a glance also counts streams.
constexpr std::uint64_t least_followed = std::uint64_t{1} << 19;
/// Entries of one run of a glance, all neighbours in the list, and most runs.
constexpr std::uint64_t glance_entries = 64;
constexpr std::uint64_t most_glance_runs = 16;

/// Runs of a glance, one in each of as many equal parts of the list.
constexpr std::uint64_t glance_runs(std::uint64_t list_entries) {
  return list_entries < std::uint64_t{1} << 19 ? 4 : most_glance_runs;
}
/// Where a run of a part begins that has so many entries: at another place of each, even and odd ones, or lists that
/// come again and again would show the same records in every run. Of bits in the middle: the low ones of multiples of
/// an odd number alternate.
constexpr std::uint64_t place_of_run(std::uint64_t run, std::uint64_t part_entries) {
  return ((run + 1) * 0x9e3779b97f4a7c15U >> 20) % (part_entries - glance_entries + 1);
}
/// Neighbours among which streams are counted.
constexpr std::uint64_t followed_entries(std::uint64_t list_entries) {
  return std::clamp<std::uint64_t>(list_entries / 1024, 2048, 8192);
}

/// The order of a list by runs of glance_entries, which follow each other in `entries`. A number of records or streams
/// is rounded to a power of two, so that equal lists of one length have one plan.
access_pattern order_of_glance(std::span<const std::uint64_t> entries, std::uint64_t records);
/// Streams, if so many neighbours of a scattered list are some; else random.
access_pattern order_of_neighbours(std::span<const std::uint64_t> neighbours, std::uint64_t records);

/// What a glance at a list shows of its order; unknown for short lists, and where runs differ. `read(first, count, to)`
/// reads entries of the list as numbers without a sign.
template <class Read>
access_pattern order_at_a_glance(std::uint64_t list_entries, std::uint64_t records, Read read) {
  if (list_entries < least_glanced) return access_pattern::unknown();
  std::array<std::uint64_t, glance_entries * most_glance_runs> entries;
  const std::uint64_t runs = glance_runs(list_entries);
  const std::uint64_t part = list_entries / runs;
  for (std::uint64_t run = 0; run < runs; ++run) {
    read(part * run + place_of_run(run, part), glance_entries, entries.data() + run * glance_entries);
  }
  const access_pattern found = order_of_glance({entries.data(), runs * glance_entries}, records);
  if (found != access_pattern::random() || list_entries < least_followed) return found;
  std::vector<std::uint64_t> neighbours(followed_entries(list_entries));
  read(list_entries / 2 - neighbours.size() / 2, neighbours.size(), neighbours.data());
  return order_of_neighbours(neighbours, records);
}

}  // namespace sheaf::plan
