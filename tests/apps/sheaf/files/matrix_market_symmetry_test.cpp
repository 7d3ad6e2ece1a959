#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/matrix_market.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_symmetry_test {
namespace {

std::string coordinate(const char* field, const char* symmetry, const std::string& rest) {
  return fmt::format("%%MatrixMarket matrix coordinate {} {}\n{}", field, symmetry, rest);
}

TEST(MatrixMarketSymmetry, EntriesMayLieOnEitherSideOfTheDiagonal) {
  const doubles symmetric{{0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {1, 0, 2}, {1, 2, 4}, {2, 0, 3}, {2, 1, 4}};
  for (const char* const entries :
       {"1 1 1\n2 1 2\n3 1 3\n3 2 4\n", "1 1 1\n1 2 2\n1 3 3\n2 3 4\n", "2 3 4\n3 1 3\n1 2 2\n1 1 1\n"}) {
    SCOPED_TRACE(entries);
    for (const std::uint64_t part_bytes : {1, 1000}) {
      EXPECT_EQ(entries_of(parse_market(coordinate("real", "symmetric", fmt::format("3 3 4\n{}", entries)),
                                        {.threads = 2, .part_bytes = part_bytes})),
                symmetric);
    }
  }
  EXPECT_EQ(entries_of(parse_market(coordinate("pattern", "symmetric", "3 3 2\n1 2\n3 2\n"))),
            (doubles{{0, 1, 1}, {1, 0, 1}, {1, 2, 1}, {2, 1, 1}}));
}

// Of a skew-symmetric matrix, the entry that is given keeps its sign.
TEST(MatrixMarketSymmetry, SkewEntriesMayLieOnEitherSideOfTheDiagonal) {
  const doubles skew{{0, 1, 5}, {0, 2, -7}, {1, 0, -5}, {2, 0, 7}};
  for (const char* const entries : {"1 2 5\n1 3 -7\n", "2 1 -5\n3 1 7\n", "3 1 7\n1 2 5\n"}) {
    SCOPED_TRACE(entries);
    EXPECT_EQ(entries_of(parse_market(coordinate("integer", "skew-symmetric", fmt::format("3 3 2\n{}", entries)))),
              skew);
  }
  expect_market_error(coordinate("real", "skew-symmetric", "3 3 2\n2 1 1\n2 2 5.5\n"),
                      "m.mtx: line 4: entry (2, 2) on the diagonal of a skew-symmetric matrix is 5.5, not 0");
}

TEST(MatrixMarketSymmetry, PairsThatAreGivenOnBothSidesAreRefused) {
  const auto expect_twice = [](const std::string& file, const std::string& message) {
    for (const int threads : {1, 3}) {
      for (const std::uint64_t part_bytes : {1, 20, 1 << 20}) {
        expect_market_error(file, message, {.threads = threads, .part_bytes = part_bytes});
        expect_market_error<float>(file, message, {.threads = threads, .part_bytes = part_bytes});
      }
    }
  };
  expect_twice(coordinate("real", "symmetric", "2 2 3\n1 1 1\n2 1 5\n1 2 5\n"),
               "m.mtx: line 5: entry (1, 2) is entry (2, 1) of line 4 again: a symmetric file gives one of the two, "
               "which stands for both");
  expect_twice(coordinate("pattern", "symmetric", "% c\n2 2 2\n\n1 2\n% c\n2 1 % c\n"),
               "m.mtx: line 7: entry (2, 1) is entry (1, 2) of line 5 again: a symmetric file gives one of the two, "
               "which stands for both");
  expect_twice(coordinate("real", "skew-symmetric", "2 2 2\n2 1 5\n1 2 -5\n"),
               "m.mtx: line 4: entry (1, 2) is entry (2, 1) of line 3 again: a skew-symmetric file gives one of the "
               "two, which stands for both");
  // The first such line of several, whatever is given twice on one side before.
  expect_twice(coordinate("real", "symmetric", "9 9 7\n9 1 1\n9 1 2\n3 8 1\n8 3 1\n2 1 1\n1 2 1\n1 9 1\n"),
               "m.mtx: line 6: entry (8, 3) is entry (3, 8) of line 5 again: a symmetric file gives one of the two, "
               "which stands for both");
}

TEST(MatrixMarketSymmetry, EntriesOfOnePlaceAreAddedWhereOthersLieOnTheOtherSide) {
  EXPECT_EQ(entries_of(parse_market(coordinate("real", "symmetric", "3 3 5\n2 1 1\n2 1 2\n1 1 4\n2 3 8\n2 3 16\n"))),
            (doubles{{0, 0, 4}, {0, 1, 3}, {1, 0, 3}, {1, 2, 24}, {2, 1, 24}}));
  EXPECT_EQ(entries_of(parse_market(coordinate("real", "general", "2 2 3\n1 2 1\n2 1 2\n1 2 4\n"))),
            (doubles{{0, 1, 5}, {1, 0, 2}}));
}

// Each pair is turned by chance; of two files, one has a single pair that is given again on the other side.
TEST(MatrixMarketSymmetry, LargeFilesAreReadWhateverTheSides) {
  constexpr std::uint64_t rows = 700;
  std::mt19937_64 random(17);
  std::string lower;
  std::string turned;
  std::uint64_t count = 0;
  for (std::uint64_t row = 1; row <= rows; ++row) {
    for (std::uint64_t column = 1; column <= row; column += 1 + random() % 50) {
      const std::uint64_t value = random() % 1000;
      lower += fmt::format("{} {} {}\n", row, column, value);
      const bool turns = random() % 2 == 0;
      turned += fmt::format("{} {} {}\n", turns ? column : row, turns ? row : column, value);
      ++count;
    }
  }
  const auto file_of = [&](std::uint64_t entries, const std::string& lines) {
    return coordinate("real", "symmetric", fmt::format("{0} {0} {1}\n{2}", rows, entries, lines));
  };
  const auto expected = parse_market(file_of(count, lower), {.threads = 1});
  for (const int threads : {1, 2, 5}) {
    expect_same_matrix(parse_market(file_of(count, turned), {.threads = threads, .part_bytes = 500}), expected);
  }
  const std::string first = turned.substr(0, turned.find('\n', turned.find('\n') + 1) + 1);
  EXPECT_TRUE(first.starts_with("1 1 ") && (first.find("\n2 1 ") != first.npos || first.find("\n1 2 ") != first.npos));
  const bool is_above = first.find("\n1 2 ") != first.npos;
  expect_market_error(
      file_of(count + 1, turned + (is_above ? "2 1 3\n" : "1 2 3\n")),
      fmt::format("m.mtx: line {}: entry {} is entry {} of line 4 again: a symmetric file gives one of the two, which "
                  "stands for both",
                  count + 3, is_above ? "(2, 1)" : "(1, 2)", is_above ? "(1, 2)" : "(2, 1)"));
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_symmetry_test
