#include "primitives/movement/scatter.hpp"

#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/memory_cost.hpp"

// Collective scatter: neighbouring lanes move neighbouring words of a record (Patidar and Narayanan 2009, section 4.1).
namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// If a record is one word, lanes have nothing to share, and staging indices in shared memory keeps few words in flight.
plan::planned plan_collective(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  memory_cost t = scatter_cost(p, m);
  if (words_per_record(p) == 1) t.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return to_plan(t, m, true);
}

void run_collective(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b,
                    std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::scatter_words, p.index, p.indexed_count);
  launch_collective<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

}  // namespace

extern constinit const primitives::scatter_variant scatter_collective{"cuda.collective", backend_kind::cuda,
                                                                      plan_collective, run_collective};

}  // namespace sheaf::cuda
