#include "primitives/gather.hpp"

#include "cuda/words_movement.cuh"

namespace sheaf::cuda {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

constexpr std::size_t cache_sized = 0;  // plan_direct's parameter: the table is about as large as L2

// Index and output stream; the table is streamed if the order is, else read at random.
plan::planned plan_reads(const gather_problem& p, const machine& m, double slowdown) {
  plan::planned plan;
  const std::uint64_t footprint = p.near_bytes() + p.index_bytes() + p.far_bytes();
  plan.add("latency", m.launch_seconds);
  plan.add("streamed", m.streamed(p.near_bytes() + p.index_bytes(), footprint));
  if (p.pattern.shape == access_pattern::kind::sequential) {
    plan.add("streamed table", slowdown * m.streamed(p.count * p.record_bytes, footprint));
  } else {
    plan.add("random read", slowdown * m.random_reads(p.count, p.record_bytes, p.far_bytes()));
  }
  return plan;
}

plan::planned plan_direct(const gather_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  plan::planned plan = plan_reads(p, m, 1.0);
  plan.parameters[cache_sized] = p.far_bytes() > m.cache_bytes * 3 / 4 && p.far_bytes() < m.cache_bytes * 3 / 2;
  return plan;
}

void run_direct(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::gather_index, p.index, p.far_count);
  launch_words<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard),
                                  plan.parameters[cache_sized] != 0);
}

// One word per record leaves lanes nothing to share: staging the indices in shared memory costs some 10 %.
plan::planned plan_collective(const gather_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  return plan_reads(p, m, words_per_record(p) == 1 ? 1.1 : 1.0);
}

void run_collective(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::gather_index, p.index, p.far_count);
  launch_collective<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard));
}

// Lanes of a warp walk records that lie apart: every word of a record is a sector of its own until the cache helps.
plan::planned plan_thread_per_record(const gather_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  return plan_reads(p, m, words_per_record(p) == 1 ? 1.05 : 2.5);
}

void run_thread_per_record(const context& ctx, const gather_problem& p, const plan::planned&, const gather_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::gather_index, p.index, p.far_count);
  launch_by_thread<direction::gather>(ctx, p, arguments_of(p, b.table.data, b.out.data, b.index, guard));
}

}  // namespace

constinit const primitives::gather_variant gather_direct{"cuda.direct", plan_direct, run_direct};
constinit const primitives::gather_variant gather_collective{"cuda.collective", plan_collective, run_collective};
constinit const primitives::gather_variant gather_thread_per_record{"cuda.thread_per_record", plan_thread_per_record,
                                                                    run_thread_per_record};

}  // namespace sheaf::cuda
