#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/plan.hpp>

#include "problem.hpp"
#include "runner.hpp"
#include "workspace.hpp"

namespace sheaf::bench {

struct row_options {
  bool hint = false;      ///< tell the planner the pattern
  bool trust = false;     ///< add "sheaf.trust", which takes every index at its word
  bool variants = false;  ///< add every variant that can run, not only the planner's choice
};

/// Everybody who takes part in a row: ours first, the peer last. Queueing needs the workspace prepared for the row.
std::vector<contender> gather_contenders(const context& ctx, const problem& p, const row_options& options,
                                         const workspace& arrays);
std::vector<contender> scatter_contenders(const context& ctx, const problem& p, const row_options& options,
                                          const workspace& arrays);
std::vector<contender> contenders_of(const context& ctx, const problem& p, const row_options& options,
                                     const workspace& arrays);

/// Variants to measure by name: those that can run, less the serial reference, which would take minutes.
std::vector<const variant_estimate*> measurable(const explanation& why);

}  // namespace sheaf::bench
