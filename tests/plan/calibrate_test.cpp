#include "plan/calibrate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/plausible.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/fake_probe.hpp"

namespace sheaf::tests::plan_calibrate_test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::string> no_warnings;

// Between -1 and 1, different on every run.
double noise(std::uint64_t run) {
  return static_cast<double>(run * 0x9e3779b97f4a7c15U >> 11) / static_cast<double>(std::uint64_t{1} << 52) - 1;
}

void expect_truth(const machine& m, double tolerance) {
  const auto expect_nearly = [&](double value, double expected) { EXPECT_NEAR(value, expected, tolerance * expected); };
  expect_nearly(m.launch_seconds, 5e-6);
  expect_nearly(m.step_seconds, 2e-6);
  expect_nearly(m.barrier_seconds, 1e-6);
  expect_nearly(m.digit_seconds, m.backend == backend_kind::cpu ? 3e-9 : 0);
  expect_nearly(m.copy_bytes_per_second, 1 / fake_probe::seconds_a_byte);
  expect_nearly(m.cached_bytes_per_second, 1 / fake_probe::seconds_a_byte);
  expect_nearly(m.access_seconds, 4e-9);
  for (const latency_point& point : m.latencies)
    expect_nearly(point.seconds, fake_probe::truth(point.footprint_bytes, 8));
  for (const auto* rates : {&m.random_read, &m.random_write, &m.atomic_add}) {
    for (const access_rate& rate : *rates) {
      SCOPED_TRACE(fmt::format("{} bytes in {}", rate.record_bytes, rate.footprint_bytes));
      expect_nearly(1 / rate.records_per_second, fake_probe::truth(rate.footprint_bytes, rate.record_bytes));
    }
  }
}

TEST(Calibrate, FindsTheFiguresOfAnHonestDevice) {
  fake_probe device;
  const machine m = device.measured();
  expect_truth(m, 1e-3);
  EXPECT_EQ(m.name, "fake");
  EXPECT_EQ(m.source, "measured");
}

TEST(Calibrate, LeastTimesDefeatNoiseAndDisturbancesOfMostRuns) {
  fake_probe device;
  device.disturb = [&](const std::string&, double honest) {
    return honest * (device.runs % 5 > 1 ? 50 : 1 + 0.01 * noise(device.runs));
  };
  expect_truth(device.measured(600), 0.02);
  EXPECT_EQ(device.warnings, no_warnings);
}

// What runs take beside a busy loop on each core: every run is slowed, most by a lot, and one in six is not.
TEST(Calibrate, EndsInItsTimeWithUsableRatesOnABusyMachine) {
  fake_probe device;
  device.disturb = [&](const std::string&, double honest) {
    const double luck = noise(device.runs);
    return luck > 0.67 ? honest : honest * (1 + 2 * (1 + luck)) + 4e-3 * (1 + luck);
  };
  const machine m = device.measured(60);
  EXPECT_LT(device.clock, 75);
  EXPECT_EQ(device.warnings, no_warnings);
  std::size_t far_off = 0;
  for (const auto* rates : {&m.random_read, &m.random_write, &m.atomic_add}) {
    for (const access_rate& rate : *rates) {
      far_off += 1 / rate.records_per_second > 1.1 * fake_probe::truth(rate.footprint_bytes, rate.record_bytes);
    }
  }
  EXPECT_LE(far_off, 12U) << "of 238";
}

// Each run waits for its turn, as those of two threads do where other programs keep all processors.
TEST(Calibrate, EndsInItsTimeWhereRunsWaitForTheirTurn) {
  for (const double budget : {9.0, 60.0}) {
    fake_probe device;
    device.wait = 0.015;
    expect_truth(device.measured(budget), 0.01);
    EXPECT_LT(device.clock, 1.3 * budget) << budget;
    EXPECT_EQ(device.warnings, no_warnings) << budget;
  }
}

TEST(Calibrate, TakesTheShippedCurveForFiguresThatItsTimeDoesNotReach) {
  fake_probe device;
  device.wait = 0.12;
  const machine m = device.measured(9);
  EXPECT_LT(device.clock, 3.25 * 9 + 6 * device.wait);
  ASSERT_FALSE(device.warnings.empty());
  for (const std::string& warning : device.warnings) {
    const bool is_late = warning.find("random writes") != warning.npos || warning.find("atomic adds") != warning.npos;
    EXPECT_TRUE(is_late) << warning;
  }
  EXPECT_TRUE(plan::doubtful_figures(m).empty());

  fake_probe stopped;
  stopped.wait = 0.5;
  EXPECT_THROW(stopped.measured(9), error);
  EXPECT_LT(stopped.clock, 3.25 * 9 + 6 * stopped.wait);
}

TEST(Calibrate, OneRunThatWasTooFastIsNotBelieved) {
  fake_probe device;
  std::uint64_t last = 0;
  std::map<std::string, int> lucky;
  device.disturb = [&](const std::string& what, double honest) {
    const bool is_lucky = device.runs > last + 6 && lucky[what]++ == 0;
    if (is_lucky) last = device.runs;
    return is_lucky ? 0.5 * honest : honest;
  };
  expect_truth(device.measured(), 1e-3);
}

// A load that lasts a while slows all runs of some points alike.
TEST(Calibrate, VisitsEveryFigureTwiceSoThatABurstOfLoadIsSeen) {
  fake_probe device;
  device.disturb = [&](const std::string&, double honest) {
    return device.clock > 1 && device.clock < 2 ? 2.5 * honest : honest;
  };
  expect_truth(device.measured(), 1e-3);
  EXPECT_EQ(device.warnings, no_warnings);
}

TEST(Calibrate, TakesNineSecondsAtMostForAllPointsOfAProcessor) {
  fake_probe device;
  const machine m = device.measured(9);
  expect_truth(m, 1e-3);
  EXPECT_LT(device.clock, 9);
  EXPECT_EQ(m.random_read.size(), 6U * 17);
  EXPECT_EQ(m.random_read.back().footprint_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(device.reserved, std::uint64_t{2} << 30);
}

TEST(Calibrate, MeasuresEveryFootprintAndWidth) {
  fake_probe cpu;
  const machine m = cpu.measured();
  EXPECT_EQ(m.streams.front().footprint_bytes, 32U << 10);
  EXPECT_EQ(m.streams.back().footprint_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(m.latencies.front().footprint_bytes, 4U << 10);
  EXPECT_EQ(m.latencies.back().footprint_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(m.random_read.size(), 6U * 17);
  EXPECT_EQ(m.random_write.size(), 6U * 17);
  EXPECT_EQ(m.atomic_add.size(), 2U * 17);
  EXPECT_EQ(m.random_read.back().footprint_bytes, std::uint64_t{2} << 30);

  EXPECT_EQ(cpu.reserved, std::uint64_t{2} << 30) << "the most that a CPU's measurement takes";

  fake_probe cuda(backend_kind::cuda);
  cuda.memory = std::uint64_t{144} << 30;
  const machine g = cuda.measured();
  EXPECT_EQ(g.streams.front().footprint_bytes, 64U << 10);
  EXPECT_EQ(g.streams.back().footprint_bytes, std::uint64_t{8} << 30);
  EXPECT_EQ(g.random_read.size(), 8U * 21);
  EXPECT_EQ(g.random_read.back().footprint_bytes, std::uint64_t{32} << 30);
  EXPECT_EQ(g.random_read.back().record_bytes, 1024U);
}

TEST(Calibrate, TakesNoMoreMemoryThanThereIs) {
  fake_probe device;
  device.memory = std::uint64_t{1} << 30;
  device.memory_to_have = (64 << 20) + 12345;
  const machine m = device.measured();
  EXPECT_EQ(m.streams.back().footprint_bytes, 64U << 20);
  EXPECT_EQ(m.latencies.back().footprint_bytes, 64U << 20);
  EXPECT_EQ(m.atomic_add.back().footprint_bytes, 64U << 20);
  fake_probe half;
  half.memory = std::uint64_t{1} << 30;
  EXPECT_EQ(half.measured().random_read.back().footprint_bytes, std::uint64_t{1} << 29);
  EXPECT_EQ(half.reserved, std::uint64_t{1} << 29);
  fake_probe none;
  none.memory_to_have = 1000;
  expect_error(error_code::out_of_memory, "calibrate: 1000 bytes of memory are too few", [&] { none.measured(); });
}

TEST(Calibrate, KeepsToItsBudget) {
  for (const double budget : {2.0, 20.0, 60.0}) {
    fake_probe restless;  // never settles
    restless.disturb = [&](const std::string&, double honest) { return honest * (1 + 0.3 * noise(restless.runs)); };
    restless.measured(budget);
    EXPECT_LT(restless.clock, 1.5 * budget);
    fake_probe calm;
    calm.measured(budget);
    EXPECT_LT(calm.clock, budget);
    EXPECT_LT(calm.runs, restless.runs);
    fake_probe senseless;  // every other time that it turns to a point
    senseless.disturb = [&](const std::string& what, double honest) {
      return what.starts_with("random") && noise(senseless.visits[what] + what.size()) > 0 ? 25 * honest : honest;
    };
    senseless.measured(budget);
    EXPECT_LT(senseless.clock, 1.5 * budget);
  }
}

TEST(Calibrate, ShortBudgetsStayInLittleMemory) {
  fake_probe device;
  const machine m = device.measured(0.5);
  EXPECT_LE(device.reserved, 128U << 20);
  EXPECT_FALSE(m.streams.empty());
  EXPECT_FALSE(m.random_write.empty());
}

TEST(Calibrate, ReportsItsProgress) {
  fake_probe device;
  std::vector<double> shares;
  std::string last;
  const calibrate_options options{.seconds = 60, .progress = [&](std::string_view what, double share) {
                                    shares.push_back(share);
                                    last = what;
                                  }};
  plan::measure(device, options, [&] { return device.clock; });
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.front(), 0);
  EXPECT_EQ(shares.back(), 1);
  EXPECT_EQ(last, "done");
}

TEST(Calibrate, MeasuresAgainWhatWasWrongOnce) {
  for (const char* point : {"calls", "steps", "barriers", "digits", "copies in 65536", "copies in 1073741824",
                            "dependent reads in 4096", "random writes of 64 bytes in 67108864",
                            "random reads of 4 bytes in 32768", "atomic adds of 4 bytes in 2147483648"}) {
    const bool is_of_curve = std::string(point).find(" in ") != std::string::npos;
    for (const double factor : {30.0, 1e-6, 0.0, inf, nan}) {
      if ((factor == 30 || factor == 1e-6) && !is_of_curve) continue;  // nothing says what a call may take
      SCOPED_TRACE(fmt::format("{} times {}", point, factor));
      fake_probe device;
      device.disturb = [&](const std::string& what, double honest) {
        return what == point && device.visits[what] == 1 ? factor * honest : honest;
      };
      expect_truth(device.measured(), 1e-3);
      EXPECT_EQ(device.warnings, no_warnings);
    }
  }
}

TEST(Calibrate, MeasuresAgainWhatALoadSlowedThatCameOrWent) {
  for (const std::string curve : {"copies in ", "dependent reads in ", "random writes of 64 bytes in "}) {
    for (const bool came : {false, true}) {
      SCOPED_TRACE(fmt::format("{}: {}", curve, came ? "came" : "went"));
      fake_probe device;
      device.disturb = [&](const std::string& what, double honest) {
        if (!what.starts_with(curve) || device.visits[what] > 1) return honest;
        const bool is_late = std::stoull(what.substr(curve.size())) > 4 << 20;
        return is_late == came ? 100 * honest : honest;
      };
      expect_truth(device.measured(), 1e-3);
      EXPECT_EQ(device.warnings, no_warnings);
    }
  }
}

TEST(Calibrate, MeasuresTheFastestCopyAgainWhereAccessesAreFaster) {
  fake_probe device;
  device.disturb = [&](const std::string& what, double honest) {
    return what.starts_with("copies") && device.visits[what] == 1 ? 100 * honest : honest;
  };
  expect_truth(device.measured(), 1e-3);
  EXPECT_EQ(device.warnings, no_warnings);
}

// The words of a point that always is `factor` times as slow as it should be.
std::vector<std::string> warnings_of(fake_probe& device, const std::string& point, double factor, machine& m) {
  device.disturb = [&](const std::string& what, double honest) { return what == point ? factor * honest : honest; };
  m = device.measured();
  device.disturb = nullptr;
  return device.warnings;
}

TEST(Calibrate, LeavesOutAPointThatNeverMakesSenseAndNamesIt) {
  struct wrong {
    std::string point;
    double factor;
    std::string words;
  };
  for (const wrong& w : {
           wrong{"copies in 65536", 0, "measured inf, which is not a rate per second"},
           wrong{"copies in 65536", 1e-6, "measured 1e+17, which is not a rate per second"},
           wrong{"copies in 32768", 30, "measured 3.333e+09, more than 20 times apart from 1e+11 in 65536"},
           wrong{"dependent reads in 8192", 30, "measured 3e-08, more than 20 times apart from 1e-09 in 4096"},
           wrong{"dependent reads in 1073741824", 30,
                 "measured 1.2e-07, more than 20 times apart from 4e-09 in 536870912"},
           wrong{"dependent reads in 8192", 1e-6, "measured 1e-15, which is not a time in seconds"},
           wrong{"random reads of 4 bytes in 65536", 0.01,
                 "measured 1e+11, more than 20 times apart from 1e+09 in 32768"},
           wrong{"random reads of 4 bytes in 1048576", 0.01,
                 "measured 1e+11, or 4e+11 bytes a second, where a copy moves 1e+11 at most"},
           wrong{"random writes of 64 bytes in 67108864", 30,
                 "measured 8.333e+06, more than 20 times apart from 2.5e+08 in 33554432"},
           wrong{"random writes of 64 bytes in 2147483648", 30,
                 "measured 8.333e+06, more than 20 times apart from 2.5e+08 in 1073741824"},
           wrong{"random writes of 1024 bytes in 1048576", 0.05,
                 "measured 1.25e+09, or 1.28e+12 bytes a second, where a copy moves 1e+11 at most"},
           wrong{"atomic adds of 8 bytes in 32768", nan, "measured nan, which is not a rate per second"},
           wrong{"atomic adds of 8 bytes in 32768", 1e10, "measured 0.1, which is not a rate per second"},
       }) {
    SCOPED_TRACE(w.point);
    fake_probe device;
    machine m;
    EXPECT_EQ(warnings_of(device, w.point, w.factor, m), std::vector<std::string>{w.point + ": " + w.words});
    expect_truth(m, 1e-3);
    EXPECT_EQ(
        m.streams.size() + m.latencies.size() + m.random_read.size() + m.random_write.size() + m.atomic_add.size(),
        16U + 19 + (6 + 6 + 2) * 17 - 1);
    const std::string text = format_machine(m);
    EXPECT_EQ(format_machine(parse_machine(text, "m.json")), text);
  }
}

TEST(Calibrate, PredictsByTheNeighboursOfAPointThatIsLeftOut) {
  fake_probe device;
  machine m;
  EXPECT_EQ(warnings_of(device, "random writes of 64 bytes in 67108864", 30, m).size(), 1U);
  EXPECT_NEAR(m.random_writes(1000, 64, 64 << 20), 1000 * fake_probe::truth(64 << 20, 64), 1e-9);
  fake_probe other;
  EXPECT_EQ(warnings_of(other, "copies in 1073741824", 30, m).size(), 1U);
  EXPECT_NEAR(m.copy_bytes_per_second, 1e11, 1e8);
  EXPECT_NEAR(m.streamed(1 << 30, 1 << 30), (1 << 30) * fake_probe::seconds_a_byte, 1e-4);
}

TEST(Calibrate, LeavesOutTheFewerPointsOfACurve) {
  fake_probe device;
  device.disturb = [&](const std::string& what, double honest) {
    const std::string curve = "random writes of 64 bytes in ";
    return what.starts_with(curve) && std::stoull(what.substr(curve.size())) > 64 << 20 ? 30 * honest : honest;
  };
  const machine m = device.measured();
  const std::string words = "measured 8.333e+06, more than 20 times apart from 2.5e+08 in 67108864";
  EXPECT_EQ(device.warnings, (std::vector<std::string>{
                                 "random writes of 64 bytes in 134217728: " + words,
                                 "random writes of 64 bytes in 268435456: " + words,
                                 "random writes of 64 bytes in 536870912: " + words,
                                 "random writes of 64 bytes in 1073741824: " + words,
                                 "random writes of 64 bytes in 2147483648: " + words,
                             }));
  expect_truth(m, 1e-3);
}

// What a context of one thread goes by without a profile of its own.
machine shipped() { return nearest_machine(backend_kind::cpu, "fake").with_parallelism(1); }

TEST(Calibrate, TakesTheShippedFigureForOneThatStandsAloneAndMakesNoSense) {
  struct wrong {
    std::string point;
    double factor;
    std::string words;
    double machine::*value;
  };
  for (const wrong& w : {
           wrong{"calls", nan, "calls: measured nan, which is not a time in seconds; 2e-06", &machine::launch_seconds},
           wrong{"calls", 1e6, "calls: measured 5, which is not a time in seconds; 2e-06", &machine::launch_seconds},
           wrong{"steps", inf, "steps: measured inf, which is not a time in seconds; 2e-06", &machine::step_seconds},
           wrong{"barriers", -1, "barriers: measured -1e-06, which is not a time in seconds; 1e-06",
                 &machine::barrier_seconds},
           wrong{"digits", 0, "digits: measured 0, which is not a time in seconds; 2.6e-09", &machine::digit_seconds},
       }) {
    SCOPED_TRACE(w.words);
    fake_probe device;
    machine m;
    EXPECT_EQ(warnings_of(device, w.point, w.factor, m),
              std::vector<std::string>{w.words + " of the shipped profile of generic CPU stands for it"});
    EXPECT_EQ(m.*w.value, shipped().*w.value);
  }
}

TEST(Calibrate, TakesTheShippedShapeForACurveOfWhichMostPointsMakeNoSense) {
  fake_probe device;
  const std::string curve = "random writes of 64 bytes in ";
  device.disturb = [&](const std::string& what, double honest) {
    return what.starts_with(curve) && std::stoull(what.substr(curve.size())) >= 1 << 20 ? inf : honest;
  };
  const machine m = device.measured();
  ASSERT_EQ(device.warnings.size(), 12U + 1);
  EXPECT_EQ(device.warnings.front(), curve + "1048576: measured 0, which is not a rate per second");
  const double slower = 1e-9 / shipped().random_writes(1, 64, 128 << 10);  // of five points the middle one
  EXPECT_EQ(device.warnings.back(),
            fmt::format("random writes of 64 bytes: 12 of 17 points make no sense; the curve of the shipped profile of "
                        "generic CPU stands for them all, {:.2f} times as slow",
                        slower));
  EXPECT_EQ(m.random_write.size(), 6U * 17);
  for (std::uint64_t footprint = 32 << 10; footprint <= std::uint64_t{2} << 30; footprint *= 2) {
    EXPECT_NEAR(m.random_writes(1, 64, footprint) / shipped().random_writes(1, 64, footprint), slower, 1e-3 * slower)
        << footprint;
    EXPECT_NEAR(m.random_writes(1, 16, footprint), fake_probe::truth(footprint, 16), 1e-12) << "another curve";
  }
  EXPECT_EQ(format_machine(parse_machine(format_machine(m), "m.json")), format_machine(m));
}

TEST(Calibrate, TakesTheShippedCurveWhereNoPointMakesSense) {
  fake_probe device;
  device.disturb = [&](const std::string& what, double honest) {
    return what.starts_with("dependent reads") || what.starts_with("copies") ? nan : honest;
  };
  const machine m = device.measured();
  EXPECT_EQ(device.warnings.size(), 16U + 1 + 19 + 1);
  for (const std::uint64_t footprint : {std::uint64_t{32} << 10, std::uint64_t{1} << 30}) {
    EXPECT_NEAR(m.streamed(1, footprint), shipped().streamed(1, footprint), 1e-15);
  }
  EXPECT_NEAR(m.access_seconds, shipped().access_seconds, 1e-12);
  EXPECT_NEAR(m.latencies.front().seconds, shipped().latencies.front().seconds, 1e-12);
}

TEST(Calibrate, FailsWithAdviceWhereMostFiguresMakeNoSense) {
  fake_probe device;
  device.disturb = [&](const std::string& what, double honest) {
    return what.starts_with("random") ? inf : what == "calls" ? nan : honest;
  };
  expect_error(error_code::measurement_failed,
               "calibrate: 205 of 277 figures make no sense, the first being calls: measured nan, which is not a time "
               "in seconds; close other programs and repeat, with more seconds (--seconds) or fewer threads "
               "(--threads)",
               [&] { device.measured(); });
  EXPECT_EQ(device.warnings, no_warnings);
}

TEST(Calibrate, ShufflesNodesIntoOneCycle) {
  for (int bits = 0; bits <= 16; ++bits) {
    std::vector<bool> seen(std::size_t{1} << bits);
    for (std::uint64_t i = 0; i < seen.size(); ++i) {
      const std::uint64_t place = plan::shuffled(i, bits);
      ASSERT_LT(place, seen.size());
      EXPECT_FALSE(seen[place]) << i << " of 2^" << bits;
      seen[place] = true;
    }
  }
}

TEST(Calibrate, RefusesBudgetsOfNoTime) {
  for (const double seconds : {0.0, -1.0}) {
    expect_error(error_code::bad_argument, fmt::format("calibrate: {} seconds to measure in, not above 0", seconds),
                 [&] { calibrate(context::cpu(1), {.seconds = seconds}); });
  }
  EXPECT_THROW(calibrate(context::cpu(1), {.seconds = nan}), error);
}

// Measures in little time. Nothing if this machine is too busy or too slow for it, of which the error says what helps.
std::optional<machine> calibrated(const context& ctx) {
  try {
    return calibrate(ctx, {.seconds = 0.5});
  } catch (const error& e) {
    EXPECT_EQ(name(e.code()), "measurement_failed") << e.what();
    EXPECT_NE(std::string_view(e.what()).find("; close other programs and repeat"), std::string_view::npos) << e.what();
    return std::nullopt;
  }
}

void expect_good(const context& ctx, const machine& m) {
  EXPECT_EQ(m.backend, ctx.backend());
  EXPECT_FALSE(m.name.empty());
  EXPECT_EQ(m.cache_bytes, m.cache_levels.back());
  EXPECT_FALSE(m.versions.at("sheaf").empty());
  EXPECT_FALSE(m.versions.at("compiler").empty());
  for (const plan::doubtful_figure& f : plan::doubtful_figures(m)) ADD_FAILURE() << f.words;
  const std::string text = format_machine(m);
  EXPECT_EQ(format_machine(parse_machine(text, "again")), text);
  for (const auto* rates : {&m.random_read, &m.random_write, &m.atomic_add}) {
    for (const access_rate& rate : *rates) EXPECT_TRUE(std::has_single_bit(rate.footprint_bytes));
  }
  context user = ctx;
  user.use(m);
  EXPECT_NO_THROW(ctx.wait());
}

TEST(Calibrate, MeasuresThisProcessor) {
  const context ctx = context::cpu(under_thread_sanitizer ? 1 : 2);  // random writes race, as scatters with repeats do
  const auto m = calibrated(ctx);
  if (!m) return;
  expect_good(ctx, *m);
  EXPECT_EQ(m->parallelism, static_cast<std::uint32_t>(ctx.threads()));
}

TEST(Calibrate, MeasuresThisGpu) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device";
  const auto m = calibrated(*ctx);
  if (!m) return;
  expect_good(*ctx, *m);
  EXPECT_TRUE(m->versions.contains("cuda driver"));
}

}  // namespace
}  // namespace sheaf::tests::plan_calibrate_test
