#include "plan/calibrate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/fake_probe.hpp"

namespace sheaf::tests {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

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

TEST(Calibrate, MediansDefeatNoiseAndOutliers) {
  fake_probe device;
  device.disturb = [&](const std::string&, double honest) {
    return honest * (device.runs % 5 == 3 ? 50 : 1 + 0.01 * noise(device.runs));
  };
  expect_truth(device.measured(600), 0.02);
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
  }
}

TEST(Calibrate, ShortBudgetsStayInLittleMemory) {
  fake_probe device;
  const machine m = device.measured(0.5);
  EXPECT_LE(device.reserved, 64U << 20);
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

TEST(Calibrate, RefusesNonsenseAndNamesThePoint) {
  const std::string end = "; is something else running?";
  struct wrong {
    std::string point;
    double factor;
    std::string message;
  };
  for (const wrong& w : {
           wrong{"calls", nan, "calls: measured nan, which is no time in seconds"},
           wrong{"steps", inf, "steps: measured inf, which is no time in seconds"},
           wrong{"barriers", -1, "barriers: measured -1e-06, which is no time in seconds"},
           wrong{"calls", 1e6, "calls: measured 5, which is no time in seconds"},
           wrong{"copies in 65536", 0, "copies in 65536: measured inf, which is no rate a second"},
           wrong{"copies in 65536", 1e-6, "copies in 65536: measured 1e+17, which is no rate a second"},
           wrong{"dependent reads in 8192", 30,
                 "dependent reads in 8192: measured 3e-08, more than 20 times apart from 1e-09 at half of it"},
           wrong{"random reads of 4 bytes in 65536", 0.01,
                 "random reads of 4 bytes in 65536: measured 1e+11, more than 20 times apart from 1e+09 at half of it"},
           wrong{"random writes of 1024 bytes in 1048576", 0.05,
                 "random writes of 1024 bytes in 1048576: measured 1.28e+12, bytes a second, where a copy moves 1e+11 "
                 "at most"},
           wrong{"atomic adds of 8 bytes in 32768", nan,
                 "atomic adds of 8 bytes in 32768: measured nan, which is no rate a second"},
       }) {
    fake_probe device;
    device.disturb = [&](const std::string& what, double honest) {
      return what == w.point ? w.factor * honest : honest;
    };
    expect_error(error_code::device_failure, "calibrate: " + w.message + end, [&] { device.measured(); });
  }
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
    expect_error(error_code::bad_argument, fmt::format("calibrate: {} seconds to measure in", seconds),
                 [&] { calibrate(context::cpu(1), {.seconds = seconds}); });
  }
  EXPECT_THROW(calibrate(context::cpu(1), {.seconds = nan}), error);
}

// With little time a busy machine can measure what require_plausible refuses; not time after time.
machine calibrated(const context& ctx) {
  for (int attempt = 1;; ++attempt) {
    try {
      return calibrate(ctx, {.seconds = 0.5});
    } catch (const error& e) {
      if (e.code() != error_code::device_failure || attempt == 5) throw;
    }
  }
}

void expect_good(const context& ctx) {
  const machine m = calibrated(ctx);
  EXPECT_EQ(m.backend, ctx.backend());
  EXPECT_FALSE(m.name.empty());
  EXPECT_EQ(m.cache_bytes, m.cache_levels.back());
  EXPECT_FALSE(m.versions.at("sheaf").empty());
  EXPECT_FALSE(m.versions.at("compiler").empty());
  EXPECT_NO_THROW(plan::require_plausible(m));
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
  expect_good(ctx);
  EXPECT_EQ(calibrated(ctx).parallelism, static_cast<std::uint32_t>(ctx.threads()));
}

TEST(Calibrate, MeasuresThisGpu) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device";
  expect_good(*ctx);
  EXPECT_TRUE(calibrated(*ctx).versions.contains("cuda driver"));
}

}  // namespace
}  // namespace sheaf::tests
