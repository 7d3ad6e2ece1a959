#pragma once

#include <sheaf/machine_profile.hpp>

namespace sheaf::plan {

/// The figures of a profile: six that stand alone, and the points of five lists.
enum class figure_kind : std::uint8_t {
  calls,
  steps,
  barriers,
  digits,
  uploads,
  readbacks,
  copies,
  dependent_reads,
  random_reads,
  random_writes,
  atomic_adds
};

enum class doubt : std::uint8_t {
  impossible,          ///< no machine reaches it
  far_from_neighbour,  ///< either of the two may be wrong
  faster_than_copies,  ///< more bytes a second than the fastest copy allows, whose figure may be the wrong one
};

/// A figure that something else than the machine's rates has made.
struct doubtful_figure {
  figure_kind kind;
  std::size_t position = 0;  ///< in its list
  std::uint64_t footprint_bytes = 0;
  std::uint64_t record_bytes = 0;  ///< of accesses at random
  doubt reason = doubt::impossible;
  std::string words = {};  ///< its name, its value, and why it is in doubt
};

/// The figures of a profile that are in doubt, in the order in which they are measured.
std::vector<doubtful_figure> doubtful_figures(const machine& machine);

/// Removes from each curve the fewest points that leave it without doubts. Returns the words of what it removed.
/// @throws error(measurement_failed) where a figure that stands alone is in doubt, or more than half of a curve
std::vector<std::string> leave_out_doubtful(machine& machine);

}  // namespace sheaf::plan
