#pragma once

#include "distributed/sort/key_reader.hpp"

namespace sheaf::distributed {

/// A position in the whole of all ranks' rows, and the local rows among which it lies.
struct whole_position {
  std::uint64_t position = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Collective: how many local rows lie before each position of the whole sorted stably, where all ranks have sorted the
/// rows in question. Rows of equal keys are those of lower ranks first. @param at  the same positions on all ranks
///
/// Each round, ranks tell some keys, evenly spaced, of the rows still in question; these bound how many rows of each
/// rank lie before every one of them (Varman et al. 1991, for sorted lists of several ranks). Some 2 / samples of the
/// rows stay in question, until all of them are told.
std::vector<std::uint64_t> rows_before(group_state& state, const key_reader& keys, std::span<const whole_position> at);

}  // namespace sheaf::distributed
