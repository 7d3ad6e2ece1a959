#include "papers/patidar2009/lane_rule.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sheaf::tests::papers_patidar2009_lane_rule_test {
namespace {

using papers::patidar2009::lanes_of_record;
using papers::patidar2009::most_lanes;
using papers::patidar2009::record_lanes;

struct shared_record {
  std::uint64_t record_bytes;
  std::uint32_t word_bytes;
  record_lanes lanes;
};

void expect_lanes(const shared_record& r) {
  const record_lanes found = lanes_of_record(r.record_bytes, r.word_bytes);
  EXPECT_EQ(found.count, r.lanes.count) << r.record_bytes;
  EXPECT_EQ(found.access_bytes, r.lanes.access_bytes) << r.record_bytes;
}

// Sections 4.1 and 4.3 name these: 8, 16 and 16 threads with accesses of 4, 4 and 8 bytes, and 16 with accesses of 16.
TEST(LaneRule, IsThePapersWhereThePaperSaysIt) {
  for (const shared_record& r :
       {shared_record{32, 16, {8, 4}}, {64, 16, {16, 4}}, {128, 16, {16, 8}}, {256, 16, {16, 16}}}) {
    expect_lanes(r);
  }
}

TEST(LaneRule, RoundsUpAndNarrowsAccessesForOddRecords) {
  for (const shared_record& r : {shared_record{1, 1, {1, 1}},
                                 {2, 2, {1, 2}},
                                 {3, 1, {1, 1}},
                                 {4, 4, {1, 4}},
                                 {6, 2, {2, 2}},
                                 {8, 4, {2, 4}},
                                 {8, 8, {1, 8}},
                                 {16, 8, {4, 4}},
                                 {16, 16, {1, 16}},
                                 {60, 4, {15, 4}},
                                 {61, 1, {16, 1}},
                                 {65, 1, {16, 1}},
                                 {72, 8, {16, 8}},
                                 {100, 4, {16, 4}},
                                 {144, 16, {16, 16}},
                                 {255, 1, {16, 1}},
                                 {257, 1, {17, 1}},
                                 {272, 16, {17, 16}},
                                 {300, 4, {19, 4}},
                                 {512, 16, {32, 16}},
                                 {1000, 8, {63, 8}},
                                 {1024, 16, {64, 16}},
                                 {4096, 16, {256, 16}},
                                 {4112, 16, {256, 16}},
                                 {65536, 16, {256, 16}},
                                 {65535, 1, {256, 1}}}) {
    expect_lanes(r);
  }
}

TEST(LaneRule, CutsEveryRecordIntoWholeAccesses) {
  for (std::uint64_t record_bytes = 1; record_bytes <= 64 * 1024; ++record_bytes) {
    for (std::uint32_t word_bytes = 1; word_bytes <= 16 && record_bytes % word_bytes == 0; word_bytes *= 2) {
      const record_lanes lanes = lanes_of_record(record_bytes, word_bytes);
      ASSERT_TRUE(lanes.count >= 1 && lanes.count <= most_lanes) << fmt::format("{} by {}", record_bytes, word_bytes);
      ASSERT_EQ(word_bytes % lanes.access_bytes, 0U) << fmt::format("{} by {}", record_bytes, word_bytes);
    }
  }
}

// So a scatter keeps its promise that such a record stays whole where an index repeats (duplicates::any): two stores of
// one writer may lie before and after another's.
TEST(LaneRule, LeavesAWordToOneLane) {
  for (const std::uint32_t width : {1U, 2U, 4U, 8U, 16U}) {
    EXPECT_EQ(lanes_of_record(width, width), (record_lanes{1, width}));
  }
  EXPECT_EQ(lanes_of_record(32, 16), (record_lanes{8, 4}));
}

}  // namespace
}  // namespace sheaf::tests::papers_patidar2009_lane_rule_test
