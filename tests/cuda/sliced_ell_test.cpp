// Slices of the preparation cuda.sliced_ell hold rows of every length, whatever windows they end in; its columns of 16
// bits, its hot columns and its long rows give the same products, and what it pads touches no x.
#include <sheaf/spmv.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/memory.hpp>

#include "cuda/sparse/prepared/sliced_ell.hpp"
#include "support/captured_graph.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/prepared_runs.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::cuda_sliced_ell_test {
namespace {

constexpr prepare_spmv_options by_name{.variant = "cuda.sliced_ell"};

/// Rows of up to twice the mean, of none, and some that are long beside the others.
sparse_rows uneven(std::uint64_t rows, std::uint64_t columns, std::uint64_t mean) {
  return made_rows(fmt::format("{} uneven rows of {}", rows, mean), rows, columns, [&](std::uint64_t r) {
    const std::uint64_t count = r % 211 == 7 ? 65 + (r * 37) % (12 * mean + 300) : inputs::mix(r) % (2 * mean + 1);
    return drawn_columns(r, count, columns);
  });
}

/// Enough rows for a lane each, whose columns lie about the diagonal; one row in `far_each` has one that does not.
sparse_rows near_diagonal(std::uint64_t rows, std::uint64_t columns, std::uint64_t far_each) {
  return made_rows("near the diagonal", rows, columns, [&](std::uint64_t r) {
    column_list c;
    const std::uint64_t middle = r * columns / rows;
    for (std::uint64_t i = 0; i < (r % 5 == 4 ? 0 : 1 + r % 4); ++i) c.push_back((middle + i * 131) % columns);
    if (r % far_each == 3) c.push_back((middle + columns / 2) % columns);
    if (r % 50'000 == 77) {
      for (std::uint64_t i = 0; i < 400; ++i) c.push_back((r * 7 + i * 1009) % columns);
    }
    return c;
  });
}

/// Rows of 32 to 34 entries, of which half are of 20'000 columns; enough of them that hot columns are looked for.
sparse_rows with_hot_columns(std::uint64_t columns) {
  return made_rows("hot columns", cuda::least_rows_of_lanes + 77, columns, [&](std::uint64_t r) {
    column_list c = drawn_columns(r, r % 10'007 == 5 ? 700 : 32 + r % 3, columns);
    for (std::uint64_t i = 0; i < c.size(); i += 2) c[i] = c[i] % 20'000 * 31 % columns;
    return c;
  });
}

TEST(SlicedEll, HasRowsOfEveryLengthInSlicesAndWindowsOfEverySize) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint64_t rows : {1, 2, 31, 32, 33, 4095, 4096, 4097, 13'000}) {
    for (const std::uint64_t mean : {2, 12, 40, 90}) {
      if (rows * mean > 400'000) continue;
      const sparse_rows m = uneven(rows, 3000, mean);
      if (m.entries() == 0) continue;
      for (const csr_layout& layout :
           {csr_layout{}, csr_layout{.value = value_type::f32, .offset = index_type::u32, .column = index_type::i64},
            csr_layout{.value = value_type::f32, .has_row_ends = true}}) {
        SCOPED_TRACE(fmt::format("{}, {}", m.name, layout.description()));
        const csr_images images(m, layout);
        const placed_csr a(*ctx, images);
        const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, by_name);
        EXPECT_EQ(prepared.report().product, "cuda.sliced_ell");
        right_run(*ctx, prepared, m, layout.value, 0);
        right_run(*ctx, prepared, m, layout.value, 0.5);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(SlicedEll, AddsInWiderNumbersWhereAsked) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const sparse_rows& m : {uneven(9000, 5000, 3), uneven(9000, 5000, 13), uneven(9000, 5000, 50),
                               near_diagonal(cuda::least_rows_of_lanes, 200'000, 100)}) {
    SCOPED_TRACE(m.name);
    const csr_images images(m, {.value = value_type::f32});
    const placed_csr a(*ctx, images);
    const prepared_spmv prepared =
        prepare_spmv(*ctx, a.view(), 5, {.sums = spmv_sums::f64, .variant = "cuda.sliced_ell"});
    EXPECT_EQ(prepared.report().product, "cuda.sliced_ell");
    right_run(*ctx, prepared, m, value_type::f32, 0, spmv_sums::f64);
  }
}

// What is kept says whether columns have 16 bits.
TEST(SlicedEll, KeepsColumnsNearTheDiagonalIn16Bits) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint64_t columns : {60'000, 140'000, 300'000}) {
    for (const value_type type : {value_type::f64, value_type::f32}) {
      const sparse_rows m = near_diagonal(cuda::least_rows_of_lanes + 4097, columns, 40);
      SCOPED_TRACE(fmt::format("{} columns, values of {} bytes", columns, bytes(type)));
      const csr_images images(m, {.value = type});
      const placed_csr a(*ctx, images);
      const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, by_name);
      EXPECT_EQ(prepared.report().product, "cuda.sliced_ell");
      EXPECT_LT(prepared.report().kept_bytes, m.entries() * (bytes(type) + 3) + 5 * m.rows.size());
      right_run(*ctx, prepared, m, type, 0);
      right_run(*ctx, prepared, m, type, 0.5);
      if (HasFailure()) return;
    }
  }
}

// Runs take scratch for x of hot columns, and nothing else does.
TEST(SlicedEll, HasHotColumnsInSharedMemory) {
  auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  constexpr std::uint64_t columns = 1'000'000;
  const sparse_rows m = with_hot_columns(columns);
  for (const value_type type : {value_type::f64, value_type::f32}) {
    SCOPED_TRACE(bytes(type));
    const csr_images images(m, {.value = type});
    const placed_csr a(*ctx, images);
    const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, by_name);
    EXPECT_EQ(prepared.report().product, "cuda.sliced_ell");
    const image expected = right_run(*ctx, prepared, m, type, 0);
    right_run(*ctx, prepared, m, type, 0.5);
    const placed_vectors v(*ctx, m, type);
    const captured_graph graph(*ctx, [&] { v.run(prepared); });
    for (int run = 0; run < 3; ++run) {
      graph.launch();
      ctx->wait();
      expect_bytes(v.placed_y.download(), expected, fmt::format("launch {}", run));
    }
    ctx->limit_scratch(8);
    const std::string words = message_of(error_code::out_of_memory, [&] { v.run(prepared); });
    EXPECT_TRUE(words.starts_with("prepared_spmv: cuda.sliced_ell takes ")) << words;
    ctx->limit_scratch(std::numeric_limits<std::uint64_t>::max());
  }
}

TEST(SlicedEll, HasTheSameBitsInAHundredRuns) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const sparse_rows& m :
       {uneven(9000, 5000, 13), uneven(5000, 70'000, 60), near_diagonal(cuda::least_rows_of_lanes, 200'000, 100)}) {
    SCOPED_TRACE(m.name);
    const csr_images images(m, {});
    const placed_csr a(*ctx, images);
    const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, by_name);
    const prepared_spmv again = prepare_spmv(*ctx, a.view(), 5, by_name);
    const image expected = right_run(*ctx, prepared, m, value_type::f64, 0);
    const placed_vectors v(*ctx, m, value_type::f64);
    for (int run = 0; run < 100; ++run) {
      v.run(run % 2 == 0 ? prepared : again);
      ctx->wait();
      expect_bytes(v.placed_y.download(), expected, fmt::format("run {}", run));
      if (HasFailure()) return;
    }
  }
}

TEST(SlicedEll, PaddingReadsNoX) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  // No row has the first or the last column, nor one at either end of the 16 bits of a window.
  constexpr std::uint64_t columns = 200'000;
  const auto is_apart = [](std::uint64_t column) { return column % 3 == 0 || column + 1 == columns; };
  for (const std::uint64_t rows : {std::uint64_t{5000}, cuda::least_rows_of_lanes + 100}) {
    SCOPED_TRACE(rows);
    const sparse_rows m = made_rows("columns between", rows, columns, [&](std::uint64_t r) {
      column_list c;
      const std::uint64_t first = std::min(r * columns / rows / 3 * 3, columns - 62);
      for (std::uint64_t i = 0; i < r % 11; ++i) c.push_back(first + 3 * i + 1 + i % 2);
      return c;
    });
    const csr_images images(m, {});
    const placed_csr a(*ctx, images);
    const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, by_name);
    EXPECT_EQ(prepared.report().product, "cuda.sliced_ell");
    std::vector<double> x(columns, 1);
    for (std::uint64_t c = 0; c < columns; ++c) {
      if (is_apart(c)) x[c] = c % 2 == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    }
    const buffer x_there(*ctx, x.size() * sizeof(double));
    const buffer y_there(*ctx, rows * sizeof(double));
    copy_bytes(*ctx, x_there.data(), x.data(), x_there.size());
    prepared.run(const_values(x_there.data(), x.size(), value_type::f64),
                 values(y_there.data(), rows, value_type::f64));
    std::vector<double> y(rows);
    copy_bytes(*ctx, y.data(), y_there.data(), y_there.size());
    ctx->wait();
    for (std::uint64_t r = 0; r < rows; ++r) ASSERT_TRUE(std::isfinite(y[r])) << "row " << r;
  }
}

TEST(SlicedEll, NamesABadColumn) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = uneven(1000, 4000, 9);
  for (const std::uint64_t row : {std::uint64_t{7}, std::uint64_t{640}}) {  // a long one, and one that is sorted
    std::uint64_t place = 2;
    for (std::uint64_t r = 0; r < row; ++r) place += m.rows[r].size();
    const auto expect_named = [&](index_type type, std::uint64_t column) {
      csr_images images(m, {.column = type});
      set_entry(images.column_indices, place, column);
      const placed_csr a(*ctx, images);
      expect_error(error_code::bad_index,
                   fmt::format("prepare_spmv: column_indices[{}], of row {}, is {}, past the matrix's 4000 columns",
                               place, row, column),
                   [&] { prepare_spmv(*ctx, a.view(), 5, by_name); });
    };
    ASSERT_GT(m.rows[row].size(), 2U);
    expect_named(index_type::u32, 4000);
    expect_named(index_type::u64, (std::uint64_t{1} << 32) + 5);
  }
}

TEST(SlicedEll, LeavesWhatDoesNotSuitItToRows) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const auto product_of_prepared = [&](const sparse_rows& m) {
    const csr_images images(m, {});
    const placed_csr a(*ctx, images);
    const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, by_name);
    right_run(*ctx, prepared, m, value_type::f64, 0);
    return prepared.report().product;
  };
  const auto with_row_of = [](std::uint64_t length) {
    return made_rows("one long row", 300, 70'000,
                     [&](std::uint64_t r) { return drawn_columns(r, r == 150 ? length : 3, 70'000); });
  };
  EXPECT_EQ(product_of_prepared(with_row_of(cuda::longest_ell_row)), "cuda.sliced_ell");
  EXPECT_EQ(product_of_prepared(with_row_of(cuda::longest_ell_row + 1)), "cuda.rows");
  EXPECT_EQ(product_of_prepared(with_row_of(1'000'000)), "cuda.rows");
}

TEST(SlicedEll, RunsInAGraphAsItDoesBesideIt) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = uneven(9000, 5000, 13);
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, by_name);
  const image expected = right_run(*ctx, prepared, m, value_type::f64, 0);
  const placed_vectors v(*ctx, m, value_type::f64);
  const captured_graph graph(*ctx, [&] { v.run(prepared); });
  for (int run = 0; run < 3; ++run) {
    graph.launch();
    ctx->wait();
    expect_bytes(v.placed_y.download(), expected, fmt::format("launch {}", run));
  }
}

// The matrix is copied: what becomes of the caller's arrays changes no run.
TEST(SlicedEll, ReadsNothingOfTheCallersInRuns) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = uneven(3000, 5000, 13);
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, by_name);
  const csr_view view = a.view();
  const std::vector<std::byte> ones(view.values.count * sizeof(double), std::byte{0xff});
  copy_bytes(*ctx, const_cast<void*>(view.values.data), ones.data(), ones.size());
  copy_bytes(*ctx, const_cast<void*>(view.column_indices.data), ones.data(),
             view.column_indices.count * bytes(view.column_indices.type));
  right_run(*ctx, prepared, m, value_type::f64, 0);
}

TEST(SlicedEllShape, SaysWhichMatricesItDoesNotTake) {
  primitives::spmv_problem p;
  p.rows = p.columns = 1000;
  p.entries = 50'000;
  EXPECT_EQ(cuda::unfit_for_sliced_ell(p), nullptr);
  p.has_row_ends = true;
  EXPECT_EQ(cuda::unfit_for_sliced_ell(p), nullptr);
  p.transposed = true;
  EXPECT_STREQ(cuda::unfit_for_sliced_ell(p), "sorts rows, but the product is transposed");
  p.transposed = false;
  p.entries = (std::uint64_t{1} << 34) - 1;
  EXPECT_EQ(cuda::unfit_for_sliced_ell(p), nullptr);
  p.entries = std::uint64_t{1} << 34;
  EXPECT_STREQ(cuda::unfit_for_sliced_ell(p), "entries exceed 34 bits");
  p.columns = std::uint64_t{1} << 32;
  EXPECT_STREQ(cuda::unfit_for_sliced_ell(p), "rows or columns exceed 32 bits");
  p.entries = 0;
  EXPECT_STREQ(cuda::unfit_for_sliced_ell(p), "the matrix has no entries");
}

TEST(SlicedEllShape, HasLanesForFewRowsAndShortOnes) {
  EXPECT_EQ(cuda::lanes_of_ell_row(3'000'000, 3'000'000 * 7), 1U);
  EXPECT_EQ(cuda::lanes_of_ell_row(3'000'000, 3'000'000 * 10), 2U);
  EXPECT_EQ(cuda::lanes_of_ell_row(1'000'000, 1'000'000 * 40), 1U);
  EXPECT_EQ(cuda::lanes_of_ell_row(100'000, 100'000 * 40), 2U);
  EXPECT_EQ(cuda::lanes_of_ell_row(10'000, 10'000 * 40), 4U);
  EXPECT_EQ(cuda::lanes_of_ell_row(10'000, 10'000 * 4), 1U);
}

// No window's columns of 16 bits begin past the matrix, and products of numbers of rows and columns do not wrap.
TEST(SlicedEllShape, HasNearColumnsAboutTheDiagonal) {
  EXPECT_EQ(cuda::first_near_column(0, 1'000'000, 1'000'000), 0U);
  EXPECT_EQ(cuda::first_near_column(100, 1'000'000, 1'000'000), 100U * 4096 + 2048 - 32768);
  EXPECT_EQ(cuda::first_near_column(100, 1'000'000, 2'000'000), 2 * (100U * 4096 + 2048) - 32768);
  constexpr std::uint64_t most = 0xffffffff;
  EXPECT_LT(cuda::first_near_column(most / 4096, most, most), most);
  EXPECT_EQ(cuda::first_near_column(0, 1, 10), 0U);
}

TEST(SlicedEllShape, TakesTheColumnsThatComeMostOften) {
  unsigned before = 0;
  for (std::uint64_t count = 0; count <= 0xffffffff; count = count < 5000 ? count + 1 : count + count / 10) {
    const unsigned bin = cuda::bin_of_count(static_cast<std::uint32_t>(count));
    ASSERT_GE(bin, before) << count;
    ASSERT_LE(bin, before + 2) << count;
    before = bin;
  }
  EXPECT_EQ(cuda::bin_of_count(0), 0U);
  EXPECT_LT(cuda::bin_of_count(0xffffffff), cuda::count_bins);
  cuda::column_counts counts{};
  counts.columns[1] = 100'000;
  counts.entries[1] = 100'000;
  counts.columns[9] = 10'000;
  counts.entries[9] = 90'000;
  counts.columns[200] = 10;
  counts.entries[200] = 1'000'000;
  EXPECT_EQ(cuda::least_hot_bin(counts, 20'000), 2U);
  EXPECT_EQ(cuda::least_hot_bin(counts, 9000), 10U);
  EXPECT_EQ(cuda::least_hot_bin(counts, 9), cuda::count_bins);
  counts.entries[200] = 10'000;
  EXPECT_EQ(cuda::least_hot_bin(counts, 20'000), 2U);
  EXPECT_EQ(cuda::least_hot_bin(counts, 9000), cuda::count_bins) << "a twentieth of the entries";
}

}  // namespace
}  // namespace sheaf::tests::cuda_sliced_ell_test
