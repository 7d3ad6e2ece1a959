#include "cuda/edges/bad_ends.hpp"
#include "cuda/edges/cost.hpp"
#include "cuda/edges/functions.hpp"
#include "primitives/edges/edge_sum.hpp"

// The variant cuda.atomic: a thread for each edge, whose contribution atomics add to the sums of both ends. The order
// of additions is that in which threads come, so a deterministic order rules it out.
namespace sheaf::cuda {
namespace {

using primitives::edge_sum_buffers;
using primitives::edge_sum_problem;

// An edge reads two values and adds to two results, all at random where nodes are in no order: the atomics bound it.
plan::planned plan_atomic(const edge_sum_problem& p, const plan::scope& scope) {
  if (p.order == reduction_order::deterministic) return plan::rejected("adds in the order in which threads come");
  const machine& m = scope.machine;
  plan::planned plan;
  plan.scratch_bytes = bad_end_report::bytes;
  const std::uint64_t streamed = p.edges * p.edge_bytes() + p.nodes * p.result_bytes();
  constexpr double overlap_exponent = 2;
  plan.add("latency", m.launch_seconds + 3 * m.step_seconds);
  plan.add_overlapped(overlap_exponent, {{"streamed", m.streamed(streamed, streamed)},
                                         {"values", value_seconds(p, 2 * p.edges, m)},
                                         {"atomics", atomic_seconds(p, m)}});
  return plan;
}

void run_atomic(const context& ctx, const edge_sum_problem& p, const plan::planned&, const edge_sum_buffers& b,
                std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const edge_sum_kernels kernels(p, b);
  if (p.nodes > 0) require(cudaMemsetAsync(b.result, 0, p.nodes * p.result_bytes(), ctx.stream()), ctx);
  if (p.edges == 0) return;
  const bad_end_report bad_ends(ctx, p, primitives::edge_call::edge_sum, scratch);
  const edge_kernels::atomic_arguments a{ends_of(p, b.edges), views_of(p, b), bad_ends.first_bad()};
  require(kernels->add_by_atomics(ctx.stream(), kernels->f, a), ctx);
  bad_ends.queue(ctx, a.edges);
}

}  // namespace

extern constinit const primitives::edge_sum_variant edge_sum_atomic{"cuda.atomic", backend_kind::cuda, plan_atomic,
                                                                    run_atomic};

}  // namespace sheaf::cuda
