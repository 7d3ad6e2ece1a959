#include "cuda/reduce/rows/cost.hpp"
#include "cuda/sparse/spmm.hpp"
#include "cuda/sparse/sums/matrix.cuh"

// The variant cuda.atomic of transposed products with dense matrices, in any order: a group of lanes takes a row of X,
// and adds it, times the values of the matrix's row, to the rows of Y that the columns name, by atomics.
namespace sheaf::cuda {
namespace {

struct product_atomic_scratch {
  std::uint32_t* faults;

  product_atomic_scratch(const spmm_problem&, core::scratch_arrays& place) : faults(place.take<std::uint32_t>(1)) {}
};

/// A byte of a product is added in the time in which a copy moves so many.
constexpr double bytes_of_vector_atomics = 2.5;
constexpr double bytes_of_value_atomics = 8;

plan::planned plan_product_atomic(const spmm_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.matrix.transposed) return plan::rejected("multiplies by the transposed matrix");
  if (p.matrix.order == reduction_order::deterministic)
    return plan::rejected("adds in the order in which workers arrive");
  if (p.y != p.sum()) return plan::rejected("rows of Y are narrower than their sums");
  const row_types types = types_of_product(p);
  const bool has_vectors = types.sum == value_type::f32 && types.values_of_lane % 4 == 0;
  const double added = static_cast<double>(p.matrix.entries) * static_cast<double>(p.y_row_bytes());
  plan::planned plan;
  plan.add("latency", m.launch_seconds + 3 * m.step_seconds);
  plan.add("matrix", m.streamed(p.matrix.matrix_bytes(), p.matrix.matrix_bytes()));
  plan.add("x", rows_written_seconds(p.matrix.rows, p.x_row_bytes(), false, m));
  plan.add("y", rows_written_seconds(p.matrix.columns, p.y_row_bytes(), p.matrix.reads_y, m));
  plan.add("atomics",
           added * (has_vectors ? bytes_of_vector_atomics : bytes_of_value_atomics) / m.copy_bytes_per_second);
  plan.scratch_bytes = core::bytes_of<product_atomic_scratch>(p);
  return plan;
}

void run_product_atomic(const context& ctx, const spmm_problem& p, const plan::planned&, const spmm_buffers& b,
                        std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto at = core::arrays_in<product_atomic_scratch>(scratch, p);
  const csr_guard guard = guard_of(ctx, p.matrix, primitives::csr_call::spmm);
  require(cudaMemsetAsync(at.faults, 0, sizeof *at.faults, ctx.stream()), ctx);
  scale_rows(ctx, b.y, b.beta);
  const row_types types = types_of_product(p);
  reduced_rows out = rows_to_write(b.y, types, reduction::add, true);
  out.alpha = b.alpha;
  const summed_rows a = rows_of(p, b.a);
  if (p.matrix.rows > 0) {
    add_products_in_any_order(ctx, types, rows_of_x(a, b.x), segments_of(a, at.faults), p.matrix.rows, out);
  }
  report_matrix_faults(ctx, p, b.a, guard, at.faults);
}

}  // namespace

extern constinit const primitives::spmm_variant spmm_atomic{"cuda.atomic", backend_kind::cuda, plan_product_atomic,
                                                            run_product_atomic};

}  // namespace sheaf::cuda
