#include "lab/peers/array_scan.hpp"

#include <vector>

#include <gtest/gtest.h>

// The scans of an array beside those of lists, whose answers are others: their own check.
namespace sheaf::tests::lab_array_scan_test {
namespace {

using bench::peers::host::array_scan_mistakes;
using bench::peers::host::packed_entry;

TEST(ScansOfArrays, AreCheckedByDifferencesOfNeighbours) {
  const std::vector<std::uint32_t> values{5, 0xffff'fff0U, 7, 100};
  std::vector<std::uint32_t> sums{5, 0xffff'fff5U, 0xffff'fffcU, 0x60};
  EXPECT_EQ(array_scan_mistakes(values.data(), sums.data(), 4), 0U);
  ++sums[1];
  EXPECT_EQ(array_scan_mistakes(values.data(), sums.data(), 4), 2U) << "its difference, and the next one";
  EXPECT_EQ(array_scan_mistakes(values.data(), sums.data(), 1), 0U);
  sums = values;
  EXPECT_EQ(array_scan_mistakes(values.data(), sums.data(), 4), 3U) << "a copy is no scan";
  EXPECT_EQ(array_scan_mistakes(values.data(), sums.data(), 0), 0U);
}

TEST(ScansOfArrays, OfPackedNodesLeaveOutTheSuccessors) {
  const std::vector<packed_entry<std::uint32_t>> nodes{{1, 9}, {2, 9}, {3, 9}};
  const std::vector<std::uint32_t> right{1, 3, 6};
  const std::vector<std::uint32_t> wrong{9, 18, 27};
  EXPECT_EQ(array_scan_mistakes(nodes.data(), right.data(), 3), 0U);
  EXPECT_EQ(array_scan_mistakes(nodes.data(), wrong.data(), 3), 3U);
}

}  // namespace
}  // namespace sheaf::tests::lab_array_scan_test
