#include "primitives/movement/gather.hpp"

#include "cuda/movement/copy/words.cuh"
#include "cuda/movement/memory_cost.hpp"

// Direct gather: one random access for each record of one word, with several in flight for each thread.
namespace sheaf::cuda {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

// What plan decides for run.
struct direct_decision {
  bool is_cache_sized;  ///< the table is about as large as L2
};

plan::planned plan_direct(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  plan::planned plan = to_plan(gather_cost(p, m), m, false);
  plan.decided.set(
      direct_decision{p.indexed_bytes() > m.cache_bytes * 3 / 4 && p.indexed_bytes() < m.cache_bytes * 3 / 2});
  return plan;
}

void run_direct(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b,
                std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::gather_words, p.index, p.indexed_count);
  launch_words<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard),
                                  plan.decided.get<direct_decision>().is_cache_sized);
}

}  // namespace

extern constinit const primitives::gather_variant gather_direct{"cuda.direct", backend_kind::cuda, plan_direct,
                                                                run_direct};

}  // namespace sheaf::cuda
