// Sums of rows by cpu.rows where x is larger than the second-level cache of any machine, so that loops prefetch as a
// sample of the columns says. They have the bits of cpu.two_step, which gathers x before it adds.
#include <sheaf/spmv.hpp>

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "support/trials/csr.hpp"

namespace sheaf::tests::cpu_row_sums_test {
namespace {

constexpr std::uint64_t columns = 1'200'000;

/// Rows of 1 to 3 entries, and a few of lengths around the one from which on lines are prefetched otherwise.
template <class ColumnsOf>
sparse_rows rows_of_all_lengths(std::uint64_t rows, ColumnsOf columns_of) {
  return made_rows("rows of all lengths", rows, columns, [&](std::uint64_t r) {
    const std::uint64_t length = r % 1000 == 7 ? 120 + r / 1000 % 20 : r % 5001 == 11 ? 5000 : 1 + r % 3;
    column_list list(length);
    for (std::uint64_t i = 0; i < length; ++i) list[i] = columns_of(r, i);
    return list;
  });
}

void expect_the_same_bits(const sparse_rows& m, value_type value) {
  const csr_images images(m, {.value = value});
  for (const int threads : {1, 2}) {
    const context ctx = context::cpu(threads);
    const placed_csr a(ctx, images);
    const image gathered = product_of(ctx, a.view(), {.variant = "cpu.two_step"});
    expect_bytes(product_of(ctx, a.view(), {.variant = "cpu.rows"}).bytes, gathered, "y");
  }
}

TEST(RowSums, HaveTheSameBitsWhereXIsNear) {
  const sparse_rows m =
      rows_of_all_lengths(40'000, [](std::uint64_t r, std::uint64_t i) { return std::min(columns - 1, 20 * r + i); });
  expect_the_same_bits(m, value_type::f64);
  expect_the_same_bits(m, value_type::f32);
}

TEST(RowSums, HaveTheSameBitsWhereXIsScattered) {
  const sparse_rows m =
      rows_of_all_lengths(40'000, [](std::uint64_t r, std::uint64_t i) { return inputs::mix(r * 8191 + i) % columns; });
  expect_the_same_bits(m, value_type::f64);
  expect_the_same_bits(m, value_type::f32);
}

}  // namespace
}  // namespace sheaf::tests::cpu_row_sums_test
