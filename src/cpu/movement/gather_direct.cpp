#include "cpu/movement/gather_range.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "primitives/movement/gather.hpp"

namespace sheaf::cpu {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

// One pass in the order of the list. Records of the table are prefetched. Output larger than the last-level cache is
// written with streaming stores, which saves reading it first: 1.2x on lists in order, 1.1x on lists that are random
// inside windows of 4096 records.
plan::planned plan_direct(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  plan::planned plan = to_plan(gather_cost(p, m), m, false);
  plan.decided.set(
      gather_in_order_decision{.prefetches = prefetches_reads(p), .streams = p.sequential_bytes() > m.cache_bytes});
  return plan;
}

void run_direct(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b,
                std::byte*) {
  const auto decided = plan.decided.get<gather_in_order_decision>();
  gather_in_order(ctx, p, b, decided.prefetches, decided.streams);
}

}  // namespace

extern constinit const primitives::gather_variant gather_direct{"cpu.direct", backend_kind::cpu, plan_direct,
                                                                run_direct};

}  // namespace sheaf::cpu
