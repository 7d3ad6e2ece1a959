#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "calls.hpp"

namespace calls {

namespace {

void multiply_a_vector(const sheaf::context& ctx, const sheaf::csr_view& a) {
  //! [spmv]
  const std::vector<double> x{1, 2, 3};
  std::vector<double> y(3);
  sheaf::spmv(ctx, a, x, y);  // y = A x: 0, 0, 4
  ctx.wait();

  std::vector<double> z{1, 1, 1};
  sheaf::spmv(ctx, a, x, z, {.alpha = 2, .beta = 1});  // z = 2 A x + z: 1, 1, 9
  // z = A^T x: 0, 0, 4. On CUDA sums in any order are faster, and last bits may differ from run to run.
  sheaf::spmv(ctx, a, x, z, {.transposed = true, .order = sheaf::reduction_order::unordered});
  ctx.wait();
  //! [spmv]
  expect(y == std::vector<double>{0, 0, 4} && z == y);
  //! [explain_spmv]
  const sheaf::explanation plan = sheaf::explain_spmv(ctx, a, x, y);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_spmv]
  //! [prepare_spmv]
  const sheaf::prepared_spmv product = sheaf::prepare_spmv(ctx, a, 1000);  // for a thousand products
  // By the transpose. If runs turn out to be plain calls ("kept"), these may add in any order, too.
  const sheaf::prepared_spmv transposed =
      sheaf::prepare_spmv(ctx, a, 1000, {.transposed = true, .order = sheaf::reduction_order::unordered});
  //! [prepare_spmv]
  //! [prepared_spmv]
  product.run(x, y);            // y = A x
  product.run(x, y, 2.0, 1.0);  // y = 2 A x + y
  std::printf("prepared by %s\n", product.report().variant.c_str());
  //! [prepared_spmv]
  ctx.wait();
  expect(y == std::vector<double>{0, 0, 12});
  transposed.run(x, y);
  ctx.wait();
  expect(y == std::vector<double>{0, 0, 4});
  //! [explain_prepare_spmv]
  const auto prepared_plan = sheaf::explain_prepare_spmv(ctx, a, 1000);
  std::printf("%s\n", prepared_plan.choice()->variant.c_str());
  //! [explain_prepare_spmv]
}

void multiply_rows(const sheaf::context& ctx, const sheaf::csr_view& a) {
  //! [spmm]
  const std::vector<double> many{1, 10, 2, 20, 3, 30};  // three rows of two
  std::vector<double> products(6);
  const sheaf::const_value_rows x(many.data(), 3, 2, sheaf::value_type::f64);
  const sheaf::value_rows y(products.data(), 3, 2, sheaf::value_type::f64);
  sheaf::spmm(ctx, a, x, y);  // Y = A X
  ctx.wait();
  //! [spmm]
  expect(products == std::vector<double>{0, 0, 0, 0, 4, 40});
  //! [explain_spmm]
  const auto plan = sheaf::explain_spmm(ctx, a, x, y);
  std::printf("%s\n", plan.choice()->variant.c_str());
  //! [explain_spmm]
  //! [prepare_spmm]
  const sheaf::prepared_spmm transposed = sheaf::prepare_spmm(ctx, a, 1000, {.transposed = true});
  //! [prepare_spmm]
  //! [prepared_spmm]
  transposed.run(x, y);  // Y = A^T X
  std::printf("keeps %llu bytes\n", static_cast<unsigned long long>(transposed.report().kept_bytes));
  //! [prepared_spmm]
  ctx.wait();
  expect(products == std::vector<double>{0, 0, 0, 0, 4, 40});
  //! [explain_prepare_spmm]
  const auto prepared_plan = sheaf::explain_prepare_spmm(ctx, a, 1000, {.transposed = true});
  std::printf("%s\n", prepared_plan.choice()->variant.c_str());
  //! [explain_prepare_spmm]
}

void solve(const sheaf::context& ctx, const sheaf::csr_view& a) {
  //! [conjugate_gradient]
  const std::vector<double> b{0, 0, 4};
  std::vector<double> x(3, 0.0);  // the start value, then the solution: 1, 2, 3
  const sheaf::conjugate_gradient_result result =
      sheaf::conjugate_gradient(ctx, a, b, x, {.tolerance = 1e-12, .preconditioner = sheaf::preconditioner::jacobi});
  std::printf("%s after %llu iterations, |b - A x| = %.1e\n", sheaf::name(result.reason).data(),
              static_cast<unsigned long long>(result.iterations), result.residual);

  // By a linear operator in place of a matrix.
  const sheaf::linear_operator apply = [&](const sheaf::context& on, sheaf::const_values in, sheaf::values out) {
    sheaf::spmv(on, a, in, out);
  };
  std::vector<double> again(3, 0.0);
  sheaf::conjugate_gradient(ctx, apply, b, again);
  //! [conjugate_gradient]
  expect(result.converged() && std::abs(x[2] - 3) < 1e-9 && std::abs(again[0] - 1) < 1e-6);
  //! [conjugate_gradient_result]
  if (!result.converged()) std::printf("not solved: %s\n", sheaf::name(result.reason).data());
  //! [conjugate_gradient_result]
  //! [explain_conjugate_gradient]
  const auto plan = sheaf::explain_conjugate_gradient(ctx, a, b, x);
  std::printf("%s takes %.2g s an iteration\n", plan.choice()->variant.c_str(), plan.choice()->seconds);
  //! [explain_conjugate_gradient]
}

}  // namespace

void show_sparse(const sheaf::context& ctx) {
  //! [csr_view]
  //  2 -1  .
  // -1  2 -1
  //  . -1  2
  const std::vector<std::uint32_t> offsets{0, 2, 5, 7}, columns{0, 1, 0, 1, 2, 1, 2};
  const std::vector<double> entries{2, -1, -1, 2, -1, -1, 2};
  const sheaf::csr_view a(3, 3, offsets, columns, entries);

  // With begins and ends of rows apart: rows 0 and 2 alone, and an empty row between them.
  const std::vector<std::uint32_t> begins{0, 2, 5}, ends{2, 2, 7};
  const sheaf::csr_view without_row_1(3, 3, begins, ends, columns, entries);
  //! [csr_view]
  std::vector<double> sums(3);
  sheaf::spmv(ctx, without_row_1, std::vector<double>{1, 2, 3}, sums);
  ctx.wait();
  expect(sums == std::vector<double>{0, 0, 4});
  multiply_a_vector(ctx, a);
  multiply_rows(ctx, a);
  solve(ctx, a);
}

}  // namespace calls
