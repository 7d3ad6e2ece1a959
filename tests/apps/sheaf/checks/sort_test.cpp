#include "apps/sheaf/checks/sort.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/checks/occurrences.hpp"

namespace sheaf::tests::apps_sheaf_checks_sort_test {
namespace {

using record = std::array<std::uint16_t, 2>;  // a key, and a number that differs between records of one key
using list = std::vector<record>;

constexpr std::uint64_t plenty = 1 << 20;
const sort_key by_first = key_field{0, 2, key_type::unsigned_integer};

jobs::record_source from(const list& records) { return jobs::source_of(const_records(records)); }

std::optional<std::string> mistake(const list& in, const list& out, std::uint64_t memory_bytes = plenty) {
  return jobs::sort_mistake(from(in), by_first, from(out), memory_bytes);
}

const list in{{2, 0}, {1, 1}, {2, 2}, {0, 3}, {1, 4}};
const list right{{0, 3}, {1, 1}, {1, 4}, {2, 0}, {2, 2}};

TEST(SortCheck, AcceptsTheStableSort) {
  EXPECT_EQ(mistake(in, right), std::nullopt);
  EXPECT_EQ(mistake({}, {}), std::nullopt);
}

TEST(SortCheck, FindsRecordsOutOfOrder) {
  EXPECT_EQ(mistake(in, {{0, 3}, {1, 1}, {2, 0}, {1, 4}, {2, 2}}), "record 3 of the result belongs before record 2");
  EXPECT_EQ(mistake(in, in), "record 1 of the result belongs before record 0");
}

TEST(SortCheck, FindsRecordsThatAreNotTheInputs) {
  const auto expect_others = [](const list& out) {
    const auto found = mistake(in, out);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->starts_with("the result's records are not the input's: their checksums are ")) << *found;
  };
  expect_others({{0, 3}, {1, 1}, {1, 1}, {2, 0}, {2, 2}});  // one record twice, one lost
  expect_others({{0, 3}, {1, 1}, {1, 5}, {2, 0}, {2, 2}});  // a byte changed
  expect_others({{0, 3}, {1, 0}, {1, 4}, {2, 1}, {2, 2}});  // halves of two records changed places
  EXPECT_EQ(mistake(in, {{0, 3}}), "the result has 1 records, but the input has 5");
}

TEST(SortCheck, FindsEqualKeysOutOfOrder) {
  EXPECT_EQ(mistake(in, {{0, 3}, {1, 4}, {1, 1}, {2, 0}, {2, 2}}),
            "records of equal keys are not in the input's order");
}

// Where memory is short, keys that repeat are counted range by range. All ranges together check the same things.
TEST(SortCheck, LittleMemoryMakesNoDifference) {
  list many;
  std::mt19937 random(1);
  for (std::uint16_t i = 0; i < 6000; ++i) many.push_back({static_cast<std::uint16_t>(random() % 2000), i});
  list out = many;
  std::stable_sort(out.begin(), out.end(), [](const record& a, const record& b) { return a[0] < b[0]; });
  EXPECT_EQ(mistake(many, out, 0), std::nullopt);
  EXPECT_EQ(mistake(many, out, 10000), std::nullopt);
  for (std::size_t i = 0; i + 1 < out.size(); i += 577) {
    if (out[i][0] != out[i + 1][0]) continue;
    std::swap(out[i], out[i + 1]);
    EXPECT_EQ(mistake(many, out, 0), "records of equal keys are not in the input's order") << i;
    std::swap(out[i], out[i + 1]);
  }
}

TEST(SortCheck, ComparesEveryTypeOfField) {
  const auto breaks = [](const auto& values, key_type type, bool descending = false) {
    const std::uint32_t bytes = sizeof(values[0]);
    return jobs::look_at_order(jobs::source_of(const_records(values)), key_field{0, bytes, type, descending}).breaks;
  };
  const std::vector<std::int32_t> whole{-300, -2, -1, 0, 1, 256, 0x7fffffff};
  EXPECT_EQ(breaks(whole, key_type::signed_integer), 0U);
  EXPECT_EQ(breaks(whole, key_type::signed_integer, true), 6U);
  EXPECT_EQ(breaks(whole, key_type::unsigned_integer), 1U);
  EXPECT_EQ(breaks(std::vector<std::uint32_t>{1, 256, 65536, 0xffffffff}, key_type::unsigned_integer), 0U);
  EXPECT_EQ(breaks(std::vector<std::uint32_t>{1, 256}, key_type::bytes), 1U);
  EXPECT_EQ(breaks(std::vector<double>{-1e300, -2, -1e-300, -0.0, 0.0, 1e-300, 5}, key_type::floating), 0U);
  EXPECT_EQ(breaks(std::vector<float>{0.0F, -0.0F}, key_type::floating), 1U);
}

TEST(SortCheck, SumsDoNotDependOnTheOrderAndSeeEveryBit) {
  const auto sum = [](const list& records) { return jobs::look_at_order(from(records), by_first).checksum; };
  EXPECT_EQ(sum(in), sum(right));
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (unsigned bit = 0; bit < 32; ++bit) {
      list other = in;
      other[i][bit / 16] ^= static_cast<std::uint16_t>(1U << (bit % 16));
      EXPECT_NE(sum(in), sum(other)) << i << ", " << bit;
    }
  }
}

TEST(SortCheck, FindsWrongIndexes) {
  const auto index_mistake = [](const std::vector<std::uint32_t>& index) {
    return jobs::sort_index_mistake(from(in), by_first, jobs::source_of(const_records(index)), index_type::u32);
  };
  EXPECT_EQ(index_mistake({3, 1, 4, 0, 2}), std::nullopt);
  EXPECT_EQ(index_mistake({3, 4, 1, 0, 2}), "index[2] is 1, which belongs before 4 at index[1]");
  EXPECT_EQ(index_mistake({1, 3, 4, 0, 2}), "index[1] is 3, which belongs before 1 at index[0]");
  EXPECT_EQ(index_mistake({3, 1, 1, 0, 2}), "index[2] is 1, which is named before");
  EXPECT_EQ(index_mistake({3, 1, 4, 0, 5}), "index[4] is 5, which is not a record");
  EXPECT_EQ(index_mistake({3, 1, 4, 0}), "the index has 4 entries for 5 records");
}

TEST(Occurrences, CountsTheKeysThatItWasTold) {
  jobs::occurrences counts(100000);
  EXPECT_TRUE(counts.empty());
  for (std::uint64_t i = 0; i < counts.capacity(); ++i) ASSERT_TRUE(counts.insert({i, i * i}));
  EXPECT_TRUE(counts.insert({7, 49}));
  EXPECT_FALSE(counts.insert({7, 50}));
  EXPECT_EQ(counts.next({7, 49}), 0U);
  EXPECT_EQ(counts.next({7, 49}), 1U);
  EXPECT_EQ(counts.next({7, 50}), 0U);
  EXPECT_EQ(counts.next({7, 50}), 0U);
  counts.clear();
  EXPECT_TRUE(counts.empty());
  EXPECT_EQ(counts.next({7, 49}), 0U);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_checks_sort_test
