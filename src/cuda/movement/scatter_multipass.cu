#include "primitives/movement/scatter.hpp"

#include "cuda/movement/pass_plan.hpp"
#include "cuda/movement/passes/kernels.cuh"

namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// Each pass scans the index and reads its records, which are spread over the input.
plan::planned plan_multipass(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  if (p.indexed_count == 0) return plan::rejected("there is no record that an index could name");
  return plan_passes(p, m, plan::he2007::operation::scatter,
                     [&](std::uint64_t passes) { return to_plan(multipass_scatter_cost(p, m, passes), m, true); });
}

void run_multipass(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b,
                   std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::scatter_words, p.index, p.indexed_count);
  launch_multipass<direction::scatter>(ctx, p, plan, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

}  // namespace

extern constinit const primitives::scatter_variant scatter_multipass{"cuda.multipass", backend_kind::cuda,
                                                                     plan_multipass, run_multipass};

}  // namespace sheaf::cuda
