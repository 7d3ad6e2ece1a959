// Which rows the sweeps of sheaf-bench have.
#include "lab/description/sweep.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/description/hash/items.hpp"
#include "lab/description/hash/problem.hpp"
#include "lab/description/row_name.hpp"
#include "lab/description/seeds.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::lab_description_sweep_test {
namespace {

using problem = primitives::problem_spec;

constexpr std::uint64_t most_matches = std::uint64_t{1} << 30;

std::vector<problem> searches_of(const primitives::sweep& s) {
  std::vector<problem> all = primitives::problems_of(s);
  std::erase_if(all, [](const problem& p) { return p.primitive != "hash_search"; });
  return all;
}

// A row that would find too much has fewer probes, rather than none.
TEST(HashSweep, HasEveryTableRepetitionOrderAndHitRate) {
  std::map<std::tuple<std::uint64_t, std::uint64_t, primitives::pattern_kind, std::uint64_t>, std::set<std::uint64_t>>
      counts;
  const primitives::sweep s = primitives::sweep_named("hash");
  for (const problem& p : searches_of(s)) {
    EXPECT_LE(jobs::room_for_matches(p), most_matches) << name(p);
    const auto& hash = p.part<primitives::hash_part>();
    counts[{p.indexed_count(), hash.repeats, p.pattern.kind, hash.hit_percent}].insert(p.count);
  }
  for (const std::uint64_t table : {1 << 20, 1 << 25, 1 << 30}) {
    for (const std::uint64_t repeats :
         {std::uint64_t{1}, std::uint64_t{16}, std::uint64_t{1000}, primitives::power_law_repeats}) {
      for (const primitives::input_pattern& pattern : s.patterns) {
        for (const std::uint64_t hits : {0, 50, 100}) {
          const std::set<std::uint64_t>& rows = counts[{table, repeats, pattern.kind, hits}];
          SCOPED_TRACE(
              fmt::format("{} of {}, each {} times, {} % hits", primitives::name(pattern), table, repeats, hits));
          ASSERT_FALSE(rows.empty());
          EXPECT_GE(*rows.begin(), std::uint64_t{1} << 19) << "half the most probes find more than is held";
          std::set<std::uint64_t> expected{1 << 22, 1 << 28};
          if (hits > 0 && repeats == 16) expected = {1 << 22, 1 << 26};
          if (hits > 0 && repeats == 1000) expected = {1 << 20};
          if (repeats != primitives::power_law_repeats) {
            EXPECT_EQ(rows, expected);
          }
        }
      }
    }
  }
}

// What is said to be likely, beside a count of all matches.
TEST(HashSweep, KnowsAboutHowManyMatchesProbesHave) {
  for (const char* text :
       {"hash_search/zipf:s1000000:xzipf:h100/r4/k64/n=1000000", "hash_search/zipf:s5000000:xzipf:h50/r4/k64/n=300000",
        "hash_search/uniform:s1000000:xzipf:h100/r4/k32/n=1000000", "hash_search/zipf:s1:xzipf:h100/r4/k64/n=1000",
        "hash_search/zipf:s3:xzipf:h100/r4/k64/n=1000", "hash_search/same:s1000:xzipf:h100/r4/k64/n=1000",
        "hash_search/identity:s100000:x1:h50/r4/k32/n=200000",
        "hash_search/permutation:s100000:x16:h10/r4/k64/n=100000", "hash_search/identity:s1000:x1:h0/r4/k32/n=1000"}) {
    SCOPED_TRACE(text);
    const problem p = primitives::parse_problem(text);
    const jobs::probe_source source{.table = primitives::table_of(p),
                                    .order = jobs::pattern_of_copy(p, 0),
                                    .key_bytes = p.key_bytes,
                                    .hit_percent = p.part<primitives::hash_part>().hit_percent};
    std::uint64_t matches = 0;
    for (std::uint64_t probe = 0; probe < p.count; ++probe) matches += jobs::matches_of_probe(source, probe);
    const auto likely = static_cast<double>(jobs::likely_matches(p));
    EXPECT_NEAR(static_cast<double>(matches), likely, 0.15 * likely);
    EXPECT_GE(jobs::room_for_matches(p), matches);
  }
}

TEST(HashSweep, GivesEachProblemOnce) {
  std::set<std::string> names;
  for (const problem& p : searches_of(primitives::sweep_named("hash")))
    EXPECT_TRUE(names.insert(name(p)).second) << name(p);
}

TEST(ListSweep, GoesTo2To30Nodes) {
  std::set<std::pair<std::string, std::uint64_t>> rows;
  for (const problem& p : primitives::problems_of(primitives::sweep_named("list"))) {
    if (p.primitive == "list_rank") rows.insert({primitives::name(p.pattern), p.count});
  }
  for (std::uint64_t count = 1 << 20; count <= std::uint64_t{1} << 30; count *= 4) {
    for (const std::string& order : {std::string("identity"), std::string("permutation"), std::string("strided:1001"),
                                     fmt::format("strided:{}", count - 1)}) {
      EXPECT_TRUE(rows.contains({order, count})) << order << " of " << count;
    }
  }
}

TEST(SpmvSweep, HasTransposedProductsOfBothTypesInBothOrders) {
  std::set<std::string> rows;
  for (const problem& p : primitives::problems_of(primitives::sweep_named("spmv"))) rows.insert(name(p));
  for (const std::uint64_t count : {1 << 20, 1 << 23, 1 << 26}) {
    for (const char* const matrix : {"banded:x16", "grid:x7", "uniform:x16", "uniform:xzipf", "zipf:x16"}) {
      for (const char* const type : {"r4/u32+f32", "r8/u32+f64"}) {
        for (const char* const product : {"", "+transposed", "+transposed+unordered"}) {
          const std::string row = fmt::format("spmv/{}/{}{}/n={}", matrix, type, product, count);
          EXPECT_TRUE(rows.contains(row)) << row;
        }
      }
    }
  }
}

TEST(ListSweep, RefusesOrdersThatAreNoList) {
  primitives::sweep s = primitives::sweep_named("list");
  s.patterns = {primitives::parse_pattern("identity"), primitives::parse_pattern("uniform")};
  expect_error(error_code::bad_argument, "--patterns uniform: an order that goes through nodes twice is not a list",
               [&] { primitives::problems_of(s); });
}

}  // namespace
}  // namespace sheaf::tests::lab_description_sweep_test
