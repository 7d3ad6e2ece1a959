#include "papers/he2007/solve_ratios.hpp"

#include <gtest/gtest.h>

namespace sheaf::tests::papers_he2007_solve_ratios_test {
namespace {

using bench::papers::he2007::solve_ratio;
using bench::papers::he2007::solve_ratios;
using bench::papers::he2007::solve_time;

TEST(SolveRatios, PairTheCpusF64WithBothOfCuda) {
  const std::vector<solve_time> times{
      {.system = "A", .is_f32 = true, .seconds = 1},
      {.system = "A", .seconds = 2},
      {.system = "B", .seconds = 3},
      {.system = "A", .is_on_device = true, .is_f32 = true, .seconds = 4, .seconds_with_transfers = 5},
      {.system = "A", .is_on_device = true, .seconds = 6, .seconds_with_transfers = 7},
      {.system = "C", .is_on_device = true, .seconds = 8},
      {.system = "D", .seconds = 9},
      {.system = "D", .is_on_device = true, .seconds = 10},
  };
  const std::vector<solve_ratio> found = solve_ratios(times);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].system, "A");
  EXPECT_EQ(found[0].cpu_f64, 2);
  EXPECT_EQ(found[0].cuda_f32, 4);
  EXPECT_EQ(found[0].cuda_f32_with_transfers, 5);
  EXPECT_EQ(found[0].cuda_f64, 6);
  EXPECT_EQ(found[1].system, "D");
  EXPECT_EQ(found[1].cpu_f64, 9);
  EXPECT_EQ(found[1].cuda_f32, 0);
  EXPECT_EQ(found[1].cuda_f64, 10);
}

TEST(SolveRatios, AreNoneOfOneBackendOrNothing) {
  EXPECT_TRUE(solve_ratios({}).empty());
  EXPECT_TRUE(solve_ratios(std::vector<solve_time>{{.system = "A", .seconds = 1}}).empty());
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_solve_ratios_test
