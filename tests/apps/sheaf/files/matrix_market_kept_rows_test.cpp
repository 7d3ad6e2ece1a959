// Readers of MatrixMarket files that keep some rows of a matrix, or of its transpose.
#include <algorithm>
#include <map>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_matrix_market_kept_rows_test {
namespace {

using matrix = io::csr_matrix<double>;
using place = std::pair<std::uint64_t, std::uint64_t>;

matrix read(const std::string& text, std::uint64_t first, std::uint64_t end, bool is_transposed, int threads = 2) {
  const auto kept = [&](const io::matrix_market_shape&) { return io::matrix_market_rows{first, end, is_transposed}; };
  return io::parse_matrix_market<double>(std::as_bytes(std::span(text)), "a.mtx",
                                         {.threads = threads, .part_bytes = 100, .kept = kept});
}

std::map<place, double> entries_of(const matrix& m, std::uint64_t first_row, bool is_transposed) {
  std::map<place, double> found;
  const auto& columns = std::get<std::vector<std::uint32_t>>(m.column_indices);
  for (std::uint64_t row = 0; row < m.rows; ++row) {
    for (std::uint64_t i = m.row_offsets[row]; i < m.row_offsets[row + 1]; ++i) {
      const place at(first_row + row, columns[i]);
      found[is_transposed ? place(at.second, at.first) : at] = m.values[i];
    }
  }
  return found;
}

// Columns to 60 and, of matrices that are not symmetric, 45 rows; a place in ten is given twice.
std::string text_of(const std::string& symmetry) {
  const bool is_general = symmetry == "general";
  std::mt19937 random(7);
  std::string lines;
  std::uint64_t count = 0;
  for (std::uint64_t row = 0; row < (is_general ? 45U : 60U); ++row) {
    for (std::uint64_t column = 0; column < (is_general ? 60U : row); ++column) {
      if (random() % 4 != 0) continue;
      for (std::uint64_t times = random() % 10 == 0 ? 2 : 1; times > 0; --times, ++count)
        lines += fmt::format("{} {} {}\n", row + 1, column + 1, 1 + random() % 1000);
    }
  }
  return fmt::format("%%MatrixMarket matrix coordinate real {}\n{} 60 {}\n{}", symmetry, is_general ? 45 : 60, count,
                     lines);
}

TEST(MatrixMarketKeptRows, AreThoseOfTheWholeMatrix) {
  for (const char* const symmetry : {"general", "symmetric", "skew-symmetric"}) {
    const std::string text = text_of(symmetry);
    const auto whole = io::parse_matrix_market<double>(std::as_bytes(std::span(text)), "a.mtx");
    const auto all = entries_of(whole, 0, false);
    ASSERT_GT(all.size(), 400U);
    for (const bool is_transposed : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, transposed {}", symmetry, is_transposed));
      const std::uint64_t rows = is_transposed ? whole.columns : whole.rows;
      std::map<place, double> together;
      for (const auto& [first, end] : {place(0, 17), place(17, 17), place(17, 18), place(18, rows)}) {
        const matrix part = read(text, first, end, is_transposed);
        EXPECT_EQ(part.rows, end - first);
        EXPECT_EQ(part.columns, is_transposed ? whole.rows : whole.columns);
        for (std::uint64_t row = 0; row < part.rows; ++row) {
          const auto& columns = std::get<std::vector<std::uint32_t>>(part.column_indices);
          EXPECT_TRUE(std::is_sorted(columns.begin() + static_cast<std::ptrdiff_t>(part.row_offsets[row]),
                                     columns.begin() + static_cast<std::ptrdiff_t>(part.row_offsets[row + 1])));
        }
        together.merge(entries_of(part, first, is_transposed));
      }
      EXPECT_EQ(together, all);
    }
  }
}

TEST(MatrixMarketKeptRows, AreNamedAsTheFileNumbersThem) {
  const std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 3\n1 1 1\n7 3 1.7e308\n7 3 1.7e308\n";
  const std::string words = "a.mtx: the entries at (7, 3) add up to more than f64 holds";
  expect_error(error_code::bad_input, words, [&] { read(text, 5, 9, false); });
  expect_error(error_code::bad_input, words, [&] { read(text, 2, 4, true); });
  EXPECT_EQ(read(text, 0, 5, false).entries(), 1U) << "of rows that are not kept no sums are made";
}

TEST(MatrixMarketKeptRows, AreReadFromFilesWhoseEveryLineIsRight) {
  const std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 2\n1 1 1\n8 x 1\n";
  EXPECT_TRUE(message_of(error_code::bad_input, [&] { read(text, 0, 1, false); }).starts_with("a.mtx: line 4: "));
}

TEST(MatrixMarketShape, IsReadWithoutTheEntries) {
  const temporary_folder folder;
  const auto shape_of = [&](const std::string& banner, const std::string& sizes) {
    const std::string path =
        folder.write("a.mtx", "%%MatrixMarket matrix " + banner + "\n% words\n" + sizes + "\nx y z\n1 1 1\n1 2 1\n");
    return io::read_matrix_market_shape(path);
  };
  const io::matrix_market_shape general = shape_of("coordinate real general", "9 7 3");
  EXPECT_EQ(general.rows, 9U);
  EXPECT_EQ(general.columns, 7U);
  EXPECT_EQ(general.entries, 3U);
  EXPECT_FALSE(general.is_symmetric);
  const io::matrix_market_shape symmetric = shape_of("coordinate real symmetric", "9 9 3");
  EXPECT_EQ(symmetric.entries, 6U);
  EXPECT_TRUE(symmetric.is_symmetric);
  EXPECT_TRUE(message_of(error_code::bad_input, [&] {
                shape_of("coordinate real general", "9 7");
              }).starts_with(folder / "a.mtx: line 3: "));
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_matrix_market_kept_rows_test
