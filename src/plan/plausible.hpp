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

/// The figure in words, in the plural: "random reads".
std::string_view title_of(figure_kind kind) noexcept;

/// Whether a machine may take so many seconds for one access, byte or call.
bool is_possible(figure_kind kind, double seconds) noexcept;

/// The figures of a profile that are in doubt, in the order in which they are measured.
std::vector<doubtful_figure> doubtful_figures(const machine& machine);

/// Removes from each curve the fewest points that leave it without doubts. Where that is more than half of a curve, the
/// curve of the shipped profile takes its place, as much slower or faster as the other points are in the median. A
/// doubtful figure that stands alone becomes the shipped one. Returns the words of each figure that it removed, and of
/// what stands for it.
/// @throws error(measurement_failed) where more than half of all figures are in doubt
std::vector<std::string> leave_out_doubtful(machine& machine, const sheaf::machine& shipped);

}  // namespace sheaf::plan
