#include "cpu/movement/memory_cost.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/threads/core_speed.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Row by row: entries are streamed, and x is read where their columns say. Threads take parts of the rows that have
// equal numbers of entries, and share long rows by pieces.
plan::planned plan_rows(const spmv_problem& p, const plan::scope& scope) {
  if (p.transposed) return plan::rejected("multiplies by rows, but the product is transposed");
  const machine& m = scope.machine;
  core::scratch_offsets place;
  const rows_decision d = decide_rows(p, m, place);
  const memory_cost x = gather_cost(gather_of_columns(p), m);
  const std::uint64_t streamed = p.matrix_bytes() + p.y_bytes();
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.decided.set(d);
  plan.add("latency", m.launch_seconds + m.step_seconds);
  plan.add_overlapped(overlap_exponent, {{"streamed", m.streamed(streamed, streamed) + x.indexed_streamed},
                                         {"random read", p.entries == 0 ? 0 : x.indexed_random},
                                         {"steps", step_seconds(p, m, d.threads)}});
  return plan;
}

void run_rows(const context& ctx, const spmv_problem& p, const plan::planned& plan, const spmv_buffers& b,
              std::byte* scratch) {
  run_checked(ctx, p, b.a, [&] { return multiply_rows(p, plan.decided.get<rows_decision>(), b, nullptr, scratch); });
}

}  // namespace

extern constinit const spmv_variant spmv_rows{"cpu.rows", backend_kind::cpu, plan_rows, run_rows};

}  // namespace sheaf::cpu
