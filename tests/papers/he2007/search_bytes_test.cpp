// The bytes that section 4.2 of the 2007 paper is taken to count for a hash search.
#include "papers/he2007/search_bytes.hpp"

#include <gtest/gtest.h>

namespace sheaf::tests::papers_he2007_search_bytes_test {
namespace {

using bench::papers::he2007::search_bytes;
using bench::papers::he2007::search_sizes;
using plan::he2007::parameters;

parameters with_cache(double blocks) {
  parameters p;
  p.block_bytes = 64;
  p.transfer_bytes = 32;
  p.cache_blocks = blocks;
  return p;
}

search_sizes search_of_million() { return {.probes = 1000, .records = 1'000'000, .matches = 1000}; }

/// Of 1000 probes: keys, numbers of results and places, each written and read, L written, and what the gather reads of
/// L and writes.
constexpr double in_order = 4000 + 4 * 4000 + 4000 + 4000 + 8000;

TEST(SearchBytes, OfNoCacheAreBlocksForEachHeaderBucketAndRecord) {
  EXPECT_DOUBLE_EQ(search_bytes(search_of_million(), with_cache(0)), in_order + 3 * 1000 * 64);
}

TEST(SearchBytes, OfTwoBlocksForABucketAreTwice) {
  search_sizes search = search_of_million();
  search.load = 12;  // 13 entries of 8 bytes
  EXPECT_DOUBLE_EQ(search_bytes(search, with_cache(0)), in_order + 4 * 1000 * 64);
}

TEST(SearchBytes, ReadKeysOnceForEachChunkAndTheListOnceForEachPass) {
  search_sizes search = search_of_million();
  search.chunks = 5;
  search.passes = 3;
  EXPECT_DOUBLE_EQ(search_bytes(search, with_cache(0)), in_order + 4 * 4000 + 2 * 4000 + 3 * 1000 * 64);
}

TEST(SearchBytes, CountMissesOnlyOfWhatTheCacheDoesNotHold) {
  search_sizes search{.probes = 1 << 20, .records = 1 << 12, .matches = 1 << 20};
  const double scanned = in_order / 1000 * (1 << 20);
  // Every block once: 4138 headers of 4 bytes, 32 KB of entries and 32 KB of records.
  const double once = 64.0 * (259 + 512 + 512);
  const double all_cached = search_bytes(search, with_cache(1 << 20));
  EXPECT_NEAR(all_cached, scanned + once, 1);
  const double few_cached = search_bytes(search, with_cache(256));
  EXPECT_GT(few_cached, 1.5 * all_cached);
  // A chunk of a quarter, and a pass over it, fits.
  search.chunks = search.passes = 4;
  const double in_chunks = search_bytes(search, with_cache(256));
  EXPECT_NEAR(in_chunks, all_cached + 2 * 3 * 4.0 * (1 << 20), 0.01 * all_cached);
  EXPECT_LT(in_chunks, few_cached);
}

TEST(SearchBytes, OfProbesThatFindNothingHaveNoRecords) {
  search_sizes search = search_of_million();
  search.matches = 0;
  EXPECT_DOUBLE_EQ(search_bytes(search, with_cache(0)), 4000 + 4 * 4000 + 2 * 1000 * 64);
  EXPECT_EQ(search_bytes({.probes = 0, .records = 10}, with_cache(0)), 0);
}

TEST(SearchBytes, TakeWidthsAsGiven) {
  search_sizes search = search_of_million();
  search.key_bytes = 8;
  search.number_bytes = 8;
  search.record_bytes = 16;
  EXPECT_DOUBLE_EQ(search_bytes(search, with_cache(0)), 2.0 * in_order + 3 * 1000 * 64);
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_search_bytes_test
