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

#include "support/captured_graph.hpp"
#include "support/contexts.hpp"
#include "support/csr_trial.hpp"
#include "support/expect_error.hpp"
#include "support/prepared_runs.hpp"

namespace sheaf::tests {
namespace {

constexpr std::uint64_t three_slices = 70'000;  ///< columns, of f64

/// Rows of 0 to 90 entries and some of up to 2048, in all slices, in the first and last, in one, or one after another.
sparse_rows rows_over_slices(std::uint64_t rows, std::uint64_t columns) {
  return made_rows("rows over slices", rows, columns, [&](std::uint64_t r) {
    const std::uint64_t count = r % 97 == 5 ? 700 + r % 1349 : r % 91;
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

std::string product_of(const context& ctx, const sparse_rows& m) {
  const csr_images images(m, {});
  const placed_csr a(ctx, images);
  return std::string(prepare_spmv(ctx, a.view(), 5, {.variant = "cuda.sliced"}).report().product);
}

TEST(SlicedProduct, HasRowsInAllSomeAndNoSlices) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint64_t rows : {1, 2, 131, 132, 133, 5000}) {
    for (const std::uint64_t columns : {std::uint64_t{3000}, three_slices}) {
      const sparse_rows m = rows_over_slices(rows, columns);
      if (m.entries() == 0) continue;
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

// Ranges are filled up to multiples of four places, whose column is the first one of a slice.
TEST(SlicedProduct, ReadsNoXThatARowHasNoEntryFor) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = made_rows("no first columns", 3000, three_slices, [](std::uint64_t r) {
    column_list c;
    for (std::uint64_t i = 0; i < r % 11; ++i) c.push_back(100 + (r * 31 + i * 6101) % (three_slices - 200));
    return c;
  });
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"});
  EXPECT_EQ(prepared.report().product, "cuda.sliced");
  std::vector<double> x(three_slices, 1);
  for (std::uint64_t c = 0; c < three_slices; ++c) {
    if (c < 100 || c >= three_slices - 100) x[c] = std::numeric_limits<double>::infinity();
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

TEST(SlicedProduct, NamesABadColumn) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_over_slices(1000, three_slices);
  std::uint64_t place = 0;
  constexpr std::uint64_t row = 785;
  for (std::uint64_t r = 0; r < row; ++r) place += m.rows[r].size();
  csr_images images(m, {});
  set_entry(images.column_indices, place + 3, three_slices);
  const placed_csr a(*ctx, images);
  expect_error(error_code::bad_index,
               fmt::format("prepare_spmv: column_indices[{}], of row {}, is {}, past the matrix's {} columns",
                           place + 3, row, three_slices, three_slices),
               [&] { prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.sliced"}); });
}

TEST(SlicedProduct, LeavesMatricesWithALongRowToRows) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint64_t length : {2048, 2049}) {
    const sparse_rows m = made_rows("one long row", 300, three_slices, [&](std::uint64_t r) {
      return drawn_columns(r, r == 150 ? length : 3, three_slices);
    });
    EXPECT_EQ(product_of(*ctx, m), length == 2048 ? "cuda.sliced" : "cuda.rows") << length;
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

// A system of three slices, whose matrix has entries on the diagonal and as many far from it as near.
TEST(SlicedProduct, SolvesSystemsOfSeveralSlices) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  constexpr std::uint64_t n = three_slices + 5;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> columns;
  std::vector<double> numbers_of;
  for (std::uint64_t r = 0; r < n; ++r) {
    for (const std::uint64_t c : {r, (r + 1) % n, (r + n - 1) % n, (r + n / 3) % n, (r + n - n / 3) % n}) {
      columns.push_back(static_cast<std::uint32_t>(c));
      numbers_of.push_back(c == r ? 4.5 : -1);
    }
    offsets.push_back(columns.size());
  }
  const auto sent = [&](const auto& from) {
    buffer to(*ctx, from.size() * sizeof(from[0]));
    copy_bytes(*ctx, to.data(), from.data(), to.size());
    return to;
  };
  const std::vector<double> right(n, 0.5);
  const buffer there[] = {sent(offsets), sent(columns), sent(numbers_of), sent(right)};
  const buffer x_there(*ctx, n * sizeof(double));
  const csr_view a(n, n, index_span(there[0].data(), offsets.size(), index_type::u64),
                   index_span(there[1].data(), columns.size(), index_type::u32),
                   const_values(there[2].data(), columns.size(), value_type::f64));
  const std::vector<double> zeros(n, 0);
  std::vector<double> first;
  for (int run = 0; run < 3; ++run) {
    copy_bytes(*ctx, x_there.data(), zeros.data(), x_there.size());
    const conjugate_gradient_result result =
        conjugate_gradient(*ctx, a, const_values(there[3].data(), n, value_type::f64),
                           values(x_there.data(), n, value_type::f64), {.tolerance = 1e-12, .variant = "cuda.sliced"});
    EXPECT_EQ(result.reason, stop_reason::converged);
    EXPECT_EQ(result.variant, "cuda.sliced");
    std::vector<double> x(n);
    copy_bytes(*ctx, x.data(), x_there.data(), x_there.size());
    ctx->wait();
    // Rows add up to 0.5, so x is 1.
    for (std::uint64_t r = 0; r < n; ++r) ASSERT_NEAR(x[r], 1, 1e-9) << "row " << r;
    if (run == 0) first = x;
    EXPECT_EQ(x, first) << "run " << run;
  }
}

}  // namespace
}  // namespace sheaf::tests
