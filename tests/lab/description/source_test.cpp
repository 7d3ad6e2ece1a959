// Keys that are functions of their position: what their distributions promise, and that a key tells its rank.
#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "lab/description/sort/source.hpp"
#include "lab/description/split/source.hpp"

namespace sheaf::tests::lab_description_source_test {
namespace {

using jobs::key_word128;
using jobs::sort_source;
using jobs::split_source;
using primitives::key_distribution;

constexpr std::uint64_t count = 5000;

std::vector<key_word128> ranks(const sort_source& s) {
  std::vector<key_word128> all;
  for (std::uint64_t i = 0; i < s.count; ++i) all.push_back(rank_of(s, i));
  return all;
}

std::vector<sort_source> types_of(key_distribution distribution) {
  std::vector<sort_source> all;
  for (const std::uint32_t bytes : {1U, 2U, 4U, 7U, 8U, 12U, 16U}) {
    for (const key_type type : {key_type::unsigned_integer, key_type::signed_integer, key_type::bytes}) {
      all.push_back(
          {.distribution = distribution, .type = type, .key_bytes = bytes, .bits = 8 * bytes, .count = count});
    }
  }
  for (const std::uint32_t bytes : {4U, 8U}) {
    all.push_back({.distribution = distribution,
                   .type = key_type::floating,
                   .key_bytes = bytes,
                   .bits = 8 * bytes,
                   .count = count});
  }
  return all;
}

TEST(SortSource, KeysTellTheirRank) {
  for (const key_distribution distribution : {key_distribution::uniform, key_distribution::zipf}) {
    for (const sort_source& s : types_of(distribution)) {
      for (const key_word128 rank : ranks(s)) {
        ASSERT_LE(rank, last_rank(s)) << static_cast<int>(s.type) << " of " << s.key_bytes << " bytes";
        ASSERT_EQ(rank_of_key(s, key_of_rank(s, rank, 77)), rank)
            << static_cast<int>(s.type) << " of " << s.key_bytes << " bytes";
      }
    }
  }
  // Bits beside the key are noise, which the rank does not see.
  const sort_source inner{.key_bytes = 4, .first_bit = 5, .bits = 11, .count = count};
  EXPECT_EQ(key_of_rank(inner, 0x7ff, 0), key_word128{0x7ff} << 5);
  EXPECT_EQ(rank_of_key(inner, key_of_rank(inner, 0x123, ~std::uint64_t{0})), key_word128{0x123});
  EXPECT_NE(key_of_rank(inner, 0x123, ~std::uint64_t{0}), key_of_rank(inner, 0x123, 0));
}

TEST(SortSource, RanksAreSpreadAsTheDistributionSays) {
  using enum key_distribution;
  for (const sort_source& s : types_of(sorted)) {
    const std::vector<key_word128> all = ranks(s);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    EXPECT_EQ(all.front(), 0);
  }
  for (const sort_source& s : types_of(reverse)) {
    const std::vector<key_word128> all = ranks(s);
    EXPECT_TRUE(std::is_sorted(all.rbegin(), all.rend()));
  }
  for (const sort_source& s : types_of(equal)) {
    for (const key_word128 rank : ranks(s)) EXPECT_EQ(rank, last_rank(s) / 2);
  }
  for (const sort_source& s : types_of(two)) {
    const std::vector<key_word128> all = ranks(s);
    const auto high = std::count(all.begin(), all.end(), last_rank(s));
    EXPECT_EQ(high + std::count(all.begin(), all.end(), 0), static_cast<std::ptrdiff_t>(count));
    EXPECT_GT(high, 2000);
    EXPECT_LT(high, 3000);
  }
  for (const sort_source& s : types_of(few)) {
    const std::vector<key_word128> all = ranks(s);
    EXPECT_LE(std::set<key_word128>(all.begin(), all.end()).size(), primitives::distinct_keys(few));
  }
  // Half of a nested distribution's keys are, on average, in each smaller power of two.
  for (const sort_source& s : types_of(nested)) {
    const std::vector<key_word128> all = ranks(s);
    const auto small =
        std::count_if(all.begin(), all.end(), [&](key_word128 rank) { return rank <= last_rank(s) >> (s.bits / 2); });
    EXPECT_GT(small, static_cast<std::ptrdiff_t>(count) / 3) << s.key_bytes;
  }
}

TEST(SplitSource, KeysAreSpreadAsTheDistributionSays) {
  using enum key_distribution;
  for (const std::uint32_t bits : {1U, 8U, 20U, 40U, 64U}) {
    const std::uint64_t last = jobs::low_bits(~std::uint64_t{0}, bits);
    const auto categories = [&](key_distribution distribution) {
      const split_source s{.distribution = distribution, .bits = bits, .record_bytes = 16, .count = count};
      std::vector<std::uint64_t> all;
      for (std::uint64_t i = 0; i < count; ++i) all.push_back(category_of(s, i));
      EXPECT_LE(*std::max_element(all.begin(), all.end()), last);
      return all;
    };
    SCOPED_TRACE(bits);
    const auto ascending = categories(sorted);
    EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
    auto descending = categories(reverse);
    EXPECT_TRUE(std::is_sorted(descending.rbegin(), descending.rend()));
    std::reverse(descending.begin(), descending.end());
    EXPECT_EQ(descending, ascending);
    const auto same = categories(equal);
    EXPECT_EQ(static_cast<std::uint64_t>(std::count(same.begin(), same.end(), last / 2)), count);
    const auto ends = categories(two);
    EXPECT_EQ(std::set<std::uint64_t>(ends.begin(), ends.end()), (std::set<std::uint64_t>{0, last}));
    const auto some = categories(few);
    EXPECT_LE(std::set<std::uint64_t>(some.begin(), some.end()).size(), 1000U);
    const auto skewed = categories(zipf);
    const auto even = categories(uniform);
    EXPECT_LE(std::set<std::uint64_t>(skewed.begin(), skewed.end()).size(),
              std::set<std::uint64_t>(even.begin(), even.end()).size());
    const auto inner = categories(nested);
    EXPECT_GT(std::count_if(inner.begin(), inner.end(), [&](std::uint64_t c) { return c <= last >> (bits / 2); }),
              static_cast<std::ptrdiff_t>(count) / 3);
  }
}

// The check of an index knows keys by these functions alone, so each word of a key must decide.
TEST(SplitSource, KeysAreComparedByAllTheirWords) {
  const split_source s{.bits = 96, .key_bytes = 16, .record_bytes = 4, .count = count};
  std::size_t low_words_decide = 0;
  for (std::uint64_t i = 1; i < count; ++i) {
    const auto high = [&](std::uint64_t k) { return key_word(s, k, 1); };
    const auto low = [&](std::uint64_t k) { return key_word(s, k, 0); };
    ASSERT_LE(high(i), 0xffffffffU);
    const bool is_below = high(i - 1) != high(i) ? high(i - 1) < high(i) : low(i - 1) < low(i);
    ASSERT_EQ(compared_keys(s, i - 1, i) < 0, is_below);
    ASSERT_EQ(compared_keys(s, i, i - 1) < 0, !is_below);
    if ((low(i - 1) < low(i)) != is_below) ++low_words_decide;
    // The key in an array of its own has it in its low bits, and others above.
    ASSERT_EQ(separate_key_word(s, i, 0), low(i));
    ASSERT_EQ(separate_key_word(s, i, 1) & 0xffffffffU, high(i));
    ASSERT_NE(separate_key_word(s, i, 1), separate_key_word(s, i - 1, 1));
  }
  EXPECT_GT(low_words_decide, count / 4) << "the low words have the order of the high ones";
  EXPECT_EQ(compared_keys(s, 7, 7), 0);
}

}  // namespace
}  // namespace sheaf::tests::lab_description_source_test
