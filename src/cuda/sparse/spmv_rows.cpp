#include "cuda/sparse/sums/sum_rows.hpp"

// The variant cuda.rows: row by row, with a group of lanes for each row, and warps for the pieces of long rows. The
// matrix is streamed, and x is read where the columns say.
namespace sheaf::cuda {
namespace {

plan::planned plan_rows(const spmv_problem& problem, const plan::scope& scope) {
  if (problem.transposed) return plan::rejected("multiplies by rows, but the product is transposed");
  constexpr double spread = 1.1;  // rows of uneven length
  plan::planned plan;
  core::scratch_offsets place;
  plan.decided.set(decide_rows(problem, place));
  plan.scratch_bytes = place.bytes();
  price_rows(problem, scope.machine, false, spread, plan);
  return plan;
}

void run_rows(const context& ctx, const spmv_problem& p, const plan::planned& plan, const spmv_buffers& b,
              std::byte* scratch) {
  const device_scope scope(ctx.device());
  const csr_guard guard = guard_of(ctx, p, p.call);
  multiply_rows(ctx, p, plan.decided.get<rows_decision>(), b, guard, {}, scratch);
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_rows{"cuda.rows", backend_kind::cuda, plan_rows, run_rows};

}  // namespace sheaf::cuda
