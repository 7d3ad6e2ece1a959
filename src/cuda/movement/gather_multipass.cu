#include "primitives/movement/gather.hpp"

#include "cuda/movement/pass_plan.hpp"
#include "cuda/movement/passes/kernels.cuh"

namespace sheaf::cuda {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

// Each pass scans the index and writes its records, which are spread over the output. A sector that is written in part
// is read first.
plan::planned plan_multipass(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.indexed_count == 0) return plan::rejected("there is no record that an index could name");
  return plan_passes(p, m, plan::he2007::operation::gather,
                     [&](std::uint64_t passes) { return to_plan(multipass_gather_cost(p, m, passes), m, false); });
}

void run_multipass(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b,
                   std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::gather_words, p.index, p.indexed_count);
  launch_multipass<direction::gather>(ctx, p, plan, arguments_of(p, b.table.data, b.out.data, b.index, guard));
}

}  // namespace

extern constinit const primitives::gather_variant gather_multipass{"cuda.multipass", backend_kind::cuda, plan_multipass,
                                                                   run_multipass};

}  // namespace sheaf::cuda
