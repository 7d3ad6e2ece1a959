#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/matrix_market.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_write_test {
namespace {

using io::matrix_market_field;
using columns_of_32_bits = std::vector<std::uint32_t>;
using columns_of_64_bits = std::vector<std::uint64_t>;

template <class Value>
std::string format(const io::csr_matrix<Value>& matrix, matrix_market_field field = matrix_market_field::real) {
  std::string text;
  io::format_matrix_market(matrix, field, [&](std::string_view piece) { text += piece; });
  return text;
}

io::csr_matrix<double> small() { return {3, 4, {0, 2, 2, 3}, columns_of_32_bits{0, 3, 1}, {-7, 1e300, 2}}; }

// One row of these values.
template <class Value>
io::csr_matrix<Value> row_of(std::vector<Value> values) {
  columns_of_32_bits columns(values.size());
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<std::uint32_t>(i);
  return {1, values.size(), {0, values.size()}, std::move(columns), std::move(values)};
}

template <class Bits, class Value>
std::vector<Value> random_values(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Value> values;
  while (values.size() < 20000) {
    const auto value = std::bit_cast<Value>(static_cast<Bits>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

TEST(MatrixMarketWrite, TextIsWrittenRowByRow) {
  EXPECT_EQ(format(small()), "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 -7\n1 4 1e+300\n3 2 2\n");
  EXPECT_EQ(format(small(), matrix_market_field::pattern),
            "%%MatrixMarket matrix coordinate pattern general\n3 4 3\n1 1\n1 4\n3 2\n");
  io::csr_matrix<double> whole = small();
  whole.values = {-7, -9223372036854775808.0, -0.0};
  EXPECT_EQ(format(whole, matrix_market_field::integer),
            "%%MatrixMarket matrix coordinate integer general\n3 4 3\n1 1 -7\n1 4 -9223372036854775808\n3 2 0\n");
  EXPECT_EQ(format(io::csr_matrix<double>{}), "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
}

TEST(MatrixMarketWrite, ValuesAreReadBackBitByBit) {
  using limits = std::numeric_limits<double>;
  const auto edges = row_of<double>({0.0, -0.0, 0.1, 1.0 / 3, limits::max(), -limits::max(), limits::min(),
                                     limits::denorm_min(), -limits::denorm_min(), limits::infinity(),
                                     -limits::infinity(), limits::quiet_NaN(), 9007199254740992, 5e-324});
  expect_same_matrix(parse_market(format(edges)), edges);
  const auto many = row_of(random_values<std::uint64_t, double>(11));
  expect_same_matrix(parse_market(format(many)), many);
}

TEST(MatrixMarketWrite, FloatsAreReadBackBitByBit) {
  const auto many = row_of(random_values<std::uint32_t, float>(12));
  expect_same_matrix(parse_market<float>(format(many)), many);
}

TEST(MatrixMarketWrite, WideColumnsAreWritten) {
  const io::csr_matrix<double> matrix{1, 4294967297, {0, 2}, columns_of_64_bits{0, 4294967296}, {1, 2}};
  EXPECT_EQ(format(matrix), "%%MatrixMarket matrix coordinate real general\n1 4294967297 2\n1 1 1\n1 4294967297 2\n");
  expect_same_matrix(parse_market(format(matrix)), matrix);
}

TEST(MatrixMarketWrite, FilesOfSeveralPiecesAreReadBack) {
  const temporary_folder folder;
  std::mt19937_64 random(13);
  constexpr std::uint64_t rows = 60000;
  io::csr_matrix<double> matrix{rows, 2 * rows, {0}, {}, {}};
  columns_of_32_bits columns;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = random() % rows; column < 2 * rows; column += 1 + random() % rows) {
      columns.push_back(static_cast<std::uint32_t>(column));
      matrix.values.push_back(std::ldexp(static_cast<double>(random() >> 11), -53));
    }
    matrix.row_offsets.push_back(columns.size());
  }
  matrix.column_indices = columns;
  io::write_matrix_market(folder / "a.mtx", matrix);
  EXPECT_GT(folder.read("a.mtx").size(), std::size_t{1} << 21) << "one piece";
  for (const int threads : {1, 2, 4}) {
    expect_same_matrix(io::read_matrix_market<double>(folder / "a.mtx", {.threads = threads}), matrix);
  }
  io::write_matrix_market(folder / "a.mtx", small(), matrix_market_field::pattern);
  EXPECT_EQ(folder.read("a.mtx"), format(small(), matrix_market_field::pattern));
  EXPECT_EQ(folder.count(), 1U);
}

TEST(MatrixMarketWrite, ArraysThatAreNoMatrixAreRefused) {
  const auto expect_refused = [](const io::csr_matrix<double>& matrix, std::string_view message) {
    expect_error(error_code::bad_argument, message, [&] { format(matrix); });
  };
  io::csr_matrix<double> matrix = small();
  matrix.row_offsets.pop_back();
  expect_refused(matrix, "matrix: 3 row offsets for 3 rows, not one more");
  matrix.row_offsets.clear();
  expect_refused(matrix, "matrix: 0 row offsets for 3 rows, not one more");
  matrix = small();
  matrix.row_offsets = {1, 2, 2, 3};
  expect_refused(matrix, "matrix: row offset 0 is 1, not 0");
  matrix.row_offsets = {0, 2, 1, 3};
  expect_refused(matrix, "matrix: row offset 2 is 1, below 2");
  matrix.row_offsets = {0, 2, 2, 4};
  expect_refused(matrix, "matrix: the last row offset is 4, but there are 3 values");
  matrix = small();
  matrix.column_indices = columns_of_32_bits{0, 3};
  expect_refused(matrix, "matrix: 2 columns but 3 values");
  matrix.column_indices = columns_of_32_bits{0, 4, 1};
  expect_refused(matrix, "matrix: row 0: column 4 is not below 4");
  matrix.column_indices = columns_of_32_bits{3, 3, 1};
  expect_refused(matrix, "matrix: row 0: column 3 follows column 3");
}

TEST(MatrixMarketWrite, IntegersAreWholeNumbers) {
  for (const double value : {0.5, 9223372036854775808.0, std::nan(""), -1e30}) {
    SCOPED_TRACE(value);
    expect_error(error_code::bad_argument, fmt::format("matrix: value 1 is {}, not a whole number of 64 bits", value),
                 [&] {
                   format(row_of<double>({1, value}), matrix_market_field::integer);
                 });
  }
}

TEST(MatrixMarketWrite, WhatFailsLeavesNothingBehind) {
  const temporary_folder folder;
  folder.write("a.mtx", "before");
  io::csr_matrix<double> matrix = small();
  matrix.values[2] = 0.5;
  EXPECT_THROW(io::write_matrix_market(folder / "a.mtx", matrix, matrix_market_field::integer), error);
  EXPECT_EQ(folder.read("a.mtx"), "before");
  EXPECT_EQ(folder.count(), 1U);
  expect_error(error_code::io_failure, folder / "none/a.mtx" + ": cannot be created: No such file or directory",
               [&] { io::write_matrix_market(folder / "none/a.mtx", small()); });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_write_test
