// Slices of the preparation cuda.sliced: rows with entries in all, some and none of them, blocks of rows of every
// length, and what is said of matrices that are not sliced.
#include <sheaf/spmv.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/conjugate_gradient.hpp>
#include <sheaf/memory.hpp>

#include "cuda/sparse/prepared/sliced.hpp"
#include "support/captured_graph.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/prepared_runs.hpp"
#include "support/trials/csr.hpp"
#include "support/trials/system.hpp"

namespace sheaf::tests::cuda_sliced_product_test {
namespace {

constexpr std::uint64_t three_slices = 70'000;  ///< columns, of f64

double zero(std::uint64_t) { return 0; }

/// Rows of 0 to 90 entries and some of up to 2048, in all slices, in the first and last, in one, or one after another.
sparse_rows rows_over_slices(std::uint64_t rows, std::uint64_t columns) {
  return made_rows("rows over slices", rows, columns, [&](std::uint64_t r) {
    const std::uint64_t count = r % 97 == 5 ? 700 + r % 1349 : (r + 7) % 91;
    switch (r % 4) {
      case 0: return drawn_columns(r, count, columns);
      case 1: {
        column_list c;
        for (std::uint64_t i = 0; i < count; ++i) c.push_back((i % 2 == 0 ? i : columns - 1 - i) % columns);
        return c;
      }
      case 2: {
        column_list c;
        for (std::uint64_t i = 0; i < count; ++i) c.push_back((columns / 2 + i) % columns);
        return c;
      }
      default: {
        column_list c;
        for (std::uint64_t i = 0; i < count; ++i) c.push_back((r + i * 7919) % columns);
        return c;
      }
    }
  });
}

TEST(SlicedProduct, HasRowsInAllSomeAndNoSlices) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint64_t rows : {1, 2, 131, 132, 133, 5000}) {
    for (const std::uint64_t columns : {std::uint64_t{3000}, three_slices}) {
      const sparse_rows m = rows_over_slices(rows, columns);
      for (const csr_layout& layout :
           {csr_layout{}, csr_layout{.value = value_type::f32, .offset = index_type::u32, .column = index_type::i64}}) {
        SCOPED_TRACE(fmt::format("{} rows, {} columns, {}", rows, columns, layout.description()));
        const csr_images images(m, layout);
        const placed_csr a(*ctx, images);
        const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
        EXPECT_EQ(prepared.report().product, "cuda.sliced");
        right_run(*ctx, prepared, m, layout.value, 0);
        right_run(*ctx, prepared, m, layout.value, 0.5);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(SlicedProduct, AddsInWiderNumbersWhereAsked) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_over_slices(3000, 2 * three_slices);
  const csr_images images(m, {.value = value_type::f32});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.sums = spmv_sums::f64, .variant = "cuda.sliced"});
  EXPECT_EQ(prepared.report().product, "cuda.sliced");
  right_run(*ctx, prepared, m, value_type::f32, 0, spmv_sums::f64);
}

TEST(SlicedProduct, HasTheSameBitsInAHundredRuns) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_over_slices(5000, three_slices);
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
  const image expected = right_run(*ctx, prepared, m, value_type::f64, 0);
  const prepared_spmv again = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
  const placed_vectors v(*ctx, m, value_type::f64);
  for (int run = 0; run < 100; ++run) {
    v.run(run % 2 == 0 ? prepared : again);
    ctx->wait();
    expect_bytes(v.placed_y.download(), expected, fmt::format("run {}", run));
    if (HasFailure()) return;
  }
}

// Ranges are padded to multiples of four places, whose column is the first one of their slice.
TEST(SlicedProduct, ReadsNoXThatARowHasNoEntryFor) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const auto is_apart = [](std::uint64_t column) { return column % 4 == 0; };  // as the first column of a slice is
  const sparse_rows m = made_rows("no first columns", 3000, three_slices, [&](std::uint64_t r) {
    column_list c;
    for (std::uint64_t i = 0; i < r % 11; ++i) c.push_back((r * 31 + i * 6101) % (three_slices / 4) * 4 + 1 + i % 3);
    return c;
  });
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
  EXPECT_EQ(prepared.report().product, "cuda.sliced");
  std::vector<double> x(three_slices, 1);
  for (std::uint64_t c = 0; c < three_slices; ++c) {
    if (is_apart(c)) x[c] = std::numeric_limits<double>::infinity();
  }
  const buffer x_there(*ctx, x.size() * sizeof(double));
  const buffer y_there(*ctx, m.rows.size() * sizeof(double));
  copy_bytes(*ctx, x_there.data(), x.data(), x_there.size());
  prepared.run(const_values(x_there.data(), x.size(), value_type::f64),
               values(y_there.data(), m.rows.size(), value_type::f64));
  std::vector<double> y(m.rows.size());
  copy_bytes(*ctx, y.data(), y_there.data(), y_there.size());
  ctx->wait();
  for (std::uint64_t r = 0; r < y.size(); ++r) ASSERT_TRUE(std::isfinite(y[r])) << "row " << r;
}

// x may begin at any value; 16 bytes are copied at once only where slices are aligned to them.
TEST(SlicedProduct, TakesAnXThatIsAlignedToItsValuesAlone) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_over_slices(1000, three_slices);
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
  std::vector<double> x(three_slices + 1);
  for (std::uint64_t c = 0; c < three_slices; ++c) x[c + 1] = x_at(c);
  const buffer x_there(*ctx, x.size() * sizeof(double));
  const buffer y_there(*ctx, m.rows.size() * sizeof(double));
  copy_bytes(*ctx, x_there.data(), x.data(), x_there.size());
  const auto y_from = [&](const void* from) {
    prepared.run(const_values(from, three_slices, value_type::f64),
                 values(y_there.data(), m.rows.size(), value_type::f64));
    std::vector<double> y(m.rows.size());
    copy_bytes(*ctx, y.data(), y_there.data(), y_there.size());
    ctx->wait();
    return y;
  };
  const std::vector<double> odd = y_from(x_there.data() + sizeof(double));
  copy_bytes(*ctx, x_there.data(), x.data() + 1, three_slices * sizeof(double));
  EXPECT_EQ(odd, y_from(x_there.data()));
}

// Blocks take the rows of several multiprocessors' turns, and all lanes of a warp a row.
TEST(SlicedProduct, HasMoreRowsThanOneBlockAMultiprocessorHolds) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows many = made_rows("many rows", 420'000, 3000, [](std::uint64_t r) {
    column_list c;
    for (std::uint64_t i = 0; i < r % 4; ++i) c.push_back((r + i * 977) % 3000);
    return c;
  });
  const sparse_rows dense =
      made_rows("long rows", 150, 3000, [](std::uint64_t r) { return drawn_columns(r, 900 + r, 3000); });
  for (const sparse_rows* const m : {&many, &dense}) {
    SCOPED_TRACE(m->name);
    const csr_images images(*m, {});
    const placed_csr a(*ctx, images);
    const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
    EXPECT_EQ(prepared.report().product, "cuda.sliced");
    right_run(*ctx, prepared, *m, value_type::f64, 0);
  }
}

TEST(SlicedProduct, SaysWhichMatricesItDoesNotTake) {
  primitives::spmv_problem p;
  p.rows = 1000;
  p.entries = 50'000;
  constexpr std::uint64_t columns_of_slice = cuda::x_slice_bytes / sizeof(double);
  p.columns = 32 * columns_of_slice;
  EXPECT_EQ(cuda::unfit_for_slices(p), nullptr);
  p.columns += 1;
  EXPECT_STREQ(cuda::unfit_for_slices(p), "x has more than 32 parts that fit in shared memory");
  p.columns = 1000;
  p.has_row_ends = true;
  EXPECT_STREQ(cuda::unfit_for_slices(p), "groups rows that lie one after the other, but rows may lie in any order");
  p.has_row_ends = false;
  p.transposed = true;
  EXPECT_STREQ(cuda::unfit_for_slices(p), "groups entries by rows, but the product is transposed");
  p.transposed = false;
  p.entries = std::uint64_t{1} << 32;
  EXPECT_STREQ(cuda::unfit_for_slices(p), "rows or entries exceed 32 bits");
  p.entries = (std::uint64_t{1} << 32) - 3000;
  EXPECT_STREQ(cuda::unfit_for_slices(p), "places of entries exceed 32 bits");
}

TEST(SlicedProduct, NamesABadColumn) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_over_slices(1000, three_slices);
  std::uint64_t place = 0;
  constexpr std::uint64_t row = 785;
  for (std::uint64_t r = 0; r < row; ++r) place += m.rows[r].size();
  const auto expect_named = [&](index_type type, std::uint64_t column, const std::string& what) {
    csr_images images(m, {.column = type});
    set_entry(images.column_indices, place + 3, column);
    const placed_csr a(*ctx, images);
    expect_error(error_code::bad_index,
                 fmt::format("prepare_spmv: column_indices[{}], of row {}, is {}", place + 3, row, what),
                 [&] { prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"}); });
  };
  const std::string past = fmt::format(", past the matrix's {} columns", three_slices);
  expect_named(index_type::u32, three_slices, fmt::format("{}{}", three_slices, past));
  constexpr std::uint64_t in_high_half = (std::uint64_t{1} << 32) + 5;
  expect_named(index_type::u64, in_high_half, fmt::format("{}{}", in_high_half, past));
}

TEST(SlicedProduct, LeavesMatricesWithALongRowToRows) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint64_t length : {2048, 2049}) {
    const sparse_rows m = made_rows("one long row", 300, three_slices, [&](std::uint64_t r) {
      return drawn_columns(r, r == 150 ? length : 3, three_slices);
    });
    const csr_images images(m, {});
    const placed_csr a(*ctx, images);
    const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
    EXPECT_EQ(prepared.report().product, length == 2048 ? "cuda.sliced" : "cuda.rows") << length;
    right_run(*ctx, prepared, m, value_type::f64, 0);
  }
}

TEST(SlicedProduct, RunsInAGraphAsItDoesBesideIt) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_over_slices(5000, three_slices);
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
  const image expected = right_run(*ctx, prepared, m, value_type::f64, 0);
  const placed_vectors v(*ctx, m, value_type::f64);
  const captured_graph graph(*ctx, [&] { v.run(prepared); });
  for (int run = 0; run < 3; ++run) {
    graph.launch();
    ctx->wait();
    expect_bytes(v.placed_y.download(), expected, fmt::format("launch {}", run));
  }
}

/// A system of `n` rows with entries on the diagonal, near it and far from it, and longer rows at the end.
sparse_rows system_over_slices(std::uint64_t n) {
  sparse_rows m{fmt::format("{} rows over slices", n), n, std::vector<std::vector<csr_entry>>(n)};
  const auto add = [&](std::uint64_t r, std::uint64_t c, double value) {
    if (r == c) return;
    m.rows[r].push_back({c, value});
    m.rows[c].push_back({r, value});
  };
  for (std::uint64_t r = 0; r < n; ++r) {
    m.rows[r].push_back({r, 9 + static_cast<double>(r % 5)});
    if (r + 1 < n) add(r, r + 1, -1);
    if (r + n / 3 < n) add(r, r + n / 3, -1 - static_cast<double>(r % 3) / 8);
    for (std::uint64_t i = 1; r + 10 > n && i < 40; ++i) add(r, (r * 7919 + i * 6101) % (n - 10 + 1), -1.0 / 64);
  }
  return m;
}

// The last tile of rows is whole or not, blocks have rows or none, and the last rows are long.
TEST(SlicedProduct, SolvesSystemsOfSeveralSlices) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint64_t n : {std::uint64_t{33}, std::uint64_t{1000}, std::uint64_t{4225}, three_slices + 5}) {
    const sparse_rows m = system_over_slices(n);
    for (const value_type type : {value_type::f64, value_type::f32}) {
      SCOPED_TRACE(fmt::format("{}, {} bytes", m.name, bytes(type)));
      const csr_images images(m, {.value = type});
      const placed_csr a(*ctx, images);
      const conjugate_gradient_options o{.tolerance = type == value_type::f64 ? 1e-12 : 1e-5, .variant = "cuda.sliced"};
      const solved_system first = solve_placed(*ctx, a.view(), y_at, zero, o);
      EXPECT_TRUE(first.result.converged()) << name(first.result.reason);
      EXPECT_GT(first.result.iterations, 5U);
      const context serial = context::cpu(1);
      const placed_csr there(serial, images);
      conjugate_gradient_options by_reference = o;
      by_reference.variant = "reference.serial";
      const auto expected = solve_placed(serial, there.view(), y_at, zero, by_reference).result.iterations;
      EXPECT_NEAR(static_cast<double>(first.result.iterations), static_cast<double>(expected), 2);
      for (int run = 0; run < 20; ++run) {
        EXPECT_EQ(solve_placed(*ctx, a.view(), y_at, zero, o).history, first.history) << "run " << run;
        if (HasFailure()) return;
      }
    }
  }
}

// The answer is 0 without a product, and yet the matrix is looked at before x is written.
TEST(SlicedProduct, LeavesXAloneWhereAColumnIsBadAndTheAnswerIsZero) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  csr_images images(system_over_slices(1000), {});
  set_entry(images.column_indices, 77, 1000);
  const placed_csr a(*ctx, images);
  const image zeros = numbers(1000, value_type::f64, zero, false);
  const image start = numbers(1000, value_type::f64, x_at, true);
  const placed placed_b(*ctx, zeros);
  const placed placed_x(*ctx, start);
  bool is_named = false;
  try {
    conjugate_gradient(*ctx, a.view(), const_values_of(placed_b.view(), value_type::f64),
                       values_of(placed_x.view(), value_type::f64), {.variant = "cuda.sliced"});
  } catch (const error& e) {
    EXPECT_EQ(e.code(), error_code::bad_index);
    is_named = true;
  }
  EXPECT_TRUE(is_named);
  expect_bytes(placed_x.download(), start, "x");
}

}  // namespace
}  // namespace sheaf::tests::cuda_sliced_product_test
