// Blocks of the preparation cpu.bsr, and of those that look for blocks, too: all sizes, rows of every number of blocks,
// and matrices that have no blocks but for an entry. Products have the bits of cpu.rows.
#include <sheaf/spmv.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/failing_memory.hpp"
#include "support/prepared_runs.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::cpu_bsr_product_test {
namespace {

column_list columns_of_blocks(const column_list& blocks, std::uint64_t block) {
  column_list columns;
  for (const std::uint64_t b : blocks) {
    for (std::uint64_t c = 0; c < block; ++c) columns.push_back(b * block + c);
  }
  return columns;
}

/// Rows of blocks: block row r has the blocks that `of` names.
template <class Of>
sparse_rows rows_of_blocks(std::uint64_t block, std::uint64_t block_rows, std::uint64_t block_columns, Of of) {
  return made_rows("rows of blocks", block_rows * block, block_columns * block,
                   [&](std::uint64_t row) { return columns_of_blocks(of(row / block), block); });
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

/// The preparations that find blocks.
constexpr const char* finders[] = {"cpu.bsr", "cpu.diagonals", "cpu.blocked"};

/// Bytes of a matrix in blocks: values, a column for each block, and the begins of block rows.
std::uint64_t bytes_in_blocks(const sparse_rows& m, std::uint64_t block, value_type value) {
  return m.entries() * bytes(value) + m.entries() / (block * block) * 4 + (m.rows.size() / block + 1) * 4;
}

/// Compares the runs of a prepared matrix with cpu.rows, bit by bit.
void expect_bits_of_rows(const context& ctx, const prepared_spmv& prepared, const sparse_rows& m, const csr_view& a,
                         spmv_sums sums) {
  const value_type type = a.values.type;
  for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{0.7, -0.3}, std::pair{0.0, 1.0}}) {
    const image expected = product_of(ctx, a, {.alpha = alpha, .beta = beta, .sums = sums, .variant = "cpu.rows"});
    const image x = numbers(m.columns, type, x_at, false);
    const image y = numbers(
        m.rows.size(), type,
        [&, b = beta](std::uint64_t i) { return b == 0 ? std::numeric_limits<double>::quiet_NaN() : y_at(i); }, true);
    const placed placed_x(ctx, x);
    const placed placed_y(ctx, y);
    prepared.run(const_values_of(placed_x.view(), type), values_of(placed_y.view(), type), alpha, beta);
    ctx.wait();
    expect_bytes(placed_y.download(), expected, fmt::format("alpha {}, beta {}", alpha, beta));
  }
}

class CpuBsrProduct : public testing::TestWithParam<std::uint64_t> {};

TEST_P(CpuBsrProduct, HasTheBitsOfRowsForEveryNumberOfBlocks) {
  const std::uint64_t block = GetParam();
  const csr_layout layouts[] = {{},
                                {value_type::f32, index_type::u32, index_type::i64, false},
                                {value_type::f64, index_type::i64, index_type::u64, true},
                                {value_type::f32, index_type::i32, index_type::i32, true}};
  // Of the most, threads look at several chunks.
  for (const std::uint64_t block_rows : {1, 31, 2100}) {
    const sparse_rows m =
        rows_of_blocks(block, block_rows, 77, [](std::uint64_t r) { return r % 8 < 2 ? few(r, 77) : uneven(r, 77); });
    for (const csr_layout& layout : layouts) {
      const csr_images images(m, layout);
      for (const int threads : {1, 3}) {
        const context ctx = context::cpu(threads);
        const placed_csr a(ctx, images);
        for (const spmv_sums sums : {spmv_sums::as_values, spmv_sums::f64}) {
          if (layout.value == value_type::f64 && sums == spmv_sums::f64) continue;
          SCOPED_TRACE(
              fmt::format("{} block rows of {}, {}, {} threads", block_rows, block, layout.description(), threads));
          const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 5, {.sums = sums, .variant = "cpu.bsr"});
          EXPECT_EQ(prepared.report().variant, "cpu.bsr");
          EXPECT_EQ(prepared.report().product, "cpu.bsr");
          EXPECT_EQ(prepared.report().kept_bytes, bytes_in_blocks(m, block, layout.value));
          expect_bits_of_rows(ctx, prepared, m, a.view(), sums);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(CpuBsrProduct, IsFoundByOtherPreparations) {
  const std::uint64_t block = GetParam();
  const sparse_rows m = rows_of_blocks(block, 150, 77, [](std::uint64_t r) { return uneven(r, 77); });
  const context ctx = context::cpu(2);
  for (const csr_layout layout : {csr_layout{}, csr_layout{value_type::f32, index_type::i32, index_type::i64, true}}) {
    const csr_images images(m, layout);
    const placed_csr a(ctx, images);
    for (const char* const variant : finders) {
      SCOPED_TRACE(variant);
      const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 5, {.variant = variant});
      EXPECT_EQ(prepared.report().variant, variant);
      EXPECT_EQ(prepared.report().product, "cpu.bsr");
      expect_bits_of_rows(ctx, prepared, m, a.view(), spmv_sums::as_values);
    }
  }
}

TEST_P(CpuBsrProduct, IsTheProduct) {
  const sparse_rows m = rows_of_blocks(GetParam(), 300, 500, [](std::uint64_t r) { return uneven(r, 500); });
  for (const value_type type : {value_type::f64, value_type::f32}) {
    const csr_images images(m, {.value = type});
    const context ctx = context::cpu(2);
    const placed_csr a(ctx, images);
    const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 5, {.variant = "cpu.bsr"});
    EXPECT_EQ(prepared.report().product, "cpu.bsr");
    right_run(ctx, prepared, m, type, 0);
    right_run(ctx, prepared, m, type, 0.5);
  }
}

// Each has one entry, or one length, that no block has.
TEST_P(CpuBsrProduct, IsNotOfAMatrixThatHasNoBlocks) {
  const std::uint64_t block = GetParam();
  const auto made_with = [&](auto change, std::uint64_t more_rows) {
    return made_rows("nearly blocks", 40 * block + more_rows, 50 * block, [&](std::uint64_t row) {
      column_list columns = columns_of_blocks(few(row / block, 50), block);
      change(row, columns);
      return columns;
    });
  };
  const std::uint64_t last = 39 * block + block - 1;
  const auto change_last_column = [&](std::uint64_t row, column_list& c) {
    if (row == last) c.back() = (c.back() + block) % (50 * block);
  };
  const auto shorten_last_row = [&](std::uint64_t row, column_list& c) {
    if (row == last) c.resize(c.size() - block);
  };
  const auto swap_columns = [&](std::uint64_t row, column_list& c) {
    if (row == 1) std::swap(c[0], c[1]);
  };
  const auto begin_off_multiples = [&](std::uint64_t row, column_list& c) {
    if (row / block != 7) return;
    for (auto& at : c) at = (at + 1) % (50 * block);
  };
  const auto add_an_entry_to_all_rows = [&](std::uint64_t row, column_list& c) {
    if (row / block == 23) c.push_back(0);
  };
  const sparse_rows cases[] = {made_with(change_last_column, 0),
                               made_with(shorten_last_row, 0),
                               made_with(swap_columns, 0),
                               made_with(begin_off_multiples, 0),
                               made_with(add_an_entry_to_all_rows, 0),
                               made_with([](std::uint64_t, column_list&) {}, 1)};
  int number = 0;
  for (const sparse_rows& m : cases) {
    for (const char* const variant : finders) {
      SCOPED_TRACE(fmt::format("case {}, {}", number, variant));
      const csr_images images(m, {});
      const context ctx = context::cpu(2);
      const placed_csr a(ctx, images);
      const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 5, {.variant = variant});
      EXPECT_NE(prepared.report().product, "cpu.bsr");
      right_run(ctx, prepared, m, value_type::f64, 0);
    }
    ++number;
  }
}

// Rows of more than 4096 entries are added piece by piece.
TEST_P(CpuBsrProduct, HasRowsOfOnePiece) {
  const std::uint64_t block = GetParam();
  for (const bool is_longer : {false, true}) {
    const std::uint64_t blocks = 4096 / block + (is_longer ? 1 : 0);
    const sparse_rows m = rows_of_blocks(block, 2, 6000 / block, [&](std::uint64_t r) {
      column_list all;
      for (std::uint64_t i = 0; i < blocks; ++i) all.push_back((i + 7 * r) % (6000 / block));
      return all;
    });
    const csr_images images(m, {.value = value_type::f32});
    const context ctx = context::cpu(2);
    const placed_csr a(ctx, images);
    const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 5, {.variant = "cpu.bsr"});
    EXPECT_EQ(prepared.report().product, is_longer ? "cpu.rows" : "cpu.bsr");
    expect_bits_of_rows(ctx, prepared, m, a.view(), spmv_sums::as_values);
  }
}

// Blocks have no zeros that the matrix has not: x that is not finite spreads to the rows that read it alone.
TEST_P(CpuBsrProduct, ReadsNoXThatARowHasNoEntryFor) {
  const std::uint64_t block = GetParam();
  const sparse_rows m = rows_of_blocks(block, 200, 60, [](std::uint64_t r) {
    column_list blocks;
    for (const std::uint64_t b : uneven(r, 59)) blocks.push_back(b + 1);  // none in the first block column
    return blocks;
  });
  const csr_images images(m, {});
  const context ctx = context::cpu(1);
  const placed_csr a(ctx, images);
  const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 5, {.variant = "cpu.bsr"});
  EXPECT_EQ(prepared.report().product, "cpu.bsr");
  std::vector<double> x(60 * block, 1);
  for (std::uint64_t c = 0; c < block; ++c) x[c] = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> y(200 * block);
  prepared.run(const_values(x), values(y));
  for (const double value : y) ASSERT_FALSE(std::isnan(value));
}

TEST_P(CpuBsrProduct, NamesWhatIsWrongWithAMatrix) {
  const std::uint64_t block = GetParam();
  const sparse_rows m = rows_of_blocks(block, 40, 50, [](std::uint64_t r) { return few(r, 50); });
  const context ctx = context::cpu(2);
  // The first entry of a block row, and the last one.
  for (const std::uint64_t place : {7 * block * 3 * block, 8 * block * 3 * block - 1}) {
    csr_images images(m, {});
    set_entry(images.column_indices, place, 50 * block);
    const placed_csr a(ctx, images);
    for (const char* const variant : finders) {
      expect_error(error_code::bad_index,
                   fmt::format("prepare_spmv: column_indices[{}], of row {}, is {}, past the matrix's {} columns",
                               place, place / (3 * block), 50 * block, 50 * block),
                   [&] { prepare_spmv(ctx, a.view(), 5, {.variant = variant}); });
    }
  }
  csr_images images(m, {});
  set_entry(images.begins, 5 * block, 1);
  const placed_csr a(ctx, images);
  for (const char* const variant : finders) {
    expect_error(error_code::bad_index,
                 fmt::format("prepare_spmv: row {} begins at {} and ends at 1, before it begins", 5 * block - 1,
                             (5 * block - 1) * 3 * block),
                 [&] { prepare_spmv(ctx, a.view(), 5, {.variant = variant}); });
  }
}

// All columns of a block, but for the last one, are columns of the matrix.
TEST_P(CpuBsrProduct, NamesTheColumnsThatABlockHasPastTheMatrix) {
  const std::uint64_t block = GetParam();
  const sparse_rows m = rows_of_blocks(block, 20, 10, [](std::uint64_t r) { return column_list{r % 10}; });
  const csr_images images(m, {});
  const context ctx = context::cpu(1);
  const placed_csr placed_a(ctx, images);
  csr_view a = placed_a.view();
  a.columns = 10 * block - 1;
  for (const char* const variant : finders) {
    expect_error(error_code::bad_index,
                 fmt::format("prepare_spmv: column_indices[{}], of row {}, is {}, past the matrix's {} columns",
                             9 * block * block + block - 1, 9 * block, 10 * block - 1, 10 * block - 1),
                 [&] { prepare_spmv(ctx, a, 5, {.variant = variant}); });
  }
}

TEST_P(CpuBsrProduct, AnyAllocationMayFail) {
  const std::uint64_t block = GetParam();
  const sparse_rows m = rows_of_blocks(block, 400, 60, [](std::uint64_t r) { return uneven(r, 60); });
  const csr_images images(m, {});
  context ctx = context::cpu(2);
  const placed_csr a(ctx, images);
  const placed_vectors v(ctx, m, value_type::f64);
  failing_memory memory(ctx);
  ctx.use(memory.resource());
  std::uint64_t failures = 0;
  for (const char* const variant : finders) {
    bool has_failed = true;
    for (std::uint64_t failing = 0; has_failed; ++failing) {
      ASSERT_LT(failing, 20U);
      memory.calls = 0;
      memory.fails_at = failing;
      has_failed = false;
      try {
        v.run(prepare_spmv(ctx, a.view(), 5, {.variant = variant}));
      } catch (const error& e) {
        has_failed = true;
        ++failures;
        EXPECT_EQ(e.code(), error_code::out_of_memory) << e.what();
        EXPECT_TRUE(std::string_view(e.what()).starts_with("prepare_spmv: ")) << e.what();
      }
      EXPECT_EQ(memory.bytes, 0U) << "memory was not given back";
    }
  }
  EXPECT_GE(failures, 3U * std::size(finders));
  ctx.use(memory.under);
}

INSTANTIATE_TEST_SUITE_P(Blocks, CpuBsrProduct, testing::Range<std::uint64_t>(2, 9));

TEST(CpuBsr, TakesTheLargestBlocks) {
  const context ctx = context::cpu(2);
  for (const auto& [made_of, found] : {std::pair{8U, 8U}, std::pair{10U, 5U}, std::pair{12U, 6U}, std::pair{9U, 3U},
                                       std::pair{16U, 8U}, std::pair{22U, 2U}}) {
    const sparse_rows m = rows_of_blocks(made_of, 60, 40, [](std::uint64_t r) { return few(r, 40); });
    const csr_images images(m, {});
    const placed_csr a(ctx, images);
    const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 5, {.variant = "cpu.bsr"});
    EXPECT_EQ(prepared.report().product, "cpu.bsr");
    EXPECT_EQ(prepared.report().kept_bytes, bytes_in_blocks(m, found, value_type::f64)) << made_of;
  }
}

// Every row begins and ends where the first does.
TEST(CpuBsr, CopiesNoEntriesThatRowsShare) {
  const context ctx = context::cpu(2);
  const std::vector<std::uint64_t> begins(100, 0);
  const std::vector<std::uint64_t> ends(100, 4);
  const std::vector<std::uint32_t> columns{0, 1, 6, 7};
  const std::vector<double> numbers{1, 2, 3, 4};
  const csr_view a(100, 8, begins, ends, columns, const_values(numbers));
  const prepared_spmv prepared = prepare_spmv(ctx, a, 5, {.variant = "cpu.bsr"});
  EXPECT_EQ(prepared.report().product, "cpu.rows");
  const std::vector<double> x{1, 1, 0, 0, 0, 0, 1, 1};
  std::vector<double> y(100);
  prepared.run(const_values(x), values(y));
  for (const double value : y) ASSERT_EQ(value, 10);
}

TEST(CpuBsr, SaysWhichProductsItDoesNotTake) {
  const context ctx = context::cpu(1);
  const csr_images none(made_rows("no entries", 20, 30, [](std::uint64_t) { return column_list{}; }), {});
  const placed_csr empty(ctx, none);
  const std::string words =
      message_of(error_code::no_variant, [&] { prepare_spmv(ctx, empty.view(), 5, {.variant = "cpu.bsr"}); });
  EXPECT_NE(words.find("the matrix has no entries"), std::string::npos) << words;
  const csr_images images(banded(20, 1), {});
  const placed_csr a(ctx, images);
  const std::string of_transposed = message_of(
      error_code::no_variant, [&] { prepare_spmv(ctx, a.view(), 5, {.transposed = true, .variant = "cpu.bsr"}); });
  EXPECT_NE(of_transposed.find("blocks are found row by row, but the product is transposed"), std::string::npos)
      << of_transposed;
}

}  // namespace
}  // namespace sheaf::tests::cpu_bsr_product_test
