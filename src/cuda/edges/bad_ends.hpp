#pragma once

#include <sheaf/cuda/detail/edge_arguments.hpp>

#include "cuda/device/state.hpp"
#include "primitives/edges/edge_sum.hpp"

namespace sheaf::cuda {

/// The lowest edge that has a bad end. Kernels that read the ends note it in device memory, and one thread behind them
/// reports it, so that kernels which a program compiles know nothing of reports.
class bad_end_report {
 public:
  /// Begins a call; `first_bad` is in scratch.
  /// @param is_cleared  a kernel that was queued before sets *first_bad to ~0
  bad_end_report(const context& ctx, const primitives::edge_sum_problem& problem, primitives::edge_call by,
                 unsigned long long* first_bad, bool is_cleared = false);

  const index_guard& guard() const noexcept { return guard_; }

  unsigned long long* first_bad() const noexcept { return first_bad_; }
  /// Queues the report of what was noted.
  void queue(const context& ctx, const edge_kernels::end_arrays& edges) const;

 private:
  index_guard guard_;
  unsigned long long* first_bad_;
};

}  // namespace sheaf::cuda
