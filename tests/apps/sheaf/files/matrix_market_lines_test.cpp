// Lines as other readers take them: comments, whole numbers that are written as reals, and values that are missing.
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/matrix_market.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_lines_test {
namespace {

std::string file_of(const char* format, const char* field, const std::string& rest) {
  return fmt::format("%%MatrixMarket matrix {} {} general\n{}", format, field, rest);
}

TEST(MatrixMarketLines, MayEndWithComments) {
  const doubles expected{{0, 1, 5}, {1, 0, 6}};
  for (const char* const rest :
       {"2 2 2\n1 2 5 % first\n2 1 6 %\n", "2 2 2\n1 2 5% first\n2 1 6%", "2 2 2\r\n1 2 5 % first\r\n2 1 6\t%%\r\n",
        "2 2 2\n% between\n1 2 5\n\n  % 9 9 9\n2 1 6\n% behind\n\n%"}) {
    SCOPED_TRACE(rest);
    for (const std::uint64_t part_bytes : {1, 1000}) {
      EXPECT_EQ(entries_of(parse_market(file_of("coordinate", "real", rest), {.threads = 2, .part_bytes = part_bytes})),
                expected);
    }
  }
  EXPECT_EQ(entries_of(parse_market(file_of("coordinate", "pattern", "1 2 2\n1 1% a\n1 2 % b\n"))),
            (doubles{{0, 0, 1}, {0, 1, 1}}));
  EXPECT_EQ(entries_of(parse_market(file_of("coordinate", "integer", "1 2 2\n1 1 7% a\n1 2 8.0% b\n"))),
            (doubles{{0, 0, 7}, {0, 1, 8}}));
}

TEST(MatrixMarketLines, OfArraysMayHaveComments) {
  const std::string file =
      file_of("array", "real", "2 2\n% first column\n1\n2 % end\n  % second column\n3% c\n\n4\n%\n");
  for (const std::uint64_t part_bytes : {1, 7, 1000}) {
    EXPECT_EQ(entries_of(parse_market(file, {.threads = 3, .part_bytes = part_bytes})),
              (doubles{{0, 0, 1}, {0, 1, 3}, {1, 0, 2}, {1, 1, 4}}));
  }
  for (const std::uint64_t part_bytes : {1, 1000}) {
    expect_market_error(file_of("array", "real", "1 2\n1\n% c\n2\n% c\n3 % c\n"),
                        "m.mtx: line 7: '3 % c' follows the 2 numbers of 1 x 2 that line 2 announces",
                        {.threads = 2, .part_bytes = part_bytes});
  }
}

TEST(MatrixMarketLines, MayNotEndWithOtherWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 1 1 why", "'why' follows the entry"},
      {"1 1 1 2 % why", "'2 % why' follows the entry"},
      {"1 1 1 # why", "'# why' follows the entry"},
      {"1 1 % why", "the line ends before its value, but the banner says real"},
      {"1 1%", "the line ends before its value, but the banner says real"},
      {"1 % why", "the line ends before its column"},
      {"1 1 x% why", "value 'x' is not a number"},
      {"1 x% 1", "column 'x' is not a whole number"},
  };
  for (const auto& [line, message] : cases) {
    SCOPED_TRACE(line);
    expect_market_error(file_of("coordinate", "real", fmt::format("1 1 1\n{}\n", line)),
                        fmt::format("m.mtx: line 3: {}", message));
  }
}

// However many lines lack theirs, the first is named.
TEST(MatrixMarketLines, WithoutTheirValueAreNamed) {
  std::string places;
  for (int i = 1; i <= 50; ++i) places += fmt::format("{} {}\n", i, i);
  for (const char* const field : {"real", "integer", "unsigned-integer"}) {
    expect_market_error(file_of("coordinate", field, "50 50 50\n" + places),
                        fmt::format("m.mtx: line 3: the line ends before its value, but the banner says {}", field));
  }
  expect_market_error(file_of("coordinate", "double", "2 2 2\n1 1 4\n2 2"),
                      "m.mtx: line 4: the line ends before its value, but the banner says real");
}

TEST(MatrixMarketLines, OfIntegersMayHoldWholeReals) {
  EXPECT_EQ(entries_of(parse_market(file_of("coordinate", "integer", "1 4 4\n1 1 2.0\n1 2 1e5\n1 3 -3.\n1 4 1.5D1\n"))),
            (doubles{{0, 0, 2}, {0, 1, 100000}, {0, 2, -3}, {0, 3, 15}}));
  EXPECT_EQ(entries_of(parse_market<float>(file_of("array", "integer", "1 2\n2.0\n1e5\n"))),
            (floats{{0, 0, 2}, {0, 1, 100000}}));
  const std::pair<const char*, const char*> cases[] = {
      {"2.5", "value '2.5' is not a whole number"},
      {"1e-5", "value '1e-5' is not a whole number"},
      {"nan", "value 'nan' is not a whole number"},
      {"inf", "value 'inf' is not a whole number"},
      {"1e19", "value '1e19' is past the range of i64"},
      {"9007199254740993.0", "value '9007199254740993.0' has more digits than f64 holds"},
  };
  for (const auto& [value, message] : cases) {
    SCOPED_TRACE(value);
    expect_market_error(file_of("coordinate", "integer", fmt::format("1 1 1\n1 1 {}\n", value)),
                        fmt::format("m.mtx: line 3: {}", message));
  }
}

TEST(MatrixMarketLines, OfUnsignedIntegersHoldNoneBelowZero) {
  EXPECT_EQ(entries_of(parse_market(file_of("coordinate", "unsigned-integer", "1 1 1\n1 1 9223372036854775808\n"))),
            (doubles{{0, 0, 9223372036854775808.0}}));
  expect_market_error(file_of("coordinate", "unsigned-integer", "1 1 1\n1 1 -1\n"),
                      "m.mtx: line 3: value '-1' is past the range of u64");
  expect_market_error(file_of("coordinate", "unsigned-integer", "1 1 1\n1 1 18446744073709551616\n"),
                      "m.mtx: line 3: value '18446744073709551616' is past the range of u64");
  expect_market_error(file_of("coordinate", "unsigned-integer", "1 1 1\n1 1 18446744073709551615\n"),
                      "m.mtx: line 3: value '18446744073709551615' has more digits than f64 holds");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_lines_test
