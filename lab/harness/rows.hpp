#pragma once

#include "lab/harness/platform.hpp"
#include "lab/harness/problem.hpp"
#include "lab/harness/report.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

namespace sheaf::bench {

struct row_options {
  bool hint = false;      ///< the planner is told the pattern
  bool trust = false;     ///< add "sheaf.trust", which does not check indices
  bool no_peer = false;   ///< leave the peers out
  bool variants = false;  ///< add every variant that can run, not only the planner's choice
  bool prepared = false;  ///< add "sheaf.prepared": the executor of a call whose index list was prepared
  bool offsets = false;   ///< side outputs (offsets of a split) are written also while timed, not only when checked
};

/// The contenders of a row: ours first, peers last. The workspace has to be prepared for the row before they run.
std::vector<contender> contenders_of(const context& ctx, const problem& problem, const row_options& options,
                                     const workspace& arrays);
/// The variant of this name, also one that runs by name only; none where it is not built or cannot run the row.
std::optional<contender> contender_by_name(const context& ctx, const problem& spec, const workspace& arrays,
                                           std::string_view variant);

/// A row that is to be measured.
struct planned_row {
  bench::problem problem;
  std::uint64_t copies = 1;  ///< copies of the arrays that calls rotate among
  std::vector<contender> contenders;
  std::uint64_t scratch_bytes = 0;  ///< largest of the contenders'
};

planned_row planned(const problem& problem, std::uint64_t copies, std::vector<contender> contenders);
/// Why a row cannot be measured on this hardware, or empty.
std::string reason_to_skip(const planned_row& row, const platform& hardware);
/// Prepares the workspace, times the contenders, and checks one answer of each. Results are in the contenders' order.
std::vector<result> run_row(const planned_row& row, backend_kind backend, workspace& arrays, queue_clock* clock,
                            const timing_limits& limits);

}  // namespace sheaf::bench
