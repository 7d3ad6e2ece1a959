#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/matrix_market.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_entries_test {
namespace {

using offsets = std::vector<std::uint64_t>;

std::string coordinate(const char* field, const char* symmetry, const std::string& rest) {
  return fmt::format("%%MatrixMarket matrix coordinate {} {}\n{}", field, symmetry, rest);
}
std::string general(const std::string& rest) { return coordinate("real", "general", rest); }
std::string array(const char* symmetry, const std::string& rest) {
  return fmt::format("%%MatrixMarket matrix array real {}\n{}", symmetry, rest);
}

TEST(MatrixMarket, EntriesBecomeCompressedRowsWhoseColumnsAscend) {
  const auto matrix = parse_market(general("4 5 6\n4 5 1\n1 4 2\n3 1 3\n1 2 4\n1 5 5\n3 3 6\n"));
  EXPECT_EQ(matrix.rows, 4U);
  EXPECT_EQ(matrix.columns, 5U);
  EXPECT_EQ(matrix.row_offsets, (offsets{0, 3, 3, 5, 6}));
  EXPECT_EQ(matrix.column_indices, (io::csr_columns(std::vector<std::uint32_t>{1, 3, 4, 0, 2, 4})));
  EXPECT_EQ(matrix.values, (std::vector<double>{4, 2, 5, 3, 6, 1}));
  EXPECT_EQ(matrix.columns_of_entries().count, 6U);
  EXPECT_EQ(matrix.columns_of_entries().type, index_type::u32);
}

TEST(MatrixMarket, MatricesWithoutEntriesRowsOrColumnsAreRead) {
  EXPECT_EQ(parse_market(general("3 2 0\n")).row_offsets, (offsets{0, 0, 0, 0}));
  EXPECT_EQ(parse_market(general("0 0 0")).row_offsets, (offsets{0}));
  EXPECT_EQ(parse_market(general("0 7 0\n\n\n")).columns, 7U);
  EXPECT_EQ(parse_market(general("2 0 0\n")).row_offsets, (offsets{0, 0, 0}));
  EXPECT_EQ(parse_market(array("general", "0 5\n")).row_offsets, (offsets{0}));
  EXPECT_EQ(parse_market(array("skew-symmetric", "1 1\n")).row_offsets, (offsets{0, 0}));
  EXPECT_EQ(parse_market(array("symmetric", "0 0\n")).row_offsets, (offsets{0}));
}

TEST(MatrixMarket, BlanksBlankLinesAndCarriageReturnsAreSkipped) {
  const doubles expected{{0, 1, 5}, {1, 0, 6}};
  EXPECT_EQ(entries_of(parse_market(general("2 2 2\r\n1 2 5\r\n2 1 6\r\n"))), expected);
  EXPECT_EQ(entries_of(parse_market(general("2 2 2\n\n \t\n  1\t2   5  \t\n\r\n\n2 1 6\n\n\n"))), expected);
  EXPECT_EQ(entries_of(parse_market(general("2 2 2\n1 2 5\n2 1 6"))), expected);
  EXPECT_EQ(entries_of(parse_market(general("2 2 2\n+1 +02 +5\n2 0000000000000000000000001 6  "))), expected);
}

TEST(MatrixMarket, ValuesAreReadByTheirField) {
  EXPECT_EQ(entries_of(parse_market(general("1 3 3\n1 1 1.0D+03\n1 2 -inf\n1 3 .5\n"))),
            (doubles{{0, 0, 1000}, {0, 1, -std::numeric_limits<double>::infinity()}, {0, 2, .5}}));
  EXPECT_EQ(entries_of(parse_market(coordinate("integer", "general", "1 2 2\n1 1 -7\n1 2 +9007199254740992\n"))),
            (doubles{{0, 0, -7}, {0, 1, 9007199254740992}}));
  EXPECT_EQ(entries_of(parse_market(coordinate("pattern", "general", "1 2 2\n1 1\n1 2 \n"))),
            (doubles{{0, 0, 1}, {0, 1, 1}}));
  EXPECT_TRUE(std::isnan(parse_market(general("1 1 1\n1 1 NaN\n")).values[0]));
}

TEST(MatrixMarket, FloatsAreReadLikewise) {
  EXPECT_EQ(entries_of(parse_market<float>(general("1 2 3\n1 2 0.1\n1 1 1e-60\n1 2 0.2\n"))),
            (floats{{0, 0, 0}, {0, 1, 0.1F + 0.2F}}));
  expect_market_error<float>(general("1 1 1\n1 1 1e39\n"), "m.mtx: line 3: value '1e39' is past the range of f32");
  expect_market_error<float>(coordinate("integer", "general", "1 1 1\n1 1 16777217\n"),
                             "m.mtx: line 3: value '16777217' has more digits than f32 holds");
}

TEST(MatrixMarket, ZerosOfCoordinatesStayAndThoseOfArraysAreDropped) {
  EXPECT_EQ(entries_of(parse_market(general("1 2 2\n1 1 0\n1 2 -0.0\n"))), (doubles{{0, 0, 0}, {0, 1, -0.0}}));
  EXPECT_EQ(entries_of(parse_market(array("general", "1 3\n0\n-0.0\n2\n"))), (doubles{{0, 2, 2}}));
}

TEST(MatrixMarket, SymmetricFilesBecomeWholeMatrices) {
  const std::string entries = "3 3 4\n1 1 1\n2 1 2\n3 1 3\n3 2 4\n";
  EXPECT_EQ(entries_of(parse_market(coordinate("real", "symmetric", entries))),
            (doubles{{0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {1, 0, 2}, {1, 2, 4}, {2, 0, 3}, {2, 1, 4}}));
  EXPECT_EQ(entries_of(parse_market(coordinate("integer", "skew-symmetric", "3 3 3\n2 1 2\n2 2 0\n3 2 -4\n"))),
            (doubles{{0, 1, -2}, {1, 0, 2}, {1, 1, 0}, {1, 2, 4}, {2, 1, -4}}));
  EXPECT_EQ(entries_of(parse_market(coordinate("pattern", "symmetric", "2 2 2\n2 1\n2 2\n"))),
            (doubles{{0, 1, 1}, {1, 0, 1}, {1, 1, 1}}));
}

TEST(MatrixMarket, ArraysAreListedColumnByColumn) {
  EXPECT_EQ(entries_of(parse_market(array("general", "2 3\n1\n2\n3\n4\n5\n6\n"))),
            (doubles{{0, 0, 1}, {0, 1, 3}, {0, 2, 5}, {1, 0, 2}, {1, 1, 4}, {1, 2, 6}}));
  EXPECT_EQ(
      entries_of(parse_market(array("symmetric", "3 3\n1\n2\n3\n4\n5\n6"))),
      (doubles{{0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {1, 0, 2}, {1, 1, 4}, {1, 2, 5}, {2, 0, 3}, {2, 1, 5}, {2, 2, 6}}));
  EXPECT_EQ(entries_of(parse_market(array("skew-symmetric", "3 3\n1\n2\n3\n"))),
            (doubles{{0, 1, -1}, {0, 2, -2}, {1, 0, 1}, {1, 2, -3}, {2, 0, 2}, {2, 1, 3}}));
}

TEST(MatrixMarket, ArraysHaveAsManyNumbersAsTheirSizeSays) {
  expect_market_error(array("general", "2 2\n1\n\n2\n3\n\n\n\n\n"),
                      "m.mtx: line 10: the file ends after 3 of the 4 numbers of 2 x 2 that line 2 announces");
  expect_market_error(array("general", "2 2\n1\n2\n3\n4\n\n5\n"),
                      "m.mtx: line 8: '5' follows the 4 numbers of 2 x 2 that line 2 announces");
  expect_market_error(array("symmetric", "3 3\n1\n2\n3\n4\n5 \n"),
                      "m.mtx: line 7: the file ends after 5 of the 6 numbers of 3 x 3 that line 2 announces");
  expect_market_error(array("symmetric", "2 2\n1\n2\n3\n4\n"),
                      "m.mtx: line 6: '4' follows the 3 numbers of 2 x 2 that line 2 announces");
  expect_market_error(array("skew-symmetric", "2 2\n1\n2\n"),
                      "m.mtx: line 4: '2' follows the 1 numbers of 2 x 2 that line 2 announces");
  expect_market_error(array("general", "1 2\n1 2\n3\n"),
                      "m.mtx: line 3: '2' follows the number, and an array has one number in each line");
}

TEST(MatrixMarket, CoordinatesHaveAsManyEntriesAsTheSizeLineSays) {
  expect_market_error(general("3 3 3\n1 1 1.000\n2 2 2.000\n"),
                      "m.mtx: line 4: the file ends after 2 of the 3 entries that line 2 announces");
  expect_market_error(general("3 3 3\n1 1 1.000\n2 2 2.000"),
                      "m.mtx: line 4: the file ends after 2 of the 3 entries that line 2 announces");
  expect_market_error(general("% c\n3 3 1\n1 1 1\n\n2 2 2 \n3 3 3\n"),
                      "m.mtx: line 6: '2 2 2' follows the 1 entries that line 3 announces");
  expect_market_error(general("3 3 0\ndone\n"), "m.mtx: line 3: 'done' follows the 0 entries that line 2 announces");
}

TEST(MatrixMarket, PlacesOutsideTheMatrixAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"0 1 1", "row 0 is not in 1 to 3"},
      {"4 1 1", "row 4 is not in 1 to 3"},
      {"+4 1 1", "row +4 is not in 1 to 3"},
      {"1 0 1", "column 0 is not in 1 to 4"},
      {"1 5 1", "column 5 is not in 1 to 4"},
      {"18446744073709551615 1 1", "row 18446744073709551615 is not in 1 to 3"},
      {"18446744073709551617 1 1", "row 18446744073709551617 is not in 1 to 3"},
      {"1 4294967297 1", "column 4294967297 is not in 1 to 4"},
  };
  for (const auto& [line, message] : cases) {
    SCOPED_TRACE(line);
    expect_market_error(general(fmt::format("3 4 2\n1 1 1\n{}\n", line)), fmt::format("m.mtx: line 4: {}", message));
  }
  expect_market_error(general("0 0 1\n1 1 1\n"), "m.mtx: line 3: row 1 is not in 1 to 0");
}

TEST(MatrixMarket, LinesThatAreNoEntryAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"-1 1 1", "row '-1' is not a whole number"},
      {"1.0 1 1", "row '1.0' is not a whole number"},
      {"1x 1 1", "row '1x' is not a whole number"},
      {"+ 1 1", "row '+' is not a whole number"},
      {"1 two 1", "column 'two' is not a whole number"},
      {"1,1,1", "row '1,1,1' is not a whole number"},
      {"1      ", "the line ends before its column"},
      {"1 1    ", "the line ends before its value, but the banner says real"},
      {"1 1 abc", "value 'abc' is not a number"},
      {"1 1 1.5x", "value '1.5x' is not a number"},
      {"1 1 ******", "value '******' is not a number"},
      {"1 1 1e999", "value '1e999' is past the range of f64"},
      {"1 1 1 1", "'1' follows the entry"},
      {"1 1 \x02\xff", R"(value '\x02\xff' is not a number)"},
  };
  for (const auto& [line, message] : cases) {
    SCOPED_TRACE(line);
    expect_market_error(general(fmt::format("3 4 2\n\n{}\n1 1 1\n", line)), fmt::format("m.mtx: line 4: {}", message));
  }
  expect_market_error(
      coordinate("pattern", "general", "1 1 1\n1 1 1\n"),
      "m.mtx: line 3: '1' follows the entry, but the banner says pattern, whose entries have no values");
  expect_market_error(general("1 1 1\n1 1 1" + std::string(1, '\0')),
                      R"(m.mtx: line 3: value '1\x00' is not a number)");
  expect_market_error(general("1 1 1\n" + std::string(70, 'x')),
                      "m.mtx: line 3: row '" + std::string(60, 'x') + "...' is not a whole number");
}

TEST(MatrixMarket, IntegersAreWholeNumbersThatAreHeldExactly) {
  const std::pair<const char*, const char*> cases[] = {
      {"1.5", "value '1.5' is not a whole number"},
      {"1e-3", "value '1e-3' is not a whole number"},
      {"x", "value 'x' is not a whole number"},
      {"9007199254740993", "value '9007199254740993' has more digits than f64 holds"},
      {"9223372036854775808", "value '9223372036854775808' is past the range of i64"},
  };
  for (const auto& [value, message] : cases) {
    SCOPED_TRACE(value);
    expect_market_error(coordinate("integer", "general", fmt::format("1 1 1\n1 1 {}\n", value)),
                        fmt::format("m.mtx: line 3: {}", message));
  }
}

TEST(MatrixMarket, ColumnsTakeSixtyFourBitsWhereThirtyTwoAreTooFew) {
  const auto narrow = parse_market(general("2 4294967296 1\n2 4294967296 1\n"));
  EXPECT_EQ(narrow.column_indices, (io::csr_columns(std::vector<std::uint32_t>{4294967295U})));
  const auto wide = parse_market(general("2 4294967297 3\n2 4294967297 1\n2 1 2\n1 4294967296 3\n"));
  EXPECT_EQ(wide.column_indices, (io::csr_columns(std::vector<std::uint64_t>{4294967295U, 0, 4294967296U})));
  EXPECT_EQ(wide.columns_of_entries().type, index_type::u64);
  EXPECT_EQ(entries_of(parse_market<float>(general("1 9223372036854775807 1\n1 9223372036854775807 1\n"))),
            (floats{{0, 9223372036854775806U, 1}}));
}

TEST(MatrixMarket, EntriesOfOnePlaceAreAddedInTheOrderOfTheFile) {
  // 1e16 swallows a 1 that is added to it, so that any other order has another sum.
  const std::string file = general("3 3 6\n2 2 1e16\n3 1 7\n2 2 1\n2 1 5\n2 2 -1e16\n2 2 0.5\n");
  const doubles expected{{1, 0, 5}, {1, 1, 0.5}, {2, 0, 7}};
  EXPECT_EQ(entries_of(parse_market(file)), expected);
  for (const int threads : {1, 2, 3}) {
    const auto matrix = parse_market(file, {.threads = threads, .part_bytes = 1});
    EXPECT_EQ(entries_of(matrix), expected);
    EXPECT_EQ(matrix.row_offsets, (offsets{0, 0, 2, 3}));
    EXPECT_EQ(matrix.values.size(), 3U);
  }
  EXPECT_EQ(entries_of(parse_market(coordinate("real", "symmetric", "2 2 3\n2 1 1\n2 1 2\n1 1 4\n"))),
            (doubles{{0, 0, 4}, {0, 1, 3}, {1, 0, 3}}));
}

TEST(MatrixMarket, EntriesOfOnePlaceHaveASumThatTheTypeHolds) {
  const std::string file = general("3 4 5\n3 4 3e38\n2 3 3e38\n3 4 3e38\n2 3 2e38\n1 1 1\n");
  for (const int threads : {1, 3}) {
    expect_market_error<float>(file, "m.mtx: the entries at (2, 3) add up to more than f32 holds",
                               {.threads = threads, .part_bytes = 1});
  }
  EXPECT_EQ(entries_of(parse_market(file)), (doubles{{0, 0, 1}, {1, 2, 3e38 + 2e38}, {2, 3, 3e38 + 3e38}}));
  expect_market_error(general("2 2 2\n1 2 -1e308\n1 2 -1e308\n"),
                      "m.mtx: the entries at (1, 2) add up to more than f64 holds");
  expect_market_error<float>(coordinate("real", "symmetric", "3 3 2\n3 1 3e38\n3 1 3e38\n"),
                             "m.mtx: the entries at (3, 1) add up to more than f32 holds");
  // Infinity that the file has is no sum.
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(entries_of(parse_market(general("1 1 2\n1 1 inf\n1 1 1e308\n"))), (doubles{{0, 0, infinite}}));
}

// Entries at random, many of one place, and what becomes of them.
struct random_matrix {
  std::string file;
  doubles entries;
};

random_matrix make_random(std::uint64_t rows, std::uint64_t columns, std::uint64_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  random_matrix made{general(fmt::format("{} {} {}\n", rows, columns, count)), {}};
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> sums;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t row = random() % rows;
    const std::uint64_t column = random() % columns;
    const double value = std::ldexp(static_cast<double>(random() >> 11), -30 - static_cast<int>(random() % 40));
    made.file += fmt::format("{} {} {}\n", row + 1, column + 1, value);
    const auto [place, is_new] = sums.emplace(std::pair(row, column), value);
    if (!is_new) place->second += value;
  }
  for (const auto& [place, value] : sums) made.entries.push_back({place.first, place.second, value});
  return made;
}

TEST(MatrixMarket, ThreadsReadTheSameMatrix) {
  const std::array<std::uint64_t, 3> shapes[] = {{1, 50, 300},   {50, 1, 300},   {40, 40, 3000},   {511, 3, 2000},
                                                 {512, 9, 2000}, {513, 9, 2000}, {100000, 7, 3000}};
  unsigned seed = 1;
  for (const auto& [rows, columns, count] : shapes) {
    SCOPED_TRACE(fmt::format("{} x {}, seed {}", rows, columns, seed));
    const random_matrix made = make_random(rows, columns, count, seed++);
    for (const int threads : {1, 2, 5}) {
      for (const std::uint64_t part_bytes : {1, 100, 5000}) {
        const auto matrix = parse_market(made.file, {.threads = threads, .part_bytes = part_bytes});
        EXPECT_EQ(matrix.row_offsets.size(), rows + 1);
        EXPECT_EQ(matrix.row_offsets.back(), matrix.entries());
        EXPECT_EQ(entries_of(matrix), made.entries);
      }
    }
    expect_same_matrix(parse_market(made.file), parse_market(made.file, {.threads = 1}));
  }
}

TEST(MatrixMarket, ThreadsReadTheSameArray) {
  for (const char* const symmetry : {"general", "symmetric", "skew-symmetric"}) {
    SCOPED_TRACE(symmetry);
    const std::uint64_t rows = 23;
    const std::uint64_t numbers = symmetry == std::string("general")     ? rows * rows
                                  : symmetry == std::string("symmetric") ? rows * (rows + 1) / 2
                                                                         : rows * (rows - 1) / 2;
    std::string file = array(symmetry, fmt::format("{} {}\n", rows, rows));
    for (std::uint64_t i = 0; i < numbers; ++i) file += fmt::format("{}\n{}", i % 7, i % 5 == 0 ? "\n" : "");
    const auto expected = parse_market(file, {.threads = 1});
    for (const std::uint64_t part_bytes : {1, 10, 100}) {
      expect_same_matrix(parse_market(file, {.threads = 3, .part_bytes = part_bytes}), expected);
    }
  }
}

TEST(MatrixMarket, ThreadsReportTheFirstLineThatIsWrong) {
  constexpr std::uint64_t count = 3000;
  std::vector<std::string> lines(count, "1 1 1.5\n");
  const auto file_of = [&](std::uint64_t announced) {
    std::string file = general(fmt::format("% comment\n\n9 9 {}\n", announced));
    for (const std::string& line : lines) file += line;
    return file;
  };
  const auto expect_everywhere = [&](const std::string& file, const std::string& message) {
    for (const int threads : {1, 2, 5}) {
      for (const std::uint64_t part_bytes : {1, 77, 1000, 1 << 20}) {
        expect_market_error(file, message, {.threads = threads, .part_bytes = part_bytes});
      }
    }
  };
  lines[1234] = "1 1 wrong\n";
  lines[1235] = "77 1 1\n";
  lines[2900] = "\n\n1\n";
  expect_everywhere(file_of(count), "m.mtx: line 1239: value 'wrong' is not a number");
  expect_everywhere(file_of(1234), "m.mtx: line 1239: '1 1 wrong' follows the 1234 entries that line 4 announces");
  expect_everywhere(file_of(1000), "m.mtx: line 1005: '1 1 1.5' follows the 1000 entries that line 4 announces");
  lines[1234] = lines[1235] = "\n";
  expect_everywhere(file_of(count), "m.mtx: line 2907: the line ends before its column");
  lines[2900] = "\n\n";
  expect_everywhere(file_of(count - 1),
                    "m.mtx: line 3005: the file ends after 2997 of the 2999 entries that line 4 "
                    "announces");
}

TEST(MatrixMarket, ThreadsReportTheFirstNumberOfAnArrayThatIsWrong) {
  std::string file = array("general", "30 30\n");
  for (int i = 0; i < 900; ++i) file += i == 500 || i == 700 ? "x\n" : "1\n";
  for (const std::uint64_t part_bytes : {1, 64, 1 << 20}) {
    expect_market_error(file, "m.mtx: line 503: value 'x' is not a number", {.threads = 3, .part_bytes = part_bytes});
    expect_market_error(file + "2\n", "m.mtx: line 503: value 'x' is not a number",
                        {.threads = 3, .part_bytes = part_bytes});
  }
}

TEST(MatrixMarket, FilesAreNamedByTheirPath) {
  const temporary_folder folder;
  const std::string path = folder.write("a.mtx", general("1 1 1\n1 1 x\n"));
  expect_error(error_code::bad_input, path + ": line 3: value 'x' is not a number",
               [&] { io::read_matrix_market<double>(path); });
  expect_error(error_code::bad_input, folder / "none.mtx" + ": cannot be opened: No such file or directory",
               [&] { io::read_matrix_market<double>(folder / "none.mtx"); });
  const std::string empty = folder.write("empty.mtx", "");
  expect_error(error_code::bad_input,
               empty + ": line 1: not a MatrixMarket file: it starts with '', not '%%MatrixMarket'",
               [&] { io::read_matrix_market<double>(empty); });
}

struct real_file {
  const char* name;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t entries;
};

TEST(MatrixMarket, RealFilesAreRead) {
  const char* data = std::getenv("SHEAF_DATA_DIR");
  const std::filesystem::path folder = std::filesystem::path(data == nullptr ? "" : data) / "matrices";
  if (data == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "SHEAF_DATA_DIR names no folder with matrices/ in it";
  }
  const real_file files[] = {
      {"1138_bus.mtx", 1138, 1138, 4054},
      {"494_bus.mtx.gz", 494, 494, 1666},
      {"ani4.mtx.gz", 3081, 3081, 20971},
      {"bayer10.mtx.gz", 13436, 13436, 94926},
      {"bcsstk13.mtx.gz", 2003, 2003, 83883},
      {"bcsstk15.mtx.gz", 3948, 3948, 117816},
      {"bcsstk16.mtx.gz", 4884, 4884, 290378},
      {"cage10.mtx.gz", 11397, 11397, 150645},
      {"cage9.mtx.gz", 3534, 3534, 41594},
      {"de2010.mtx.gz", 24115, 24115, 116056},
      {"delaunay_n16.mtx.gz", 65536, 65536, 393150},
      {"ex9.mtx.gz", 3363, 3363, 99471},
      {"lp_e226.mtx", 223, 472, 2768},
      {"msc01050.mtx.gz", 1050, 1050, 29156},
      {"rajat01.mtx.gz", 6833, 6833, 43250},
      {"vsp_befref_fxm_2_4_air02.mtx.gz", 14109, 14109, 196448},
  };
  const temporary_folder written;
  std::size_t found = 0;
  for (const real_file& file : files) {
    if (!std::filesystem::exists(folder / file.name)) continue;
    SCOPED_TRACE(file.name);
    ++found;
    const auto matrix = io::read_matrix_market<double>(folder / file.name);
    EXPECT_EQ(matrix.rows, file.rows);
    EXPECT_EQ(matrix.columns, file.columns);
    EXPECT_EQ(matrix.entries(), file.entries);
    io::write_matrix_market(written / "copy.mtx", matrix);
    expect_same_matrix(io::read_matrix_market<double>(written / "copy.mtx", {.threads = 3, .part_bytes = 4096}),
                       matrix);
  }
  EXPECT_GT(found, 0U);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_entries_test
