#include "lab/peers/contenders.hpp"

#include "lab/description/sparse/problem.hpp"
#include "lab/peers/sparse/eigen.hpp"

namespace sheaf::bench::peers::host {
namespace {

/// A contender of what product_of(copy) makes.
template <class ProductOf>
contender eigen_contender(const problem& problem, ProductOf product_of) {
  // Offsets and columns of other types are copied.
  const std::uint64_t kept_bytes = (problem.count + primitives::rows_of_matrix(problem) + 1) * sizeof(int);
  const bool copies = bytes(problem.index) + bytes(problem.part<primitives::sparse_part>().offset) > 2 * sizeof(int);
  return with_made({.who = "eigen", .kept_bytes_of_copy = copies ? kept_bytes : 0, .wait = [] {}}, product_of,
                   [](const std::function<void()>& product) { product(); });
}

}  // namespace

std::vector<contender> eigen_rows(const context& ctx, const problem& problem, const workspace& arrays) {
  const primitives::sparse_part& matrix = problem.part<primitives::sparse_part>();
  if (matrix.sums == spmv_sums::f64 || !has_eigen_product(jobs::views_of_product(problem, {}).a)) return {};
  return {eigen_contender(problem, [ctx, problem, &arrays](std::uint64_t copy) {
    const jobs::product_views v = jobs::views_of_product(problem, arrays.all(copy));
    return eigen_product(v.a, v.x, v.y, problem.part<primitives::sparse_part>().is_transposed, ctx.threads());
  })};
}

std::vector<contender> eigen_dense_rows(const context& ctx, const problem& problem, const workspace& arrays) {
  // The matrix alone is that of a product whose records are values.
  primitives::problem_spec matrix = problem;
  matrix.record_bytes = bytes(problem.value);
  if (!has_eigen_product(jobs::views_of_product(matrix, {}).a)) return {};
  const std::uint64_t width = problem.record_bytes / matrix.record_bytes;
  return {eigen_contender(problem, [ctx, matrix, width, &arrays](std::uint64_t copy) {
    const jobs::product_views v = jobs::views_of_product(matrix, arrays.all(copy));
    return eigen_dense_product(v.a, {v.x.data, v.x.count, width, matrix.value},
                               {v.y.data, v.y.count, width, matrix.value},
                               matrix.part<primitives::sparse_part>().is_transposed, ctx.threads());
  })};
}

}  // namespace sheaf::bench::peers::host
