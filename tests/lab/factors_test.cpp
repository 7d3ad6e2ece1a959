#include "lab/harness/factors.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace sheaf::tests::lab_factors_test {
namespace {

using bench::factor_row;
using bench::recorded_row;
using rows = std::vector<recorded_row>;
using testing::HasSubstr;

recorded_row row(const std::string& problem, const std::string& who, double seconds, bool promises_less = false) {
  return {.backend = "cuda",
          .problem = problem,
          .who = who,
          .variant = who == "sheaf" || who.starts_with("cuda.") ? "cuda.sample" : "",
          .median_seconds = seconds,
          .promises_less = promises_less};
}

std::string sort_of(std::uint64_t count) { return "sort_keys/normal/r4/f32/n=" + std::to_string(count); }

TEST(Factors, AreOverTheFastestPeerThatPromisesAsMuch) {
  const std::string sum = "scatter_reduce/zipf:s1000/r4/u32+f32/n=1048576";
  const std::vector<factor_row> found = bench::factors_of(
      rows{row(sort_of(7), "sheaf", 2e-3), row(sort_of(7), "cuda.lsd", 1e-3), row(sort_of(7), "slow", 8e-3),
           row(sort_of(7), "cub", 3e-3), row(sum, "sheaf", 1e-3), row(sum, "atomics", 1e-4, true),
           row(sum, "cub", 2e-3), row(sort_of(9), "sheaf", 1), row(sort_of(8), "cub", 1), row(sort_of(6), "sheaf", 1),
           row(sort_of(6), "atomics", 1, true)});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].problem, sort_of(7));
  EXPECT_EQ(found[0].family, "sort");
  EXPECT_EQ(found[0].count, 7U);
  EXPECT_EQ(found[0].peer, "cub");
  EXPECT_DOUBLE_EQ(found[0].factor(), 1.5);
  EXPECT_EQ(found[1].family, "reduce");
  EXPECT_EQ(found[1].peer, "cub");
  EXPECT_DOUBLE_EQ(found[1].factor(), 2);
}

TEST(Factors, HaveMeansOfAllRowsAndOfLargeOnes) {
  rows all;
  for (const auto& [count, factor] : {std::pair{1000, 0.25}, {1 << 24, 4.0}, {100000000, 1.0}}) {
    all.push_back(row(sort_of(static_cast<std::uint64_t>(count)), "sheaf", 1e-3));
    all.push_back(row(sort_of(static_cast<std::uint64_t>(count)), "cub", factor * 1e-3));
  }
  const std::string split = "split/zipf:b8/r4/own/n=4096";
  all.push_back(row(split, "sheaf", 1e-3));
  all.push_back(row(split, "cub", 9e-3));
  const std::string text = bench::factors_text(bench::factors_of(all));
  EXPECT_THAT(text, HasSubstr("cuda sort: 3 rows, peer / ours: geometric mean 1.000, 1 below 0.97; 2 of 2^24 and more "
                              "records: 2.000, 0 below\n"));
  EXPECT_THAT(text, HasSubstr("cuda split: 1 rows, peer / ours: geometric mean 9.000, 0 below 0.97\n"));
  EXPECT_THAT(text, HasSubstr("cuda all: 4 rows, peer / ours: geometric mean 1.732"));
  EXPECT_EQ(bench::factors_text({}), "no row has a peer\n");
}

TEST(Factors, OfShortCallsMayBeALittleLower) {
  const auto below = [](double seconds, double factor) {
    const rows two{row(sort_of(9), "sheaf", seconds), row(sort_of(9), "cub", factor * seconds)};
    return bench::factors_text(bench::factors_of(two));
  };
  EXPECT_THAT(below(20e-6, 0.94), HasSubstr("0.940, 0 below"));
  EXPECT_THAT(below(20e-6, 0.92), HasSubstr("0.920, 1 below"));
  EXPECT_THAT(below(21e-6, 0.94), HasSubstr("0.940, 1 below"));
}

TEST(Factors, OverPeersWhoseAnswersVaryAreCountedApart) {
  const std::string sum = "scatter_reduce/zipf:s1000/r4/u32+f32/n=1048576";
  const std::string other = "scatter_reduce/uniform:s1000/r4/u32+f32/n=1048576";
  const std::string text = bench::factors_text(
      bench::factors_of(rows{row(sum, "sheaf", 1e-3), row(sum, "atomics", 0.5e-3, true), row(sum, "cub", 2e-3),
                             row(other, "sheaf", 1e-3), row(other, "cub", 2e-3), row(other, "atomics", 2e-3, true)}));
  EXPECT_THAT(text,
              HasSubstr("cuda reduce: 2 rows, peer / ours: geometric mean 2.000, 0 below 0.97; 2 over peers whose "
                        "answers vary: 1.000, 1 below 0.7\n"));
}

TEST(Factors, ListTheTenWorstRowsAndMarkShortOnes) {
  rows all;
  for (std::uint64_t i = 1; i <= 12; ++i) {
    all.push_back(row(sort_of(i), "sheaf", i == 2 ? 20e-6 : 1e-3));
    all.push_back(row(sort_of(i), "cub", static_cast<double>(i) * (i == 2 ? 20e-6 : 1e-3)));
  }
  const std::string text = bench::factors_text(bench::factors_of(all));
  EXPECT_THAT(text, HasSubstr("the 10 worst"));
  EXPECT_THAT(text, HasSubstr("\n       1  cuda " + sort_of(1) + "  1.000 ms, cub 1.000 ms\n"));
  EXPECT_THAT(text, HasSubstr("\n       2  cuda " + sort_of(2) + "  20.00 us, cub 40.00 us *\n"));
  EXPECT_THAT(text, HasSubstr("\n      10  cuda " + sort_of(10) + " "));
  EXPECT_THAT(text, testing::Not(HasSubstr(sort_of(11) + " ")));
  EXPECT_EQ(bench::short_mark(21e-6), "");
}

TEST(Factors, OfARowThatIsNoProblemAreRefused) {
  const rows bad{row("sort_keys/unheard/r4/u32/n=1", "sheaf", 1), row("sort_keys/unheard/r4/u32/n=1", "cub", 1)};
  EXPECT_THAT(message_of(error_code::bad_input, [&] { bench::factors_of(bad); }),
              HasSubstr("'unheard' is not a distribution of keys"));
}

}  // namespace
}  // namespace sheaf::tests::lab_factors_test
