#include "primitives/movement/scatter.hpp"

#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/memory_cost.hpp"

// Direct scatter: one random access for each record of one word, with several in flight for each thread.
namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

plan::planned plan_direct(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  return to_plan(scatter_cost(p, m), m, true);
}

void run_direct(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b,
                std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::scatter_words, p.index, p.indexed_count);
  launch_words<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

}  // namespace

extern constinit const primitives::scatter_variant scatter_direct{"cuda.direct", backend_kind::cuda, plan_direct,
                                                                  run_direct};

}  // namespace sheaf::cuda
