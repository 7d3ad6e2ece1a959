// Windows of the preparation cuda.segmented hold rows of every length, wherever they begin and end, also empty ones;
// the parts of rows that windows cut are added in order, run after run, and in a graph beside other runs.
#include <sheaf/spmv.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/memory.hpp>

#include "support/captured_graph.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/prepared_runs.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::cuda_segmented_product_test {
namespace {

/// `count` columns of a row, near its own number or anywhere.
column_list columns_of(std::uint64_t row, std::uint64_t count, std::uint64_t columns, bool are_near) {
  if (!are_near) return drawn_columns(row, count, columns);
  column_list c;
  for (std::uint64_t i = 0; i < count; ++i) c.push_back((row + 3 * i) % columns);
  return c;
}

sparse_rows rows_of_lengths(const std::string& name, const std::vector<std::uint64_t>& lengths, bool are_near) {
  constexpr std::uint64_t columns = 70'000;
  return made_rows(name + (are_near ? ", near" : ", anywhere"), lengths.size(), columns,
                   [&](std::uint64_t r) { return columns_of(r, lengths[r], columns, are_near); });
}

/// Lengths about the steps of windows, and one of many windows, between rows of one entry and of none.
std::vector<std::uint64_t> lengths_about_windows() {
  std::vector<std::uint64_t> lengths(40, 0);
  for (const std::uint64_t n : {15, 16, 17, 31, 32, 33, 223, 224, 225, 239, 240, 241, 255, 256, 257, 511, 513, 5000}) {
    lengths.push_back(n);
    lengths.insert(lengths.end(), n % 7, 0);
    lengths.insert(lengths.end(), 40 + n % 13, 1);
    lengths.push_back(n % 90);
  }
  lengths.insert(lengths.end(), 300, 0);
  return lengths;
}

std::vector<sparse_rows> matrices() {
  std::vector<sparse_rows> all;
  for (const bool are_near : {true, false}) {
    all.push_back(rows_of_lengths("rows of every length", lengths_about_windows(), are_near));
    // The last window begins before its first place, or has none.
    for (const std::uint64_t entries : {256, 257, 271, 272, 479, 480, 481, 495, 496, 497, 720}) {
      all.push_back(
          rows_of_lengths(std::to_string(entries) + " rows of one", std::vector<std::uint64_t>(entries, 1), are_near));
      std::vector<std::uint64_t> one_long(entries, 0);
      one_long[entries / 2] = entries;
      all.push_back(rows_of_lengths("one row of " + std::to_string(entries), one_long, are_near));
      std::vector<std::uint64_t> ends_long(entries, 1);
      ends_long.back() = 17 + entries % 50;
      all.push_back(rows_of_lengths(std::to_string(entries) + " rows, the last is long", ends_long, are_near));
    }
  }
  return all;
}

TEST(SegmentedProduct, HasRowsOfEveryLength) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const sparse_rows& m : matrices()) {
    for (const csr_layout& layout :
         {csr_layout{}, csr_layout{.value = value_type::f32, .offset = index_type::u32, .column = index_type::i64}}) {
      const csr_images images(m, layout);
      const placed_csr a(*ctx, images);
      for (const char* const variant : {"cuda.segmented", "cuda.compressed"}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", m.name, layout.description(), variant));
        const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = variant});
        const image first = right_run(*ctx, prepared, m, layout.value, 0);
        right_run(*ctx, prepared, m, layout.value, 0.5);
        for (int run = 0; run < 3; ++run) {
          expect_bytes(right_run(*ctx, prepared, m, layout.value, 0).bytes, first, fmt::format("run {}", run));
        }
        if (HasFailure()) return;
      }
    }
  }
}

// Places before the first row and behind the last belong to none, and their columns and values may be anything.
TEST(SegmentedProduct, LeavesPlacesOfNoRowAlone) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const bool are_near : {true, false}) {
    for (const std::uint64_t around : {1, 100, 300}) {
      const sparse_rows m = rows_of_lengths("rows of every length", lengths_about_windows(), are_near);
      std::vector<std::uint64_t> offsets{around};
      std::vector<std::uint32_t> columns(around, 0xffffffffU);
      std::vector<double> numbers_of(around, std::numeric_limits<double>::quiet_NaN());
      for (const auto& row : m.rows) {
        for (const csr_entry& e : row) {
          columns.push_back(static_cast<std::uint32_t>(e.column));
          numbers_of.push_back(e.value);
        }
        offsets.push_back(columns.size());
      }
      columns.resize(columns.size() + around, 0xffffffffU);
      numbers_of.resize(columns.size(), std::numeric_limits<double>::quiet_NaN());
      const auto sent = [&](const auto& from) {
        buffer to(*ctx, from.size() * sizeof(from[0]));
        copy_bytes(*ctx, to.data(), from.data(), to.size());
        return to;
      };
      const buffer there[] = {sent(offsets), sent(columns), sent(numbers_of)};
      const csr_view a(m.rows.size(), m.columns, index_span(there[0].data(), offsets.size(), index_type::u64),
                       index_span(there[1].data(), columns.size(), index_type::u32),
                       const_values(there[2].data(), columns.size(), value_type::f64));
      for (const char* const variant : {"cuda.segmented", "cuda.compressed"}) {
        SCOPED_TRACE(fmt::format("{}, {} places around, {}", m.name, around, variant));
        const prepared_spmv prepared = prepare_spmv(*ctx, a, 5, {.variant = variant});
        EXPECT_EQ(prepared.report().product, "cuda.segmented");
        right_run(*ctx, prepared, m, value_type::f64, 0);
      }
    }
  }
}

TEST(SegmentedProduct, AddsInWiderNumbersWhereAsked) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_of_lengths("rows of every length", lengths_about_windows(), false);
  const csr_images images(m, {.value = value_type::f32});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.sums = spmv_sums::f64, .variant = "cuda.segmented"});
  right_run(*ctx, prepared, m, value_type::f32, 0, spmv_sums::f64);
}

// The parts of a row are counted anew in each run, with no wait in between.
TEST(SegmentedProduct, RunsFollowEachOther) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_of_lengths("rows of every length", lengths_about_windows(), false);
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.segmented"});
  const image expected = right_run(*ctx, prepared, m, value_type::f64, 0);
  const placed_vectors v(*ctx, m, value_type::f64);
  for (int run = 0; run < 50; ++run) {
    v.run(prepared);
  }
  ctx->wait();
  expect_bytes(v.placed_y.download(), expected, "the last of many runs");
}

TEST(SegmentedProduct, NamesABadColumnOfALongRow) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_of_lengths("rows of every length", lengths_about_windows(), true);
  csr_images images(m, {});
  std::uint64_t place = 0;
  std::uint64_t row = 0;
  for (; m.rows[row].size() != 5000; ++row) place += m.rows[row].size();
  set_entry(images.column_indices, place + 3000, 70'000);
  const placed_csr a(*ctx, images);
  for (const char* const variant : {"cuda.segmented", "cuda.compressed"}) {
    expect_error(error_code::bad_index,
                 fmt::format("prepare_spmv: column_indices[{}], of row {}, is 70000, past the matrix's 70000 columns",
                             place + 3000, row),
                 [&] { prepare_spmv(*ctx, a.view(), 5, {.variant = variant}); });
  }
}

TEST(SegmentedProduct, SaysThatItIsWhatUnevenRowsTake) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const auto product_of = [&](const sparse_rows& m, const char* variant) {
    const csr_images images(m, {});
    const placed_csr a(*ctx, images);
    return prepare_spmv(*ctx, a.view(), 5, {.variant = variant}).report().product;
  };
  const sparse_rows uneven = rows_of_lengths("uneven", lengths_about_windows(), true);
  EXPECT_EQ(product_of(uneven, "cuda.segmented"), "cuda.segmented");
  EXPECT_EQ(product_of(uneven, "cuda.compressed"), "cuda.segmented");
  EXPECT_EQ(product_of(banded(5000, 3), "cuda.compressed"), "cuda.compressed");
  EXPECT_EQ(product_of(at_random(4000, 200'000, 6), "cuda.compressed"), "cuda.segmented");
  EXPECT_EQ(product_of(banded(3000, 80), "cuda.segmented"), "cuda.rows") << "more than 96 a row";
  EXPECT_EQ(product_of(banded(40, 2), "cuda.segmented"), "cuda.rows") << "less than a window";
}

TEST(SegmentedProduct, RunsInAGraphAsItDoesBesideIt) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const sparse_rows m = rows_of_lengths("rows of every length", lengths_about_windows(), false);
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.variant = "cuda.segmented"});
  const image expected = right_run(*ctx, prepared, m, value_type::f64, 0);
  const placed_vectors v(*ctx, m, value_type::f64);
  const captured_graph graph(*ctx, [&] { v.run(prepared); });
  for (int run = 0; run < 3; ++run) {
    graph.launch();
    right_run(*ctx, prepared, m, value_type::f64, 0);
    ctx->wait();
    expect_bytes(v.placed_y.download(), expected, fmt::format("launch {}", run));
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_segmented_product_test
