#include <sheaf/scatter_reduce.hpp>

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "primitives/reduce/prepare.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/trials/rows.hpp"

namespace sheaf::tests::primitives_reduce_rows_test {
namespace {

constexpr index_type every_index[] = {index_type::u32, index_type::u64, index_type::i32, index_type::i64};
constexpr value_type every_count[] = {value_type::u32, value_type::i32, value_type::u64, value_type::i64};

template <class T, std::size_t Count>
T turn(const T (&all)[Count], std::uint64_t i) {
  return all[i % Count];
}

// Every pair of types with every operation and start; widths, lists and strides take turns. The longest lists are cut
// into pieces.
std::vector<rows_case> rows_cases() {
  struct shape {
    const char* pattern;
    std::uint64_t count;
    std::uint64_t slots;
    std::uint64_t width;
  };
  constexpr shape shapes[] = {{"uniform", 900, 150, 3},  {"same", 2500, 10, 7},     {"zipf", 3000, 700, 17},
                              {"identity", 257, 257, 8}, {"uniform", 100, 3000, 4}, {"permutation", 513, 513, 1},
                              {"zipf", 2100, 40, 2},     {"uniform", 333, 1, 64},   {"uniform", 60, 20, 100}};
  std::vector<rows_case> cases;
  std::uint64_t turns = 0;
  for (const auto& [in, out] : combined_types()) {
    for (const auto& op : primitives::reductions) {
      for (const reduction_start start : {reduction_start::out, reduction_start::identity}) {
        const shape& s = turn(shapes, turns);
        cases.push_back({s.pattern, s.count, s.slots, s.width, in, out, op.value, start, turn(every_index, turns / 3),
                         turns % 4 == 1 ? turns % 5 : 0, turns % 3 == 0, turn(every_count, turns / 7)});
        ++turns;
      }
    }
  }
  for (const shape& s : shapes) {
    for (const reduction op : {reduction::add, reduction::max, reduction::mean}) {
      cases.push_back({s.pattern, s.count, s.slots, s.width, value_type::f32, value_type::f32, op});
      cases.push_back({s.pattern, s.count, s.slots, s.width, value_type::f64, value_type::f64, op,
                       reduction_start::identity, index_type::i64, 1, true, value_type::u64});
    }
  }
  for (const std::uint64_t count : {0, 1, 2, 511, 512, 513, 1023, 1024, 1025, 2048, 4097}) {
    for (const reduction_start start : {reduction_start::out, reduction_start::identity}) {
      cases.push_back(
          {"same", count, 3, 5, value_type::f32, value_type::f32, reduction::add, start, index_type::u32, 0, true});
      cases.push_back({"uniform", count, count / 3 + 1, 16, value_type::f16, value_type::f32, reduction::add, start});
    }
  }
  cases.push_back({"zipf", 40'000, 9000, 33, value_type::f32, value_type::f32, reduction::add});
  cases.push_back(
      {"uniform", 60'000, 20'000, 6, value_type::bf16, value_type::bf16, reduction::mean, reduction_start::identity});
  cases.push_back({"uniform", 5, 3, 65536, value_type::f32, value_type::f32, reduction::add});
  cases.push_back({"uniform", 40, 3, 5000, value_type::u8, value_type::u32, reduction::add, reduction_start::identity});
  return cases;
}

std::vector<std::optional<rows_trial>>& kept_trials() {
  static std::vector<std::optional<rows_trial>> all(rows_cases().size());
  return all;
}

const rows_trial& trial(std::size_t i) {
  auto& kept = kept_trials()[i];
  if (!kept) kept.emplace(rows_cases()[i]);
  return *kept;
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::scatter_reduce_rows_variants()) names.emplace_back(v.name);
  return names;
}

class EveryRowsVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  }
  bool run(const context& ctx, const rows_trial& t, rows_result& got,
           reduction_order order = reduction_order::deterministic) const {
    return with_rows(ctx, t, got, [&](const_value_rows in, index_span index, value_rows out, values counts) {
      scatter_reduce(ctx, in, index, out, t.c.op,
                     {.order = order, .start = t.c.start, .counts = counts, .variant = GetParam()});
    });
  }
};

TEST_P(EveryRowsVariant, CombinesAllRowsOfEverySlot) {
  const std::size_t cases = rows_cases().size();
  std::size_t runs = 0;
  for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
    for (std::size_t i = 0; i < cases; ++i) {
      const rows_trial& t = trial(i);
      for (const auto order : {reduction_order::deterministic, reduction_order::unordered}) {
        SCOPED_TRACE(fmt::format("{} on {}", t.c.description(), name));
        rows_result got;
        if (!run(ctx, t, got, order)) continue;
        ++runs;
        ctx.wait();
        expect_rows(got, t);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  expect_runs(GetParam(), runs, 2 * cases,
              {{"cpu.numbers", 14},
               {"cpu.owner", 200},
               {"cuda.numbers", 14},
               {"cuda.short", 700},
               {"cuda.leaders", 700},
               {"cuda.sorted", 700},
               {"cuda.atomic", 170},
               {"cuda.counted", 88}});
}

TEST_P(EveryRowsVariant, HasTheSameBitsForEveryNumberOfThreadsAndRun) {
  for (const char* pattern : {"zipf", "same"}) {
    for (const std::uint64_t width : {2, 7, 64}) {
      const rows_trial t({pattern, 20'000, 3000, width, value_type::f32, value_type::f32, reduction::add});
      for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
        rows_result first;
        if (!run(ctx, t, first)) continue;
        for (int repeat = 0; repeat < 3; ++repeat) {
          rows_result again;
          ASSERT_TRUE(run(ctx, t, again));
          EXPECT_EQ(first.out, again.out) << name;
        }
        if (ctx.backend() != backend_kind::cpu) continue;
        const context one = context::cpu(1);
        rows_result alone;
        ASSERT_TRUE(run(one, t, alone));
        EXPECT_EQ(first.out, alone.out) << name << " and one thread";
      }
    }
  }
}

// The tree is that of rows_per_piece(), so that the variant decides no bit either: lists whose slots have just as many
// rows as a piece, one more, many pieces, few rows beside many, and bad entries between.
TEST_P(EveryRowsVariant, HasTheSameBitsAsTheOthersOfTheCpu) {
  struct shape {
    const char* pattern;
    std::uint64_t count;
    std::uint64_t slots;
  };
  constexpr shape shapes[] = {{"same", 1024, 1},     {"same", 1025, 1},        {"same", 5 * 1024, 1},
                              {"uniform", 9000, 2},  {"uniform", 70'000, 3},   {"zipf", 70'000, 30'000},
                              {"zipf", 30'000, 400}, {"identity", 6000, 6000}, {"uniform", 70'000, 30'000}};
  for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
    if (ctx.backend() != backend_kind::cpu || GetParam() == "reference.serial") continue;
    for (const shape& s : shapes) {
      for (const std::uint64_t width : {1, 2, 3, 4, 8, 17, 80}) {
        if (under_address_sanitizer && s.count * width > 600'000) continue;  // shorter lists of rows as wide are there
        for (const reduction_start start : {reduction_start::out, reduction_start::identity}) {
          const rows_case c{s.pattern,      s.count,         s.slots,
                            width,          value_type::f32, value_type::f32,
                            reduction::add, start,           turn(every_index, width)};
          const rows_trial t(c, {{s.count / 3, ~std::uint64_t{0}}});
          SCOPED_TRACE(fmt::format("{} on {}", c.description(), name));
          rows_result sorted;
          rows_result got;
          const auto call = [&](const char* variant) {
            return [&, variant](const_value_rows in, index_span index, value_rows out, values) {
              scatter_reduce(context::cpu(1), in, index, out, c.op, {.start = start, .variant = variant});
            };
          };
          const bool has_sorted = with_rows(context::cpu(1), t, sorted, call("cpu.sorted"));
          if (!run(ctx, t, got)) continue;
          EXPECT_THROW(ctx.wait(), error);
          ASSERT_TRUE(has_sorted);
          EXPECT_EQ(sorted.out, got.out);
          expect_rows(got, t);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// A sample of the list may have fewer entries than there are threads: of few wide rows, and where most entries are bad.
TEST_P(EveryRowsVariant, IsRightWithMoreThreadsThanSamples) {
  const context ctx = context::cpu(16);
  const auto expect_right = [&](const rows_case& c, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& bad) {
    SCOPED_TRACE(c.description());
    const rows_trial t(c, bad);
    rows_result got;
    if (!run(ctx, t, got)) return;
    if (bad.empty()) {
      ctx.wait();
    } else {
      EXPECT_THROW(ctx.wait(), error);
    }
    expect_rows(got, t);
  };
  for (const std::uint64_t count : {64, 200}) {
    expect_right({"uniform", count, 40, 20'000, value_type::f32, value_type::f32, reduction::add}, {});
  }
  constexpr std::uint64_t entries = 70'000;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> bad;
  for (std::uint64_t i = 0; i < entries; ++i) {
    if (i % 25'000 != 64) bad.emplace_back(i, ~std::uint64_t{0});
  }
  expect_right({"uniform", entries, 3000, 16, value_type::f32, value_type::f32, reduction::add}, bad);
}

TEST_P(EveryRowsVariant, SkipsBadIndicesAndNamesTheFirst) {
  for (const reduction op : {reduction::add, reduction::count, reduction::min}) {
    for (const std::uint64_t width : {3, 20}) {
      const rows_case c{"uniform",      900, 50, width, value_type::i32, value_type::i32, op, reduction_start::identity,
                        index_type::i64};
      const rows_trial t(c, {{800, ~std::uint64_t{0}}, {417, 50}, {418, 1ULL << 40}});
      for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
        SCOPED_TRACE(name);
        rows_result got;
        if (!run(ctx, t, got)) continue;
        expect_error(error_code::bad_index, "scatter_reduce: index[417] is 50, past the output's 50 rows",
                     [&ctx = ctx] { ctx.wait(); });
        expect_rows(got, t);
        const rows_trial good(c);
        ASSERT_TRUE(run(ctx, good, got));
        ctx.wait();
        expect_rows(got, good);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryRowsVariant, testing::ValuesIn(variant_names()), test_name_of);

std::vector<std::string> preparation_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::prepare_scatter_reduce_variants()) names.emplace_back(v.name);
  return names;
}

class EveryRowsPreparation : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  }
};

bool works_on(const context& ctx, const std::string& variant) {
  return variant.find('.') == std::string::npos || variant.starts_with(name(ctx.backend()));
}

TEST_P(EveryRowsPreparation, RunsAsTheCallDoes) {
  const std::size_t cases = rows_cases().size();
  std::size_t runs = 0;
  for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
    if (!works_on(ctx, GetParam())) continue;
    for (std::size_t i = 0; i < cases; i += 3) {
      const rows_trial& t = trial(i);
      SCOPED_TRACE(fmt::format("{} on {}", t.c.description(), name));
      rows_result got;
      const bool ran =
          with_rows(ctx, t, got, [&, &ctx = ctx](const_value_rows in, index_span index, value_rows out, values counts) {
            const auto prepared = prepare_scatter_reduce(ctx, index, t.c.slots, 10, {.variant = GetParam()});
            EXPECT_GE(prepared.report().preparation_seconds, 0);
            prepared.run(in, out, t.c.op, {.start = t.c.start, .counts = counts});
          });
      ASSERT_TRUE(ran);
      ++runs;
      ctx.wait();
      expect_rows(got, t);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(runs, 0U);
}

TEST_P(EveryRowsPreparation, ThrowsTheFirstBadIndex) {
  const rows_case c{"uniform",      900, 50, 3, value_type::f32, value_type::f32, reduction::add, reduction_start::out,
                    index_type::i32};
  const rows_trial t(c, {{700, 50}, {33, ~std::uint64_t{0}}});
  for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
    if (!works_on(ctx, GetParam())) continue;
    SCOPED_TRACE(name);
    const placed index(ctx, t.index);
    expect_error(
        error_code::bad_index, "prepare_scatter_reduce: index[33] is -1, outside the output's 50 rows",
        [&, &ctx = ctx] { prepare_scatter_reduce(ctx, index.index(c.index), c.slots, 5, {.variant = GetParam()}); });
    ctx.wait();
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, EveryRowsPreparation, testing::ValuesIn(preparation_names()), test_name_of);

TEST(PrepareRows, IsExplainedWithoutTheList) {
  const context ctx = context::cpu(2);
  const index_span shape(nullptr, 10'000'000, index_type::u32);
  const explanation once = explain_prepare_scatter_reduce(ctx, shape, 1'000'000, 1);
  const explanation often = explain_prepare_scatter_reduce(ctx, shape, 1'000'000, 10'000);
  EXPECT_EQ(once.primitive, "prepare_scatter_reduce");
  ASSERT_NE(once.choice(), nullptr);
  ASSERT_NE(often.choice(), nullptr);
  EXPECT_GT(often.choice()->seconds, 100 * once.choice()->seconds);
  EXPECT_EQ(often.variants.size(), 2U);
  expect_error(error_code::bad_argument, "prepare_scatter_reduce: row_bytes is 0, not 1 or more",
               [&] { static_cast<void>(explain_prepare_scatter_reduce(ctx, shape, 10, 1, {.row_bytes = 0})); });
}

TEST(Rows, NumbersOfOtherTypesAreRowsOfOneValue) {
  const context ctx = context::cpu(2);
  const std::vector<std::int8_t> in{100, 27, -3, 5};
  const std::vector<std::uint32_t> index{1, 1, 0, 1};
  std::vector<std::int64_t> wide{10, 20};
  scatter_reduce(ctx, in, index, wide, reduction::add);
  EXPECT_EQ(wide, (std::vector<std::int64_t>{7, 152}));
  std::vector<std::int8_t> narrow{10, 20};
  scatter_reduce(ctx, in, index, narrow, reduction::add);
  EXPECT_EQ(narrow, (std::vector<std::int8_t>{7, static_cast<std::int8_t>(152)}));
  std::vector<double> products{2, 3};
  const std::vector<double> factors{5, 7, 11, 13};
  scatter_reduce(ctx, factors, index, products, reduction::multiply);
  EXPECT_EQ(products, (std::vector<double>{22, 3.0 * 5 * 7 * 13}));
  EXPECT_EQ(explain_scatter_reduce(ctx, factors, index, products, reduction::multiply).primitive,
            "scatter_reduce_rows");
}

TEST(Rows, SumsOfHalfFloatsAreRoundedOnce) {
  const context ctx = context::cpu(3);
  // In float16, 2048 + 1 is 2048 again.
  const std::vector<float16> in(5000, float16(1.0F));
  const std::vector<std::uint32_t> index(5000, 0);
  std::vector<float16> out{float16(2048.0F)};
  scatter_reduce(ctx, in, index, out, reduction::add);
  EXPECT_EQ(static_cast<float>(out[0]), 7048.0F);
}

TEST(Rows, MeanOfOutCountsItAsOneRow) {
  const context ctx = context::cpu(1);
  const std::vector<std::int32_t> in{-5, -4, 9};
  const std::vector<std::uint32_t> index{0, 0, 1};
  std::vector<std::int32_t> out{2, 2, 77};
  scatter_reduce(ctx, const_value_rows(const_values(in)), index, value_rows(values(out)), reduction::mean);
  EXPECT_EQ(out, (std::vector<std::int32_t>{-2, 5, 77}));
  scatter_reduce(ctx, const_value_rows(const_values(in)), index, value_rows(values(out)), reduction::mean,
                 {.start = reduction_start::identity});
  EXPECT_EQ(out, (std::vector<std::int32_t>{-4, 9, 0}));
}

TEST(Rows, CountsLeaveRowsThatNoneComesTo) {
  const std::vector<std::uint32_t> index{1};
  const std::vector<float16> in(1);
  for (const std::string variant : {"reference.serial", "cpu.sorted"}) {
    const context ctx = context::cpu(1);
    // -0, and a NaN that signals, which any sum makes quiet
    std::vector<float16> out{float16::from_bits(0x8000), float16(1.0F), float16::from_bits(0x7d01)};
    scatter_reduce(ctx, const_value_rows(const_values(in)), index, value_rows(values(out)), reduction::count,
                   {.variant = variant});
    EXPECT_EQ(out[0].bits, 0x8000) << variant;
    EXPECT_EQ(static_cast<float>(out[1]), 2.0F) << variant;
    EXPECT_EQ(out[2].bits, 0x7d01) << variant;
  }
}

class RowsArguments : public testing::Test {
 protected:
  void refuses(const std::string& message, const_value_rows from, index_span list, value_rows to,
               reduction op = reduction::add, const scatter_reduce_rows_options& o = {}) {
    expect_error(error_code::bad_argument, "scatter_reduce: " + message,
                 [&] { scatter_reduce(ctx, from, list, to, op, o); });
  }
  const_value_rows in() const { return {numbers.data(), 4, 3, value_type::f32}; }
  value_rows out() { return {sums.data(), 5, 3, value_type::f32}; }

  context ctx = context::cpu(2);
  std::vector<float> numbers = std::vector<float>(64);
  std::vector<float> sums = std::vector<float>(64);
  std::vector<std::uint32_t> index{0, 1, 2, 3};
};

TEST_F(RowsArguments, ShapesMustAgree) {
  refuses("index has 4 entries, but in has 3 rows", {numbers.data(), 3, 3, value_type::f32}, index, out());
  refuses("in has rows of 2 values, but out has 3", {numbers.data(), 4, 2, value_type::f32}, index, out());
  refuses("in has rows of 0 values, not 1 to 65536", {numbers.data(), 4, 0, value_type::f32}, index, out());
  refuses("out has rows of 65537 values, not 1 to 65536", in(), index, {sums.data(), 5, 65537, value_type::f32});
  refuses("in has a stride of 8 bytes, less than its rows' 12", {numbers.data(), 4, 3, value_type::f32, 8}, index,
          out());
  refuses("in has a stride of 14 bytes, not a multiple of its values' 4", {numbers.data(), 4, 3, value_type::f32, 14},
          index, out());
  refuses("counts has 4 values for 5 rows of out", in(), index, out(), reduction::add,
          {.counts = values(sums.data() + 40, 4, value_type::u32)});
}

TEST_F(RowsArguments, TypesMustBeCombinable) {
  refuses("in has values of type f32, but out has f64", in(), index, {sums.data(), 5, 3, value_type::f64});
  refuses("in has values of type f16, but out has bf16", {numbers.data(), 4, 3, value_type::f16}, index,
          {sums.data(), 5, 3, value_type::bf16});
  refuses("in has values of type i8, but out has u32", {numbers.data(), 4, 3, value_type::i8}, index,
          {sums.data(), 5, 3, value_type::u32});
  refuses("the type of in is 12, not 0 to 11", {numbers.data(), 4, 3, static_cast<value_type>(12)}, index, out());
  refuses("the reduction is 7, not 0 to 6", in(), index, out(), static_cast<reduction>(7));
  refuses("the order is 2, not 0 to 1", in(), index, out(), reduction::add, {.order = static_cast<reduction_order>(2)});
  refuses("start is 2, not 0 to 1", in(), index, out(), reduction::add, {.start = static_cast<reduction_start>(2)});
  refuses("counts has values of type f32, not u32, i32, u64 or i64", in(), index, out(), reduction::add,
          {.counts = values(sums.data() + 40, 5, value_type::f32)});
}

TEST_F(RowsArguments, ArraysMustBeApartAndAligned) {
  refuses("in overlaps out", {sums.data(), 4, 3, value_type::f32}, index, out());
  refuses("out overlaps index", in(), index, {index.data(), 1, 3, value_type::f32});
  refuses("counts overlaps out", in(), index, out(), reduction::add,
          {.counts = values(sums.data() + 14, 5, value_type::u32)});
  const auto* const odd = reinterpret_cast<const std::byte*>(numbers.data()) + 1;
  refuses("in is not aligned to its 4 bytes", {odd, 4, 3, value_type::f32}, index, out());
  refuses("in is null", {nullptr, 4, 3, value_type::f32}, index, out());
}

TEST_F(RowsArguments, CountsLookAtNoValue) {
  std::vector<std::uint32_t> rows(5, 9);
  scatter_reduce(ctx, {nullptr, 4, 1, value_type::f16}, index, {rows.data(), 5, 1, value_type::u32}, reduction::count,
                 {.start = reduction_start::identity});
  EXPECT_EQ(rows, (std::vector<std::uint32_t>{1, 1, 1, 1, 0}));
}

TEST(Float16, ConvertsEveryNumberThereAndBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = float16::from_bits(static_cast<std::uint16_t>(bits));
    const auto value = static_cast<float>(half);
    const int exponent = static_cast<int>(bits >> 10) & 31;
    const auto mantissa = static_cast<double>(bits & 1023);
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), mantissa != 0);
      EXPECT_EQ(std::isinf(value), mantissa == 0);
    } else {
      const double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      ASSERT_EQ(static_cast<double>(value), (bits >> 15) != 0 ? -size : size) << bits;
    }
    const std::uint16_t back = float16(value).bits;
    ASSERT_EQ(back, std::isnan(value) ? bits | 0x200U : bits);
    const auto brain = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    const auto wide = static_cast<float>(brain);
    ASSERT_EQ(bfloat16(wide).bits, std::isnan(wide) ? bits | 0x40U : bits);
  }
}

// The float16 numbers on both sides of a float decide what it is rounded to.
TEST(Float16, RoundsToNearestAndEven) {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bits)));
    const auto high = static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bits + 1)));
    const float middle = (low + high) / 2;
    ASSERT_EQ(float16(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(float16(std::nextafter(middle, high)).bits, bits + 1);
    ASSERT_EQ(float16(-std::nextafter(middle, low)).bits, 0x8000U | bits);
  }
  EXPECT_EQ(float16(65519.99F).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(bfloat16(1.00390625F).bits, 0x3f80);
  EXPECT_EQ(bfloat16(1.01171875F).bits, 0x3f82);
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

}  // namespace
}  // namespace sheaf::tests::primitives_reduce_rows_test
