#include "primitives/gather.hpp"

#include "cuda/movement/memory_cost.hpp"
#include "cuda/movement/word_copy.cuh"

namespace sheaf::cuda {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

constexpr std::size_t cache_sized = 0;  // plan_direct's parameter: the table is about as large as L2

plan::planned plan_direct(const gather_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  plan::planned plan = to_plan(gather_cost(p, m), m, false);
  plan.parameters[cache_sized] = p.indexed_bytes() > m.cache_bytes * 3 / 4 && p.indexed_bytes() < m.cache_bytes * 3 / 2;
  return plan;
}

void run_direct(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::gather_index, p.index, p.indexed_count);
  launch_words<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard),
                                  plan.parameters[cache_sized] != 0);
}

// One word per record leaves lanes nothing to share, and staging indices in shared memory keeps little in flight.
plan::planned plan_collective(const gather_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  memory_cost t = gather_cost(p, m);
  if (words_per_record(p) == 1) t.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return to_plan(t, m, false);
}

void run_collective(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::gather_index, p.index, p.indexed_count);
  launch_collective<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard));
}

// Lanes of a warp walk records that lie apart: no two of them share a sector.
plan::planned plan_thread_per_record(const gather_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  memory_cost t = gather_cost(p, m);
  t.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return to_plan(words_per_record(p) == 1 ? t : uncoalesced(t, p, m), m, false);
}

void run_thread_per_record(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::gather_index, p.index, p.indexed_count);
  launch_by_thread<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard));
}

}  // namespace

constinit const primitives::gather_variant gather_direct{"cuda.direct", plan_direct, run_direct};
constinit const primitives::gather_variant gather_collective{"cuda.collective", plan_collective, run_collective};
constinit const primitives::gather_variant gather_thread_per_record{"cuda.thread_per_record", plan_thread_per_record,
                                                                    run_thread_per_record};

}  // namespace sheaf::cuda
