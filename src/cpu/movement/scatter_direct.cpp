#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/scatter_range.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cpu {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// One pass in the order of the list. Lines of the output are prefetched. Records that are whole lines are written with
// streaming stores if there are more of them than the last-level cache holds.
plan::planned plan_direct(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  plan::planned plan = to_plan(scatter_cost(p, m), m, true);
  add_sharing(p, m, plan);
  plan.decided.set(
      scatter_in_order_decision{.prefetches = prefetches_writes(p), .streams = p.sequential_bytes() > m.cache_bytes});
  return plan;
}

void run_direct(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b,
                std::byte*) {
  const auto decided = plan.decided.get<scatter_in_order_decision>();
  scatter_in_order(ctx, p, b, decided.prefetches, decided.streams);
}

}  // namespace

extern constinit const primitives::scatter_variant scatter_direct{"cpu.direct", backend_kind::cpu, plan_direct,
                                                                  run_direct};

}  // namespace sheaf::cpu
