#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/scatter_range.hpp"

namespace sheaf::cpu {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// One pass in the order of the list. Lines of the output are prefetched. Records that are whole lines are written with
// streaming stores if there are more of them than the last-level cache holds.
plan::planned plan_direct(const scatter_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  plan::planned plan = to_plan(scatter_cost(p, m), m, true);
  add_sharing(p, m, plan);
  plan.parameters[scatter_prefetches] = prefetches_writes(p);
  plan.parameters[scatter_streams] = p.sequential_bytes() > m.cache_bytes;
  return plan;
}

void run_direct(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b) {
  scatter_in_order(ctx, p, b, plan.parameters[scatter_prefetches], plan.parameters[scatter_streams]);
}

}  // namespace

constinit const primitives::scatter_variant scatter_direct{"cpu.direct", plan_direct, run_direct};

}  // namespace sheaf::cpu
