#include "cpu/movement/memory_cost.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/threads/core_speed.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Row by row: entries are streamed, and x is read where their columns say. Threads take parts of the rows that have
// equal numbers of entries, and share long rows by pieces.
plan::planned plan_rows(const spmv_problem& problem, const plan::scope& scope) {
  if (problem.transposed) return plan::rejected("multiplies by rows, but the product is transposed");
  const machine& machine = scope.machine;
  core::scratch_offsets place;
  const rows_decision decision = decide_rows(problem, machine, place);
  const memory_cost cost = gather_cost(gather_of_columns(problem), machine);
  const std::uint64_t streamed = problem.matrix_bytes() + problem.y_bytes();
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.decided.set(decision);
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  plan.add_overlapped(overlap_exponent, {{"streamed", machine.streamed(streamed, streamed) + cost.indexed_streamed},
                                         {"random read", problem.entries == 0 ? 0 : cost.indexed_random},
                                         {"steps", step_seconds(problem, machine, decision.threads)}});
  return plan;
}

void run_rows(const context& ctx, const spmv_problem& p, const plan::planned& plan, const spmv_buffers& b,
              std::byte* scratch) {
  run_checked(ctx, p, b.a, [&] { return multiply_rows(p, plan.decided.get<rows_decision>(), b, nullptr, scratch); });
}

}  // namespace

extern constinit const spmv_variant spmv_rows{"cpu.rows", backend_kind::cpu, plan_rows, run_rows};

}  // namespace sheaf::cpu
