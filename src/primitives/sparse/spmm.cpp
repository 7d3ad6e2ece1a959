#include "primitives/sparse/spmm.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf {
namespace primitives {

std::span<const spmm_variant> spmm_variants() { return list_of<spmm_variant>(); }

namespace {

constexpr std::uint64_t most_columns_of_x = 1024;

void require_product_type(std::string_view call, const_value_rows rows, std::string_view what) {
  if (!is_float(rows.type)) {
    refuse("{}: {} has values of type {}, not f16, bf16, f32 or f64", call, what, name(rows.type));
  }
}

bool is_of_or_wider(value_type type, value_type x) { return type == x || (bytes(x) == 2 && type == value_type::f32); }

}  // namespace

void require_product_shapes(std::string_view call, const csr_view& a, bool transposed, const_value_rows x,
                            const_value_rows y) {
  require_rows(call, x, "x", most_columns_of_x);
  require_rows(call, y, "y", most_columns_of_x);
  require_product_type(call, x, "x");
  require_product_type(call, y, "y");
  if (x.values_per_row != y.values_per_row) {
    refuse("{}: x has rows of {} values, but y has {}", call, x.values_per_row, y.values_per_row);
  }
  if (!is_of_or_wider(y.type, x.type)) {
    refuse("{}: x has values of type {}, but y has {}", call, name(x.type), name(y.type));
  }
  if (!is_of_or_wider(a.values.type, x.type)) {
    refuse("{}: x has values of type {}, but the matrix has {}", call, name(x.type), name(a.values.type));
  }
  const std::uint64_t across = transposed ? a.rows : a.columns;
  const std::uint64_t down = transposed ? a.columns : a.rows;
  if (x.count != across) {
    refuse("{}: x has {} rows for {} {}", call, x.count, across, transposed ? "rows" : "columns");
  }
  if (y.count != down) {
    refuse("{}: y has {} rows for {} {}", call, y.count, down, transposed ? "columns" : "rows");
  }
}

void require_product_memory(std::string_view call, const context& ctx, const csr_view& a, const_value_rows x,
                            const_value_rows y) {
  require_csr_memory(call, ctx, a);
  require_rows_memory(call, ctx, x, "x");
  require_rows_memory(call, ctx, y, "y");
  const std::uint64_t y_bytes = extent(records_of(y));
  require_no_overlap(call, y.data, y_bytes, "y", x.data, extent(records_of(x)), "x");
  // The bytes between rows of Y count as its own here.
  require_apart(call, const_values(y.data, y_bytes / bytes(y.type), y.type), "y", a);
}

spmm_problem describe_spmm(const context& ctx, const csr_view& a, const_value_rows x, const_value_rows y,
                           const spmm_options& options) {
  spmm_problem p;
  p.matrix = describe_spmv(spmm_call, ctx, a, options.transposed, spmv_sums::as_values, options.pattern);
  p.matrix.order = options.order;
  p.matrix.reads_y = options.beta != 0;
  p.x = x.type;
  p.y = y.type;
  p.values_per_row = x.values_per_row;
  p.x_stride_bytes = x.stride_bytes;
  p.y_stride_bytes = y.stride_bytes;
  p.x_word_bytes = word_bytes_of(x);
  p.y_word_bytes = word_bytes_of(y);
  return p;
}

namespace {

void require_matrix(const csr_view& a, const spmm_options& options) {
  require_enumerator(spmm_call, "the type of the matrix's values", a.values.type, value_type::bf16);
  require_csr_lists(spmm_call, a);
  require_enumerator(spmm_call, "the order", options.order, reduction_order::unordered);
}

}  // namespace
}  // namespace primitives

using namespace primitives;

void spmm(const context& ctx, const csr_view& a, const_value_rows x, value_rows y, const spmm_options& options) {
  require_matrix(a, options);
  require_product_shapes(spmm_call, a, options.transposed, x, y);
  require_product_memory(spmm_call, ctx, a, x, y);
  if (y.count == 0) return;
  const spmm_problem p = describe_spmm(ctx, a, x, y, options);
  plan::execute(spmm_call, spmm_variants(), p, ctx, options.variant, {a, x, y, options.alpha, options.beta});
}

explanation explain_spmm(const context& ctx, const csr_view& a, const_value_rows x, value_rows y,
                         const spmm_options& options) {
  require_matrix(a, options);
  require_product_shapes(spmm_call, a, options.transposed, x, y);
  return plan::explain(spmm_call, spmm_variants(), describe_spmm(ctx, a, x, y, options), ctx, options.variant);
}

}  // namespace sheaf
