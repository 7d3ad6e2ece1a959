#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/matrix_market.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_vector_test {
namespace {

std::string file_of(const char* banner, const std::string& rest) {
  return fmt::format("%%MatrixMarket matrix {}\n{}", banner, rest);
}

const auto any_count = [](std::uint64_t) {};

template <class Value = double>
std::vector<Value> parse_vector(const std::string& file, const io::matrix_market_options& options = {},
                                const std::function<void(std::uint64_t)>& check_count = any_count) {
  return io::parse_matrix_market_vector<Value>(bytes_of(file), "b.mtx", check_count, options);
}

void expect_vector_error(const std::string& file, const std::string& message) {
  expect_error(error_code::bad_input, message, [&] { parse_vector(file); });
}

TEST(MatrixMarketVector, IsAnArrayOfOneColumnOrOneRow) {
  const std::vector<double> expected{1.5, 0, -3};
  for (const char* const sizes : {"3 1", "1 3"}) {
    EXPECT_EQ(parse_vector(file_of("array real general", fmt::format("{}\n1.5\n0\n-3\n", sizes))), expected);
    EXPECT_EQ(parse_vector(gzipped(file_of("array double general", fmt::format("{}\n1.5\n\n0\n-3", sizes)))), expected);
  }
  EXPECT_EQ(parse_vector(file_of("array integer general", "2 1\n7\n8.0\n")), (std::vector<double>{7, 8}));
  EXPECT_EQ(parse_vector(file_of("array real symmetric", "1 1\n7\n")), (std::vector<double>{7}));
  EXPECT_EQ(parse_vector<float>(file_of("array real general", "2 1\n0.1\n1e-60\n")), (std::vector<float>{0.1F, 0}));
  EXPECT_TRUE(std::isnan(parse_vector(file_of("array real general", "1 1\nnan\n"))[0]));
}

TEST(MatrixMarketVector, IsMadeOfTheCoordinatesOfOneColumnOrOneRow) {
  const std::vector<double> expected{0, 6, 0, 5};
  EXPECT_EQ(parse_vector(file_of("coordinate real general", "4 1 2\n4 1 5\n2 1 6\n")), expected);
  EXPECT_EQ(parse_vector(file_of("coordinate real general", "1 4 2\n1 4 5\n1 2 6\n")), expected);
  EXPECT_EQ(parse_vector(file_of("coordinate integer general", "4 1 3\n4 1 5\n2 1 2\n2 1 4\n")), expected);
  EXPECT_EQ(parse_vector(file_of("coordinate pattern general", "3 1 1\n2 1\n")), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(parse_vector(file_of("coordinate real general", "3 1 0\n")), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(parse_vector(file_of("coordinate real general", "0 1 0\n")), std::vector<double>());
}

TEST(MatrixMarketVector, IsTheSameWhateverTheThreads) {
  constexpr std::uint64_t count = 3000;
  std::string numbers = file_of("array real general", fmt::format("{} 1\n", count));
  std::string places = file_of("coordinate real general", fmt::format("{} 1 {}\n", count, count / 2));
  std::vector<double> dense;
  std::vector<double> sparse(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    dense.push_back(static_cast<double>(i * i % 1009) / 8);
    numbers += fmt::format("{}\n", dense.back());
    if (i % 2 == 0) {
      const std::uint64_t place = (i / 2 * 7919) % count;
      sparse[place] += dense.back();
      places += fmt::format("{} 1 {}\n", place + 1, dense.back());
    }
  }
  for (const int threads : {1, 2, 5}) {
    for (const std::uint64_t part_bytes : {1, 500, 1 << 20}) {
      EXPECT_EQ(parse_vector(numbers, {.threads = threads, .part_bytes = part_bytes}), dense);
      EXPECT_EQ(parse_vector(places, {.threads = threads, .part_bytes = part_bytes}), sparse);
    }
  }
}

TEST(MatrixMarketVector, HasNoInfinityThatIsASumOfFiniteEntries) {
  const std::string sum = file_of("coordinate real general", "3 1 2\n2 1 1e308\n2 1 1e308\n");
  expect_vector_error(sum, "b.mtx: the entries at (2, 1) add up to more than f64 holds");
  const std::string narrow = file_of("coordinate real general", "1 3 2\n1 3 2e38\n1 3 2e38\n");
  expect_error(error_code::bad_input, "b.mtx: the entries at (1, 3) add up to more than f32 holds",
               [&] { parse_vector<float>(narrow); });
  EXPECT_EQ(parse_vector(narrow)[2], 4e38);
  EXPECT_EQ(parse_vector(file_of("coordinate real general", "1 1 2\n1 1 inf\n1 1 1\n"))[0], HUGE_VAL);
}

TEST(MatrixMarketVector, WithMoreRowsAndColumnsIsRefused) {
  expect_vector_error(file_of("array real general", "3 2\n1\n2\n3\n4\n5\n6\n"),
                      "b.mtx: line 2: a vector has one column or one row, not 3 rows and 2 columns");
  expect_vector_error(file_of("coordinate real general", "0 0 0\n"),
                      "b.mtx: line 2: a vector has one column or one row, not 0 rows and 0 columns");
  expect_vector_error(file_of("coordinate real symmetric", "3 1 1\n2 1 1\n"),
                      "b.mtx: line 2: 3 x 1 is not square, but the banner says symmetric");
  expect_vector_error(file_of("coordinate real general", "3 1 1\n4 1 1\n"), "b.mtx: line 3: row 4 is not in 1 to 3");
  expect_vector_error(file_of("array real general", "3 1\n1\n2\n3\n4\n"),
                      "b.mtx: line 6: '4' follows the 3 numbers of 3 x 1 that line 2 announces");
  expect_vector_error(file_of("array real general", "3 1\n1\nx\n3\n"), "b.mtx: line 4: value 'x' is not a number");
  expect_vector_error(file_of("array complex general", "1 1\n1 0\n"),
                      "b.mtx: line 1: complex values are not read: real, double, integer, unsigned-integer and pattern "
                      "are");
  expect_vector_error("PK\x03\x04",
                      "b.mtx: not a MatrixMarket file, but a zip archive, as .npz files are: unpack it, or write the "
                      "matrix by scipy.io.mmwrite");
}

// The caller knows how many numbers it wants; so a few bytes take no memory for others, and one entry may have any
// number of rows that is wanted.
TEST(MatrixMarketVector, IsCountedBeforeMemoryIsTaken) {
  std::uint64_t seen = 0;
  const auto refuse = [&](std::uint64_t count) {
    seen = count;
    throw error(error_code::bad_argument, "too many");
  };
  const std::string huge = file_of("coordinate real general", "9000000000000000000 1 1\nnot read\n");
  EXPECT_THROW(parse_vector(huge, {}, refuse), error);
  EXPECT_EQ(seen, 9'000'000'000'000'000'000U);
  const std::string message = message_of(error_code::out_of_memory, [&] { parse_vector(huge); });
  EXPECT_TRUE(
      message.starts_with("b.mtx: line 2: reading a vector of 9000000000000000000 numbers and 1 entries takes "
                          "72000000000000000024 bytes, "))
      << message;
  const std::vector<float> long_one = parse_vector<float>(file_of("coordinate real general", "20000000 1 1\n7 1 5\n"));
  EXPECT_EQ(long_one.size(), 20'000'000U);
  EXPECT_EQ(long_one[6], 5);
}

TEST(MatrixMarketVector, IsNamedByItsPath) {
  const temporary_folder folder;
  const std::string path = folder.write("b.mtx", file_of("array real general", "1 1\nx\n"));
  expect_error(error_code::bad_input, path + ": line 3: value 'x' is not a number",
               [&] { io::read_matrix_market_vector<double>(path, any_count); });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_vector_test
