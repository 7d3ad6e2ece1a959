// Blocks of the preparations cuda.bsr and cuda.compressed: all sizes, rows of every number of blocks, and matrices that
// have no blocks but for an entry.
#include <sheaf/spmv.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/memory.hpp>

#include "support/captured_graph.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/prepared_runs.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::cuda_bsr_product_test {
namespace {

/// Rows of blocks: block row r has the blocks that `of` names.
template <class Of>
sparse_rows rows_of_blocks(std::uint64_t block, std::uint64_t block_rows, std::uint64_t block_columns, Of of) {
  return made_rows("rows of blocks", block_rows * block, block_columns * block, [&](std::uint64_t row) {
    column_list columns;
    for (const std::uint64_t b : of(row / block)) {
      for (std::uint64_t c = 0; c < block; ++c) columns.push_back(b * block + c);
    }
    return columns;
  });
}

/// 0 to 40 blocks, in no order, of which some repeat.
column_list uneven(std::uint64_t block_row, std::uint64_t block_columns) {
  column_list blocks;
  for (std::uint64_t i = 0; i < block_row * 7 % 41; ++i)
    blocks.push_back((block_row * 31 + i * i * 17) % block_columns);
  return blocks;
}

column_list few(std::uint64_t block_row, std::uint64_t block_columns) {
  return {block_row % block_columns, (block_row + 3) % block_columns, (block_row * 5 + 1) % block_columns};
}

class BsrProduct : public testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }
  std::optional<context> ctx;
};

TEST_P(BsrProduct, IsRightForRowsOfEveryNumberOfBlocks) {
  const std::uint64_t block = GetParam();
  for (const std::uint64_t block_rows : {1, 2, 31, 1000}) {
    for (const bool is_uneven : {false, true}) {
      const sparse_rows m = rows_of_blocks(block, block_rows, 77,
                                           [&](std::uint64_t r) { return is_uneven ? uneven(r + 1, 77) : few(r, 77); });
      for (const csr_layout& layout :
           {csr_layout{}, csr_layout{.value = value_type::f32, .offset = index_type::u32, .column = index_type::i64}}) {
        for (const char* const variant : {"cuda.bsr", "cuda.compressed"}) {
          SCOPED_TRACE(fmt::format("{} block rows of {}, {}, {}", block_rows, block, layout.description(), variant));
          const csr_images images(m, layout);
          const placed_csr a(*ctx, images);
          const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = variant});
          EXPECT_EQ(prepared.report().product, "cuda.bsr");
          right_run(*ctx, prepared, m, layout.value, 0);
          right_run(*ctx, prepared, m, layout.value, 0.5);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(BsrProduct, AddsInWiderNumbersWhereAsked) {
  const sparse_rows m = rows_of_blocks(GetParam(), 300, 500, [](std::uint64_t r) { return uneven(r, 500); });
  const csr_images images(m, {.value = value_type::f32});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.sums = spmv_sums::f64, .variant = "cuda.bsr"});
  EXPECT_EQ(prepared.report().product, "cuda.bsr");
  right_run(*ctx, prepared, m, value_type::f32, 0, spmv_sums::f64);
}

TEST_P(BsrProduct, HasTheSameBitsInAHundredRuns) {
  const sparse_rows m = rows_of_blocks(GetParam(), 700, 500, [](std::uint64_t r) { return uneven(r, 500); });
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.bsr"});
  const image expected = right_run(*ctx, prepared, m, value_type::f64, 0);
  const prepared_spmv again = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.bsr"});
  const placed_vectors v(*ctx, m, value_type::f64);
  for (int run = 0; run < 100; ++run) {
    v.run(run % 2 == 0 ? prepared : again);
    ctx->wait();
    expect_bytes(v.placed_y.download(), expected, fmt::format("run {}", run));
    if (HasFailure()) return;
  }
}

// Each has one entry, or one length, that no block has.
TEST_P(BsrProduct, IsNotOfAMatrixThatHasNoBlocks) {
  const std::uint64_t block = GetParam();
  const auto made_with = [&](auto change, std::uint64_t more_rows) {
    const auto in_blocks = [&](std::uint64_t row) {
      column_list columns;
      for (const std::uint64_t b : few(row / block, 50)) {
        for (std::uint64_t c = 0; c < block; ++c) columns.push_back(b * block + c);
      }
      return columns;
    };
    return made_rows("nearly blocks", 40 * block + more_rows, 50 * block, [&](std::uint64_t row) {
      column_list columns = in_blocks(row);
      change(row, columns);
      return columns;
    });
  };
  const std::uint64_t last = 39 * block + block - 1;
  const sparse_rows cases[] = {made_with(
                                   [&](std::uint64_t row, column_list& c) {
                                     if (row == last) c.back() = (c.back() + block) % (50 * block);
                                   },
                                   0),
                               made_with(
                                   [&](std::uint64_t row, column_list& c) {
                                     if (row == last) c.resize(c.size() - block);
                                   },
                                   0),
                               made_with(
                                   [&](std::uint64_t row, column_list& c) {
                                     if (row == 1) std::swap(c[0], c[1]);
                                   },
                                   0),
                               made_with(
                                   [&](std::uint64_t row, column_list& c) {
                                     if (row / block == 7)
                                       for (auto& at : c) at = (at + 1) % (50 * block);
                                   },
                                   0),
                               made_with([](std::uint64_t, column_list&) {}, 1)};
  int number = 0;
  for (const sparse_rows& m : cases) {
    SCOPED_TRACE(fmt::format("case {}", number++));
    const csr_images images(m, {});
    const placed_csr a(*ctx, images);
    const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.bsr"});
    EXPECT_NE(prepared.report().product, "cuda.bsr");
    right_run(*ctx, prepared, m, value_type::f64, 0);
  }
}

// A block of its own has no zeros that the matrix has not: x that is not finite spreads to the rows that read it alone.
TEST_P(BsrProduct, ReadsNoXThatARowHasNoEntryFor) {
  const std::uint64_t block = GetParam();
  const sparse_rows m = rows_of_blocks(block, 200, 60, [](std::uint64_t r) {
    column_list blocks;
    for (const std::uint64_t b : uneven(r, 59)) blocks.push_back(b + 1);  // none in the first block column
    return blocks;
  });
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.bsr"});
  EXPECT_EQ(prepared.report().product, "cuda.bsr");
  std::vector<double> x(60 * block, 1);
  for (std::uint64_t c = 0; c < block; ++c) x[c] = std::numeric_limits<double>::quiet_NaN();
  const buffer placed_x(*ctx, x.size() * 8);
  const buffer placed_y(*ctx, 200 * block * 8);
  copy_bytes(*ctx, placed_x.data(), x.data(), x.size() * 8);
  prepared.run(const_values(placed_x.data(), x.size(), value_type::f64),
               values(placed_y.data(), 200 * block, value_type::f64));
  std::vector<double> y(200 * block);
  copy_bytes(*ctx, y.data(), placed_y.data(), y.size() * 8);
  for (const double value : y) ASSERT_FALSE(std::isnan(value));
}

TEST_P(BsrProduct, NamesABadColumn) {
  const std::uint64_t block = GetParam();
  csr_images images(rows_of_blocks(block, 40, 50, [](std::uint64_t r) { return few(r, 50); }), {});
  const std::uint64_t place = 7 * block * 3 * block;  // the first entry of a block row
  set_entry(images.column_indices, place, 50 * block);
  const placed_csr a(*ctx, images);
  expect_error(error_code::bad_index,
               fmt::format("prepare_spmv: column_indices[{}], of row {}, is {}, past the matrix's {} columns", place,
                           7 * block, 50 * block, 50 * block),
               [&] { prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.bsr"}); });
}

INSTANTIATE_TEST_SUITE_P(Blocks, BsrProduct, testing::Range<std::uint64_t>(2, 9));

}  // namespace
}  // namespace sheaf::tests::cuda_bsr_product_test
