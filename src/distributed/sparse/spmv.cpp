#include "primitives/sparse/spmv.hpp"

#include <bit>

#include "distributed/sparse/checks.hpp"

namespace sheaf::distributed {
namespace {

void require_vectors(std::string_view call, const group_state& state, const matrix_part& matrix, const_values x,
                     const_values y) {
  require_vector(call, state, "x", x, matrix.columns().count(state.rank), matrix.value());
  require_vector(call, state, "y", y, matrix.rows().count(state.rank), matrix.value());
  const std::uint64_t width = bytes(matrix.value());
  primitives::require_no_overlap(call, y.data, y.count * width, "y", x.data, x.count * width, "x");
}

}  // namespace

void require_vector(std::string_view call, const group_state& state, std::string_view what, const_values v,
                    std::uint64_t count, value_type type) {
  if (v.type != type) primitives::refuse("{}: {} has values of another type than the matrix", call, what);
  if (v.count != count)
    primitives::refuse("{}: {} has {} values, but its layout gives this rank {}", call, what, v.count, count);
  primitives::require_memory(call, state.ctx, v.data, v.count * bytes(type), what);
  primitives::require_aligned(call, v.data, bytes(type), what);
}

void require_matrix(std::string_view call, const group_state& state, const csr_view& a, const layout& rows,
                    const layout& columns) {
  primitives::require_csr_shape(call, a);
  require_layout(call, state, rows, a.rows, "rows");
  if (columns.ranks() != state.size) {
    primitives::refuse("{}: the layout of columns is of {} ranks, but the group has {}", call, columns.ranks(),
                       state.size);
  }
  if (columns.count() != a.columns) {
    primitives::refuse("{}: the matrix has {} columns, but their layout has {}", call, a.columns, columns.count());
  }
  primitives::require_csr_memory(call, state.ctx, a);
}

prepared_spmv prepare_spmv(const group& ranks, const csr_view& a, const layout& rows, const layout& columns,
                           spmv_sums sums) {
  return collective(ranks, [&](group_state& state, std::uint64_t call) {
    constexpr std::string_view name = "prepare_spmv";
    const agreed_value values[] = {agreed_digest("the layout of rows", fingerprint(rows)),
                                   agreed_digest("the layout of columns", fingerprint(columns)),
                                   {"the type of values", static_cast<std::uint64_t>(a.values.type)},
                                   {"sums", static_cast<std::uint64_t>(sums)}};
    state.agree(name, values, {}, [&] {
      primitives::require_enumerator(name, "sums", sums, spmv_sums::f64);
      require_matrix(name, state, a, rows, columns);
    });
    const reports_aside aside(state);  // errors of earlier calls are not this one's
    const auto matrix =
        std::make_shared<matrix_part>(state, a, rows, columns, sums, primitives::csr_call::prepare_spmv, call);
    matrix->prepare_runs(state);
    return prepared_spmv(ranks, matrix, matrix->report());
  });
}

void prepared_spmv::run(const_values x, values y, double alpha, double beta) const {
  collective(ranks_, [&](group_state& state, std::uint64_t) {
    constexpr std::string_view name = "prepared_spmv::run";
    const agreed_value agreed[] = {agreed_preparation(matrix_->prepared_by()), agreed_real("alpha", alpha),
                                   agreed_real("beta", beta)};
    state.agree(name, agreed, {}, [&] { require_vectors(name, state, *matrix_, x, y); });
    matrix_->multiply(state, x.data, y.data, alpha, beta);
  });
}

void spmv(const group& ranks, const csr_view& a, const layout& rows, const layout& columns, const_values x, values y,
          const spmv_options& options) {
  collective(ranks, [&](group_state& state, std::uint64_t call) {
    constexpr std::string_view name = "spmv";
    const agreed_value agreed[] = {agreed_digest("the layout of rows", fingerprint(rows)),
                                   agreed_digest("the layout of columns", fingerprint(columns)),
                                   {"the type of values", static_cast<std::uint64_t>(a.values.type)},
                                   {"sums", static_cast<std::uint64_t>(options.sums)},
                                   agreed_real("alpha", options.alpha),
                                   agreed_real("beta", options.beta)};
    state.agree(name, agreed, {}, [&] {
      primitives::require_enumerator(name, "sums", options.sums, spmv_sums::f64);
      primitives::require_enumerator(name, "the order", options.order, reduction_order::unordered);
      if (options.transposed) primitives::refuse("{}: products between ranks are not transposed", name);
      require_matrix(name, state, a, rows, columns);
      require_vector(name, state, "x", x, columns.count(state.rank), a.values.type);
      require_vector(name, state, "y", y, rows.count(state.rank), a.values.type);
      const std::uint64_t width = bytes(a.values.type);
      primitives::require_no_overlap(name, y.data, y.count * width, "y", x.data, x.count * width, "x");
      primitives::require_apart(name, y, "y", a);
    });
    const reports_aside aside(state);
    const matrix_part matrix(state, a, rows, columns, options.sums, primitives::csr_call::spmv, call);
    matrix.multiply(state, x.data, y.data, options.alpha, options.beta);
  });
}

}  // namespace sheaf::distributed
