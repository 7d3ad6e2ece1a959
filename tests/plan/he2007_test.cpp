#include "plan/he2007.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

namespace sheaf::tests::plan_he2007_test {
namespace {

namespace he2007 = plan::he2007;

// Round numbers, so that every expected value can be worked out on paper: a block of 64 bytes takes 1 s to miss,
// 16 bytes take 1/8 s to hit.
he2007::parameters round_parameters() {
  return {.block_bytes = 64,
          .transfer_bytes = 16,
          .hit_seconds = 0.125,
          .cache_blocks = 8,
          .sequential_bytes_per_second = 64,
          .warp_threads = 4};
}

TEST(He2007, Equation1WeighsBandwidthsByBytes) {
  // 2 bytes at 1 a second, 6 bytes at 3 a second: (2 * 1 + 6 * 3) / 8.
  const std::vector<he2007::timed_scan> scans{{2, 2}, {6, 2}};
  EXPECT_DOUBLE_EQ(he2007::sequential_bandwidth(scans), 2.5);
  EXPECT_DOUBLE_EQ(he2007::sequential_bandwidth({}), 0);
}

TEST(He2007, Equation1GivesBackOneBandwidthThatAllScansHave) {
  // The equation as the paper prints it gives megabyte seconds, and grows as the machine slows down.
  std::vector<he2007::timed_scan> scans;
  for (int i = 1; i <= 9; ++i) scans.push_back({std::ldexp(1e6, i), std::ldexp(1e6, i) / 63.9e9});
  EXPECT_DOUBLE_EQ(he2007::sequential_bandwidth(scans), 63.9e9);
}

TEST(He2007, Equation2SumsHitsAndMisses) {
  const auto p = round_parameters();
  EXPECT_DOUBLE_EQ(he2007::access_seconds(10, 8, 0, p), 10) << "a block each";
  EXPECT_DOUBLE_EQ(he2007::access_seconds(10, 8, 1, p), 1.25) << "a transfer each";
  EXPECT_DOUBLE_EQ(he2007::access_seconds(10, 8, 0.5, p), 5.625);
  EXPECT_DOUBLE_EQ(he2007::access_seconds(10, 65, 0, p), 20) << "65 bytes are two blocks";
  EXPECT_DOUBLE_EQ(he2007::access_seconds(10, 65, 1, p), 6.25) << "and five transfers";
  EXPECT_DOUBLE_EQ(he2007::access_seconds(0, 8, 0.5, p), 0);
}

TEST(He2007, Equation3IsBytesOverEquation2) {
  const auto p = round_parameters();
  EXPECT_DOUBLE_EQ(he2007::random_bandwidth(8, 0, p), 8);
  EXPECT_DOUBLE_EQ(he2007::random_bandwidth(8, 1, p), 64);
  // The equation as the paper prints it: z / (miss + h (hit - miss)).
  EXPECT_DOUBLE_EQ(he2007::random_bandwidth(8, 0.5, p), 8 / (1 + 0.5 * (0.125 - 1)));
}

// Eq. 4 and 5 as the paper prints them, with S(n, j) from its recurrence.
double distinct_by_stirling(int n, int k) {
  std::vector<double> stirling(static_cast<std::size_t>(n) + 1, 0.0);  // S(i, j) for j = 0 to n, row by row
  stirling[0] = 1;
  for (int i = 1; i <= n; ++i) {
    for (int j = i; j >= 1; --j) {
      const auto at = static_cast<std::size_t>(j);
      stirling[at] = j * stirling[at] + stirling[at - 1];
    }
    stirling[0] = 0;
  }
  double sum = 0;
  double choices = 1;  // C(k, j) * j! = k (k - 1) ... (k - j + 1)
  for (int j = 1; j <= std::min(n, k); ++j) {
    choices *= k - j + 1;
    sum += choices * stirling[static_cast<std::size_t>(j)] * j;
  }
  return sum / std::pow(k, n);
}

TEST(He2007, Equation5HasAClosedForm) {
  for (int n = 1; n <= 14; ++n) {
    for (int k = 1; k <= 14; ++k) {
      EXPECT_NEAR(he2007::expected_distinct(n, k), distinct_by_stirling(n, k), 1e-9 * k) << n << " over " << k;
    }
  }
}

TEST(He2007, Equation5HoldsAtItsEnds) {
  EXPECT_DOUBLE_EQ(he2007::expected_distinct(2, 4), 1.75);  // 1 + 3/4
  EXPECT_EQ(he2007::expected_distinct(0, 4), 0);
  EXPECT_EQ(he2007::expected_distinct(4, 0), 0);
  EXPECT_EQ(he2007::expected_distinct(0, 0), 0);
  EXPECT_EQ(he2007::expected_distinct(5, 1), 1);
  EXPECT_DOUBLE_EQ(he2007::expected_distinct(1, 1e18), 1) << "1 - 1e-18 is 1 in a double";
  EXPECT_NEAR(he2007::expected_distinct(1e9, 1e18), 1e9, 1);
  EXPECT_DOUBLE_EQ(he2007::expected_distinct(1e300, 1e18), 1e18);
  EXPECT_DOUBLE_EQ(he2007::expected_distinct(std::numeric_limits<double>::max(), 7), 7);
}

TEST(He2007, Equation6CountsCompulsoryAndCapacityMisses) {
  EXPECT_DOUBLE_EQ(he2007::miss_rate(4, 16, 8), 0.25) << "E / n; E / N would be 1/2";
  EXPECT_DOUBLE_EQ(he2007::miss_rate(16, 32, 8), (16 + 0.5 * 16) / 32);
  EXPECT_DOUBLE_EQ(he2007::miss_rate(0, 0, 8), 0);
  EXPECT_DOUBLE_EQ(he2007::miss_rate(4, 4, 0), 1) << "no cache";
}

TEST(He2007, Equation6MeetsItselfWhereTheCacheIsJustFull) {
  // The branches agree at E = N with E / n, and do not with E / N, which is 1 there.
  EXPECT_NEAR(he2007::miss_rate(8, 32, 8), he2007::miss_rate(8 + 1e-9, 32, 8), 1e-9);
}

TEST(He2007, CaseOneHitsWhatWasTouchedBefore) {
  // Two accesses over four blocks touch 1.75, all of them new.
  EXPECT_DOUBLE_EQ(he2007::random_hit_rate(2, 4, 8), 1 - 1.75 / 2);
  EXPECT_GT(he2007::random_hit_rate(1e6, 100, 100), 0.999);
  EXPECT_LT(he2007::random_hit_rate(1e6, 1e9, 100), 0.001);
}

TEST(He2007, Equations7And8CountPartitionsOfAWarp) {
  const auto p = round_parameters();
  EXPECT_DOUBLE_EQ(he2007::partitions_per_warp(1, p), 1);
  EXPECT_DOUBLE_EQ(he2007::partitions_per_warp(2, p), 2 * (1 - 1.0 / 16));
  EXPECT_DOUBLE_EQ(he2007::partitions_per_warp(0, p), 1) << "none known is one";
  // One partition: four records of 8 bytes in one block miss once.
  EXPECT_DOUBLE_EQ(he2007::warp_hit_rate(1, 8, p), 0.75);
  // Four records of 32 bytes take two blocks.
  EXPECT_DOUBLE_EQ(he2007::warp_hit_rate(1, 32, p), 0.5);
  EXPECT_DOUBLE_EQ(he2007::warp_hit_rate(2, 8, p), 1 - 1.875 / 4);
  EXPECT_NEAR(he2007::warp_hit_rate(1e9, 8, p), 0, 1e-6);
  EXPECT_EQ(he2007::warp_hit_rate(1, 256, p), 0) << "four blocks a record: m is 4 before it is clamped";
}

TEST(He2007, CaseTwoAddsRatesOfWhatIsLeft) {
  EXPECT_DOUBLE_EQ(he2007::partitioned_hit_rate(0.75, 0.5), 0.875) << "the sum would be 1.25";
  EXPECT_DOUBLE_EQ(he2007::partitioned_hit_rate(0, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(he2007::partitioned_hit_rate(1, 1), 1);
}

TEST(He2007, Equations9And10AddScansAndRandomAccess) {
  const auto p = round_parameters();
  // 4 records of 8 bytes among 1024: in 128 blocks nearly every access misses.
  const he2007::sizes s{4, 1024, 8, 16};
  const double hit = he2007::random_hit_rate(4, 128, 8);
  const double scans = (32.0 + 16.0) / 64;
  const double expected = scans + 4 * ((1 - hit) * 1 + hit * 0.125);
  EXPECT_DOUBLE_EQ(he2007::scatter_seconds(s, access_pattern::random(), 1, p), expected);
  EXPECT_DOUBLE_EQ(he2007::gather_seconds(s, access_pattern::random(), 1, p), expected);
  EXPECT_DOUBLE_EQ(he2007::gather_seconds(s, access_pattern::unknown(), 1, p), expected);
  EXPECT_DOUBLE_EQ(he2007::gather_seconds(s, access_pattern::sequential(), 1, p), (32.0 + 16 + 32) / 64);
}

TEST(He2007, Equation11ScansInEveryPass) {
  const auto p = round_parameters();
  const he2007::sizes s{400, 1024, 8, 1600};
  const double hit = he2007::random_hit_rate(100, 32, 8);
  const double random = 400 * ((1 - hit) * 1 + hit * 0.125);
  EXPECT_DOUBLE_EQ(he2007::scatter_seconds(s, access_pattern::random(), 4, p), 4 * (3200.0 + 1600) / 64 + random);
  EXPECT_DOUBLE_EQ(he2007::gather_seconds(s, access_pattern::random(), 4, p), (3200.0 + 4 * 1600) / 64 + random)
      << "the output is written once";
}

TEST(He2007, PatternsChangeTheHitRate) {
  const auto p = round_parameters();
  const he2007::sizes s{4096, 4096, 8, 16384};  // 512 blocks
  const double random = he2007::hit_rate(s, access_pattern::random(), 1, p);
  EXPECT_DOUBLE_EQ(random, he2007::random_hit_rate(4096, 512, 8));
  EXPECT_DOUBLE_EQ(he2007::hit_rate(s, access_pattern::partitioned(2), 1, p),
                   he2007::partitioned_hit_rate(1 - 1.875 / 4, random));
  // A window of 64 records is eight blocks, which the cache holds.
  EXPECT_DOUBLE_EQ(he2007::hit_rate(s, access_pattern::clustered(64), 1, p), he2007::random_hit_rate(64, 8, 8));
  EXPECT_DOUBLE_EQ(he2007::hit_rate(s, access_pattern::clustered(64), 16, p), he2007::random_hit_rate(64, 8, 8));
  EXPECT_DOUBLE_EQ(he2007::hit_rate(s, access_pattern::clustered(1 << 20), 1, p), random) << "a window that is all";
  // Records of 128 bytes take two blocks each: 4096 groups, four of which the cache holds.
  const he2007::sizes wide{4096, 4096, 128, 16384};
  EXPECT_DOUBLE_EQ(he2007::hit_rate(wide, access_pattern::random(), 1, p), he2007::random_hit_rate(4096, 4096, 4));
}

TEST(He2007, TakesItsLettersFromAMachine) {
  machine m;
  m.backend = backend_kind::cuda;
  m.cache_bytes = 1 << 20;
  m.sector_bytes = 32;
  m.fetch_bytes = 64;
  m.copy_bytes_per_second = 1e12;
  m.cached_bytes_per_second = 4e12;
  const he2007::parameters p = he2007::parameters_of(m);
  EXPECT_EQ(p.block_bytes, 64);
  EXPECT_EQ(p.transfer_bytes, 32);
  EXPECT_DOUBLE_EQ(p.hit_seconds, 8e-12);
  EXPECT_EQ(p.cache_blocks, 16384);
  EXPECT_EQ(p.sequential_bytes_per_second, 1e12);
  EXPECT_EQ(p.warp_threads, 32);
  m.backend = backend_kind::cpu;
  EXPECT_EQ(he2007::parameters_of(m).warp_threads, 10) << "no rates of single accesses";
  m.backend = backend_kind::opengl;
  EXPECT_EQ(he2007::parameters_of(m).warp_threads, 1);

  const he2007::sizes s{1000, 1000, 8, 4000};
  EXPECT_DOUBLE_EQ(he2007::predict_scatter(s, access_pattern::sequential(), m), 20000 / 1e12);
  EXPECT_DOUBLE_EQ(he2007::predict_gather(s, access_pattern::random(), m, 3),
                   he2007::gather_seconds(s, access_pattern::random(), 3, he2007::parameters_of(m)));
}

// 4 threads read 320 million records of 8 bytes a second at random; one waits 100 ns for each where it has to.
machine cpu_of_eight_accesses() {
  machine m;
  m.backend = backend_kind::cpu;
  m.parallelism = 4;
  m.cache_bytes = 1 << 20;
  m.sector_bytes = m.fetch_bytes = 64;
  m.copy_bytes_per_second = 1e10;
  m.cached_bytes_per_second = 4e10;
  m.latencies = {{1 << 16, 5e-9}, {1 << 30, 1e-7}};
  m.random_read = {{1 << 16, 8, 4e9}, {1 << 30, 8, 320e6}};
  return m;
}

TEST(He2007, CountsTheAccessesThatACoreHasUnderWay) {
  machine m = cpu_of_eight_accesses();
  EXPECT_EQ(he2007::parameters_of(m).warp_threads, 8) << "80 million a second and thread, 100 ns each";
  EXPECT_EQ(he2007::parameters_of(m.with_parallelism(1)).warp_threads, 8) << "of a core, not of all";
  m.random_read.back().records_per_second = 1e6;
  EXPECT_EQ(he2007::parameters_of(m).warp_threads, 2) << "the least";
  m.random_read.back().records_per_second = 1e12;
  EXPECT_EQ(he2007::parameters_of(m).warp_threads, 32) << "the most";
  m.latencies.clear();
  EXPECT_EQ(he2007::parameters_of(m).warp_threads, 10) << "unknown";
  for (const machine& shipped : shipped_machines()) {
    if (shipped.backend != backend_kind::cpu) continue;
    EXPECT_GE(he2007::parameters_of(shipped).warp_threads, 2) << shipped.name;
  }
}

// Eq. 7 and 8 with 8 accesses, of 8 bytes each, in blocks of 64.
TEST(He2007, CaseTwoIsNotCaseOneOnACpu) {
  const he2007::parameters p = he2007::parameters_of(cpu_of_eight_accesses());
  const he2007::sizes s{1 << 24, 1 << 24, 8, 1 << 26};
  const double at_random = he2007::hit_rate(s, access_pattern::random(), 1, p);
  const double two = 2 * (1 - std::pow(0.5, 8));
  const double many = 1024 * (1 - std::pow(1 - 1.0 / 1024, 8));
  EXPECT_NEAR(he2007::partitions_per_warp(2, p), two, 1e-12);
  EXPECT_NEAR(he2007::partitions_per_warp(1024, p), many, 1e-9);
  const double hits_of_two = he2007::hit_rate(s, access_pattern::partitioned(2), 1, p);
  const double hits_of_many = he2007::hit_rate(s, access_pattern::partitioned(1024), 1, p);
  EXPECT_NEAR(hits_of_two, he2007::partitioned_hit_rate(1 - two / 8, at_random), 1e-12);
  EXPECT_NEAR(hits_of_many, he2007::partitioned_hit_rate(1 - many / 8, at_random), 1e-12);
  EXPECT_GT(hits_of_two, 0.75) << "three of four that are under way together lie in a block";
  EXPECT_LT(hits_of_many, at_random + 0.01);
  EXPECT_GT(he2007::scatter_seconds(s, access_pattern::partitioned(1024), 1, p),
            1.5 * he2007::scatter_seconds(s, access_pattern::partitioned(2), 1, p));
}

TEST(He2007, IsFiniteForEverySize) {
  for (const machine& m : shipped_machines()) {
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
      for (const std::uint64_t indexed_count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 45}) {
        for (const std::uint64_t width : {1, 8, 65536}) {
          for (const access_pattern pattern :
               {access_pattern::sequential(), access_pattern::random(), access_pattern::partitioned(0),
                access_pattern::partitioned(256), access_pattern::clustered(0), access_pattern::clustered(4096)}) {
            const he2007::sizes s{count, indexed_count, width, count * 8};
            for (const double passes : {1, 64}) {
              const double seconds = he2007::predict_scatter(s, pattern, m, passes);
              EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0) << count << " of " << indexed_count << ", " << width;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::plan_he2007_test
