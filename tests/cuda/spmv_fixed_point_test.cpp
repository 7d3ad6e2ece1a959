// The variant cuda.fixed_point: the order of rows decides nothing, and terms of any size add up as they should.
#include <sheaf/spmv.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::cuda_spmv_fixed_point_test {
namespace {

class SpmvFixedPoint : public testing::Test {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }

  /// A^T x, where x_of(row) is x.
  template <class XOf>
  image product(const sparse_rows& m, value_type type, XOf x_of, const spmv_options& more = {}) const {
    const csr_images images(m, {.value = type});
    const placed_csr a(*ctx, images);
    const image x_image = numbers(m.rows.size(), type, x_of, false);
    const image y_image = numbers(
        m.columns, type, [](std::uint64_t) { return std::numeric_limits<double>::quiet_NaN(); }, true);
    const placed x(*ctx, x_image);
    const placed y(*ctx, y_image);
    spmv_options o = more;
    o.transposed = true;
    o.variant = "cuda.fixed_point";
    spmv(*ctx, a.view(), const_values_of(x.view(), type), values_of(y.view(), type), o);
    ctx->wait();
    image found = y_image;
    found.bytes = y.download();
    return found;
  }

  std::optional<context> ctx;
};

/// A number whose size spreads over so many powers of two.
double spread(std::uint64_t i, int powers) {
  return std::ldexp(drawn_value(i),
                    static_cast<int>(inputs::mix(i + 77) % static_cast<std::uint64_t>(powers)) - powers / 2);
}

// Rows in another order have their terms added in another order.
TEST_F(SpmvFixedPoint, TheOrderOfRowsChangesNoBit) {
  for (const std::uint64_t hot : {0, 4}) {
    sparse_rows m = made_rows("sizes that differ", 20'000, 3000, [&](std::uint64_t r) {
      column_list c = drawn_columns(r, r == 11 ? 3000 : r % 13, 3000);
      std::fill_n(c.begin(), std::min<std::size_t>(hot, c.size()), 5);
      return c;
    });
    for (std::uint64_t r = 0; r < m.rows.size(); ++r) {
      for (csr_entry& e : m.rows[r]) e.value = spread(100 * r + e.column, 60);
    }
    std::vector<std::uint64_t> order(m.rows.size());
    std::iota(order.begin(), order.end(), 0);
    for (const value_type type : {value_type::f64, value_type::f32}) {
      for (const access_pattern& pattern : {access_pattern::unknown(), access_pattern::skewed()}) {
        const image first = product(m, type, x_at, {.pattern = pattern});
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[inputs::mix(i) % i]);
        sparse_rows other{m.name, m.columns, {}};
        for (const std::uint64_t r : order) other.rows.push_back(m.rows[r]);
        const image again = product(other, type, [&](std::uint64_t i) { return x_at(order[i]); }, {.pattern = pattern});
        expect_bytes(again.bytes, first, "y of rows in another order");
      }
    }
  }
}

// A column of equal terms, of which three already exceed a word, and one whose terms cancel.
TEST_F(SpmvFixedPoint, SumsMayExceedAWord) {
  for (const std::uint64_t rows : {3, 4, 1000, 70'000}) {
    for (const std::uint64_t columns : {2, 5000}) {  // of 5000 columns two are hot
      sparse_rows m = made_rows("equal terms", rows, columns, [](std::uint64_t) { return column_list{0, 1}; });
      for (std::uint64_t r = 0; r < rows; ++r) {
        m.rows[r][0].value = 1.75;
        m.rows[r][1].value = r % 2 == 0 ? -1.75 : 1.75;
      }
      for (const value_type type : {value_type::f64, value_type::f32}) {
        const image y = product(m, type, [](std::uint64_t) { return 1.0; });
        EXPECT_EQ(number_at(y, 0, type), 1.75 * static_cast<double>(rows));
        EXPECT_EQ(number_at(y, 1, type), rows % 2 == 0 ? 0 : -1.75);
        if (columns == 2) continue;
        EXPECT_EQ(number_at(y, 2, type), 0);
      }
    }
  }
}

TEST_F(SpmvFixedPoint, SmallestAndLargestNumbersAreKept) {
  const auto with = [&](auto limits, value_type type) {
    using limits_of = decltype(limits);
    const double least = static_cast<double>(limits_of::denorm_min());
    const double most = static_cast<double>(limits_of::max());
    const sparse_rows m{"extremes",
                        6,
                        {{{0, least}, {1, most}, {2, most}, {3, least}, {5, 0.0}},
                         {{0, least}, {1, -most}, {2, most}, {3, most}, {5, -0.0}},
                         {{0, least}, {1, most / 2}, {3, -most}}}};
    const image y = product(m, type, [](std::uint64_t) { return 1.0; });
    EXPECT_EQ(number_at(y, 0, type), 3 * least);
    EXPECT_EQ(number_at(y, 1, type), most / 2);
    EXPECT_EQ(number_at(y, 2, type), std::numeric_limits<double>::infinity());
    EXPECT_EQ(number_at(y, 3, type), 0) << "far below the largest";
    EXPECT_EQ(number_at(y, 4, type), 0) << "no entries";
    EXPECT_EQ(number_at(y, 5, type), 0);
  };
  with(std::numeric_limits<double>(), value_type::f64);
  with(std::numeric_limits<float>(), value_type::f32);
}

TEST_F(SpmvFixedPoint, SumsOfF32MayBeInF64) {
  sparse_rows m = made_rows("terms that cancel", 3, 40, [](std::uint64_t) {
    column_list all(40);
    std::iota(all.begin(), all.end(), 0);
    return all;
  });
  for (std::uint64_t c = 0; c < 40; ++c) {
    m.rows[0][c].value = 16'777'216.0;
    m.rows[1][c].value = 1;
    m.rows[2][c].value = -16'777'216.0;
  }
  for (const spmv_sums sums : {spmv_sums::as_values, spmv_sums::f64}) {
    const image y = product(m, value_type::f32, [](std::uint64_t) { return 1.0; }, {.sums = sums});
    for (std::uint64_t c = 0; c < 40; ++c) EXPECT_EQ(number_at(y, c, value_type::f32), 1);
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_spmv_fixed_point_test
