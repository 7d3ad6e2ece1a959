#include "lab/peers/contenders.hpp"

#include "lab/description/sparse/problem.hpp"
#include "lab/peers/sparse/eigen.hpp"

namespace sheaf::bench::peers::host {

std::vector<contender> eigen_rows(const context& ctx, const problem& problem, const workspace& arrays) {
  const primitives::sparse_part& matrix = problem.part<primitives::sparse_part>();
  if (matrix.sums == spmv_sums::f64 || !has_eigen_product(jobs::views_of_product(problem, {}).a)) return {};
  const auto product_of = [ctx, problem, &arrays](std::uint64_t copy) {
    const jobs::product_views v = jobs::views_of_product(problem, arrays.all(copy));
    return eigen_product(v.a, v.x, v.y, problem.part<primitives::sparse_part>().is_transposed, ctx.threads());
  };
  // Offsets and columns of other types are copied.
  const std::uint64_t kept_bytes = (problem.count + primitives::rows_of_matrix(problem) + 1) * sizeof(int);
  const bool copies = bytes(problem.index) + bytes(matrix.offset) > 2 * sizeof(int);
  return {with_made({.who = "eigen", .kept_bytes_of_copy = copies ? kept_bytes : 0, .wait = [] {}}, product_of,
                    [](const std::function<void()>& product) { product(); })};
}

}  // namespace sheaf::bench::peers::host
