#include "lab/inputs/pattern.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/error.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "support/cases/movement.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::lab_inputs_pattern_test {
namespace {

using inputs::pattern;

std::vector<std::uint64_t> entries(const pattern& p, std::uint64_t count, std::uint64_t indexed_count) {
  std::vector<std::uint64_t> list(count);
  inputs::fill_index(context::cpu(2), p, indexed_count, {list.data(), count, index_type::u64});
  return list;
}

bool is_permutation_of_all(std::vector<std::uint64_t> list) {
  std::sort(list.begin(), list.end());
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    if (list[i] != i) return false;
  }
  return true;
}

TEST(Patterns, ThatAreDistinctArePermutations) {
  for (const std::uint64_t n : {1, 2, 3, 7, 31, 64, 97, 255, 256, 257, 1000, 1009, 4096, 10007, 16384}) {
    for (pattern p : test_patterns(true)) {
      for (const std::uint64_t seed : {1, 2, 77}) {
        p.seed = seed;
        EXPECT_TRUE(is_permutation_of_all(entries(p, n, n))) << name(p) << " over " << n << " with seed " << seed;
      }
    }
  }
}

TEST(Patterns, StayInsideTheTable) {
  for (const std::uint64_t n : {1, 2, 5, 100, 1009}) {
    for (const pattern& p : test_patterns(false)) {
      for (const std::uint64_t entry : entries(p, 3000, n)) ASSERT_LT(entry, n) << name(p);
    }
  }
}

TEST(Patterns, ThatRepeatDoRepeat) {
  for (const pattern& p : test_patterns(false)) {
    if (is_distinct(p)) continue;
    const auto list = entries(p, 1000, 1000);
    EXPECT_LT(std::set<std::uint64_t>(list.begin(), list.end()).size(), 1000U) << name(p);
  }
}

TEST(Patterns, HaveTheShapeTheyAreNamedFor) {
  using list = std::vector<std::uint64_t>;
  EXPECT_EQ(entries(inputs::parse_pattern("identity"), 4, 4), (list{0, 1, 2, 3}));
  EXPECT_EQ(entries(inputs::parse_pattern("reverse"), 4, 4), (list{3, 2, 1, 0}));
  EXPECT_EQ(entries(inputs::parse_pattern("same"), 3, 100), (list{50, 50, 50}));
  EXPECT_EQ(entries(inputs::parse_pattern("strided:4"), 9, 12), (list{0, 4, 8, 1, 5, 9, 2, 6, 10}));
  const auto clustered = entries(inputs::parse_pattern("clustered:10"), 95, 95);
  for (std::uint64_t i = 0; i < 95; ++i) EXPECT_EQ(clustered[i] / 10, i / 10);
  EXPECT_NE(clustered, entries(inputs::parse_pattern("identity"), 95, 95));
  // Four streams over 100 records: each quarter of the table is read upwards.
  std::vector<std::uint64_t> next{0, 25, 50, 75};
  for (const std::uint64_t entry : entries(inputs::parse_pattern("partitioned:4"), 100, 100)) {
    EXPECT_EQ(entry, next[entry / 25]++);
  }
}

TEST(Patterns, ThatAreDrawnNameEveryRecordOnceForEveryNumberOfStreams) {
  pattern p = inputs::parse_pattern("drawn:1");
  for (const std::uint64_t n : {1, 2, 3, 15, 16, 17, 31, 100, 255, 256, 511, 512, 513, 1000, 4097}) {
    for (const std::uint64_t streams : {1, 2, 3, 7, 8, 16, 31, 32, 33, 100, 1000, 4096, 5000}) {
      p.parameter = streams;
      const auto list = entries(p, n, n);
      EXPECT_TRUE(is_permutation_of_all(list)) << streams << " over " << n;
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(list[i], inputs::pattern_entry(p, i, n)) << streams << ", " << n;
    }
  }
  p.parameter = ~std::uint64_t{0};
  EXPECT_TRUE(is_permutation_of_all(entries(p, 100, 100)));
  EXPECT_NE(entries(p, 100, 100), entries(inputs::parse_pattern("identity"), 100, 100));
}

// The streams of 1000 records in 7 parts have 143 records, the last one 142; those of 1024 in 4 parts end with a
// window.
TEST(Patterns, ThatAreDrawnAscendInEachStream) {
  for (const auto& [n, streams] : {std::pair<std::uint64_t, std::uint64_t>{1024, 4}, {1000, 7}, {999, 32}, {50, 100}}) {
    std::vector<std::uint64_t> next;
    for (std::uint64_t s = 0, begin = 0; s < streams && begin < n; ++s) {
      next.push_back(begin);
      begin += n / streams + (s < n % streams ? 1 : 0);
    }
    const std::vector<std::uint64_t> begins = next;
    std::uint64_t out_of_turn = 0;  // entries whose stream is not that of one entry of each in turn
    const auto list = entries({inputs::pattern_kind::drawn, streams, 1}, n, n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto above = std::upper_bound(begins.begin(), begins.end(), list[i]);
      const auto stream = static_cast<std::uint64_t>(above - begins.begin()) - 1;
      ASSERT_EQ(list[i], next[stream]++) << streams << " over " << n;
      out_of_turn += stream != i % std::min(n, streams);
    }
    EXPECT_GT(out_of_turn, n / 2) << streams << " over " << n;
  }
}

// Eq. 7 of He et al. 2007: of p partitions 32 draws meet p (1 - (1 - 1/p)^32) on average.
TEST(Patterns, ThatAreDrawnMeetAsManyStreamsAsDrawsAtRandom) {
  const auto mean_of_32 = [](pattern p, std::uint64_t streams) {
    const std::uint64_t n = streams * 1024;
    p.parameter = streams;
    const auto list = entries(p, n, n);
    std::uint64_t met = 0;
    for (std::uint64_t i = 0; i + 32 <= n; i += 32) {
      std::set<std::uint64_t> distinct;
      for (std::uint64_t k = i; k < i + 32; ++k) distinct.insert(list[k] / 1024);
      met += distinct.size();
    }
    return static_cast<double>(met) / (static_cast<double>(n) / 32);
  };
  for (const std::uint64_t streams : {1, 2, 4, 8, 16, 32, 64, 256}) {
    const auto p = static_cast<double>(streams);
    const double by_equation = p * (1 - std::pow(1 - 1 / p, 32));
    EXPECT_NEAR(mean_of_32(inputs::parse_pattern("drawn"), streams), by_equation, 0.05 * by_equation) << streams;
  }
  EXPECT_EQ(mean_of_32(inputs::parse_pattern("partitioned"), 32), 32) << "20.4 by the equation";
}

TEST(Permute, HasAnInverse) {
  for (const std::uint64_t n : {1, 2, 3, 16, 17, 100, 256, 1000, 4096, 5000}) {
    for (const std::uint64_t seed : {1, 9}) {
      for (std::uint64_t i = 0; i < n; ++i) {
        ASSERT_EQ(inputs::inverse_permute(inputs::permute(i, n, seed), n, seed), i) << "of " << n;
      }
    }
  }
}

TEST(Patterns, OfZipfFavourFewRecords) {
  const std::uint64_t n = 10000;
  std::vector<std::uint64_t> times(n);
  for (const std::uint64_t entry : entries(inputs::parse_pattern("zipf"), n, n)) ++times[entry];
  std::sort(times.begin(), times.end(), std::greater<>());
  // Density 1/x over 10,000 ranks: the first ten take log(11)/log(10001), a quarter.
  const auto of_ten = std::accumulate(times.begin(), times.begin() + 10, std::uint64_t{0});
  EXPECT_GT(of_ten, n / 5);
  EXPECT_LT(of_ten, n / 3);
}

TEST(Patterns, DifferBySeed) {
  for (const char* text : {"permutation", "uniform", "zipf", "partitioned:16", "drawn:16", "clustered:64"}) {
    pattern a = inputs::parse_pattern(text);
    pattern b = a;
    b.seed = 2;
    EXPECT_NE(entries(a, 500, 500), entries(b, 500, 500)) << text;
    EXPECT_EQ(entries(a, 500, 500), entries(a, 500, 500)) << text;
  }
}

TEST(Patterns, NamesAreReadBack) {
  for (const pattern& p : test_patterns(false)) {
    const pattern again = inputs::parse_pattern(name(p));
    EXPECT_EQ(again.kind, p.kind);
    EXPECT_EQ(again.parameter, p.parameter);
    EXPECT_EQ(name(again), name(p));
  }
  EXPECT_EQ(name(inputs::parse_pattern("partitioned")), "partitioned:256");
}

TEST(Patterns, ThatAreNoneAreRefused) {
  for (const char* text : {"", "permutated", "identity:3", "strided:", "strided:0", "strided:-1", "strided:4x",
                           "same:1", "strided:99999999999999999999", " identity"}) {
    expect_error(
        error_code::bad_argument,
        fmt::format("'{}' is not an access pattern; there are identity, reverse, permutation, same, uniform, zipf, "
                    "strided:N, partitioned:N, drawn:N, clustered:N",
                    text),
        [&] { inputs::parse_pattern(text); });
  }
}

TEST(Patterns, GiveThePlannerAHint) {
  EXPECT_EQ(hint(inputs::parse_pattern("identity")), access_pattern::sequential());
  EXPECT_EQ(hint(inputs::parse_pattern("uniform")), access_pattern::random());
  EXPECT_EQ(hint(inputs::parse_pattern("zipf")), access_pattern::skewed());
  EXPECT_EQ(hint(inputs::parse_pattern("same")), access_pattern::repeated(1));
  EXPECT_EQ(hint(inputs::parse_pattern("strided:9")), access_pattern::strided(9));
  EXPECT_EQ(hint(inputs::parse_pattern("partitioned:9")), access_pattern::partitioned(9));
  EXPECT_EQ(hint(inputs::parse_pattern("drawn:9")), access_pattern::partitioned(9));
  EXPECT_EQ(hint(inputs::parse_pattern("clustered:9")), access_pattern::clustered(9));
}

TEST(FillIndex, GoesOnFromAnyPlaceInAnyTypeOnAnyBackend) {
  constexpr std::uint64_t n = 5003;
  for (const pattern& p : test_patterns(false)) {
    const auto all = entries(p, n, n);
    for (const index_type type : index_types) {
      for (const named_context& where : every_context()) {
        SCOPED_TRACE(fmt::format("{} {} {}", name(p), name(type), where.name));
        image list = poisoned(1001, bytes(type), bytes(type));
        const placed there(where.ctx, list);
        inputs::fill_index(where.ctx, p, n, there.index(type), 2000);
        for (std::uint64_t i = 0; i < 1001; ++i) set_entry(list, i, all[2000 + i]);
        expect_bytes(there.download(), list, "index");
      }
    }
  }
}

// A list longer than the table begins again, and a part of it begins anywhere, also at the first window's end.
TEST(FillIndex, DrawsAgainPastTheEndOfTheTableOnAnyBackend) {
  constexpr std::uint64_t n = 1003;
  for (const std::uint64_t streams : {1, 5, 16, 400, 2000}) {
    const pattern p{inputs::pattern_kind::drawn, streams, 3};
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{15}, 16 * streams, n - 1, n, 2 * n + 500}) {
      for (const named_context& where : every_context()) {
        SCOPED_TRACE(fmt::format("{} from {} {}", name(p), first, where.name));
        image list = poisoned(1501, 4, 4);
        const placed there(where.ctx, list);
        inputs::fill_index(where.ctx, p, n, there.index(index_type::u32), first);
        for (std::uint64_t i = 0; i < 1501; ++i) set_entry(list, i, inputs::pattern_entry(p, first + i, n));
        expect_bytes(there.download(), list, "index");
      }
    }
  }
}

TEST(FillRecords, MakesTheBytesThatRecordByteTells) {
  for (const std::uint64_t width : {1, 3, 8, 13, 16, 100}) {
    for (const named_context& where : every_context()) {
      SCOPED_TRACE(fmt::format("r{} {}", width, where.name));
      image expected = poisoned(97, width, width + 3, 1);
      const placed there(where.ctx, expected);
      inputs::fill_records(where.ctx, there.view(), 5);
      for (std::uint64_t r = 0; r < 97; ++r) {
        for (std::uint64_t b = 0; b < width; ++b)
          expected.record(r)[b] = static_cast<std::byte>(inputs::record_byte(5, r, b));
      }
      expect_bytes(there.download(), expected, "records");
    }
  }
}

// The output of a gather (or scatter) by the pattern, in the memory of a context.
image gathered(const pattern& p, std::uint64_t n, std::uint64_t indexed_count, std::uint64_t width) {
  image out = poisoned(n, width, width + 1);
  const image table = filled(indexed_count, width, width, 0, 5);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::memcpy(out.record(i), table.record(inputs::pattern_entry(p, i, indexed_count)), width);
  }
  return out;
}

TEST(CountMismatches, FindsOneFlippedByteOfAGather) {
  for (const named_context& where : every_context()) {
    for (const pattern& p : test_patterns(false)) {
      SCOPED_TRACE(name(p) + " " + where.name);
      image out = gathered(p, 777, 501, 12);
      EXPECT_EQ(inputs::count_gather_mismatches(where.ctx, placed(where.ctx, out).view(), p, 501, 5), 0U);
      out.record(776)[11] ^= std::byte{1};
      EXPECT_EQ(inputs::count_gather_mismatches(where.ctx, placed(where.ctx, out).view(), p, 501, 5), 1U);
      out.record(0)[0] ^= std::byte{128};
      out.record(300)[5] ^= std::byte{4};
      EXPECT_EQ(inputs::count_gather_mismatches(where.ctx, placed(where.ctx, out).view(), p, 501, 5), 3U);
    }
  }
}

TEST(CountMismatches, FindsOneFlippedByteOfAScatter) {
  for (const named_context& where : every_context()) {
    for (const pattern& p : test_patterns(true)) {
      SCOPED_TRACE(name(p) + " " + where.name);
      image out = poisoned(1009, 7, 9);
      const image in = filled(700, 7, 7, 0, 5);
      for (std::uint64_t i = 0; i < 700; ++i)
        std::memcpy(out.record(inputs::pattern_entry(p, i, 1009)), in.record(i), 7);
      EXPECT_EQ(inputs::count_scatter_mismatches(where.ctx, placed(where.ctx, out).view(), p, 700, 5), 0U);
      out.record(inputs::pattern_entry(p, 699, 1009))[6] ^= std::byte{1};
      EXPECT_EQ(inputs::count_scatter_mismatches(where.ctx, placed(where.ctx, out).view(), p, 700, 5), 1U);
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::lab_inputs_pattern_test
