#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/plan.hpp>

#include "bench/harness/platform.hpp"
#include "bench/harness/problem.hpp"
#include "bench/harness/report.hpp"
#include "bench/harness/runner.hpp"
#include "bench/harness/workspace.hpp"

namespace sheaf::bench {

struct row_options {
  bool hint = false;      ///< tell the planner the pattern
  bool trust = false;     ///< add "sheaf.trust", which takes every index at its word
  bool no_peer = false;   ///< leave the peer out
  bool variants = false;  ///< add every variant that can run, not only the planner's choice
  bool prepared = false;  ///< add "sheaf.prepared": runs of a gather or scatter whose list was studied before
  bool offsets = false;   ///< splits say where categories begin while they are timed, not only when checked
};

/// Everybody who takes part in a row: ours first, peers last. Queueing needs the workspace prepared for the row.
std::vector<contender> gather_contenders(const context& ctx, const problem& p, const row_options& options,
                                         const workspace& arrays);
std::vector<contender> scatter_contenders(const context& ctx, const problem& p, const row_options& options,
                                          const workspace& arrays);
std::vector<contender> split_contenders(const context& ctx, const problem& p, const row_options& options,
                                        const workspace& arrays);
/// The variant of this name, also one that runs by name only; none where it is not built or cannot run the row.
std::optional<contender> split_by_name(const context& ctx, const problem& p, const workspace& arrays,
                                       std::string_view variant);
std::vector<contender> reduce_contenders(const context& ctx, const problem& p, const row_options& options,
                                         const workspace& arrays);
std::vector<contender> sort_contenders(const context& ctx, const problem& p, const row_options& options,
                                       const workspace& arrays);
/// As split_by_name.
std::optional<contender> sort_by_name(const context& ctx, const problem& p, const workspace& arrays,
                                      std::string_view variant);
std::vector<contender> contenders_of(const context& ctx, const problem& p, const row_options& options,
                                     const workspace& arrays);

/// Variants to measure by name: those that the planner could have taken.
std::vector<const variant_estimate*> measurable(const explanation& why);

/// A row that waits for its turn.
struct planned_row {
  bench::problem problem;
  std::uint64_t copies = 1;
  std::vector<contender> contenders;
  std::uint64_t scratch_bytes = 0;
};

planned_row planned(const problem& p, std::uint64_t copies, std::vector<contender> contenders);
/// Why a row cannot be measured here, or empty.
std::string obstacle(const planned_row& row, const platform& here);
/// Prepares the workspace, times the contenders, and checks an answer of each. A result for each, in their order.
std::vector<result> run_row(const planned_row& row, backend_kind backend, workspace& arrays, queue_clock* clock,
                            const effort& limits);

}  // namespace sheaf::bench
