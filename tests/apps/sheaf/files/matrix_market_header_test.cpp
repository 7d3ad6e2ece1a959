#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/matrix_market.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_header_test {
namespace {

const std::string general = "%%MatrixMarket matrix coordinate real general\n";

TEST(MatrixMarketHeader, WordsOfTheBannerAreReadInAnyCase) {
  for (const char* const banner :
       {"%%MatrixMarket matrix coordinate real general", "%%matrixmarket MATRIX Coordinate REAL General",
        "%%MATRIXMARKET\tmatrix   coordinate  Double\tgeneral  \r"}) {
    SCOPED_TRACE(banner);
    const auto matrix = parse_market(std::string(banner) + "\n2 3 1\n1 2 5\n");
    EXPECT_EQ(matrix.rows, 2U);
    EXPECT_EQ(matrix.columns, 3U);
    EXPECT_EQ(entries_of(matrix), (doubles{{0, 1, 5}}));
  }
}

// As SciPy takes them: blanks before the banner, one percent sign, words behind. A mark of UTF-8 is what Windows
// writes.
TEST(MatrixMarketHeader, BannersMayHaveBlanksBeforeOnePercentSignAndWordsBehind) {
  for (const char* const banner :
       {" %%MatrixMarket matrix coordinate real general", "\t\n  \r\n%%MatrixMarket matrix coordinate real general",
        "\xef\xbb\xbf%%MatrixMarket matrix coordinate real general", "%MatrixMarket matrix coordinate real general",
        "%matrixmarket matrix coordinate real general", "%%MatrixMarket matrix coordinate real general by hand",
        "%%MatrixMarket matrix coordinate real general % by hand",
        "\xef\xbb\xbf \n%MatrixMarket matrix coordinate real general 1 2"}) {
    SCOPED_TRACE(banner);
    const auto matrix = parse_market(std::string(banner) + "\n2 3 1\n1 2 5\n");
    EXPECT_EQ(matrix.rows, 2U);
    EXPECT_EQ(matrix.columns, 3U);
    EXPECT_EQ(entries_of(matrix), (doubles{{0, 1, 5}}));
    expect_same_matrix(parse_market(gzipped(std::string(banner) + "\n2 3 1\n1 2 5\n")), matrix);
  }
  expect_market_error("\n\n%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
                      "m.mtx: line 3: complex values are not read: real, double, integer, unsigned-integer and pattern "
                      "are");
  expect_market_error("% %MatrixMarket matrix coordinate real general\n1 1 0\n",
                      "m.mtx: line 1: not a MatrixMarket file: it starts with '% %MatrixMarke', not '%%MatrixMarket'");
  expect_market_error("\n% comment\n" + general + "1 1 0\n",
                      "m.mtx: line 2: not a MatrixMarket file: it starts with '% comment', not '%%MatrixMarket'");
}

TEST(MatrixMarketHeader, SizeLinesMayEndWithAComment) {
  for (const char* const line : {"2 3 1 % rows columns entries", "2 3 1%", "2 3 1\t%% 4"}) {
    SCOPED_TRACE(line);
    const auto matrix = parse_market(general + line + "\n1 2 5\n");
    EXPECT_EQ(matrix.columns, 3U);
    EXPECT_EQ(entries_of(matrix), (doubles{{0, 1, 5}}));
  }
  expect_market_error(general + "2 3 % 1\n1 1 1\n",
                      "m.mtx: line 2: '2 3 % 1' is not a size line: rows, columns, entries");
  expect_market_error("%%MatrixMarket matrix array real general\n2 3 6 % 1\n",
                      "m.mtx: line 2: '2 3 6 % 1' is not a size line of an array: rows, columns");
}

TEST(MatrixMarketHeader, LinesThatEndWithCarriageReturnsAloneAreNamed) {
  expect_market_error(
      "%%MatrixMarket matrix coordinate real general\r1 1 1\r1 1 5\r",
      "m.mtx: line 1: the file is a single line: carriage returns without line feeds do not end a line");
  expect_market_error("%%MatrixMarket matrix coordinate real general\r",
                      "m.mtx: line 1: the file ends before its size line");
}

TEST(MatrixMarketHeader, HermitianMatricesOfRealNumbersAreSymmetric) {
  const doubles expected{{0, 1, 5}, {1, 0, 5}};
  EXPECT_EQ(entries_of(parse_market("%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 5\n")), expected);
  EXPECT_EQ(entries_of(parse_market("%%MatrixMarket matrix array integer Hermitian\n2 2\n0\n5\n0\n")), expected);
  EXPECT_EQ(entries_of(parse_market("%%MatrixMarket matrix coordinate pattern hermitian\n2 2 1\n2 1\n")),
            (doubles{{0, 1, 1}, {1, 0, 1}}));
}

TEST(MatrixMarketHeader, CommentsAndBlankLinesComeBeforeTheSizeLine) {
  const auto matrix =
      parse_market(general + "% a comment\n\n%\n  % indented\n \t\r\n%%% 7 7 7\n   +2  3\t1  \r\n\n1 2 5\n");
  EXPECT_EQ(matrix.rows, 2U);
  EXPECT_EQ(entries_of(matrix), (doubles{{0, 1, 5}}));
}

TEST(MatrixMarketHeader, OtherFilesAreRefused) {
  expect_market_error("", "m.mtx: line 1: not a MatrixMarket file: it starts with '', not '%%MatrixMarket'");
  expect_market_error("hello\nworld\n",
                      "m.mtx: line 1: not a MatrixMarket file: it starts with 'hello', not '%%MatrixMarket'");
  expect_market_error("%%MatrixMarkets matrix coordinate real general\n",
                      "m.mtx: line 1: not a MatrixMarket file: it starts with '%%MatrixMarket', not '%%MatrixMarket'");
}

TEST(MatrixMarketHeader, BannersThatAreNotReadAreRefusedWithTheirWord) {
  const char* const complex = "complex values are not read: real, double, integer, unsigned-integer and pattern are";
  const std::pair<const char*, const char*> cases[] = {
      {"", "the banner ends before its object"},
      {"vector coordinate real general", "object 'vector' is not matrix: write a vector as a matrix of one column"},
      {"graph coordinate real general", "object 'graph' is not matrix"},
      {"matrix", "the banner ends before its format"},
      {"matrix sparse real general", "format 'sparse' is neither coordinate nor array"},
      {"matrix coordinate", "the banner ends before its field"},
      {"matrix coordinate complex general", complex},
      {"matrix coordinate Complex hermitian", complex},
      {"matrix coordinate float general", "field 'float' is not real, double, integer, unsigned-integer or pattern"},
      {"matrix coordinate real", "the banner ends before its symmetry"},
      {"matrix coordinate real skew", "symmetry 'skew' is not general, symmetric, skew-symmetric or hermitian"},
      {"matrix array pattern general", "an array of pattern has neither places nor values"},
      {"matrix coordinate pattern skew-symmetric",
       "a pattern that is skew-symmetric has no values whose sign could differ"},
      {"matrix coordinate real \x01", R"(symmetry '\x01' is not general, symmetric, skew-symmetric or hermitian)"},
  };
  for (const auto& [words, message] : cases) {
    SCOPED_TRACE(words);
    expect_market_error("%%MatrixMarket " + std::string(words) + "\n1 1 0\n", std::string("m.mtx: line 1: ") + message);
  }
}

TEST(MatrixMarketHeader, SizeLinesThatAreNoneAreRefused) {
  expect_market_error(general, "m.mtx: line 1: the file ends before its size line");
  expect_market_error(general + "% a comment\n\n%", "m.mtx: line 4: the file ends before its size line");
  for (const char* const line :
       {"2 3", "2 3 1 1", "2 3 x", "-2 3 1", "2.0 3 1", "2,3,1", "1e3 3 1", "rows columns 1"}) {
    SCOPED_TRACE(line);
    expect_market_error(general + "% comment\n" + line + "\n1 1 1\n",
                        "m.mtx: line 3: '" + std::string(line) + "' is not a size line: rows, columns, entries");
  }
  const std::string array = "%%MatrixMarket matrix array real general\n";
  expect_market_error(array + "2 3 6\n", "m.mtx: line 2: '2 3 6' is not a size line of an array: rows, columns");
  expect_market_error(array + "2", "m.mtx: line 2: '2' is not a size line of an array: rows, columns");
  expect_market_error(general + "9223372036854775808 1 1\n1 1 1\n",
                      "m.mtx: line 2: '9223372036854775808 1 1' has a number that exceeds 2^63 - 1");
  expect_market_error(general + "1 1 99999999999999999999999\n1 1 1\n",
                      "m.mtx: line 2: '1 1 99999999999999999999999' has a number that exceeds 2^63 - 1");
}

TEST(MatrixMarketHeader, SymmetricMatricesAreSquare) {
  expect_market_error("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n2 1 1\n",
                      "m.mtx: line 2: 2 x 3 is not square, but the banner says symmetric");
  expect_market_error("%%MatrixMarket matrix array real skew-symmetric\n3 2\n1\n",
                      "m.mtx: line 2: 3 x 2 is not square, but the banner says skew-symmetric");
}

TEST(MatrixMarketHeader, EntriesForWhichTheFileIsTooShortAreRefused) {
  expect_market_error(general + "3 3 4\n1 1 1\n2 2 2\n",
                      "m.mtx: line 2: 4 entries are announced, but the 12 bytes that follow hold 3 at most");
  expect_market_error("%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 1\n2 2\n3 3\n",
                      "m.mtx: line 2: 4 entries are announced, but the 12 bytes that follow hold 3 at most");
  expect_market_error(
      general + "3 3 9223372036854775807\n1 1 1\n",
      "m.mtx: line 2: 9223372036854775807 entries are announced, but the 6 bytes that follow hold 1 at most");
  expect_market_error(
      "%%MatrixMarket matrix array real general\n4294967296 4294967296\n1\n",
      "m.mtx: line 2: more than 2^64 - 1 entries are announced, but the 2 bytes that follow hold 1 at most");
}

TEST(MatrixMarketHeader, EveryEntryMayHaveTheFewestBytes) {
  EXPECT_EQ(parse_market(general + "3 3 2\n1 1 1\n2 2 2").entries(), 2U);
  EXPECT_EQ(parse_market("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n2 2").entries(), 2U);
  EXPECT_EQ(parse_market("%%MatrixMarket matrix array real general\n1 2\n1\n2").entries(), 2U);
}

TEST(MatrixMarketHeader, RowsForWhichTheFileHasTooFewEntriesAreRefused) {
  expect_market_error(general + "1099511627776 1 1\n1 1 1\n",
                      "m.mtx: line 2: 1099511627776 rows are announced, more than the 16777216 that are read of a file "
                      "with 1 entries");
  expect_market_error("%%MatrixMarket matrix coordinate pattern symmetric\n1099511627776 1099511627776 0\n",
                      "m.mtx: line 2: 1099511627776 rows are announced, more than the 16777216 that are read of a file "
                      "with 0 entries");
  expect_market_error("%%MatrixMarket matrix array real general\n1099511627776 0\n",
                      "m.mtx: line 2: 1099511627776 rows are announced, more than the 16777216 that are read of a file "
                      "with 0 entries");
  const std::string two = "1 1 1\n513 1 1\n";
  expect_market_error(general + "513 1 2\n" + two,
                      "m.mtx: line 2: 513 rows are announced, more than the 512 that are read of a file with 2 entries",
                      {.most_rows_of_few_entries = 100});
  EXPECT_EQ(parse_market(general + "513 1 2\n" + two, {.most_rows_of_few_entries = 513}).rows, 513U);
}

TEST(MatrixMarketHeader, MatricesThatMemoryDoesNotHoldAreRefusedBeforeItIsTaken) {
  const std::pair<const char*, const char*> cases[] = {
      {"1125899906842624", "9007199254741036"},
      {"9223372036854775807", "73786976294838206500"},
  };
  for (const auto& [rows, bytes] : cases) {
    const std::string file = general + rows + " 1 1\n1 1 1\n";
    const std::string message = message_of(
        error_code::out_of_memory, [&] { parse_market(file, {.most_rows_of_few_entries = ~std::uint64_t{0}}); });
    const std::string expected =
        fmt::format("m.mtx: line 2: reading {} rows and 1 entries takes {} bytes, ", rows, bytes);
    EXPECT_EQ(message.substr(0, expected.size()), expected);
    EXPECT_TRUE(message.ends_with(" are available")) << message;
  }
}

// The columns that a file announces are vectors of its reader, however few entries it has.
TEST(MatrixMarketHeader, VectorsThatMemoryDoesNotHoldAreRefusedBeforeEntriesAreRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"1000000000000000", "8000000000000060"},
      {"1200000000000000000", "9600000000000000060"},
      {"9223372036854775807", "73786976294838206516"},
  };
  for (const auto& [columns, bytes] : cases) {
    const std::string file = general + "1 " + columns + " 1\n1 1 this is not read\n";
    const std::string message = message_of(error_code::out_of_memory,
                                           [&] { parse_market(file, {.bytes_of_a_row = 4, .bytes_of_a_column = 8}); });
    const std::string expected = fmt::format(
        "m.mtx: line 2: a matrix of 1 rows, {} columns and 1 entries and its vectors take {} bytes, ", columns, bytes);
    EXPECT_EQ(message.substr(0, expected.size()), expected);
    EXPECT_TRUE(message.ends_with(" are available")) << message;
  }
  EXPECT_EQ(parse_market(general + "1 1000000000000000 1\n1 7 5\n").columns, 1'000'000'000'000'000U);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_header_test
