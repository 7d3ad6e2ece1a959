// Conjugate gradient composed of calls solves as the library's does, and tells of each step.
#include "papers/he2007/composed_solution.hpp"

#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/sheaf/context_array.hpp"
#include "lab/harness/placed.hpp"
#include "lab/harness/sparse/matrices.hpp"
#include "papers/he2007/two_step.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::papers_he2007_composed_solution_test {
namespace {

using bench::papers::he2007::composed_solution;
using bench::papers::he2007::product_call;
using bench::papers::he2007::solve_step;
using bench::papers::he2007::two_step_product;

constexpr std::uint64_t iterations = 12;

template <class Value>
double largest_difference(const std::vector<Value>& a, const std::vector<Value>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i] - b[i])));
  return largest;
}

template <class Value>
void expect_solutions(double precision) {
  const auto m = io::with_values<Value>(bench::scattered_matrix({4096, 4096, 11}));
  const std::vector<Value> ones(m.rows, 1);
  std::vector<Value> expected(m.rows);
  const auto serial =
      conjugate_gradient(context::cpu(1), jobs::view_of(m), const_values(ones), values(expected),
                         {.tolerance = 0, .iteration_limit = iterations, .variant = "reference.serial"});
  ASSERT_EQ(serial.iterations, iterations);
  ASSERT_GT(largest_difference(expected, std::vector<Value>(m.rows)), 1e-3);
  for (const named_context& where : every_context()) {
    const context& ctx = where.ctx;
    const bench::placed_matrix<Value> placed(ctx, m);
    const bench::placed_array<Value> b(ctx, ones.data(), ones.size());
    bench::placed_result<Value> x(ctx, m.rows);
    const two_step_product two_steps(ctx, placed.view, 3);
    const product_call products[] = {[&](const_values v, values w) { spmv(ctx, placed.view, v, w); },
                                     [&](const_values v, values w) { two_steps(v, w); }};
    for (const product_call& product : products) {
      SCOPED_TRACE(fmt::format("{} bytes, {}, product {}", sizeof(Value), where.name, &product - products));
      std::vector<solve_step> told;
      std::uint64_t multiplied = 0;
      ctx.state().fill(x.view().data, 0, m.rows * sizeof(Value));
      const product_call counted = [&](const_values v, values w) {
        ++multiplied;
        product(v, w);
      };
      const auto tell = [](void* state, solve_step step) {
        static_cast<std::vector<solve_step>*>(state)->push_back(step);
      };
      const auto solved = composed_solution(ctx, counted, {b.data(), m.rows, value_type_of<Value>()}, x.view(),
                                            iterations, {&told, tell});
      EXPECT_EQ(solved.variant, fmt::format("{}.separate", sheaf::name(ctx.backend())));
      EXPECT_EQ(solved.iterations, iterations);
      EXPECT_EQ(solved.reason, stop_reason::limit);
      EXPECT_LT(solved.residual, 0.1 * solved.b_norm);
      EXPECT_LT(largest_difference(x.read(), expected), precision);
      // One product for each iteration, and one for the residual; each behind steps on vectors.
      EXPECT_EQ(multiplied, iterations + 1);
      ASSERT_EQ(told.size(), 2 * (iterations + 1));
      for (std::size_t i = 0; i < told.size(); ++i) {
        EXPECT_EQ(told[i], i % 2 == 0 ? solve_step::vectors : solve_step::product) << i;
      }
    }
  }
}

TEST(ComposedSolution, IsTheReferencesInF64) { expect_solutions<double>(1e-12); }
TEST(ComposedSolution, IsTheReferencesInF32) { expect_solutions<float>(1e-5); }

TEST(ComposedSolution, NeedsNoListener) {
  const auto m = bench::scattered_matrix({1, 1, 1});
  const context ctx = context::cpu(1);
  const std::vector<double> b{3};
  std::vector<double> x{0};
  const auto solved = composed_solution(
      ctx, [&](const_values v, values w) { spmv(ctx, jobs::view_of(m), v, w); }, b, x, 25);
  EXPECT_EQ(x[0], 3 / m.values[0]);
  EXPECT_TRUE(solved.converged());
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_composed_solution_test
