#include "lab/harness/report.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/description/row_name.hpp"

namespace sheaf::tests::lab_report_test {
namespace {

using testing::HasSubstr;
using testing::Not;

bench::result row(const std::string& problem, const std::string& who, double seconds, double predicted) {
  bench::result r{.problem = primitives::parse_problem(problem), .who = who};
  r.variant = who == "sheaf" ? "cpu.direct" : who == "memcpy" ? "" : who;
  r.time.median_seconds = seconds;
  r.predicted_seconds = predicted;
  r.verified = true;
  return r;
}

TEST(Report, HasTheRegretOfEachPrimitiveAndOfAll) {
  const std::string gather = "gather/identity/r4/u32/n=3000";
  const std::string scatter = "scatter/permutation/r48/u32/n=9000";
  const std::vector<bench::result> results{row(gather, "sheaf", 2, 1.5),
                                           row(gather, "cpu.direct", 2.5, 1.5),
                                           row(gather, "memcpy", 0.5, 0),
                                           row(scatter, "sheaf", 3, 6),
                                           row(scatter, "cpu.by_page", 3, 6),
                                           row(scatter, "cpu.direct", 2, 7),
                                           row("gather/zipf/r4/u32/n=9", "sheaf", 4, 4),
                                           row(gather, "sheaf", 3, 3),
                                           row(gather, "cpu.direct", 2, 2)};
  EXPECT_EQ(bench::regret_text(results, backend_kind::cpu),
            "cpu gather: planner's choice / best variant over 2 rows: mean 1.250, worst 1.500 (" + gather +
                "); choices predicted at 87.5 % accuracy in the mean\n"
                "cpu scatter: planner's choice / best variant over 1 rows: mean 1.500, worst 1.500 (" +
                scatter +
                "); choices predicted at 0.0 % accuracy in the mean\n"
                "cpu: planner's choice / best variant over 3 rows: mean 1.333, worst 1.500 (" +
                scatter + "); choices predicted at 58.3 % accuracy in the mean\n");
  EXPECT_EQ(bench::regret_text(results, backend_kind::cuda), "");
  EXPECT_THAT(bench::regret_text(std::span(results).first(3), backend_kind::cpu), Not(HasSubstr("cpu: ")));
}

TEST(Report, HasNoRegretWithoutVariants) {
  const std::vector<bench::result> results{row("gather/zipf/r4/u32/n=9", "sheaf", 4, 4),
                                           row("gather/zipf/r4/u32/n=9", "memcpy", 1, 0)};
  EXPECT_EQ(bench::regret_text(results, backend_kind::cpu), "");
}

}  // namespace
}  // namespace sheaf::tests::lab_report_test
