#include "primitives/scatter.hpp"

#include "cuda/words_movement.cuh"

namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

const char* any_writer_rejection(const scatter_problem& p) {
  if (p.backend != backend_kind::cuda) return "works on CUDA memory";
  if (p.duplicates == duplicates::last) return "any writer may win";
  return nullptr;
}

// Index and input stream; the output is streamed if the order is, else written at random, where a partial sector is
// read, changed and written.
plan::planned plan_writes(const scatter_problem& p, const machine& m, double slowdown) {
  plan::planned plan;
  const std::uint64_t footprint = p.near_bytes() + p.index_bytes() + p.far_bytes();
  plan.add("latency", m.launch_seconds);
  plan.add("streamed", m.streamed(p.near_bytes() + p.index_bytes(), footprint));
  if (p.pattern.shape == access_pattern::kind::sequential) {
    plan.add("streamed output", slowdown * m.streamed(p.count * p.record_bytes, footprint));
  } else {
    plan.add("random write", slowdown * m.random_writes(p.count, p.record_bytes, p.far_bytes()));
  }
  return plan;
}

plan::planned plan_direct(const scatter_problem& p, const machine& m) {
  if (const char* reason = any_writer_rejection(p)) return plan::rejected(reason);
  if (const char* reason = words_rejection(p)) return plan::rejected(reason);
  return plan_writes(p, m, 1.0);
}

void run_direct(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::scatter_index, p.index, p.far_count);
  launch_words<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

// One word per record leaves lanes nothing to share: staging the indices in shared memory costs some 10 %.
plan::planned plan_collective(const scatter_problem& p, const machine& m) {
  if (const char* reason = any_writer_rejection(p)) return plan::rejected(reason);
  return plan_writes(p, m, words_per_record(p) == 1 ? 1.1 : 1.0);
}

void run_collective(const context& ctx, const scatter_problem& p, const plan::planned&, const scatter_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::scatter_index, p.index, p.far_count);
  launch_collective<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

// Lanes of a warp walk records that lie apart: sectors are written in parts.
plan::planned plan_thread_per_record(const scatter_problem& p, const machine& m) {
  if (const char* reason = any_writer_rejection(p)) return plan::rejected(reason);
  return plan_writes(p, m, words_per_record(p) == 1 ? 1.05 : 2.5);
}

void run_thread_per_record(const context& ctx, const scatter_problem& p, const plan::planned&,
                           const scatter_buffers& b) {
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::scatter_index, p.index, p.far_count);
  launch_by_thread<direction::scatter>(ctx, p, arguments_of(p, b.in.data, b.out.data, b.index, guard));
}

}  // namespace

constinit const primitives::scatter_variant scatter_direct{"cuda.direct", plan_direct, run_direct};
constinit const primitives::scatter_variant scatter_collective{"cuda.collective", plan_collective, run_collective};
constinit const primitives::scatter_variant scatter_thread_per_record{"cuda.thread_per_record", plan_thread_per_record,
                                                                      run_thread_per_record};

}  // namespace sheaf::cuda
