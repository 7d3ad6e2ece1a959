// The matrices of figures 19 and 20: scaled to the cache, of files of a folder, and in place of the paper's four.
#include "papers/he2007/sparse_inputs.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/context_array.hpp"
#include "papers/data_folder.hpp"
#include "support/expect_error.hpp"
#include "support/scoped_environment.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::papers_he2007_sparse_inputs_test {
namespace {

namespace he2007 = bench::papers::he2007;
using bench::papers::run_size;

constexpr std::uint64_t megabyte = 1 << 20;

TEST(ScaledShapes, HaveAnXPastTheCacheWhereTheSizeAllowsIt) {
  for (const std::uint64_t cache : {50 * megabyte, 60 * megabyte, 1 * megabyte}) {
    for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda}) {
      for (const run_size size : {run_size::medium, run_size::paper, run_size::device}) {
        SCOPED_TRACE(fmt::format("cache {}, size {}", cache, static_cast<int>(size)));
        const auto shapes = he2007::scaled_shapes(size, backend, cache);
        ASSERT_EQ(shapes.size(), 4U);
        const std::uint64_t lengths[] = {11, 98, 145, 399};
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          const bench::matrix_shape& shape = shapes[i].shape;
          EXPECT_EQ(shape.row_length, lengths[i]);
          EXPECT_GE(shape.columns * sizeof(float), 4 * cache);
          EXPECT_LE(shape.columns * sizeof(float), 8 * cache);
          EXPECT_LE(shape.rows, shape.columns);
          EXPECT_GE(shape.rows, 100'000U);
          EXPECT_LE(shape.entries(), std::uint64_t{1} << 30);
          EXPECT_NE(shapes[i].name.find(fmt::format("{} a row, x ", lengths[i])), std::string::npos) << shapes[i].name;
          EXPECT_EQ(shapes[i].name.find("reduced"), std::string::npos) << shapes[i].name;
        }
      }
    }
  }
}

// On an H200 the matrix of the shortest rows is square, so that its systems are solved.
TEST(ScaledShapes, AreSquareWhereTheirNonzerosAreFewEnough) {
  const auto shapes = he2007::scaled_shapes(run_size::paper, backend_kind::cuda, 60 * megabyte);
  EXPECT_EQ(shapes[0].shape.rows, shapes[0].shape.columns);
  EXPECT_EQ(shapes[0].shape.columns, std::uint64_t{1} << 26);
  EXPECT_LT(shapes[1].shape.rows, shapes[1].shape.columns);
  EXPECT_EQ(shapes[0].name, "11 a row, x 4.3 times the cache");
}

TEST(ScaledShapes, AreReducedInSmallAndTinyRuns) {
  for (const auto& [size, columns] : {std::pair{run_size::tiny, 1U << 12}, {run_size::small, 1U << 22}}) {
    const auto shapes = he2007::scaled_shapes(size, backend_kind::cpu, 256 * megabyte);
    ASSERT_EQ(shapes.size(), 2U);
    for (const auto& scaled : shapes) {
      EXPECT_EQ(scaled.shape.columns, columns);
      EXPECT_LE(scaled.shape.entries(), 1U << 21);
      EXPECT_TRUE(scaled.name.ends_with(" times the cache, reduced")) << scaled.name;
    }
  }
  EXPECT_EQ(he2007::scaled_shapes(run_size::tiny, backend_kind::cpu, 0)[0].shape.columns, 1U);
}

TEST(ScaledShapes, SayWhatTheyTake) {
  const bench::matrix_shape shape{1000, 4000, 10};
  EXPECT_EQ(he2007::host_bytes_of(shape), 36U * 10'000 + 96 * 1000 + 8 * 4000);
  EXPECT_EQ(he2007::device_bytes_of(shape), 24U * 10'000 + 96 * 1000 + 8 * 4000);
}

TEST(ScatteredMatrix, IsSymmetricAndDominatedByItsDiagonalIfSquare) {
  for (const std::uint64_t rows : {1U, 2U, 3U, 1000U, 1024U, 2048U}) {
    SCOPED_TRACE(rows);
    const io::csr_matrix<double> m = bench::scattered_matrix({rows, rows, 11});
    EXPECT_EQ(m.rows, rows);
    EXPECT_EQ(m.columns, rows);
    EXPECT_EQ(jobs::asymmetry_of(jobs::view_of(m)), std::nullopt);
    EXPECT_EQ(jobs::diagonal_mistake(jobs::view_of(m)), std::nullopt);
    const auto& columns = std::get<std::vector<std::uint32_t>>(m.column_indices);
    for (std::uint64_t row = 0; row < rows; ++row) {
      double others = 0;
      double diagonal = 0;
      EXPECT_LE(m.row_offsets[row + 1] - m.row_offsets[row], 11U);
      for (std::uint64_t p = m.row_offsets[row]; p < m.row_offsets[row + 1]; ++p) {
        ASSERT_LT(columns[p], rows);
        (columns[p] == row ? diagonal : others) += std::abs(m.values[p]);
      }
      EXPECT_GT(diagonal, others);
    }
  }
}

TEST(ScatteredMatrix, ReachesAllOfX) {
  for (const bench::matrix_shape& shape : {bench::matrix_shape{4096, 4096, 98}, {100, 4096, 11}}) {
    const io::csr_matrix<double> m = bench::scattered_matrix(shape);
    EXPECT_EQ(m.rows, shape.rows);
    EXPECT_EQ(m.columns, shape.columns);
    EXPECT_GT(m.entries(), shape.entries() * 97 / 100);
    EXPECT_LE(m.entries(), shape.entries());
    const auto& columns = std::get<std::vector<std::uint32_t>>(m.column_indices);
    std::uint64_t by_quarter[4] = {};
    for (const std::uint32_t column : columns) ++by_quarter[column / (shape.columns / 4)];
    for (const std::uint64_t count : by_quarter) {
      EXPECT_GT(count, m.entries() / 5);
      EXPECT_LT(count, m.entries() * 3 / 10);
    }
  }
}

// As large as the paper's, with rows as long as the paper says.
TEST(StandIns, HaveThePapersRowsAndRowLengths) {
  struct expected_matrix {
    std::string name;
    std::uint64_t rows;
    std::uint64_t row_length;
  };
  const expected_matrix expected[] = {{"like Stanford_Berkeley", 683'446, 11},
                                      {"like pkustk14", 151'926, 98},
                                      {"like pkustk08", 22'209, 145},
                                      {"like nd24k", 72'000, 399}};
  ASSERT_EQ(bench::stand_ins().size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    const bench::matrix_kind& kind = bench::stand_ins()[i];
    SCOPED_TRACE(kind.name);
    EXPECT_EQ(kind.name, expected[i].name);
    const io::csr_matrix<double> m = kind.make(false);
    EXPECT_EQ(m.rows, expected[i].rows);
    EXPECT_EQ(m.columns, expected[i].rows);
    EXPECT_EQ((m.entries() + m.rows / 2) / m.rows, expected[i].row_length);
    EXPECT_NEAR(static_cast<double>(m.entries()), static_cast<double>(kind.nonzeros),
                0.01 * static_cast<double>(m.entries()));
  }
}

TEST(MatrixFiles, AreTheFoldersByName) {
  const temporary_folder folder;
  EXPECT_TRUE(he2007::matrix_files("").empty());
  EXPECT_TRUE(he2007::matrix_files(folder.path()).empty());
  std::filesystem::create_directory(folder / "matrices");
  EXPECT_TRUE(he2007::matrix_files(folder.path()).empty());
  for (const char* const name : {"nd24k.mtx.gz", "b.mtx", "a.mtx.gz", "both.mtx.gz", "both.mtx", "notes.txt", ".mtx"}) {
    folder.write(std::string("matrices/") + name, "");
  }
  const auto files = he2007::matrix_files(folder.path());
  ASSERT_EQ(files.size(), 4U);
  const std::pair<const char*, const char*> expected[] = {{"a", "matrices/a.mtx.gz"},
                                                          {"b", "matrices/b.mtx"},
                                                          {"both", "matrices/both.mtx"},
                                                          {"nd24k", "matrices/nd24k.mtx.gz"}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(files[i].name, expected[i].first);
    EXPECT_EQ(files[i].path, folder / expected[i].second);
  }
}

TEST(MatrixFiles, MayHaveAsManyNonzerosAsTheSizeSays) {
  EXPECT_EQ(he2007::most_nonzeros_at(run_size::tiny), 1U << 20);
  EXPECT_EQ(he2007::most_nonzeros_at(run_size::small), 8U << 20);
  EXPECT_EQ(he2007::most_nonzeros_at(run_size::paper), ~std::uint64_t{0});
}

TEST(DataFolder, IsTheOneAskedForElseTheEnvironments) {
  const temporary_folder folder;
  const temporary_folder other;
  const scoped_environment said("SHEAF_DATA_DIR", other.path());
  EXPECT_EQ(bench::papers::data_folder(folder.path(), true), folder.path());
  EXPECT_EQ(bench::papers::data_folder("", true), other.path());
  EXPECT_EQ(bench::papers::data_folder("", false), "");
  expect_error(error_code::bad_input, fmt::format("--data {}: no such folder", folder / "none"),
               [&] { bench::papers::data_folder(folder / "none", true); });
  const scoped_environment no_folder("SHEAF_DATA_DIR", folder / "none");
  EXPECT_EQ(bench::papers::data_folder("", true), "");
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_sparse_inputs_test
