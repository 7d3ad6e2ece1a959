#include "cpu/movement/memory_cost.hpp"
#include "cpu/reduce/row_segments.hpp"
#include "cpu/reduce/slot_order.hpp"
#include "plan/choose.hpp"
#include "primitives/reduce/prepare.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

segment_shape shape_of_run(const scatter_reduce_rows_problem& p) {
  return {.entries = p.count,
          .segments = p.indexed_count,
          .row_bytes = p.reads_in() ? p.record_bytes : 0,
          .sum_row_bytes = p.sum_row_bytes(),
          .out_row_bytes = p.out_row_bytes(),
          .piece_rows = rows_per_piece(p.values_per_row)};
}

/// The positions of the list ordered by slot, so that a run is the last step of cpu.sorted.
class ordered_positions final : public prepared_reduction {
 public:
  ordered_positions(const context& ctx, const prepare_scatter_reduce_problem& p, const slot_order_decision& decided,
                    index_span index, std::byte* scratch)
      : memory_(memory_of_preparation(ctx, prepare_scatter_reduce_call, "the ordered positions",
                                      core::bytes_of<slot_order_arrays>(static_cast<const movement&>(p), decided))) {
    const auto order = core::arrays_in<slot_order_arrays>(static_cast<std::byte*>(memory_.data()),
                                                          static_cast<const movement&>(p), decided);
    run_checked(ctx, p, index, prepare_scatter_reduce_wording,
                [&] { return order_by_slot(p, decided, index, order, scratch); });
    positions_ = {order.positions, p.count, decided.wide ? index_type::u64 : index_type::u32};
    bounds_ = {{order.begins, p.indexed_count + 1, index_type::u64}, {}, p.indexed_count, p.count};
  }

  void run(const context& ctx, const scatter_reduce_rows_problem& p, const scatter_reduce_rows_buffers& b) override {
    const segment_shape shape = shape_of_run(p);
    const segment_decision decided = decide_segments(shape, ctx.profile());
    const core::scratch scratch =
        plan::take_scratch(ctx, prepared_scatter_reduce_call, "cpu.by_slot", segment_scratch_bytes(shape, decided));
    segment_reduction r;
    r.rows = b.in;
    r.list = positions_;
    r.trusts_list = true;
    r.bounds = bounds_;
    r.out = b.out;
    r.counts = b.counts;
    r.op = p.op;
    r.start = p.start;
    reduce_segments(r, shape, decided, scratch.data());
  }
  std::uint64_t kept_bytes() const override { return memory_.size(); }

 private:
  buffer memory_;
  index_span positions_;
  segment_bounds bounds_;
};

// The counting sort of cpu.sorted; its order of the positions is kept.
plan::planned plan_by_slot(const prepare_scatter_reduce_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const slot_order_decision order = decide_slot_order(p, m);
  const std::uint64_t kept = core::bytes_of<slot_order_arrays>(static_cast<const movement&>(p), order);
  if (kept + order.buckets.layout.bytes > m.memory_bytes / 4) {
    return plan::rejected("its memory would be a quarter of the machine's");
  }
  movement gather = p;
  gather.indexed_count = p.count;
  gather.pattern = access_pattern::random();
  const std::uint64_t values = std::max<std::uint64_t>(1, p.record_bytes / 4);
  const segment_shape shape{.entries = p.count,
                            .segments = p.indexed_count,
                            .row_bytes = p.record_bytes,
                            .sum_row_bytes = p.record_bytes,
                            .out_row_bytes = p.record_bytes,
                            .piece_rows = rows_per_piece(values)};
  plan::planned run;
  run.add("latency", m.launch_seconds + m.step_seconds);
  const std::uint64_t written = 2 * p.indexed_bytes();
  const memory_cost reads = gather_cost(gather, m);
  run.add_overlapped(overlap_exponent, {{"streamed", m.streamed(written, written)},
                                        {"random read", p.count == 0 ? 0 : reads.indexed_random},
                                        {"steps", segment_step_seconds(shape, values, m)}});
  plan::planned plan;
  plan.scratch_bytes = order.buckets.layout.bytes;
  plan.add("sort", m.launch_seconds + slot_order_seconds(p, m));
  plan.add("runs", static_cast<double>(p.expected_runs) * run.seconds);
  plan.inner_calls = std::make_shared<slot_order_decision>(order);
  plan.decided.set(prepare_scatter_reduce_decision{run.seconds});
  return plan;
}

void run_by_slot(const context& ctx, const prepare_scatter_reduce_problem& p, const plan::planned& plan,
                 const prepare_scatter_reduce_buffers& b, std::byte* scratch) {
  *b.made = std::make_shared<ordered_positions>(ctx, p, plan.inner<slot_order_decision>(), b.index, scratch);
}

}  // namespace

extern constinit const prepare_scatter_reduce_variant prepare_scatter_reduce_by_slot{"cpu.by_slot", backend_kind::cpu,
                                                                                     plan_by_slot, run_by_slot};

}  // namespace sheaf::cpu
