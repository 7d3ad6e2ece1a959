#include <sheaf/spmm.hpp>

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "primitives/sparse/prepare_spmm.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/trials/rows.hpp"

namespace sheaf::tests::primitives_sparse_spmm_test {
namespace {

struct product_case {
  std::uint64_t rows = 40;
  std::uint64_t columns = 30;
  std::uint64_t longest = 9;  ///< entries of a row, but for one that has twenty times as many
  std::uint64_t width = 4;
  value_type a = value_type::f32;
  value_type x = value_type::f32;
  value_type y = value_type::f32;
  bool transposed = false;
  bool has_row_ends = false;  ///< rows that share places, in another order
  double alpha = 1;
  double beta = 0;
  index_type offset = index_type::u64;
  index_type column = index_type::u32;
  std::uint64_t gap = 0;

  std::string description() const {
    return fmt::format("{}x{} longest={} width={}+{} {} {}>{}{}{} alpha={} beta={} {} {}", rows, columns, longest,
                       width, gap, primitives::name(a), primitives::name(x), primitives::name(y),
                       transposed ? " transposed" : "", has_row_ends ? " ends" : "", alpha, beta,
                       primitives::name(offset), primitives::name(column));
  }
  std::uint64_t x_rows() const { return transposed ? rows : columns; }
  std::uint64_t y_rows() const { return transposed ? columns : rows; }
};

/// A list of numbers in memory of any index type.
image list_of(const std::vector<std::uint64_t>& numbers, index_type type) {
  image made = poisoned(numbers.size(), bytes(type), bytes(type), 0, false);
  for (std::uint64_t i = 0; i < numbers.size(); ++i) set_entry(made, i, numbers[i]);
  return made;
}

image numbers_of(std::uint64_t count, std::uint64_t width, std::uint64_t gap, value_type type, std::uint64_t seed) {
  image made = poisoned(count, width * bytes(type), (width + gap) * bytes(type));
  for (std::uint64_t i = 0; i < count; ++i) {
    for (std::uint64_t k = 0; k < width; ++k) {
      put_number(type, made.record(i) + k * bytes(type), row_number(type, (seed + i) * 70001 + k, reduction::add));
    }
  }
  return made;
}

struct product_trial {
  product_case c;
  std::vector<std::uint64_t> begins, ends, columns;
  image begin_list, end_list, column_list, values, x, before, after;
  std::vector<double> slack;

  explicit product_trial(const product_case& from, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& bad = {},
                         const std::vector<std::pair<std::uint64_t, std::uint64_t>>& bad_offsets = {})
      : c(from) {
    std::uint64_t place = 2;  // places in front belong to no row
    for (std::uint64_t r = 0; r < c.rows; ++r) {
      const std::uint64_t bits = inputs::mix(r * 31 + c.width);
      begins.push_back(place);
      place += r == c.rows / 3 ? 20 * c.longest : bits % 4 == 0 ? 0 : bits % (c.longest + 1);
      ends.push_back(place);
    }
    begins.push_back(place);
    for (std::uint64_t p = 0; p < place + 1; ++p)
      columns.push_back(inputs::mix(p + 91) % std::max<std::uint64_t>(1, c.columns));
    for (const auto& [at, value] : bad) columns[at] = value;
    for (const auto& [at, value] : bad_offsets) {
      begins[at] = value;
      if (at > 0) ends[at - 1] = value;
    }
    if (c.has_row_ends) {
      begins.pop_back();
      std::swap(begins.front(), begins.back());
      std::swap(ends.front(), ends.back());
      if (c.rows > 4) begins[4] = begins[3];  // rows 3 and 4 share places
      if (c.rows > 4) ends[4] = ends[3];
    }
    begin_list = list_of(begins, c.offset);
    end_list = list_of(c.has_row_ends ? ends : std::vector<std::uint64_t>{}, c.offset);
    column_list = list_of(columns, c.column);
    values = numbers_of(columns.size(), 1, 0, c.a, 5);
    x = numbers_of(c.x_rows(), c.width, c.gap, c.x, 1000);
    before = after = numbers_of(c.y_rows(), c.width, c.gap, c.y, 1U << 30);
    multiply();
  }

  std::uint64_t end(std::uint64_t r) const { return c.has_row_ends ? ends[r] : begins[r + 1]; }

 private:
  void multiply() {
    std::vector<double> sums(c.y_rows() * c.width, 0);
    std::vector<double> sizes(sums.size(), 0);
    std::vector<double> terms(c.y_rows(), 0);
    for (std::uint64_t r = 0; r < c.rows; ++r) {
      if (begins[r] > end(r) || end(r) > columns.size()) continue;
      for (std::uint64_t p = begins[r]; p < end(r); ++p) {
        if (columns[p] >= c.columns) continue;
        const std::uint64_t to = c.transposed ? columns[p] : r;
        const std::uint64_t at = c.transposed ? r : columns[p];
        const double value = number_at(c.a, values.record(p)).real;
        ++terms[to];
        for (std::uint64_t k = 0; k < c.width; ++k) {
          const double product = value * number_at(c.x, x.record(at) + k * bytes(c.x)).real;
          sums[to * c.width + k] += product;
          sizes[to * c.width + k] += std::fabs(product);
        }
      }
    }
    const double epsilon = epsilon_of(c.x == value_type::f64 ? value_type::f64 : value_type::f32);
    for (std::uint64_t v = 0; v < sums.size(); ++v) {
      const std::uint64_t row = v / c.width;
      std::byte* const place = after.record(row) + v % c.width * bytes(c.y);
      const double held = number_at(c.y, place).real;
      const double result = c.alpha * sums[v] + (c.beta == 0 ? 0 : c.beta * held);
      put_number(c.y, place, {result, 0});
      slack.push_back((terms[row] + 4) * epsilon * (std::fabs(c.alpha) * sizes[v] + std::fabs(c.beta * held)) +
                      epsilon_of(c.y) * (std::fabs(result) + 1e-7));
    }
  }
};

/// A trial in the memory of a context.
struct placed_product {
  placed_product(const context& ctx, const product_trial& trial)
      : t(trial),
        begins(ctx, t.begin_list),
        ends(ctx, t.end_list),
        columns(ctx, t.column_list),
        values(ctx, t.values),
        x(ctx, t.x),
        y(ctx, t.before) {}

  csr_view matrix() const {
    const product_case& c = t.c;
    const const_values entries(values.view().data, t.values.count, c.a);
    if (c.has_row_ends) {
      return {c.rows, c.columns, begins.index(c.offset), ends.index(c.offset), columns.index(c.column), entries};
    }
    return {c.rows, c.columns, begins.index(c.offset), columns.index(c.column), entries};
  }
  const_value_rows from() const { return {x.view().data, t.c.x_rows(), t.c.width, t.c.x, t.x.stride_bytes}; }
  value_rows to() const { return {y.view().data, t.c.y_rows(), t.c.width, t.c.y, t.before.stride_bytes}; }

  const product_trial& t;
  placed begins, ends, columns, values, x, y;
};

void expect_product(const std::vector<std::byte>& got, const product_trial& t) {
  image expected = t.after;
  image found = expected;
  found.bytes = got;
  for (std::uint64_t v = 0; v < t.slack.size() && got.size() == expected.bytes.size(); ++v) {
    std::byte* const is = found.record(v / t.c.width) + v % t.c.width * bytes(t.c.y);
    std::byte* const should = expected.record(v / t.c.width) + v % t.c.width * bytes(t.c.y);
    const double far = std::fabs(number_at(t.c.y, is).real - number_at(t.c.y, should).real);
    if (far <= t.slack[v]) std::memcpy(should, is, bytes(t.c.y));
  }
  expect_bytes(got, expected, "y");
}

bool run(const context& ctx, const product_trial& t, std::string_view variant, std::vector<std::byte>& got) {
  const placed_product p(ctx, t);
  try {
    spmm(ctx, p.matrix(), p.from(), p.to(),
         {.alpha = t.c.alpha, .beta = t.c.beta, .transposed = t.c.transposed, .variant = variant});
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return false;
  }
  got = p.y.download();
  expect_bytes(p.x.download(), t.x, "x");
  expect_bytes(p.columns.download(), t.column_list, "columns");
  return true;
}

std::vector<product_case> product_cases() {
  struct types {
    value_type a, x, y;
  };
  constexpr auto f16 = value_type::f16;
  constexpr auto bf16 = value_type::bf16;
  constexpr auto f32 = value_type::f32;
  constexpr auto f64 = value_type::f64;
  constexpr types all[] = {{f32, f32, f32}, {f64, f64, f64},    {f16, f16, f16},   {f16, f16, f32},  {f32, f16, f16},
                           {f32, f16, f32}, {bf16, bf16, bf16}, {bf16, bf16, f32}, {f32, bf16, bf16}};
  constexpr std::uint64_t widths[] = {1, 2, 3, 4, 8, 13, 16, 32, 100};
  constexpr index_type indices[] = {index_type::u32, index_type::i64, index_type::i32, index_type::u64};
  constexpr double factors[][2] = {{1, 0}, {0.5, 0}, {1, 1}, {-2, 0.25}};
  std::vector<product_case> cases;
  std::uint64_t turn = 0;
  for (const types& t : all) {
    for (const std::uint64_t width : widths) {
      for (const bool transposed : {false, true}) {
        for (const bool ends : {false, true}) {
          cases.push_back({60, 45, turn % 7 == 0 ? 120U : 9U, width, t.a, t.x, t.y, transposed, ends,
                           factors[turn % 4][0], factors[turn % 4][1], indices[turn / 3 % 4], indices[turn % 4],
                           turn % 5 == 0 ? 3U : 0U});
          turn += 1 + turn % 2;
        }
      }
    }
  }
  for (const bool transposed : {false, true}) {
    cases.push_back({4000, 5000, 30, 24, f32, f32, f32, transposed});
    cases.push_back({3000, 3, 5, 16, f32, f32, f32, transposed});
    cases.push_back({2, 3000, 400, 1024, f32, f32, f32, transposed, false, 2, 1});
    cases.push_back({5, 4, 0, 7, f32, f32, f32, transposed, false, 2, 0.5});
  }
  return cases;
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::spmm_variants()) names.emplace_back(v.name);
  return names;
}

class EverySpmmVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  }
};

TEST_P(EverySpmmVariant, MultipliesEveryMatrix) {
  std::size_t runs = 0;
  const auto cases = product_cases();
  for (const product_case& c : cases) {
    const product_trial t(c);
    for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
      SCOPED_TRACE(fmt::format("{} on {}", c.description(), name));
      std::vector<std::byte> got;
      if (!run(ctx, t, GetParam(), got)) continue;
      ++runs;
      ctx.wait();
      expect_product(got, t);
      if (testing::Test::HasFailure()) return;
    }
  }
  expect_runs(GetParam(), runs, cases.size(),
              {{"cpu.rows", 160},
               {"cpu.by_value", 160},
               {"cpu.sorted", 80},
               {"cuda.rows", 160},
               {"cuda.transposed", 160},
               {"cuda.atomic", 0},
               {"vector", 2}});
}

TEST_P(EverySpmmVariant, HasTheSameBitsForEveryNumberOfThreads) {
  for (const bool transposed : {false, true}) {
    if (transposed && GetParam().empty()) break;  // the planner may choose another variant for other threads
    for (const std::uint64_t width : {40, 1}) {
      const product_trial t({300, 20, 600, width, value_type::f32, value_type::f32, value_type::f32, transposed});
      std::vector<std::byte> first;
      for (const int threads : {1, 2, 3, 5, 8}) {
        std::vector<std::byte> got;
        if (!run(context::cpu(threads), t, GetParam(), got)) break;
        if (first.empty()) first = got;
        EXPECT_EQ(got, first) << width << " columns, " << threads << " threads";
      }
    }
  }
}

TEST_P(EverySpmmVariant, LeavesFaultsOutAndNamesTheWorst) {
  for (const auto& [transposed, width] :
       std::vector<std::pair<bool, std::uint64_t>>{{false, 5}, {true, 5}, {false, 1}, {true, 1}}) {
    const product_case c{60,         45,    9,   width, value_type::f32, value_type::f32, value_type::f32,
                         transposed, false, 1.5, 0.5,   index_type::i64, index_type::i32};
    const product_trial column(c, {{40, 45}, {33, ~std::uint64_t{0}}, {0, 99}});
    const product_trial row(c, {{33, 45}}, {{30, 100000}, {12, 2}});
    for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
      SCOPED_TRACE(fmt::format("{} transposed={} width={}", name, transposed, width));
      std::vector<std::byte> got;
      if (!run(ctx, column, GetParam(), got)) continue;
      std::uint64_t of = 0;
      while (column.begins[of + 1] <= 33) ++of;
      expect_error(error_code::bad_index,
                   fmt::format("spmm: column_indices[33], of row {}, is -1, outside the matrix's 45 columns", of),
                   [&ctx = ctx] { ctx.wait(); });
      expect_product(got, column);
      ASSERT_TRUE(run(ctx, row, GetParam(), got));
      expect_error(error_code::bad_index,
                   fmt::format("spmm: row 11 begins at {} and ends at 2, before it begins", row.begins[11]),
                   [&ctx = ctx] { ctx.wait(); });
      // A transposition takes as many entries as there are places: rows that overlap by a fault may lose some.
      if (!transposed || ctx.backend() != backend_kind::cuda) expect_product(got, row);
    }
  }
}

TEST_P(EverySpmmVariant, DoesNotReadYWhereBetaIsZero) {
  for (const auto& [transposed, width] :
       std::vector<std::pair<bool, std::uint64_t>>{{false, 5}, {true, 5}, {false, 1}, {true, 1}}) {
    const product_case c{60, 45, 9, width, value_type::f32, value_type::f32, value_type::f32, transposed, false, 2, 0};
    product_trial t(c);
    for (std::uint64_t r = 0; r < c.y_rows(); ++r) {
      for (std::uint64_t k = 0; k < c.width; ++k) {
        put_number(c.y, t.before.record(r) + k * 4, {std::numeric_limits<double>::quiet_NaN(), 0});
      }
    }
    for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
      std::vector<std::byte> got;
      if (!run(ctx, t, GetParam(), got)) continue;
      ctx.wait();
      expect_product(got, t);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spmm, EverySpmmVariant, testing::ValuesIn(variant_names()), test_name_of);

std::vector<std::string> preparation_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::prepare_spmm_variants()) names.emplace_back(v.name);
  return names;
}

class EverySpmmPreparation : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  }
};

TEST_P(EverySpmmPreparation, MultipliesAsTheCallDoes) {
  std::size_t runs = 0;
  for (const product_case& c : product_cases()) {
    const product_trial t(c);
    for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
      SCOPED_TRACE(fmt::format("{} on {}", c.description(), name));
      const placed_product p(ctx, t);
      try {
        const auto prepared = prepare_spmm(ctx, p.matrix(), 20, {.transposed = c.transposed, .variant = GetParam()});
        prepared.run(p.from(), p.to(), c.alpha, c.beta);
      } catch (const error& e) {
        if (e.code() != error_code::no_variant) throw;
        continue;
      }
      ++runs;
      ctx.wait();
      expect_product(p.y.download(), t);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(runs, 0U);
}

INSTANTIATE_TEST_SUITE_P(Spmm, EverySpmmPreparation, testing::ValuesIn(preparation_names()), test_name_of);

TEST(PrepareSpmm, IsExplainedWithoutTheMatrix) {
  const context ctx = context::cpu(2);
  const csr_view shape{100000, 90000, index_span(nullptr, 100001, index_type::u32),
                       index_span(nullptr, 5000000, index_type::u32), const_values(nullptr, 5000000, value_type::f32)};
  const explanation once = explain_prepare_spmm(ctx, shape, 1, {.transposed = true});
  const explanation often = explain_prepare_spmm(ctx, shape, 1000, {.transposed = true});
  EXPECT_EQ(once.primitive, "prepare_spmm");
  ASSERT_NE(once.choice(), nullptr);
  ASSERT_NE(often.choice(), nullptr);
  EXPECT_EQ(once.choice()->variant, "kept");
  EXPECT_EQ(often.choice()->variant, "cpu.transposed");
  expect_error(error_code::bad_argument, "prepare_spmm: the order is 2, not 0 to 1", [&] {
    static_cast<void>(explain_prepare_spmm(ctx, shape, 1, {.order = static_cast<reduction_order>(2)}));
  });
  expect_error(error_code::bad_argument, "prepare_spmm: values_per_row is 0, not 1 to 1024",
               [&] { static_cast<void>(explain_prepare_spmm(ctx, shape, 1, {.values_per_row = 0})); });
}

class SpmmArguments : public testing::Test {
 protected:
  void refuses(const std::string& message, const csr_view& a, const_value_rows x, value_rows y,
               const spmm_options& o = {}) {
    expect_error(error_code::bad_argument, "spmm: " + message, [&] { spmm(ctx, a, x, y, o); });
  }
  csr_view matrix() const { return {2, 3, offsets, columns, numbers}; }
  const_value_rows x() const { return {dense.data(), 3, 4, value_type::f32}; }
  value_rows y() { return {result.data(), 2, 4, value_type::f32}; }

  context ctx = context::cpu(2);
  std::vector<std::uint64_t> offsets{0, 2, 3};
  std::vector<std::uint32_t> columns{0, 2, 1};
  std::vector<float> numbers{1, 2, 3};
  std::vector<float> dense = std::vector<float>(64);
  std::vector<float> result = std::vector<float>(64);
};

TEST_F(SpmmArguments, MustFitTogether) {
  refuses("x has 2 rows for 3 columns", matrix(), {dense.data(), 2, 4, value_type::f32}, y());
  refuses("y has 3 rows for 2 rows", matrix(), x(), {result.data(), 3, 4, value_type::f32});
  refuses("x has 3 rows for 2 rows", matrix(), x(), {result.data(), 3, 4, value_type::f32}, {.transposed = true});
  refuses("x has rows of 4 values, but y has 3", matrix(), x(), {result.data(), 2, 3, value_type::f32});
  refuses("x has rows of 1025 values, not 1 to 1024", matrix(), {dense.data(), 3, 1025, value_type::f32}, y());
  refuses("x has values of type f32, but y has f64", matrix(), x(), {result.data(), 2, 4, value_type::f64});
  refuses("x has values of type f16, but y has bf16", matrix(), {dense.data(), 3, 4, value_type::f16},
          {result.data(), 2, 4, value_type::bf16});
  refuses("x has values of type f64, but the matrix has f32", matrix(), {dense.data(), 3, 4, value_type::f64},
          {result.data(), 2, 4, value_type::f64});
  refuses("x has values of type i32, not f16, bf16, f32 or f64", matrix(), {dense.data(), 3, 4, value_type::i32}, y());
  refuses("y overlaps x", matrix(), x(), {dense.data(), 2, 4, value_type::f32});
  refuses("y overlaps values", matrix(), x(), {numbers.data(), 2, 4, value_type::f32});
}

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_spmm_test
