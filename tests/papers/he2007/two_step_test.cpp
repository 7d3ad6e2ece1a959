// Products in two steps by a number of passes that the caller gives have the reference's values.
#include "papers/he2007/two_step.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/sheaf/context_array.hpp"
#include "lab/harness/placed.hpp"
#include "lab/harness/sparse/matrices.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::papers_he2007_two_step_test {
namespace {

using bench::papers::he2007::two_step_product;

template <class Value>
std::vector<Value> drawn_vector(std::uint64_t count) {
  std::vector<Value> v(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    v[i] = static_cast<Value>(static_cast<double>(inputs::mix(i) >> 40) / (1 << 24) - 0.25);
  }
  return v;
}

template <class Value>
std::vector<Value> reference_product(const io::csr_matrix<Value>& m, const std::vector<Value>& v) {
  std::vector<Value> w(m.rows, std::numeric_limits<Value>::quiet_NaN());
  spmv(context::cpu(1), jobs::view_of(m), const_values(v), values(w), {.variant = "reference.serial"});
  return w;
}

template <class Value>
void expect_products(const bench::matrix_shape& shape) {
  const auto m = io::with_values<Value>(bench::scattered_matrix(shape));
  const std::vector<Value> v = drawn_vector<Value>(m.columns);
  const std::vector<Value> expected = reference_product(m, v);
  const double precision = 32 * std::numeric_limits<Value>::epsilon() * static_cast<double>(shape.row_length + 1);
  for (const auto& [name, ctx] : every_context()) {
    const bench::placed_matrix<Value> placed(ctx, m);
    const bench::placed_array<Value> from(ctx, v.data(), v.size());
    bench::placed_result<Value> to(ctx, m.rows);
    std::vector<Value> first;
    for (const std::uint64_t passes : {1U, 2U, 3U, 16U, 64U}) {
      SCOPED_TRACE(fmt::format("{} x {}, {} a row, {} bytes, {} passes, {}", shape.rows, shape.columns,
                               shape.row_length, sizeof(Value), passes, name));
      const two_step_product product(ctx, placed.view, passes);
      EXPECT_EQ(product.passes(), m.entries() == 0 || m.rows == 0 ? 0 : passes);
      to.wipe();
      product({from.data(), v.size(), value_type_of<Value>()}, to.view());
      const std::vector<Value>& found = to.read();
      ASSERT_EQ(found.size(), expected.size());
      for (std::uint64_t row = 0; row < m.rows; ++row) {
        ASSERT_NEAR(static_cast<double>(found[row]), static_cast<double>(expected[row]), precision) << "row " << row;
      }
      if (first.empty()) first = found;
      EXPECT_EQ(found, first) << "other bits than in one pass";
    }
  }
}

TEST(TwoStepProduct, HasTheReferencesValuesInAnyNumberOfPasses) {
  // A few rows of many columns; more passes than columns; one entry; rows longer than a warp; square.
  for (const bench::matrix_shape& shape :
       {bench::matrix_shape{3000, 200'000, 11}, {100, 7, 5}, {1, 1, 1}, {70, 50'000, 399}, {4096, 4096, 98}}) {
    expect_products<float>(shape);
    expect_products<double>(shape);
  }
}

TEST(TwoStepProduct, OfNoEntriesIsZero) {
  expect_products<double>({5, 9, 0});
  io::csr_matrix<double> none;
  none.column_indices = std::vector<std::uint32_t>();
  const two_step_product product(context::cpu(2), jobs::view_of(none), 3);
  EXPECT_EQ(product.passes(), 0U);
  product(const_values(nullptr, 0, value_type::f64), values(nullptr, 0, value_type::f64));
}

TEST(TwoStepProduct, RefusesWrongPassesAndVectors) {
  const auto m = bench::scattered_matrix({4, 6, 2});
  const context ctx = context::cpu(1);
  expect_error(error_code::bad_argument, "a product in two steps: 0 passes, not 1 to 4294967295",
               [&] { two_step_product(ctx, jobs::view_of(m), 0); });
  expect_error(error_code::bad_argument, "a product in two steps: 4294967296 passes, not 1 to 4294967295",
               [&] { two_step_product(ctx, jobs::view_of(m), std::uint64_t{1} << 32); });
  const two_step_product product(ctx, jobs::view_of(m), 2);
  std::vector<double> v(5);
  std::vector<double> w(4);
  expect_error(error_code::bad_argument, "spmv: x has 5 values for 6 columns", [&] { product(v, w); });
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_two_step_test
