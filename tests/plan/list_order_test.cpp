#include "plan/list_order.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"

namespace sheaf::tests::plan_list_order_test {
namespace {

using kind = access_pattern::kind;

constexpr std::uint64_t table = std::uint64_t{1} << 26;
constexpr std::uint64_t longest_run = plan::run_entries(table);

std::vector<std::uint64_t> run_of(const std::string& pattern, std::uint64_t begin, std::uint64_t entries,
                                  std::uint64_t records) {
  const inputs::pattern p = inputs::parse_pattern(pattern);
  std::vector<std::uint64_t> run(entries);
  for (std::uint64_t i = 0; i < entries; ++i) run[i] = inputs::pattern_entry(p, begin + i, records);
  return run;
}

access_pattern order_of(const std::string& pattern, std::uint64_t records) {
  std::vector<access_pattern> orders;
  for (const std::uint64_t begin : plan::sample_runs(records)) {
    orders.push_back(plan::order_of_run(run_of(pattern, begin, plan::run_entries(records), records), records));
  }
  return plan::order_of_runs(orders);
}

TEST(ListOrder, OfEveryKindIsFound) {
  for (const std::uint64_t records : {std::uint64_t{1} << 15, std::uint64_t{300000}, std::uint64_t{1} << 20, table}) {
    SCOPED_TRACE(records);
    EXPECT_EQ(order_of("identity", records), access_pattern::sequential());
    EXPECT_EQ(order_of("reverse", records), access_pattern::sequential());
    EXPECT_EQ(order_of("permutation", records), access_pattern::random());
    EXPECT_EQ(order_of("uniform", records), access_pattern::random());
    EXPECT_EQ(order_of("same", records), access_pattern::repeated(1));
    EXPECT_EQ(order_of("strided:70", records), access_pattern::strided(70));
    EXPECT_EQ(order_of("zipf", records).shape, kind::skewed);
    EXPECT_EQ(order_of("clustered:64", records).shape, kind::clustered);
    // Streams through a table that one run covers are as good as random.
    if (records > plan::run_entries(records)) {
      EXPECT_EQ(order_of("partitioned:8", records).shape, kind::partitioned);
    }
  }
}

TEST(ListOrder, SaysHowWideWindowsAreAndHowManyStreamsThereAre) {
  for (const std::uint64_t records : {16, 64, 4096, 65536, 1 << 20}) {
    SCOPED_TRACE(records);
    const access_pattern found = order_of("clustered:" + std::to_string(records), table);
    ASSERT_EQ(found.shape, kind::clustered);
    EXPECT_GE(found.parameter, records / 2);
    EXPECT_LE(found.parameter, records * 2);
  }
  for (const std::uint64_t streams : {16, 256, 4096}) {
    SCOPED_TRACE(streams);
    const access_pattern found = order_of("partitioned:" + std::to_string(streams), table);
    ASSERT_EQ(found.shape, kind::partitioned);
    EXPECT_GE(found.parameter, streams / 2);
    EXPECT_LE(found.parameter, streams * 2);
  }
}

// A table that is drawn from over and over is not skewed, and a few records in turn are.
TEST(ListOrder, TellsSmallTablesFromFewRecords) {
  EXPECT_EQ(plan::order_of_run(run_of("uniform", 0, longest_run, 1000), 1000), access_pattern::random());
  std::vector<std::uint64_t> run = run_of("uniform", 0, longest_run, 1000);
  for (std::uint64_t& entry : run) entry *= 1000;
  EXPECT_EQ(plan::order_of_run(run, table), access_pattern::repeated(1000));
}

TEST(ListOrder, OfMixedListsIsThatOfNearlyAllOrRandomOrUnknown) {
  const access_pattern random = access_pattern::random();
  const access_pattern in_order = access_pattern::sequential();
  std::vector<access_pattern> runs(10, in_order);
  runs[3] = random;
  EXPECT_EQ(plan::order_of_runs(runs), in_order);
  runs[4] = random;
  EXPECT_EQ(plan::order_of_runs(runs), access_pattern::unknown());
  std::fill(runs.begin(), runs.begin() + 5, random);
  EXPECT_EQ(plan::order_of_runs(runs), random);
  runs[0] = access_pattern::skewed();
  EXPECT_EQ(plan::order_of_runs(runs), random);
  runs.assign(3, access_pattern::clustered(7));
  runs[1] = access_pattern::clustered(100);
  runs[2] = access_pattern::clustered(9);
  EXPECT_EQ(plan::order_of_runs(runs), access_pattern::clustered(9));
}

TEST(ListOrder, PassesOverBadEntriesAndShortLists) {
  std::vector<std::uint64_t> run = run_of("identity", 0, 1000, table);
  for (std::size_t i = 0; i < run.size(); i += 50) run[i] = ~std::uint64_t{0} - i;
  EXPECT_EQ(plan::order_of_run(run, table), access_pattern::sequential());
  EXPECT_EQ(plan::order_of_run(run, 0), access_pattern::unknown());
  EXPECT_EQ(plan::order_of_run(std::span(run).first(255), table), access_pattern::unknown());
  EXPECT_EQ(plan::order_of_run({}, table), access_pattern::unknown());
}

TEST(ListOrder, RunsLieInsideTheListAndReachItsEnd) {
  constexpr std::uint64_t shortest_run = std::uint64_t{1} << 11;
  for (const auto size : {plan::list_sample::large, plan::list_sample::small}) {
    for (const std::uint64_t entries : {std::uint64_t{0}, std::uint64_t{1}, shortest_run, shortest_run + 1, longest_run,
                                        longest_run + 1, std::uint64_t{1} << 20, std::uint64_t{1} << 40}) {
      SCOPED_TRACE(entries);
      const std::vector<std::uint64_t> begins = plan::sample_runs(entries, size);
      const std::uint64_t run = plan::run_entries(entries, size);
      EXPECT_LE(run, size == plan::list_sample::small ? shortest_run : longest_run);
      EXPECT_EQ(begins.front(), 0);
      if (entries > run) {
        EXPECT_GE(begins.size(), 2U);
        EXPECT_LE(begins.back(), entries - run);
        EXPECT_GE(begins.back() + begins.size(), entries - run);
      }
      EXPECT_LE(begins.size(), size == plan::list_sample::small ? 2U : 16U);
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::plan_list_order_test
