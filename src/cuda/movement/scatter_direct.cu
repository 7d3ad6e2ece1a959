#include "primitives/scatter.hpp"

#include "cuda/movement/memory_cost.hpp"
#include "cuda/movement/word_copy.cuh"

namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

const char* any_writer_rejection(const scatter_problem& p) {
  if (p.backend != backend_kind::cuda) return "works on CUDA memory";
  if (p.duplicates == duplicates::last) return "any writer may win";
  return nullptr;
}

plan::planned plan_direct(const scatter_problem& p, const machine& m) {
  if (const char* reason = any_writer_rejection(p)) return plan::rejected(reason);
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  return to_plan(scatter_cost(p, m), m, true);
}

void run_direct(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::scatter_index, p.index, p.indexed_count);
  launch_words<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

// One word per record leaves lanes nothing to share, and staging indices in shared memory keeps little in flight.
plan::planned plan_collective(const scatter_problem& p, const machine& m) {
  if (const char* reason = any_writer_rejection(p)) return plan::rejected(reason);
  memory_cost t = scatter_cost(p, m);
  if (words_per_record(p) == 1) t.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return to_plan(t, m, true);
}

void run_collective(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::scatter_index, p.index, p.indexed_count);
  launch_collective<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

// Lanes of a warp walk records that lie apart: sectors are written in parts.
plan::planned plan_thread_per_record(const scatter_problem& p, const machine& m) {
  if (const char* reason = any_writer_rejection(p)) return plan::rejected(reason);
  memory_cost t = scatter_cost(p, m);
  t.issue = single_issue_seconds(static_cast<double>(p.count), m);
  return to_plan(words_per_record(p) == 1 ? t : uncoalesced(t, p, m), m, true);
}

void run_thread_per_record(const context& ctx, const scatter_problem& p, const plan::planned&,
                           const scatter_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::scatter_index, p.index, p.indexed_count);
  launch_by_thread<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

}  // namespace

constinit const primitives::scatter_variant scatter_direct{"cuda.direct", plan_direct, run_direct};
constinit const primitives::scatter_variant scatter_collective{"cuda.collective", plan_collective, run_collective};
constinit const primitives::scatter_variant scatter_thread_per_record{"cuda.thread_per_record", plan_thread_per_record,
                                                                      run_thread_per_record};

}  // namespace sheaf::cuda
