#include "papers/he2007/sweeps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::tests::papers_he2007_sweeps_test {
namespace {

using namespace bench::papers;
using namespace bench::papers::he2007;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t gigabyte = 1024 * megabyte;

TEST(ScanSizes, DoubleFrom2MegabytesAsFarAsTheSizeAllows) {
  EXPECT_THAT(scan_sizes(run_size::tiny, 0), ElementsAre(1 << 16, 1 << 17));
  EXPECT_THAT(scan_sizes(run_size::small, 100 * gigabyte),
              ElementsAre(2 * megabyte, 4 * megabyte, 8 * megabyte, 16 * megabyte, 32 * megabyte));
  const auto medium = scan_sizes(run_size::medium, 100 * gigabyte);
  EXPECT_EQ(medium.size(), 9U);
  EXPECT_EQ(medium.back(), 512 * megabyte);
}

TEST(ScanSizes, EndWithAQuarterOfTheFreeMemory) {
  for (const run_size size : {run_size::paper, run_size::device}) {
    EXPECT_EQ(scan_sizes(size, 128 * gigabyte).back(), 32 * gigabyte);
    EXPECT_EQ(scan_sizes(size, 128 * gigabyte - 1).back(), 16 * gigabyte);
  }
  EXPECT_THAT(scan_sizes(run_size::small, 16 * megabyte), ElementsAre(2 * megabyte, 4 * megabyte));
  EXPECT_THAT(scan_sizes(run_size::device, 7 * megabyte), IsEmpty());
}

// Two bandwidths of 2 GB/s and one of 5 have a mean of 3; weighted by their bytes, of 3.7.
TEST(ScannedModel, HasTheBandwidthOfEquation1) {
  plan::he2007::parameters parameters;
  parameters.block_bytes = 64;
  parameters.sequential_bytes_per_second = 7e9;
  const std::vector<plan::he2007::timed_scan> scans{{4e6, 2e-3}, {8e6, 4e-3}, {16e6, 3.2e-3}};
  const auto with = with_bandwidth_of(parameters, scans);
  EXPECT_DOUBLE_EQ(with.sequential_bytes_per_second, (4 * 2e9 + 8 * 2e9 + 16 * 5e9) / 28);
  EXPECT_EQ(with.sequential_bytes_per_second, plan::he2007::sequential_bandwidth(scans));
  EXPECT_EQ(with.block_bytes, 64);
  EXPECT_EQ(with_bandwidth_of(parameters, {}).sequential_bytes_per_second, 7e9)
      << "the profile's, where none was timed";
}

TEST(SweptPartitions, HaveThePapers8And32AtEverySize) {
  EXPECT_THAT(swept_partitions(run_size::tiny), ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256));
  EXPECT_THAT(swept_partitions(run_size::small), ElementsAre(1, 2, 4, 8, 16, 32, 64, 256, 1024, 4096, 16384, 65536));
  for (const run_size size : {run_size::medium, run_size::paper, run_size::device}) {
    const auto all = swept_partitions(size);
    ASSERT_EQ(all.size(), 17U);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], std::uint64_t{1} << i);
  }
}

TEST(SweptPasses, HaveThePapers16AndTheModels) {
  EXPECT_THAT(swept_passes(run_size::tiny, 1), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(swept_passes(run_size::tiny, 60), ElementsAre(1, 2, 4, 8, 16, 60));
  EXPECT_THAT(swept_passes(run_size::small, 16), ElementsAre(1, 2, 4, 8, 16, 32, 64));
  EXPECT_THAT(swept_passes(run_size::paper, 5), ElementsAre(1, 2, 4, 5, 8, 16, 32, 64));
}

TEST(TimesByPasses, TellTheBestAndWhatItGains) {
  const times_by_passes times{{{1, 0.4}, {2, 0.3}, {3, 0.1}, {16, 0.2}}, 2};
  EXPECT_EQ(times.best(), 3U);
  EXPECT_EQ(times.of(16), 0.2);
  EXPECT_EQ(times.of(5), 0);
  EXPECT_DOUBLE_EQ(times.gain_of(16), 2);
  EXPECT_EQ(times.gain_of(5), 0);
  EXPECT_FALSE(times.one_pass_wins());
  EXPECT_THAT(times.cells(),
              ElementsAre("400.000 ms", "2", "300.000 ms", "200.000 ms", "3", "100.000 ms", "4.00x", "more"));
  EXPECT_EQ(times.cells().size(), times_by_passes::columns().size());
}

TEST(TimesByPasses, SayWhereOnePassWins) {
  const times_by_passes times{{{1, 0.1}, {16, 0.2}}, 1};
  EXPECT_TRUE(times.one_pass_wins());
  EXPECT_THAT(times.cells(),
              ElementsAre("100.000 ms", "1", "100.000 ms", "200.000 ms", "1", "100.000 ms", "1.00x", "one pass"));
}

TEST(TimesByPasses, OfNothingAreDashes) {
  const times_by_passes none;
  EXPECT_EQ(none.best(), 1U);
  EXPECT_FALSE(none.one_pass_wins());
  EXPECT_THAT(none.cells(), ElementsAre("-", "1", "-", "-", "1", "-", "-", "-"));
  const times_by_passes without_one{{{4, 0.1}}, 4};
  EXPECT_THAT(without_one.cells(), ElementsAre("-", "4", "100.000 ms", "-", "4", "100.000 ms", "-", "-"));
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_sweeps_test
