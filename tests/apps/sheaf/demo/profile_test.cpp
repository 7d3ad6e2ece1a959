#include "apps/sheaf/demo/profile.hpp"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/error.hpp>
#include <sheaf/version.hpp>

#include "core/context_state.hpp"
#include "support/expect_error.hpp"
#include "support/scoped_environment.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_demo_profile_test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int threads = 3;

// A machine whose measurement is made up.
class DemoProfile : public testing::Test {
 protected:
  void SetUp() override {
    measured = ctx.profile();
    measured.name = ctx.state().device_name;
    measured.source = "measured";
    measured.parallelism = threads;
    measured.versions["sheaf"] = SHEAF_VERSION;
    measured.step_seconds = 0.125;  // what to tell it by
  }

  jobs::demo_calibration calibration() {
    return {.folder = folder / "kept",
            .measure =
                [this](const context&, const jobs::left_out_words& left_out) {
                  ++times_measured;
                  if (!leaves_out.empty()) left_out(leaves_out);
                  return measured;
                },
            .measure_copies =
                [this](const context&, std::uint64_t) {
                  jobs::copy_limits copies{measured.streams};
                  const double speed = times_measured > busy_measurements ? 1 : speed_after;
                  for (stream_rate& rate : copies.rates) rate.bytes_per_second *= speed;
                  return copies;
                }};
  }
  std::string use(const jobs::demo_calibration& calibration) {
    const jobs::rates_in_use rates = jobs::use_rates_of_this_machine(ctx, calibration);
    doubts = rates.doubts;
    return rates.origin;
  }
  std::string use() { return use(calibration()); }
  bool uses_measured() const { return ctx.profile().step_seconds == measured.step_seconds; }

  const temporary_folder folder;
  // No profile that a user stored or named.
  const scoped_environment store{"XDG_CACHE_HOME", folder / "cache"};
  const scoped_environment named{"SHEAF_PROFILE", ""};
  context ctx = context::cpu(threads);
  machine measured;
  double speed_after = 1;        // of copies right after the measurement, over that in it
  int busy_measurements = 1000;  // after which speed_after is 1
  std::string leaves_out;
  int times_measured = 0;
  std::vector<std::string> doubts;  // of the last use()
  const std::string path = folder / "kept/cpu-3-threads.json";
};

TEST_F(DemoProfile, IsMeasuredOnceAndKept) {
  EXPECT_EQ(use(), "rates measured just now, kept as " + path);
  EXPECT_TRUE(uses_measured());
  ctx = context::cpu(threads);
  EXPECT_FALSE(uses_measured());
  EXPECT_EQ(use(), "rates kept as " + path);
  EXPECT_TRUE(uses_measured());
  EXPECT_EQ(times_measured, 1);
}

TEST_F(DemoProfile, IsKeptApartFromWhatTheUserStored) {
  use();
  EXPECT_FALSE(folder.has("cache"));
}

TEST_F(DemoProfile, ThatTheUserMeasuredOrNamedIsTaken) {
  save_machine(measured, folder / "named.json");
  const scoped_environment given("SHEAF_PROFILE", folder / "named.json");
  ctx = context::cpu(threads);
  EXPECT_EQ(use(), "rates kept as " + (folder / "named.json"));
  EXPECT_EQ(times_measured, 0);
  EXPECT_FALSE(folder.has("kept"));
}

TEST_F(DemoProfile, OfAnotherDeviceVersionOrNumberOfThreadsIsMeasuredAgain) {
  const machine good = measured;
  machine other = good;
  other.name = "another processor";
  machine older = good;
  older.versions["sheaf"] = "0.0.1";
  machine fewer = good;
  fewer.parallelism = 1;
  use();
  for (const machine& m : {other, older, fewer}) {
    save_machine(m, path);
    times_measured = 0;
    ctx = context::cpu(threads);
    EXPECT_EQ(use(), "rates measured just now, kept as " + path);
    EXPECT_EQ(times_measured, 1);
  }
}

TEST_F(DemoProfile, ThatIsDamagedIsMeasuredAgain) {
  use();
  folder.write("kept/cpu-3-threads.json", "{");
  ctx = context::cpu(threads);
  EXPECT_EQ(use(), "rates measured just now, kept as " + path);
  EXPECT_EQ(times_measured, 2);
}

TEST_F(DemoProfile, ThatCouldNotBeKeptIsFoundBeforeItIsMeasured) {
  folder.write("file", "");
  EXPECT_NO_THROW(jobs::require_place_for_rates(ctx, folder / "kept"));
  EXPECT_FALSE(folder.has("kept"));
  expect_error(error_code::io_failure, (folder / "file/cpu-3-threads.json") + ": cannot be created: Not a directory",
               [&] { jobs::require_place_for_rates(ctx, folder / "file"); });
  use();
  EXPECT_NO_THROW(jobs::require_place_for_rates(ctx, folder / "file")) << "nothing is measured any more";
}

TEST_F(DemoProfile, StaysTheShippedOneWhereEveryMeasurementFailsAndSaysSo) {
  jobs::demo_calibration failing = calibration();
  failing.measure = [this](const context&, const jobs::left_out_words&) -> machine {
    ++times_measured;
    throw error(error_code::measurement_failed, "calibrate: steps: no");
  };
  EXPECT_EQ(use(failing), "the shipped profile of generic CPU, which this machine is not");
  EXPECT_THAT(doubts, ElementsAre("This machine's rates could not be measured, though it was tried 3 times: calibrate: "
                                  "steps: no. Predictions are those of another machine, generic CPU, and say little "
                                  "about this one."));
  EXPECT_EQ(times_measured, 3);
  EXPECT_FALSE(uses_measured());
  EXPECT_FALSE(jobs::has_rates_of_this_machine(ctx));
  EXPECT_FALSE(folder.has("kept"));
}

TEST_F(DemoProfile, IsTheBestOfThreeAndNotKeptWhereTheMachineWasNeverIdle) {
  for (const double speed : {2.0, 0.5}) {
    speed_after = speed;
    times_measured = 0;
    ctx = context::cpu(threads);
    EXPECT_EQ(use(), "rates measured just now, the best of 3 measurements, not kept");
    EXPECT_THAT(doubts, ElementsAre(fmt::format(
                            "Something else ran while this machine was measured, all 3 times: copies right after were "
                            "{:.2f} times as fast as measured. Each rate is the best of these measurements, and "
                            "predictions may be off. The next run measures again.",
                            speed)));
    EXPECT_EQ(times_measured, 3);
    EXPECT_TRUE(uses_measured());
    EXPECT_FALSE(folder.has("kept"));
  }
  speed_after = 1.2;
  ctx = context::cpu(threads);
  EXPECT_THAT(use(), StartsWith("rates measured just now, kept"));
  EXPECT_THAT(doubts, ElementsAre());
}

TEST_F(DemoProfile, IsMeasuredAgainUntilTheMachineIsIdle) {
  speed_after = 2;
  busy_measurements = 1;
  EXPECT_EQ(use(), "rates measured just now, the best of 2 measurements, kept as " + path);
  EXPECT_THAT(doubts, ElementsAre());
  EXPECT_EQ(times_measured, 2);
  EXPECT_TRUE(folder.has("kept"));
}

TEST_F(DemoProfile, IsInDoubtWhereRandomReadsGetFasterInLargerMemory) {
  measured.random_read.clear();
  for (std::uint64_t i = 0; i < 30; ++i)
    measured.random_read.push_back({std::uint64_t{1024} << i, 8, i % 10 == 9 ? 4e8 : 2e8});
  EXPECT_THAT(use(), EndsWith("not kept"));
  EXPECT_THAT(doubts, ElementsAre(HasSubstr("random reads were faster in larger memory at 3 of 30 points. Each rate")));
  ctx = context::cpu(threads);
  measured.random_read[9].records_per_second = measured.random_read[19].records_per_second = 2e8;
  EXPECT_THAT(use(), StartsWith("rates measured just now, kept"));
}

TEST_F(DemoProfile, SaysWhatItLeavesOut) {
  leaves_out = "random read of 8 bytes in 2 MiB";
  use();
  EXPECT_THAT(doubts, ElementsAre("Left out: random read of 8 bytes in 2 MiB."));
}

TEST(BestOfTwoMachines, HasTheBestOfEachPoint) {
  machine a;
  a.name = "A";
  a.copy_bytes_per_second = 4e9;
  a.cached_bytes_per_second = 9e9;
  a.launch_seconds = 3e-6;
  a.step_seconds = 1e-6;
  a.streams = {{64, 5e9}, {256, 3e9}};
  a.latencies = {{64, 2e-9}, {128, 9e-9}};
  a.random_read = {{64, 4, 1e8}, {128, 4, 2e8}, {64, 8, 3e8}};
  machine b = a;
  b.copy_bytes_per_second = 5e9;
  b.cached_bytes_per_second = 8e9;
  b.launch_seconds = 2e-6;
  b.step_seconds = 2e-6;
  b.streams = {{64, 4e9}, {128, 4e9}, {256, 4e9}};
  b.latencies = {{64, 3e-9}, {128, 8e-9}};
  b.random_read = {{64, 4, 2e8}, {32, 8, 5e8}, {64, 8, 1e8}};
  for (const machine& best : {jobs::best_of(a, b), jobs::best_of(b, a)}) {
    EXPECT_EQ(best.name, "A");
    EXPECT_EQ(best.copy_bytes_per_second, 5e9);
    EXPECT_EQ(best.cached_bytes_per_second, 9e9);
    EXPECT_EQ(best.launch_seconds, 2e-6);
    EXPECT_EQ(best.step_seconds, 1e-6);
    std::vector<double> numbers;
    for (const stream_rate& rate : best.streams) numbers.push_back(rate.bytes_per_second);
    for (const latency_point& point : best.latencies) numbers.push_back(point.seconds);
    for (const access_rate& rate : best.random_read) numbers.push_back(rate.records_per_second);
    EXPECT_THAT(numbers, ElementsAre(5e9, 4e9, 4e9, 2e-9, 8e-9, 2e8, 2e8, 5e8, 3e8));
    EXPECT_EQ(best.random_read[2].footprint_bytes, 32U);
  }
}

TEST_F(DemoProfile, ThatCannotBeKeptIsUsedAllTheSame) {
  folder.write("kept", "a file where the folder should be");
  EXPECT_THAT(use(), StartsWith("rates measured just now, not kept: " + path + ": "));
  EXPECT_TRUE(uses_measured());
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_demo_profile_test
