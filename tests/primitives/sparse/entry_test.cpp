#include "lab/description/entry.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/description/hash/problem.hpp"
#include "lab/description/sparse/problem.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::primitives_sparse_entry_test {
namespace {

using primitives::columns_of_matrix;
using primitives::given_option;
using primitives::nonzero_pattern;
using primitives::parse_problem;
using primitives::problem_spec;
using primitives::row_lengths;
using primitives::row_lengths_of;
using primitives::rows_of_matrix;
using primitives::sparse_part;

problem_spec problem(const std::vector<given_option>& given) {
  return problem_of_options(primitives::entry_named("spmv"), given);
}

template <class Call>
void expect_refused(const std::string& message, Call call) {
  EXPECT_THAT(message_of(error_code::bad_argument, call), testing::HasSubstr(message));
}

TEST(SpmvName, SaysWhatTheMatrixIs) {
  const problem_spec usual = parse_problem("spmv/banded:x16/r4/u32+f32/n=1000");
  EXPECT_EQ(usual.part<sparse_part>().nonzeros, nonzero_pattern::banded);
  EXPECT_EQ(rows_of_matrix(usual), 63U);
  EXPECT_EQ(columns_of_matrix(usual), 63U);
  EXPECT_EQ(usual.value, value_type::f32);
  EXPECT_EQ(usual.index, index_type::u32);
  EXPECT_EQ(usual.part<sparse_part>().offset, index_type::u32);
  EXPECT_EQ(usual.part<sparse_part>().sums, spmv_sums::as_values);
  EXPECT_FALSE(usual.part<sparse_part>().is_transposed || usual.part<sparse_part>().has_row_ends);
  EXPECT_FALSE(usual.part<sparse_part>().is_unordered);
  const problem_spec most =
      parse_problem("spmv/zipf:s70:c900/r4/i32+u64+f32+transposed+unordered+f64_sums+row_ends/n=1000");
  EXPECT_EQ(most.part<sparse_part>().nonzeros, nonzero_pattern::zipf);
  EXPECT_EQ(rows_of_matrix(most), 70U);
  EXPECT_EQ(columns_of_matrix(most), 900U);
  EXPECT_EQ(most.index, index_type::i32);
  EXPECT_EQ(most.part<sparse_part>().offset, index_type::u64);
  EXPECT_EQ(most.part<sparse_part>().sums, spmv_sums::f64);
  EXPECT_TRUE(most.part<sparse_part>().is_transposed && most.part<sparse_part>().has_row_ends);
  EXPECT_TRUE(most.part<sparse_part>().is_unordered);
  const problem_spec uneven = parse_problem("spmv/uniform:c5:xzipf/r8/u64+f64/n=20");
  EXPECT_EQ(uneven.part<sparse_part>().entries_of_a_row, primitives::power_law_repeats);
  EXPECT_EQ(rows_of_matrix(uneven), 8U);
  EXPECT_EQ(columns_of_matrix(uneven), 5U);
  EXPECT_EQ(uneven.part<sparse_part>().offset, index_type::u64);
}

TEST(SpmvName, IsWrittenAsItIsRead) {
  for (const char* name :
       {"spmv/banded:x16/r4/u32+f32/n=0", "spmv/uniform:s0/r4/u32+f32/n=0", "spmv/uniform:s7:c0/r4/u32+f32/n=0",
        "spmv/grid:x5/r8/i64+f64/n=1", "spmv/grid:x9/r8/i64+f64/n=81", "spmv/grid:x27/r8/u32+i64+f64/n=27",
        "spmv/zipf:xzipf/r8/u32+f64+transposed/n=18446744073709551615", "spmv/banded:c9:x4/r4/u32+f32+f64_sums/n=80",
        "spmv/banded:s18446744073709551615/r4/u32+f32+row_ends/n=3", "spmv/grid:x7/r8/u32+f64+transposed+unordered/n=7",
        "spmv/banded:x4/r4/i32+f32+transposed+unordered+row_ends/n=9"}) {
    EXPECT_EQ(primitives::name(parse_problem(name)), name);
  }
}

TEST(SpmvName, ThatIsWrongIsRefusedWithTheTextAndThePlace) {
  const auto refused = [](const std::string& text, const std::string& message) {
    expect_refused(message, [&] { parse_problem("spmv/" + text); });
  };
  refused("identity:x4/r4/u32+f32/n=9",
          "problem 'spmv/identity:x4/r4/u32+f32/n=9', character 6: 'identity' is not a pattern of nonzeros: banded, "
          "grid, uniform, zipf");
  refused("banded/r4/u32+f32/n=9",
          "character 6: 'banded' is not a pattern of nonzeros with rows (s1000) or the entries of a row (x16)");
  refused("banded:c4/r4/u32+f32/n=9", "'banded:c4' is not a pattern of nonzeros with rows");
  refused("banded:s4:x4/r4/u32+f32/n=9", "'banded:s4:x4' is not a pattern of nonzeros with rows");
  refused("banded:x4:x4/r4/u32+f32/n=9", "'banded:x4:x4' is not a pattern of nonzeros with rows");
  refused("banded:/r4/u32+f32/n=9", "character 13: '' is not rows, such as s1000, columns, such as c1000");
  refused("banded:h4/r4/u32+f32/n=9", "'h4' is not rows, such as s1000, columns, such as c1000, or the entries");
  refused("banded:s/r4/u32+f32/n=9", "character 14: '' is not a number of rows");
  refused("banded:c-1:x4/r4/u32+f32/n=9", "'-1' is not a number of columns");
  refused("banded:x0/r4/u32+f32/n=9", "'0' is not a number of entries of a row, from 1, or zipf");
  refused("banded:x4:c9/r4/u32+f32/n=9", "is written 'spmv/banded:c9:x4/r4/u32+f32/n=9'");
  refused("banded:c3:x3/r4/u32+f32/n=9", "is written 'spmv/banded:x3/r4/u32+f32/n=9'");
  refused("grid:x8/r4/u32+f32/n=9", "'grid:x8' is not a grid: x5 or x9 for a square");
  refused("grid:s9/r4/u32+f32/n=63", "'grid:s9' is not a grid");
  refused("grid:c9:x7/r4/u32+f32/n=70", "'grid:c9:x7' is not a grid");
  refused("banded:x4/r4/f32/n=9", "'f32' is not an index type");
  refused("banded:x4/r4/u32/n=9", "'u32' is not an index type, or two, and a value type, such as u32+f32");
  refused("banded:x4/r4/u32+u64/n=9", "'u32+u64' is not an index type, or two, and a value type");
  refused("banded:x4/r4/u32+i32+i32+f32/n=9", "'i32' is not a type of a matrix's values: f32, f64");
  refused("banded:x4/r4/u32+u32+f32/n=9", "is written 'spmv/banded:x4/r4/u32+f32/n=9'");
  refused("banded:x4/r4/u32+u16+f32/n=9", "'u16' is not an index type");
  refused("banded:x4/r4/u32+f16/n=9", "'f16' is not a type of a matrix's values: f32, f64");
  refused("banded:x4/r8/u32+f32/n=9", "'f32' is not a type of 8 bytes");
  refused("banded:x4/r8/u32+f64+f64_sums/n=9", "'f64_sums' is not allowed: it needs values of f32");
  refused("banded:x4/r4/u32+f32+sorted/n=9",
          "'sorted' is not part of a product's type: transposed, unordered, f64_sums, row_ends");
  refused("banded:x4/r4/u32+f32+unordered+transposed/n=9",
          "is written 'spmv/banded:x4/r4/u32+f32+transposed+unordered");
  refused("banded:x4/r4/u32+f32+row_ends+transposed/n=9", "is written 'spmv/banded:x4/r4/u32+f32+transposed+row_ends");
}

TEST(SpmvEntry, FillsInWhatOptionsLeaveOut) {
  const problem_spec usual = problem({{"--count", {"1000"}}});
  EXPECT_EQ(rows_of_matrix(usual), 63U);
  EXPECT_EQ(columns_of_matrix(usual), 63U);
  EXPECT_EQ(usual.record_bytes, 4U);
  EXPECT_EQ(usual.index, index_type::u32);
  EXPECT_EQ(usual.part<sparse_part>().offset, index_type::u32);
  const problem_spec large = problem({{"--count", {"5000000000"}}, {"--rows", {"70"}}, {"--columns", {"5000000000"}}});
  EXPECT_EQ(large.index, index_type::u64);
  EXPECT_EQ(large.part<sparse_part>().offset, index_type::u64);
  const problem_spec given = problem({{"--count", {"9"}},
                                      {"--rows", {"0"}},
                                      {"--columns", {"4"}},
                                      {"--index-type", {"i64"}},
                                      {"--offset-type", {"i32"}},
                                      {"--value-type", {"f64"}},
                                      {"--sums", {"f64"}},
                                      {"--transposed", {""}},
                                      {"--order", {"unordered"}},
                                      {"--row-ends", {""}}});
  EXPECT_EQ(rows_of_matrix(given), 0U);
  EXPECT_EQ(columns_of_matrix(given), 4U);
  EXPECT_EQ(given.index, index_type::i64);
  EXPECT_EQ(given.part<sparse_part>().offset, index_type::i32);
  EXPECT_EQ(given.record_bytes, 8U);
  EXPECT_EQ(given.part<sparse_part>().sums, spmv_sums::f64);
  EXPECT_TRUE(given.part<sparse_part>().is_transposed && given.part<sparse_part>().has_row_ends);
  EXPECT_TRUE(given.part<sparse_part>().is_unordered);
  EXPECT_THAT(entry_of(given).text(given), testing::HasSubstr(", transposed, in any order, columns i64"));
}

TEST(SpmvEntry, RefusesOptionsThatNoProductHas) {
  expect_refused("'i32' is not a type of a matrix's values: f32, f64", [] {
    problem({{"--count", {"9"}}, {"--value-type", {"i32"}}});
  });
  expect_refused("'f32' is not a type of sums: as_values, f64", [] {
    problem({{"--count", {"9"}}, {"--sums", {"f32"}}});
  });
  expect_refused("'any' is not an order: deterministic, unordered", [] {
    problem({{"--count", {"9"}}, {"--order", {"any"}}});
  });
  expect_refused("--rows: 'many' is not a whole number", [] { problem({{"--count", {"9"}}, {"--rows", {"many"}}}); });
  expect_refused("'f64' is not an index type", [] { problem({{"--count", {"9"}}, {"--offset-type", {"f64"}}}); });
  expect_refused("--table is for gather, ", [] { problem({{"--count", {"9"}}, {"--table", {"9"}}}); });
}

// A sum of f64 over values of f64 is the sum that there is without saying so.
TEST(SpmvEntry, PlansTheSumsThatTheCallMakes) {
  problem_spec p = parse_problem("spmv/uniform:x16/r8/u32+f64/n=1048576");
  const context ctx = context::cpu(2);
  const auto seconds = [&] {
    const auto all = entry_of(p).estimates(p, backend_kind::cpu, ctx.profile());
    return primitives::cheapest(all)->seconds;
  };
  const double as_values = seconds();
  p.part<sparse_part>().sums = spmv_sums::f64;
  EXPECT_EQ(seconds(), as_values);
  EXPECT_EQ(entry_of(p).explain(ctx, p, {}).choice()->seconds, as_values);
}

TEST(SpmvEntry, TellsThePlannerWhereColumnsLie) {
  const auto told = [](const char* name) { return hint(parse_problem(name)); };
  EXPECT_EQ(told("spmv/banded:x16/r4/u32+f32/n=9999"), access_pattern::clustered(16));
  EXPECT_EQ(told("spmv/banded:s100/r4/u32+f32/n=101"), access_pattern::clustered(2));
  EXPECT_EQ(told("spmv/banded:x16/r4/u32+f32/n=0"), access_pattern::clustered(1));
  EXPECT_EQ(told("spmv/banded:s9/r4/u32+f32/n=0"), access_pattern::clustered(1));
  EXPECT_EQ(told("spmv/grid:x7/r4/u32+f32/n=7000"), access_pattern::clustered(200));
  EXPECT_EQ(told("spmv/grid:x9/r4/u32+f32/n=900"), access_pattern::clustered(20));
  EXPECT_EQ(told("spmv/uniform:x16/r4/u32+f32/n=9"), access_pattern::random());
  EXPECT_EQ(told("spmv/zipf:xzipf/r4/u32+f32/n=9"), access_pattern::skewed());
  EXPECT_EQ(told("gather/strided:9/r4/u32/n=9"), access_pattern::strided(9));
}

TEST(SpmvEntry, LiesAmongThoseThatCalibrationRunsByItsColumns) {
  problem_spec p = parse_problem("spmv/uniform:c900:x4/r8/u32+f64/n=5000");
  p.access = hint(p);
  const plan::measured_place place = entry_of(p).place(p, backend_kind::cpu);
  EXPECT_EQ(place.primitive, "spmv");
  EXPECT_EQ(place.order, access_pattern::kind::random);
  EXPECT_EQ(place.record_bytes, 8U);
  EXPECT_EQ(place.count, 5000U);
  EXPECT_EQ(place.range, 900U);
}

TEST(RowLengths, AddUpToTheEntriesAndAreFoundByThem) {
  for (const char* sizes : {"x1", "x3", "x16", "xzipf", "s1", "s2", "s7", "s64", "s5000"}) {
    for (const std::uint64_t count : {0, 1, 2, 3, 7, 8, 19, 20, 21, 64, 1000, 4097}) {
      const std::string name = "spmv/uniform:" + std::string(sizes) + "/r4/u32+f32/n=" + std::to_string(count);
      SCOPED_TRACE(name);
      const row_lengths lengths = row_lengths_of(parse_problem(name));
      ASSERT_EQ(lengths.begin_of_row(0), 0U);
      ASSERT_EQ(lengths.begin_of_row(lengths.rows), count);
      std::uint64_t longest = 0;
      for (std::uint64_t row = 0; row < lengths.rows; ++row) {
        const std::uint64_t begin = lengths.begin_of_row(row);
        const std::uint64_t end = lengths.begin_of_row(row + 1);
        ASSERT_LE(begin, end);
        longest = std::max(longest, end - begin);
        for (std::uint64_t entry = begin; entry < end; ++entry) ASSERT_EQ(lengths.row_of_entry(entry), row);
      }
      EXPECT_LE(longest, lengths.longest_row());
      EXPECT_TRUE(lengths.is_uneven || longest == 0 || lengths.longest_row() <= std::max<std::uint64_t>(longest, 16));
    }
  }
}

TEST(RowLengths, FollowAPowerLawWhereTheyAreUneven) {
  row_lengths lengths = row_lengths_of(parse_problem("spmv/uniform:xzipf/r4/u32+f32/n=11534336"));
  EXPECT_EQ(lengths.rows, std::uint64_t{1} << 20);
  EXPECT_EQ(lengths.longest_row(), std::uint64_t{1} << 20);
  std::vector<std::uint64_t> rows_of_length(21);
  for (std::uint64_t row = 0; row < lengths.rows; ++row) {
    ++rows_of_length[primitives::floor_log2(lengths.begin_of_row(row + 1) - lengths.begin_of_row(row))];
  }
  for (std::uint64_t k = 0; k < 20; ++k) EXPECT_EQ(rows_of_length[k], std::uint64_t{1} << (19 - k)) << k;
  // The largest numbers of entries that there are.
  lengths = row_lengths_of(parse_problem("spmv/uniform:xzipf/r4/u32+f32/n=18446744073709551615"));
  const std::uint64_t last = lengths.entries - 1;
  EXPECT_EQ(lengths.row_of_entry(last), lengths.rows - 1);
  EXPECT_LE(lengths.begin_of_row(lengths.rows - 1), last);
}

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_entry_test
