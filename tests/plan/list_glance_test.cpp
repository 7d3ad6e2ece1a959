#include "plan/list_glance.hpp"

#include <string>

#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"

namespace sheaf::tests::plan_list_glance_test {
namespace {

using kind = access_pattern::kind;

constexpr std::uint64_t table = std::uint64_t{1} << 26;

access_pattern glanced(const std::string& pattern, std::uint64_t entries, std::uint64_t records) {
  const inputs::pattern p = inputs::parse_pattern(pattern);
  return plan::order_at_a_glance(entries, records, [&](std::uint64_t first, std::uint64_t count, std::uint64_t* to) {
    EXPECT_LE(first + count, entries);
    for (std::uint64_t i = 0; i < count; ++i) to[i] = inputs::pattern_entry(p, first + i, records);
  });
}

TEST(ListGlance, FindsEveryOrder) {
  for (const std::uint64_t entries : {std::uint64_t{70000}, std::uint64_t{700000}, std::uint64_t{9000000}, table}) {
    for (const std::uint64_t records : {std::uint64_t{30000}, std::uint64_t{5000000}, entries}) {
      SCOPED_TRACE(entries);
      SCOPED_TRACE(records);
      EXPECT_EQ(glanced("identity", entries, records), access_pattern::sequential());
      EXPECT_EQ(glanced("reverse", entries, records), access_pattern::sequential());
      EXPECT_EQ(glanced("permutation", entries, records), access_pattern::random());
      EXPECT_EQ(glanced("uniform", entries, records), access_pattern::random());
      EXPECT_EQ(glanced("same", entries, records), access_pattern::repeated(1));
      EXPECT_EQ(glanced("strided:70", entries, records), access_pattern::strided(70));
      EXPECT_EQ(glanced("zipf", entries, records), access_pattern::skewed());
      EXPECT_EQ(glanced("partitioned:8", entries, records).shape, kind::partitioned);
      const access_pattern clustered = glanced("clustered:300", entries, records);
      EXPECT_EQ(clustered.shape, kind::clustered);
      EXPECT_GE(clustered.parameter, 128U);
      EXPECT_LE(clustered.parameter, 512U);
    }
  }
}

TEST(ListGlance, CountsStreamsOfLongLists) {
  for (const std::uint64_t entries : {std::uint64_t{700000}, std::uint64_t{9000000}, table}) {
    for (const std::uint64_t streams : {4, 16, 256, 1000}) {
      SCOPED_TRACE(entries);
      SCOPED_TRACE(streams);
      const access_pattern found = glanced("partitioned:" + std::to_string(streams), entries, entries);
      ASSERT_EQ(found.shape, kind::partitioned);
      EXPECT_GE(found.parameter, streams / 2);
      EXPECT_LE(found.parameter, streams * 2);
    }
  }
}

TEST(ListGlance, SaysNothingOfShortMixedAndBadLists) {
  EXPECT_EQ(glanced("identity", plan::least_glanced - 1, table), access_pattern::unknown());
  const auto half_at_random = [](std::uint64_t first, std::uint64_t count, std::uint64_t* to) {
    for (std::uint64_t i = 0; i < count; ++i)
      to[i] = first < 50000 ? first + i : (first + i) * 0x9e3779b97f4a7c15U % table;
  };
  EXPECT_EQ(plan::order_at_a_glance(100000, table, half_at_random), access_pattern::random());
  const auto quarter_at_random = [](std::uint64_t first, std::uint64_t count, std::uint64_t* to) {
    for (std::uint64_t i = 0; i < count; ++i)
      to[i] = first < 75000 ? first + i : (first + i) * 0x9e3779b97f4a7c15U % table;
  };
  EXPECT_EQ(plan::order_at_a_glance(100000, table, quarter_at_random), access_pattern::unknown());
  EXPECT_EQ(plan::order_at_a_glance(100000, 0, half_at_random), access_pattern::unknown());
  const auto negative = [](std::uint64_t, std::uint64_t count, std::uint64_t* to) {
    std::fill_n(to, count, ~std::uint64_t{0});
  };
  EXPECT_EQ(plan::order_at_a_glance(100000, table, negative), access_pattern::unknown());
}

// Half of the entries, every other one, are of one kind: no part of a glance sees these alone, whatever the length.
TEST(ListGlance, SeesEvenAndOddPlaces) {
  for (std::uint64_t entries = 524288; entries < 524288 + 64; entries += 16) {
    for (const std::uint64_t odd : {0, 1}) {
      SCOPED_TRACE(entries + odd);
      const auto every_other = [&](std::uint64_t other) {
        return [other, odd](std::uint64_t first, std::uint64_t count, std::uint64_t* to) {
          for (std::uint64_t i = 0; i < count; ++i)
            to[i] = (first + i) % 2 == odd ? other : (first + i) * 0x9e3779b97f4a7c15U % table;
        };
      };
      EXPECT_EQ(plan::order_at_a_glance(entries, table, every_other(0)), access_pattern::skewed());
      EXPECT_NE(plan::order_at_a_glance(entries, table, every_other(~std::uint64_t{0})).shape, kind::repeated);
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::plan_list_glance_test
