#include "papers/wei2010/points.hpp"

#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::tests::papers_wei2010_points_test {
namespace {

using namespace bench::papers::wei2010;
using point = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

std::set<point> set_of(const std::vector<memory_test>& tests) {
  std::set<point> points;
  for (const memory_test& test : tests) points.emplace(test.blocks, test.threads, test.accesses);
  return points;
}

// Section 4.4: "the following 224 possible combinations of the values of B, Th, and N".
TEST(PointsOfTheMemoryTest, AreThe224OfThePaper) {
  std::set<point> expected;
  for (const std::uint64_t blocks : {8, 15, 16, 30, 32, 60, 64, 128}) {
    for (const std::uint64_t threads : {8, 16, 32, 64, 128, 256, 512}) {
      for (const std::uint64_t reads : {1024, 2048, 4096, 8192}) expected.emplace(blocks, threads, reads);
    }
  }
  EXPECT_EQ(expected.size(), 224U);
  EXPECT_EQ(points_of_paper().size(), 224U);
  EXPECT_EQ(set_of(points_of_paper()), expected);
}

// Of an H200, of the paper's device, whose own blocks are points of the paper, and of a small one.
TEST(PointsOfTheMemoryTest, OfADeviceAreThePapersAndThoseThatFillIt) {
  for (const auto& [multiprocessors, count] : {std::pair<std::uint64_t, std::size_t>{132, 435}, {30, 463}, {8, 359}}) {
    const std::vector<memory_test> tests = points_of_cuda(multiprocessors);
    const std::set<point> points = set_of(tests);
    EXPECT_EQ(points.size(), tests.size()) << "a point stands twice";
    EXPECT_EQ(tests.size(), count) << multiprocessors;
    EXPECT_TRUE(std::ranges::includes(points, set_of(points_of_paper())));
    EXPECT_TRUE(points.contains({multiprocessors, 256, 1024}));
    for (const memory_test& test : tests) {
      EXPECT_LE(test.total(), std::uint64_t{1} << 29);
      EXPECT_LE(test.threads, 1024U);
      const bool is_of_paper = set_of(points_of_paper()).contains({test.blocks, test.threads, test.accesses});
      EXPECT_TRUE(is_of_paper || test.walkers() >= 64 * multiprocessors);
    }
  }
}

TEST(PointsOfTheMemoryTest, OfACpuAreWalkersOfItsThreads) {
  const std::vector<memory_test> tests = points_of_cpu(6);
  EXPECT_EQ(tests.size(), 7U);
  EXPECT_EQ(set_of(tests).size(), 7U);
  std::vector<std::uint64_t> walkers;
  for (const memory_test& test : tests) {
    EXPECT_EQ(test.blocks, 6U);
    EXPECT_EQ(test.total(), std::uint64_t{6} << 21);
    walkers.push_back(test.threads);
  }
  EXPECT_THAT(walkers, testing::ElementsAre(1, 2, 4, 8, 16, 32, 64));
}

}  // namespace
}  // namespace sheaf::tests::papers_wei2010_points_test
