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
                [this](const context&) {
                  ++times_measured;
                  return measured;
                },
            .measure_copies =
                [this](const context&, std::uint64_t) {
                  jobs::copy_limits copies{measured.streams};
                  for (stream_rate& rate : copies.rates) rate.bytes_per_second *= speed_after;
                  return copies;
                }};
  }
  std::string use(const jobs::demo_calibration& calibration) {
    return jobs::use_rates_of_this_machine(ctx, calibration);
  }
  std::string use() { return use(calibration()); }
  bool uses_measured() const { return ctx.profile().step_seconds == measured.step_seconds; }

  const temporary_folder folder;
  // No profile that a user stored or named.
  const scoped_environment store{"XDG_CACHE_HOME", folder / "cache"};
  const scoped_environment named{"SHEAF_PROFILE", ""};
  context ctx = context::cpu(threads);
  machine measured;
  double speed_after = 1;  // of copies right after the measurement, over that in it
  int times_measured = 0;
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

TEST_F(DemoProfile, StaysTheShippedOneWhereMeasuringFails) {
  jobs::demo_calibration failing = calibration();
  failing.measure = [](const context&) -> machine {
    throw error(error_code::measurement_failed, "calibrate: steps: no");
  };
  EXPECT_EQ(use(failing), "the shipped profile of generic CPU, which this machine is not: calibrate: steps: no");
  EXPECT_FALSE(uses_measured());
  EXPECT_FALSE(folder.has("kept"));
}

TEST_F(DemoProfile, StaysTheShippedOneWhereTheMachineWasSlowerThanRightAfter) {
  for (const double speed : {2.0, 0.5}) {
    speed_after = speed;
    EXPECT_EQ(use(),
              fmt::format("the shipped profile of generic CPU, which this machine is not: calibrate: copies right "
                          "after were {:.2f} times as fast as measured; is something else running?",
                          speed));
    EXPECT_FALSE(uses_measured());
    EXPECT_FALSE(folder.has("kept"));
  }
  speed_after = 1.2;
  EXPECT_THAT(use(), StartsWith("rates measured just now"));
}

TEST_F(DemoProfile, StaysTheShippedOneWhereRandomReadsGetFasterInLargerMemory) {
  measured.random_read.clear();
  for (std::uint64_t i = 0; i < 30; ++i)
    measured.random_read.push_back({std::uint64_t{1024} << i, 8, i % 10 == 9 ? 4e8 : 2e8});
  EXPECT_EQ(use(),
            "the shipped profile of generic CPU, which this machine is not: calibrate: random reads are faster in "
            "larger memory at 3 of 30 points; is something else running?");
  EXPECT_FALSE(uses_measured());
  measured.random_read[9].records_per_second = measured.random_read[19].records_per_second = 2e8;
  EXPECT_THAT(use(), StartsWith("rates measured just now"));
}

TEST_F(DemoProfile, ThatCannotBeKeptIsUsedAllTheSame) {
  folder.write("kept", "a file where the folder should be");
  EXPECT_THAT(use(), StartsWith("rates measured just now, not kept: " + path + ": "));
  EXPECT_TRUE(uses_measured());
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_demo_profile_test
