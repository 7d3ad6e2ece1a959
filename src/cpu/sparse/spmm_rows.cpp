#include "core/cpu_state.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/sparse/spmm.hpp"
#include "cpu/threads/core_speed.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::cpu {

using namespace primitives;

segment_shape shape_of_product(const spmm_problem& p) {
  // Products of one column have the tree of others: no reduction of numbers is to be matched.
  return {.entries = p.matrix.entries,
          .segments = p.matrix.y_count(),
          .row_bytes = p.x_row_bytes(),
          .sum_row_bytes = p.sum_row_bytes(),
          .out_row_bytes = p.y_row_bytes(),
          .piece_rows = rows_per_piece(2)};
}

bool multiply_segments(const spmm_problem& p, const spmm_buffers& b, const segment_bounds& bounds, index_span list,
                       const_values weights, bool trusts_list, const segment_decision& decided, std::byte* scratch) {
  segment_reduction r;
  r.rows = b.x;
  r.list = list;
  r.trusts_list = trusts_list;
  r.bounds = bounds;
  r.weights = weights;
  r.out = b.y;
  r.op = reduction::add;
  r.scales = true;
  r.alpha = b.alpha;
  r.beta = b.beta;
  return reduce_segments(r, shape_of_product(p), decided, scratch);
}

void price_segments(const spmm_problem& p, const machine& m, plan::planned& plan) {
  movement gather = gather_of_columns(p.matrix);
  gather.record_bytes = p.x_row_bytes();
  gather.indexed_stride_bytes = p.x_stride_bytes;
  gather.sequential_stride_bytes = 0;
  gather.indexed_count = p.matrix.x_count();
  const memory_cost reads = gather_cost(gather, m);
  const bool has_entries = p.matrix.entries > 0;
  const std::uint64_t streamed =
      p.matrix.matrix_bytes() + p.matrix.y_count() * p.y_row_bytes() * (p.matrix.reads_y ? 2 : 1);
  plan.add("latency", m.launch_seconds + m.step_seconds);
  plan.add_overlapped(overlap_exponent,
                      {{"streamed", m.streamed(streamed, streamed) + (has_entries ? reads.indexed_streamed : 0)},
                       {"random read", has_entries ? reads.indexed_random : 0},
                       {"steps", segment_step_seconds(shape_of_product(p), p.values_per_row, m)}});
}

namespace {

// Row by row of the matrix, as gather_reduce goes by segments.
plan::planned plan_spmm_rows(const spmm_problem& p, const plan::scope& scope) {
  if (p.matrix.transposed) return plan::rejected("multiplies by rows, but the product is transposed");
  const segment_decision decided = decide_segments(shape_of_product(p), scope.machine);
  plan::planned plan;
  plan.scratch_bytes = segment_scratch_bytes(shape_of_product(p), decided);
  plan.decided.set(decided);
  price_segments(p, scope.machine, plan);
  return plan;
}

void run_spmm_rows(const context& ctx, const spmm_problem& p, const plan::planned& plan, const spmm_buffers& b,
                   std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const index_span ends = p.matrix.has_row_ends ? b.a.row_ends : index_span{};
  const segment_bounds bounds{b.a.row_begins, ends, p.matrix.rows, p.matrix.entries};
  if (multiply_segments(p, b, bounds, b.a.column_indices, b.a.values, false, plan.decided.get<segment_decision>(),
                        scratch)) {
    state.keep_first(find_fault(p.matrix, b.a, csr_call::spmm, call));
  }
}

}  // namespace

extern constinit const spmm_variant spmm_rows{"cpu.rows", backend_kind::cpu, plan_spmm_rows, run_spmm_rows};

}  // namespace sheaf::cpu
