#include "lab/inputs/variate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace sheaf::tests::lab_inputs_variate_test {
namespace {

using inputs::variate_source;
using primitives::key_distribution;

constexpr std::uint64_t count = 200000;
constexpr key_distribution numeric[] = {key_distribution::normal,      key_distribution::lognormal,
                                        key_distribution::exponential, key_distribution::pareto,
                                        key_distribution::timestamps,  key_distribution::unit};

variate_source source_of(key_distribution d) { return {d, count, 20070715}; }

std::vector<double> floats(key_distribution d) {
  std::vector<double> all(count);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = std::bit_cast<double>(inputs::float_variate(source_of(d), i, 8));
  return all;
}

std::vector<double> whole(key_distribution d, std::uint32_t bits) {
  std::vector<double> all(count);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = static_cast<double>(inputs::whole_variate(source_of(d), i, bits));
  return all;
}

double share_above(const std::vector<double>& all, double bound) {
  const auto above = std::count_if(all.begin(), all.end(), [&](double x) { return x > bound; });
  return static_cast<double>(above) / static_cast<double>(all.size());
}

// Shares of 200,000 draws have a deviation of 0.0011 or less.
void expect_quartiles(const std::vector<double>& all, double first, double median, double third) {
  EXPECT_NEAR(share_above(all, first), 0.75, 0.006);
  EXPECT_NEAR(share_above(all, median), 0.5, 0.006);
  EXPECT_NEAR(share_above(all, third), 0.25, 0.006);
}

TEST(Variate, ThatIsNormalHasItsQuartilesAndTail) {
  const std::vector<double> all = floats(key_distribution::normal);
  expect_quartiles(all, -0.6745, 0, 0.6745);
  EXPECT_NEAR(share_above(all, 2), 0.0228, 0.001);
  EXPECT_NEAR(share_above(all, -2), 0.9772, 0.001);
  EXPECT_LT(share_above(all, 4), 0.0001);
  double squares = 0;
  for (const double x : all) squares += x * x;
  EXPECT_NEAR(squares / count, 1, 0.02);
}

TEST(Variate, ThatIsLognormalHasItsQuartilesAndTail) {
  const std::vector<double> all = floats(key_distribution::lognormal);
  expect_quartiles(all, std::exp(-0.6745), 1, std::exp(0.6745));
  EXPECT_NEAR(share_above(all, std::exp(2)), 0.0228, 0.001);
  EXPECT_EQ(share_above(all, 0), 1);
}

TEST(Variate, ThatIsExponentialHasItsMeanAndTail) {
  const std::vector<double> all = floats(key_distribution::exponential);
  expect_quartiles(all, -std::log(0.75), std::log(2), std::log(4));
  EXPECT_NEAR(share_above(all, 5), std::exp(-5), 0.001);
  double sum = 0;
  for (const double x : all) sum += x;
  EXPECT_NEAR(sum / count, 1, 0.01);
}

TEST(Variate, OfParetoFallsByThePowerOfItsExponent) {
  const std::vector<double> all = floats(key_distribution::pareto);
  EXPECT_GE(*std::min_element(all.begin(), all.end()), 1);
  for (const double bound : {1.5, 3.0, 10.0, 100.0}) {
    EXPECT_NEAR(share_above(all, bound), std::pow(bound, -1.25), 0.006) << bound;
  }
  EXPECT_GT(share_above(all, 1000), 0);
}

TEST(Variate, OfTheUnitIntervalIsUniform) {
  const std::vector<double> all = floats(key_distribution::unit);
  expect_quartiles(all, 0.25, 0.5, 0.75);
  EXPECT_LT(*std::max_element(all.begin(), all.end()), 1);
}

TEST(Variate, ThatIsATimeStampIsNearlyInOrder) {
  const auto expect_nearly_ordered = [](const std::vector<double>& all, const char* what) {
    std::uint64_t descents = 0;
    for (std::uint64_t i = 1; i < count; ++i) descents += all[i] < all[i - 1];
    EXPECT_GT(descents, count / 1000) << what;
    for (std::uint64_t i = 0; i + 65 < count; ++i) ASSERT_LE(all[i], all[i + 65]) << what << ", event " << i;
    EXPECT_LT(all.front(), all.back()) << what;
  };
  expect_nearly_ordered(floats(key_distribution::timestamps), "seconds");
  for (const std::uint32_t bits : {8, 16, 32, 64}) {
    expect_nearly_ordered(whole(key_distribution::timestamps, bits), "whole numbers");
  }
  EXPECT_NEAR(whole(key_distribution::timestamps, 32).front(), 1.7e9, 2);
  EXPECT_NEAR(whole(key_distribution::timestamps, 63).front(), 1.7e18, 1e6);
  EXPECT_NEAR(floats(key_distribution::timestamps).front(), 1.7e9, 2);
}

TEST(Variate, ThatIsWholeKeepsToItsBitsAndItsScale) {
  for (const key_distribution d : numeric) {
    for (std::uint32_t bits = 0; bits <= 64; ++bits) {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        ASSERT_LE(inputs::whole_variate(source_of(d), i, bits), inputs::last_of_bits(bits)) << bits << " bits";
      }
    }
  }
  expect_quartiles(whole(key_distribution::normal, 32), 0x1p31 - 0.6745 * 0x1p28, 0x1p31, 0x1p31 + 0.6745 * 0x1p28);
  expect_quartiles(whole(key_distribution::lognormal, 32), std::exp(-0.6745) * 0x1p24, 0x1p24,
                   std::exp(0.6745) * 0x1p24);
  expect_quartiles(whole(key_distribution::exponential, 64), 0.28768 * 0x1p32, 0.69315 * 0x1p32, 1.38629 * 0x1p32);
  EXPECT_NEAR(share_above(whole(key_distribution::pareto, 64), 10 * 0x1p21), std::pow(10, -1.25), 0.003);
  expect_quartiles(whole(key_distribution::unit, 16), 0x1p14, 0x1p15, 0x3p14);
}

TEST(Variate, OfEightBytesHardlyRepeats) {
  for (const key_distribution d : numeric) {
    if (d == key_distribution::timestamps) continue;
    std::vector<double> all = floats(d);
    std::sort(all.begin(), all.end());
    EXPECT_GT(std::unique(all.begin(), all.end()) - all.begin(), static_cast<std::ptrdiff_t>(count - 20));
  }
}

TEST(Variate, OfFourBytesIsTheOneOfEightRounded) {
  for (const key_distribution d : numeric) {
    if (d == key_distribution::timestamps) continue;
    for (std::uint64_t i = 0; i < 5000; ++i) {
      const auto wide = std::bit_cast<double>(inputs::float_variate(source_of(d), i, 8));
      const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(inputs::float_variate(source_of(d), i, 4)));
      ASSERT_NEAR(narrow, wide, 0x1p-23 * std::abs(wide) + (d == key_distribution::unit ? 0x1p-24 : 0));
    }
  }
}

std::uint64_t checksum(key_distribution d) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    for (const std::uint32_t bits : {8, 16, 31, 32, 63, 64})
      sum = inputs::mix(sum ^ inputs::whole_variate(source_of(d), i, bits));
    for (const std::uint32_t bytes : {4, 8}) sum = inputs::mix(sum ^ inputs::float_variate(source_of(d), i, bytes));
  }
  return sum;
}

// Results are compared between machines, which therefore have to sort the same keys.
TEST(Variate, HasTheSameBitsOnEveryMachine) {
  EXPECT_EQ(checksum(key_distribution::normal), 1586613555522455362U);
  EXPECT_EQ(checksum(key_distribution::lognormal), 16039826387638990836U);
  EXPECT_EQ(checksum(key_distribution::exponential), 654108653955116513U);
  EXPECT_EQ(checksum(key_distribution::pareto), 250820626328273837U);
  EXPECT_EQ(checksum(key_distribution::timestamps), 12063057997475547310U);
  EXPECT_EQ(checksum(key_distribution::unit), 13921011928956218622U);
}

}  // namespace
}  // namespace sheaf::tests::lab_inputs_variate_test
