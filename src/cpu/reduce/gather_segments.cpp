#include "core/cpu_state.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/reduce/row_segments.hpp"
#include "cpu/threads/core_speed.hpp"
#include "primitives/reduce/gather.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

segment_shape shape_of_gather(const gather_reduce_problem& p) {
  return {.entries = p.count,
          .segments = p.segments,
          .row_bytes = p.reads_in() ? p.record_bytes : 0,
          .sum_row_bytes = p.sum_row_bytes(),
          .out_row_bytes = p.out_row_bytes(),
          .piece_rows = rows_per_piece(p.values_per_row)};
}

// Segmented reduction of gathered rows: threads take segments of equal numbers of entries, prefetch the rows that come
// next, and share long segments by pieces.
plan::planned plan_segments(const gather_reduce_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const segment_shape shape = shape_of_gather(p);
  const segment_decision decided = decide_segments(shape, m);
  plan::planned plan;
  plan.scratch_bytes = segment_scratch_bytes(shape, decided);
  plan.decided.set(decided);
  plan.add("latency", m.launch_seconds + m.step_seconds);
  const memory_cost reads = gather_cost(p, m);
  const std::uint64_t streamed = p.segments * p.out_row_bytes() * (p.reads_out() ? 2 : 1) + p.index_bytes() +
                                 p.segments * bytes(p.offset) + (p.has_weights ? p.count * bytes(p.weight) : 0);
  const bool reads_rows = p.reads_in() && p.count > 0;
  plan.add_overlapped(overlap_exponent,
                      {{"streamed", m.streamed(streamed, streamed) + (reads_rows ? reads.indexed_streamed : 0)},
                       {"random read", reads_rows ? reads.indexed_random : 0},
                       {"steps", segment_step_seconds(shape, p.values_per_row, m)}});
  return plan;
}

void run_segments(const context& ctx, const gather_reduce_problem& p, const plan::planned& plan,
                  const gather_reduce_buffers& b, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  segment_reduction r;
  r.rows = b.table;
  r.list = b.index;
  r.trusts_list = p.bounds == bounds::trust;
  r.bounds = {b.offsets, {}, p.segments, p.count};
  r.weights = b.weights;
  r.out = b.out;
  r.op = p.op;
  r.start = p.start;
  if (reduce_segments(r, shape_of_gather(p), plan.decided.get<segment_decision>(), scratch)) {
    state.keep_first(find_segment_fault(p, b, call));
  }
}

}  // namespace

extern constinit const gather_reduce_variant gather_reduce_segments{"cpu.segments", backend_kind::cpu, plan_segments,
                                                                    run_segments};

}  // namespace sheaf::cpu
