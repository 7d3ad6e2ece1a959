// A preparation times runs of what it made and of the unprepared call where enough runs are to come, and keeps the
// faster.
#include "primitives/timed_runs.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "primitives/sparse/prepare_spmv.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::primitives_timed_runs_test {
namespace {

using namespace std::chrono_literals;

constexpr double infinity = std::numeric_limits<double>::infinity();

preparation_report predicted() {
  preparation_report report;
  report.run_seconds = 5;
  report.unprepared_seconds = 7;
  return report;
}

TEST(TimedRuns, TheUnpreparedCallIsTakenWhereItIsFasterAlone) {
  struct timed_pair {
    double unprepared;
    double prepared;
    bool is_unprepared_faster;
  };
  for (const timed_pair& t :
       {timed_pair{1, 2, true}, timed_pair{2, 1, false}, timed_pair{2, 2, false}, timed_pair{2, infinity, true}}) {
    SCOPED_TRACE(fmt::format("{} and {}", t.unprepared, t.prepared));
    preparation_report report = predicted();
    EXPECT_EQ(primitives::is_unprepared_faster(t.unprepared, t.prepared, report), t.is_unprepared_faster);
    EXPECT_EQ(report.unprepared_seconds, t.unprepared);
    EXPECT_EQ(report.run_seconds, t.is_unprepared_faster ? t.unprepared : t.prepared);
  }
}

TEST(TimedRuns, PredictionsStayWhereTheUnpreparedCallHasNoTime) {
  for (const double prepared : {1.0, infinity}) {
    preparation_report report = predicted();
    EXPECT_FALSE(primitives::is_unprepared_faster(infinity, prepared, report));
    EXPECT_EQ(report.unprepared_seconds, 7);
    EXPECT_EQ(report.run_seconds, 5);
  }
}

TEST(TimedRuns, RunsAreTimedWhereManyAreToComeAndArraysAreSmall) {
  context ctx = context::cpu(1);
  const std::uint64_t most_bytes = ctx.profile().memory_bytes / 8;
  EXPECT_FALSE(primitives::may_time_runs(ctx, 15, 1));
  EXPECT_TRUE(primitives::may_time_runs(ctx, 16, 1));
  EXPECT_TRUE(primitives::may_time_runs(ctx, 16, most_bytes));
  EXPECT_FALSE(primitives::may_time_runs(ctx, 16, most_bytes + 1));
  ctx.limit_scratch(1000);
  EXPECT_TRUE(primitives::may_time_runs(ctx, 16, 1000));
  EXPECT_FALSE(primitives::may_time_runs(ctx, 16, 1001));
}

TEST(TimedRuns, TheLeastOfSeveralRunsCounts) {
  const context ctx = context::cpu(1);
  int runs = 0;
  const auto [least] = primitives::least_seconds_of_runs(ctx, [&] {
    if (++runs != 2) std::this_thread::sleep_for(30ms);
  });
  EXPECT_GE(runs, 3);
  EXPECT_LT(least, 0.03);
}

TEST(TimedRuns, RunsWithoutMemoryAreNeverTheFastest) {
  const context ctx = context::cpu(1);
  const auto seconds = [&](error_code code) {
    return primitives::seconds_of_run(ctx, [&] { throw error(code, "a run"); });
  };
  EXPECT_EQ(seconds(error_code::out_of_memory), infinity);
  EXPECT_THROW(seconds(error_code::bad_argument), error);
}

/// An executor whose runs write nothing, after a pause.
class pausing_product final : public primitives::prepared_product {
 public:
  explicit pausing_product(std::chrono::milliseconds pause) : pause_(pause) {}
  void run(const context&, const_values, values, double, double) override { std::this_thread::sleep_for(pause_); }
  std::uint64_t kept_bytes() const override { return 77; }

 private:
  std::chrono::milliseconds pause_;
};

/// What is kept of an executor and the product by a matrix of a million entries, which takes longer than a call and not
/// as long as the pause of a slow executor.
primitives::made_product kept_beside(std::chrono::milliseconds pause) {
  const context ctx = context::cpu(2);
  const csr_images images(banded(100'000, 5), {});
  const placed_csr a(ctx, images);
  primitives::prepare_spmv_problem p;
  p.product = primitives::describe_spmv("test", ctx, a.view(), false, spmv_sums::as_values, access_pattern::unknown());
  p.product.reads_y = true;
  p.expected_runs = 100;
  primitives::made_product made{std::make_shared<pausing_product>(pause), {}};
  made.report.variant = made.report.product = "cpu.pausing";
  primitives::keep_the_faster(ctx, p, a.view(), made);
  return made;
}

TEST(TimedRuns, AnExecutorThatIsSlowLosesItsPlace) {
  const primitives::made_product made = kept_beside(300ms);
  EXPECT_EQ(made.report.variant, "kept");
  EXPECT_EQ(made.report.product, "cpu.rows");
  EXPECT_EQ(made.work->kept_bytes(), 0U);
  EXPECT_TRUE(made.report.timed);
  EXPECT_GT(made.report.run_seconds, 0);
  EXPECT_EQ(made.report.run_seconds, made.report.unprepared_seconds);
}

TEST(TimedRuns, AnExecutorThatIsFastStays) {
  const primitives::made_product made = kept_beside(0ms);
  EXPECT_EQ(made.report.variant, "cpu.pausing");
  EXPECT_EQ(made.work->kept_bytes(), 77U);
  EXPECT_TRUE(made.report.timed);
  EXPECT_LT(made.report.run_seconds, made.report.unprepared_seconds);
}

}  // namespace
}  // namespace sheaf::tests::primitives_timed_runs_test
