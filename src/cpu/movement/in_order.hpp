#pragma once

#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

// Movements in the order of the list: cpu.direct, and the way of other variants for a list that is not scattered.
namespace sheaf::cpu {

/// What plan decides for run.
struct in_order_decision {
  bool prefetches;  ///< whether records of the indexed side are prefetched
  bool streams;     ///< whether the output is written by streaming stores; that of a scatter where records are lines

  void tell(plan::told& to) const { to.add("prefetches", prefetches).add("streams", streams); }
};

/// Gathers the whole output by all threads.
void gather_in_order(const context& ctx, const primitives::gather_problem& problem, const primitives::gather_buffers& b,
                     in_order_decision how);

/// Scatters the whole input by all threads.
void scatter_in_order(const context& ctx, const primitives::scatter_problem& problem,
                      const primitives::scatter_buffers& b, in_order_decision how);

}  // namespace sheaf::cpu
