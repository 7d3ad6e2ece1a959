#include "lab/description/sparse/problem.hpp"
#include "lab/peers/movement.hpp"
#include "lab/peers/sparse/cusparse.hpp"

namespace sheaf::bench::peers::device {
namespace {

contender by_algorithm(const context& ctx, const problem& problem, const workspace& arrays,
                       const cusparse_algorithm& algorithm) {
  const auto products = std::make_shared<std::vector<std::function<void()>>>();
  const auto prepare = [ctx, problem, &arrays, products, algorithm](std::uint64_t copies) {
    const cusparse_handle handle = make_cusparse_handle(ctx);
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      const jobs::product_views v = jobs::views_of_product(problem, arrays.all(copy));
      products->push_back(cusparse_product(ctx, handle, v.a, v.x, v.y,
                                           problem.part<primitives::sparse_part>().is_transposed, algorithm));
    }
  };
  // An allowance: what it asks for is known once it has the matrix.
  const std::uint64_t kept_bytes = 16 * primitives::rows_of_matrix(problem) + problem.count;
  return {.who = std::string(algorithm.row_name),
          .kept_bytes_of_copy = kept_bytes,
          .queue = [products](std::uint64_t copy) { (*products)[copy](); },
          .wait = [ctx] { wait(ctx); },
          .prepare = prepare,
          .release = [products] { products->clear(); }};
}

}  // namespace

std::vector<contender> cusparse_rows(const context& ctx, const problem& problem, const workspace& arrays) {
  const primitives::sparse_part& matrix = problem.part<primitives::sparse_part>();
  std::vector<contender> all;
  if (matrix.sums == spmv_sums::f64) return all;
  const csr_view shape = jobs::views_of_product(problem, {}).a;
  for (const cusparse_algorithm& algorithm : cusparse_algorithms()) {
    if (has_cusparse_product(ctx, shape, matrix.is_transposed, algorithm)) {
      all.push_back(by_algorithm(ctx, problem, arrays, algorithm));
    }
  }
  return all;
}

}  // namespace sheaf::bench::peers::device
