#include "primitives/movement/gather.hpp"

#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/memory_cost.hpp"

// Collective gather: neighbouring lanes move neighbouring words of a record (Patidar and Narayanan 2009, section 4.1).
namespace sheaf::cuda {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

// If a record is one word, lanes have nothing to share, and staging indices in shared memory keeps few words in flight.
plan::planned plan_collective(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  memory_cost t = gather_cost(p, m);
  if (words_per_record(p) == 1) t.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return to_plan(t, m, false);
}

void run_collective(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b,
                    std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::gather_words, p.index, p.indexed_count);
  launch_collective<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard));
}

}  // namespace

extern constinit const primitives::gather_variant gather_collective{"cuda.collective", backend_kind::cuda,
                                                                    plan_collective, run_collective};

}  // namespace sheaf::cuda
