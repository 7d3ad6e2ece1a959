#include "distributed/sort/part_table.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace sheaf::tests::distributed_part_table_test {
namespace {

using distributed::layout;
using distributed::part_owners;
using distributed::part_table;

using counts = std::vector<std::uint64_t>;

TEST(PartTable, SaysWhereRowsOfChunksLie) {
  // Two ranks of two chunks, three parts, of which the last is left out.
  const part_table table(counts{1, 2, 9, 3, 0, 9, 0, 4, 9, 5, 1, 9}, 2, 2, 3, 2);
  EXPECT_EQ(table.parts(), 2U);
  EXPECT_EQ(table.rows(), 16U);
  EXPECT_EQ(table.begin(1), 9U);
  EXPECT_EQ(table.before(0, 0, 3), 12U);
  EXPECT_EQ(table.count(1, 1, 0, 2), 6U);
  EXPECT_EQ(table.place(1, 1, 0, 1), 4U);
  EXPECT_EQ(table.place(1, 1, 0, 2), 10U);
  EXPECT_EQ(table.place(0, 0, 0, 2), 0U);
}

part_owners owners_of(const counts& parts, int ranks, const counts& shares) {
  const part_table table(parts, 1, 1, parts.size(), parts.size());
  return {table, layout::even(table.rows(), ranks), shares};
}

TEST(PartOwners, GroupsEndWherePartsDo) {
  const part_owners owners = owners_of({10, 10, 10, 10, 10, 10, 10, 10}, 2, {1, 3});
  EXPECT_TRUE(owners.cuts.empty());
  ASSERT_EQ(owners.groups.size(), 2U);
  EXPECT_EQ(owners.groups[0].begins, (std::vector<std::size_t>{0, 1, 4}));
  EXPECT_EQ(owners.groups[1].begins, (std::vector<std::size_t>{4, 5, 8}));
}

TEST(PartOwners, NameThePartsInWhichRanksEnd) {
  const part_owners owners = owners_of({10, 11, 0, 10, 9}, 2, {1});
  ASSERT_EQ(owners.cuts.size(), 1U);
  EXPECT_EQ(owners.cuts[0].part, 1U);
  EXPECT_EQ(owners.cuts[0].first_rank, 0);
  EXPECT_EQ(owners.cuts[0].last_rank, 1);
  EXPECT_EQ(owners.groups[0].begins, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(owners.groups[1].begins, (std::vector<std::size_t>{2, 5}));
}

TEST(PartOwners, GiveOnePartToManyRanks) {
  const part_owners owners = owners_of({3, 90, 7}, 5, {1, 1});
  ASSERT_EQ(owners.cuts.size(), 1U);
  EXPECT_EQ(owners.cuts[0].first_rank, 0);
  EXPECT_EQ(owners.cuts[0].last_rank, 4);
  ASSERT_EQ(owners.groups.size(), 5U);
  EXPECT_EQ(owners.groups[0].begins, (std::vector<std::size_t>{0, 0, 1}));
  for (std::size_t r = 1; r < 4; ++r) EXPECT_EQ(owners.groups[r].begins, (std::vector<std::size_t>{2, 2, 2})) << r;
  EXPECT_EQ(owners.groups[4].begins.back(), 3U);
}

TEST(PartOwners, CoverAllRowsOnce) {
  std::uint64_t state = 1;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % below;
  };
  for (int trial = 0; trial < 500; ++trial) {
    counts parts(1 + random(20));
    for (std::uint64_t& n : parts) n = random(3) == 0 ? 0 : random(30);
    const int ranks = static_cast<int>(1 + random(9));
    const part_table table(parts, 1, 1, parts.size(), parts.size());
    const layout rows = layout::even(table.rows(), ranks);
    const part_owners owners(table, rows, counts(1 + random(4), 1));
    ASSERT_EQ(owners.groups.size(), static_cast<std::size_t>(ranks));
    std::vector<int> owned(parts.size());
    for (int r = 0; r < ranks; ++r) {
      const distributed::rank_groups& mine = owners.groups[static_cast<std::size_t>(r)];
      ASSERT_TRUE(std::is_sorted(mine.begins.begin(), mine.begins.end()));
      for (std::size_t p = mine.first(); p < mine.last(); ++p) {
        ++owned[p];
        ASSERT_GE(table.begin(p), rows.begin(r));
        ASSERT_LE(table.begin(p + 1), rows.end(r));
      }
    }
    for (const distributed::cut_part& cut : owners.cuts) {
      ++owned[cut.part];
      ASSERT_LT(cut.first_rank, cut.last_rank);
      for (int r = 0; r < ranks; ++r) {
        const bool has_rows =
            rows.begin(r) < table.begin(cut.part + 1) && rows.end(r) > table.begin(cut.part) && rows.count(r) > 0;
        ASSERT_TRUE(!has_rows || (r >= cut.first_rank && r <= cut.last_rank));
      }
    }
    EXPECT_EQ(std::accumulate(owned.begin(), owned.end(), 0), static_cast<int>(parts.size()));
    for (const int times : owned) ASSERT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace sheaf::tests::distributed_part_table_test
