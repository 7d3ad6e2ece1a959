#pragma once

#include <cstdint>
#include <span>

#include "lab/harness/results_file.hpp"

namespace sheaf::bench {

/// A row of ours, beside the fastest of the peers that promise as much.
struct factor_row {
  std::string backend;
  std::string problem;           ///< "sort_keys/normal/r4/f32/n=1048576"
  std::string_view family = {};  ///< of the problem's primitive: "sort"
  std::uint64_t count = 0;
  double seconds = 0;
  std::string peer = {};
  double peer_seconds = 0;
  double weaker_peer_seconds = 0;  ///< of the fastest peer whose answer may vary where ours may not; 0: there is none

  double factor() const noexcept { return peer_seconds / seconds; }
};

/// The rows of "sheaf" that have such a peer. Rows of one problem that stand together are of one run.
/// @throws error(bad_input) for a row whose name is not that of a problem
std::vector<factor_row> factors_of(std::span<const recorded_row> rows);

/// For each backend and family the geometric mean of all factors and of those of 2^24 and more records, the rows below
/// 0.97 (0.93 for calls of 20 us and less), and those below 0.7 of a peer whose answer may vary where ours may not;
/// then the ten worst rows of all.
std::string factors_text(std::vector<factor_row> rows);

/// "12.30 us", "4.567 ms", "8.901 s"
std::string time_text(double seconds);
/// " *" for a call of 20 us or less, which says more of how fast a call begins than of what it does; else "".
std::string_view short_mark(double seconds) noexcept;

}  // namespace sheaf::bench
