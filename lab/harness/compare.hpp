#pragma once

#include <cstdint>
#include <span>

#include "lab/harness/results_file.hpp"

namespace sheaf::bench {

/// What `sheaf-bench --compare OLD NEW` is asked for.
struct compare_request {
  std::string old_path;
  std::string new_path;
  double threshold = 0.97;  ///< a row whose old time over its new time is below this may count as slower
  bool relative = false;    ///< compares time over the peer's time, not time
};

enum class change : std::uint8_t {
  slower,        ///< beyond the threshold and beyond noise
  faster,        ///< beyond the threshold and beyond noise
  within_noise,  ///< beyond the threshold, but the recorded spreads leave it open
  none,          ///< within the threshold
};

/// A row that is in both files.
struct compared_row {
  recorded_row before;
  recorded_row after;
  double speedup = 0;           ///< old median over new median; of time over the peer's time where that is compared
  double relative_speedup = 0;  ///< ours over the peer's, new over old; 0 where a file has no peer for the row
  bench::change change = bench::change::none;
};

struct comparison {
  std::vector<compared_row> rows;  ///< slowest first
  std::vector<std::string> only_before;
  std::vector<std::string> only_after;
  std::uint64_t without_peer = 0;  ///< rows of ours in both files that a relative comparison leaves out
  std::uint64_t wrong_before = 0;  ///< old rows whose answer was wrong
  std::uint64_t wrong_after = 0;   ///< new rows whose answer was wrong

  /// Rows of ours that are slower beyond noise. Peers are compared and printed, but do not count.
  std::uint64_t slower_count() const noexcept;
};

/// Matches rows by figure, backend, problem and who; the k-th row of a name goes with the k-th of that name. The
/// variant that ran is not part of the name, so a planner's other choice is compared, too.
///
/// A row is slower beyond noise where its speedup is under the threshold and even its fastest new run takes longer than
/// the old median; faster where the same holds with old and new exchanged.
/// @throws error(bad_input) if no row can be compared.
comparison compare(std::span<const recorded_row> before, std::span<const recorded_row> after,
                   const compare_request& request);

/// The table of all rows, slowest first, rows that only one file has, and a summary of ours and of the peers.
std::string report_text(const comparison& found, const compare_request& request);

/// Loads and compares the request's files and prints the report.
comparison run_compare(const compare_request& request);

}  // namespace sheaf::bench
