// What a sparse product in two steps moves by the 2007 model.
#include "papers/he2007/product_bytes.hpp"

#include <gtest/gtest.h>

namespace sheaf::tests::papers_he2007_product_bytes_test {
namespace {

namespace he2007 = bench::papers::he2007;

/// Blocks of 64 bytes, of which the cache holds this many.
plan::he2007::parameters machine_of(double cache_blocks) {
  return {.block_bytes = 64,
          .transfer_bytes = 32,
          .hit_seconds = 1e-10,
          .cache_blocks = cache_blocks,
          .sequential_bytes_per_second = 1e10,
          .warp_threads = 1};
}

// V is one block, which is missed once; then R is written and read, values, offsets and columns are read, W is written.
TEST(ProductBytes, AreAllArraysOnceWhereVIsOneBlock) {
  const he2007::product_sizes sizes{
      .rows = 10, .columns = 8, .entries = 100, .value_bytes = 8, .column_bytes = 4, .offset_bytes = 2};
  constexpr double miss = 64;
  constexpr double columns = 100 * 4;
  constexpr double r_written_and_read = 2 * 100 * 8;
  constexpr double values = 100 * 8;
  constexpr double offsets = 11 * 2;
  constexpr double w = 10 * 8;
  EXPECT_NEAR(he2007::moved_by_product(sizes, 1, machine_of(1000)),
              miss + columns + r_written_and_read + values + offsets + w, 1e-6);
}

TEST(ProductBytes, HaveTheColumnsOncePerPass) {
  const he2007::product_sizes sizes{
      .rows = 1000, .columns = 1 << 20, .entries = 1 << 24, .value_bytes = 4, .column_bytes = 4, .offset_bytes = 8};
  const plan::he2007::parameters large = machine_of(1 << 20);  // V fits in any number of passes, and misses once
  const double one = he2007::moved_by_product(sizes, 1, large);
  EXPECT_NEAR(he2007::moved_by_product(sizes, 5, large) - one, 4.0 * 4 * (1 << 24), 1e-6 * one);
}

// Each access to a V that no cache holds moves a whole block; in passes over parts that fit, each block moves once.
TEST(ProductBytes, HaveABlockForEachMiss) {
  constexpr double entries = 1 << 24;
  constexpr double blocks_of_v = 1 << 18;  // 16 values each
  const he2007::product_sizes sizes{
      .rows = 1, .columns = 1 << 22, .entries = 1 << 24, .value_bytes = 4, .column_bytes = 4, .offset_bytes = 4};
  const double others = 3 * entries * 4 + 2 * 4 + 4;  // R twice, values, offsets and W
  const double in_one = he2007::moved_by_product(sizes, 1, machine_of(1024)) - others - entries * 4;
  EXPECT_GT(in_one, 0.99 * entries * 64);
  EXPECT_LE(in_one, entries * 64);
  const double in_many = he2007::moved_by_product(sizes, 512, machine_of(1024)) - others - 512 * entries * 4;
  EXPECT_NEAR(in_many, blocks_of_v * 64, 0.01 * blocks_of_v * 64);
}

TEST(ProductBytes, TheModelPassesWhereVDoesNotFit) {
  he2007::product_sizes sizes{
      .rows = 1 << 20, .columns = 1 << 20, .entries = 1 << 24, .value_bytes = 4, .column_bytes = 4, .offset_bytes = 8};
  EXPECT_EQ(he2007::modelled_passes(sizes, machine_of(1 << 20)), 1U);
  const std::uint64_t several = he2007::modelled_passes(sizes, machine_of(1 << 13));
  EXPECT_GE(several, 4U);
  EXPECT_LE(several, 64U);
  sizes.columns = 1;
  EXPECT_EQ(he2007::modelled_passes(sizes, machine_of(1 << 13)), 1U);
}

TEST(ProductBytes, OfAnEmptyMatrixAreItsOffset) {
  const he2007::product_sizes none{
      .rows = 0, .columns = 0, .entries = 0, .value_bytes = 8, .column_bytes = 4, .offset_bytes = 8};
  EXPECT_EQ(he2007::moved_by_product(none, 1, machine_of(8)), 8.0);
}

TEST(ProductBytes, TheGatherHasAnAccessForEachEntry) {
  const plan::he2007::sizes gather = he2007::gather_of({3, 5, 7, 4, 8, 2});
  EXPECT_EQ(gather.count, 7U);
  EXPECT_EQ(gather.indexed_count, 5U);
  EXPECT_EQ(gather.record_bytes, 4U);
  EXPECT_EQ(gather.index_bytes, 56U);
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_product_bytes_test
