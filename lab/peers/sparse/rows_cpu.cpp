#include "lab/peers/contenders.hpp"

#include <functional>
#include <memory>

#include "lab/description/sparse/problem.hpp"
#include "lab/peers/sparse/eigen.hpp"

namespace sheaf::bench::peers::host {

std::vector<contender> eigen_rows(const context& ctx, const problem& p, const workspace& arrays) {
  const primitives::sparse_part& matrix = p.part<primitives::sparse_part>();
  if (matrix.sums == spmv_sums::f64 || !has_eigen_product(jobs::views_of_product(p, {}).a)) return {};
  const auto products = std::make_shared<std::vector<std::function<void()>>>();
  const auto prepare = [ctx, p, &arrays, products](std::uint64_t copies) {
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      const jobs::product_views v = jobs::views_of_product(p, arrays.all(copy));
      const bool is_transposed = p.part<primitives::sparse_part>().is_transposed;
      products->push_back(eigen_product(v.a, v.x, v.y, is_transposed, ctx.threads()));
    }
  };
  // Offsets and columns of other types are copied.
  const std::uint64_t kept_bytes = (p.count + primitives::rows_of_matrix(p) + 1) * sizeof(int);
  return {{.who = "eigen",
           .kept_bytes_of_copy = bytes(p.index) + bytes(matrix.offset) > 2 * sizeof(int) ? kept_bytes : 0,
           .queue = [products](std::uint64_t copy) { (*products)[copy](); },
           .wait = [] {},
           .prepare = prepare,
           .release = [products] { products->clear(); }}};
}

}  // namespace sheaf::bench::peers::host
