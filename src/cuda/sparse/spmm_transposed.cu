#include "cuda/device/launch.cuh"
#include "cuda/sparse/transposed_rows.hpp"
#include "primitives/operators/row_value.hpp"

// The variant cuda.transposed of products with dense matrices: a transposed copy of the matrix in scratch, then the
// product by its rows. No atomics, so the order of sums follows from the matrix alone. Rows with ends of their own may
// share entries, of which there may be more than the arrays have places; they are taken in parts of that size, whose
// products are added up in scratch.
namespace sheaf::cuda {
namespace {

struct product_transposed_scratch {
  transposed_rows rows;
  product_rows_scratch product;
  std::byte* totals;  ///< of all parts

  product_transposed_scratch(const spmm_problem& p, core::scratch_arrays& place)
      : rows(p.matrix, place),
        product(p, p.matrix.columns, place),
        totals(place.take<std::byte>(p.matrix.has_row_ends ? p.matrix.columns * p.sum_row_bytes() : 0)) {}
};

plan::planned plan_product_transposed(const spmm_problem& p, const plan::scope& scope) {
  if (!p.matrix.transposed) return plan::rejected("multiplies by the transposed matrix");
  if (p.matrix.columns >= ~std::uint32_t{0}) return plan::rejected("columns exceed 32 bits");
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<product_transposed_scratch>(p);
  add_transposition(p.matrix, scope.machine, plan);
  price_product_rows(p, scope.machine, plan);
  return plan;
}

/// Y = alpha * totals + beta * Y.
template <class Out, class Sum>
__global__ void __launch_bounds__(block_threads)
    write_totals(const Sum* totals, std::uint64_t count, std::uint64_t values_per_row, std::byte* y,
                 std::uint64_t stride, Sum alpha, Sum beta) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (i >= count) return;
  const std::uint64_t row = i / values_per_row;
  Out* const value = reinterpret_cast<Out*>(y + row * stride) + (i - row * values_per_row);
  Sum result = alpha * totals[i];
  if (beta != 0) result += beta * primitives::converted<Sum>(*value);
  *value = primitives::converted<Out>(result);
}

void write_all_totals(const context& ctx, const spmm_problem& p, const spmm_buffers& b, const std::byte* totals) {
  const std::uint64_t count = p.matrix.columns * p.values_per_row;
  const auto write = [&](auto out, auto sum) {
    using Sum = decltype(sum);
    launch(ctx, write_totals<decltype(out), Sum>, ceil_div(count, block_threads), reinterpret_cast<const Sum*>(totals),
           count, p.values_per_row, static_cast<std::byte*>(b.y.data), p.y_stride_bytes, static_cast<Sum>(b.alpha),
           static_cast<Sum>(b.beta));
  };
  switch (p.y) {
    case value_type::f16: return write(float16{}, float{});
    case value_type::bf16: return write(bfloat16{}, float{});
    case value_type::f32: return write(float{}, float{});
    default: return write(double{}, double{});
  }
}

void run_product_transposed(const context& ctx, const spmm_problem& p, const plan::planned&, const spmm_buffers& b,
                            std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const spmv_problem& matrix = p.matrix;
  if (matrix.has_row_ends) refuse_capture(ctx, "spmm of rows with ends of their own");
  const csr_guard guard = guard_of(ctx, matrix, primitives::csr_call::spmm);
  core::scratch_arrays place(scratch);
  const product_transposed_scratch at(p, place);
  const auto multiply_part = [&](const spmm_problem& part, const spmm_buffers& buffers, std::uint64_t first) {
    queue_transposition(ctx, matrix, b.a, guard, at.rows.entries, place.rest(), first);
    multiply_by_rows(ctx, part, at.rows.summed(matrix), buffers, at.product);
  };
  if (!matrix.has_row_ends) return multiply_part(p, b, 0);
  spmm_problem part = p;
  part.y = p.sum();
  part.y_stride_bytes = p.sum_row_bytes();
  constexpr std::uint32_t widest_word = 16;
  part.y_word_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(widest_word, part.y_stride_bytes & (~part.y_stride_bytes + 1)));
  spmm_buffers buffers = b;
  buffers.y = value_rows(at.totals, matrix.columns, p.values_per_row, part.y);
  buffers.alpha = 1;
  buffers.beta = 0;
  const std::uint64_t entries = matrix.entries == 0 ? 0 : count_entries_of_rows(ctx, matrix, b.a, guard, place.rest());
  std::uint64_t first = 0;
  do {
    multiply_part(part, buffers, first);
    buffers.beta = 1;
    first += matrix.entries;
  } while (first < entries);
  write_all_totals(ctx, p, b, at.totals);
}

}  // namespace

extern constinit const primitives::spmm_variant spmm_transposed{"cuda.transposed", backend_kind::cuda,
                                                                plan_product_transposed, run_product_transposed};

}  // namespace sheaf::cuda
