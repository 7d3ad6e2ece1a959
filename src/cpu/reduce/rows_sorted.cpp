#include "cpu/movement/memory_cost.hpp"
#include "cpu/reduce/row_segments.hpp"
#include "cpu/reduce/slot_order.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

struct sorted_decision {
  slot_order_decision order;
  segment_decision segments;

  void tell(plan::told& to) const {
    order.buckets.tell(to);
    segments.tell(to);
  }
};

segment_shape shape_of(const scatter_reduce_rows_problem& p) {
  return {.entries = p.count,
          .segments = p.indexed_count,
          .row_bytes = p.reads_in() ? p.record_bytes : 0,
          .sum_row_bytes = p.sum_row_bytes(),
          .out_row_bytes = p.out_row_bytes(),
          .piece_rows = rows_per_piece(p.values_per_row)};
}

/// Rows that are read in the order of their slots: each slot's in ascending order, and so nearly at random.
movement gather_of_rows(const scatter_reduce_rows_problem& p) {
  movement gather = p;
  gather.indexed_count = p.count;
  gather.indexed_stride_bytes = p.sequential_stride_bytes;
  const auto shape = p.pattern.shape;
  if (p.indexed_count == 1) {
    gather.pattern = access_pattern::sequential();
  } else if (shape != access_pattern::kind::sequential && shape != access_pattern::kind::clustered) {
    gather.pattern = access_pattern::random();
  }
  return gather;
}

// Sort and segmented reduction: a counting sort of (slot, position), then each slot's rows in the order of their
// positions, whose sums stay in registers or in the first-level cache, so that each row of out is written once.
plan::planned plan_sorted(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const segment_shape shape = shape_of(p);
  const sorted_decision decided{decide_slot_order(p, m), decide_segments(shape, m)};
  plan::planned plan;
  plan.scratch_bytes =
      core::scratch_aligned(core::bytes_of<slot_order_arrays>(static_cast<const movement&>(p), decided.order)) +
      std::max(decided.order.buckets.layout.bytes, segment_scratch_bytes(shape, decided.segments));
  if (plan.scratch_bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan.decided.set(decided);
  plan.add("latency", m.launch_seconds + 5 * m.step_seconds);
  plan.add("sort", slot_order_seconds(p, m));
  const memory_cost reads = gather_cost(gather_of_rows(p), m);
  const std::uint64_t written = p.indexed_count * p.out_row_bytes() * (p.reads_out() ? 2 : 1);
  const double row_seconds = p.reads_in() && p.count > 0 ? reads.indexed_random : 0;
  plan.add_overlapped(overlap_exponent, {{"streamed", m.streamed(written, written) + reads.indexed_streamed},
                                         {"random read", row_seconds},
                                         {"steps", segment_step_seconds(shape, p.values_per_row, m)}});
  return plan;
}

void run_sorted(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned& plan,
                const scatter_reduce_rows_buffers& b, std::byte* scratch) {
  const auto decided = plan.decided.get<sorted_decision>();
  core::scratch_arrays arrays(scratch);
  const slot_order_arrays order(p, decided.order, arrays);
  run_checked(ctx, p, b.index, scatter_reduce_rows_wording, [&] {
    const first_bad bad = order_by_slot(p, decided.order, b.index, order, arrays.rest());
    segment_reduction r;
    r.rows = b.in;
    r.list = {order.positions, order.begins[p.indexed_count], decided.order.wide ? index_type::u64 : index_type::u32};
    r.trusts_list = true;
    r.bounds = {{order.begins, p.indexed_count + 1, index_type::u64}, {}, p.indexed_count, r.list.count};
    r.out = b.out;
    r.counts = b.counts;
    r.op = p.op;
    r.start = p.start;
    reduce_segments(r, shape_of(p), decided.segments, arrays.rest());
    return bad;
  });
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_sorted{"cpu.sorted", backend_kind::cpu,
                                                                              plan_sorted, run_sorted};

}  // namespace sheaf::cpu
