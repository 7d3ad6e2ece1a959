// Every search variant finds what a std::map finds, in indices that every build variant made.
#include <sheaf/hash_search.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/gather.hpp>

#include "support/large.hpp"
#include "support/trials/hash.hpp"

namespace sheaf::tests::primitives_hash_search_test {
namespace {

std::vector<std::string> search_variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::hash_search_variants()) names.emplace_back(v.name);
  return names;
}

class EveryHashVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }

  std::vector<named_context> contexts() const {
    std::vector<named_context> all = every_context();
    std::erase_if(all, [](const named_context& where) { return !is_hash_planned_on(where.ctx); });
    return all;
  }

  // Builds each case on every context by every variant. Each search variant reads what at least one of them builds.
  void expect_answers_of(const std::vector<hash_case>& cases) {
    const auto all = contexts();
    std::size_t runs = 0;
    for (const hash_case& c : cases) {
      SCOPED_TRACE(c.description());
      const hash_trial t(c);
      for (const named_context& where : all) {
        SCOPED_TRACE(where.name);
        bool has_run = false;
        for (const std::string& build : names_on(primitives::hash_build_variants(), where.ctx.backend())) {
          SCOPED_TRACE(build);
          if (!works_on(where.ctx.backend())) continue;
          has_run |= expect_answers(where.ctx, index_of(where.ctx, t, build), t, GetParam());
        }
        runs += has_run ? 1 : 0;
      }
      if (HasFailure()) return;
    }
    if (GetParam().empty()) {
      EXPECT_EQ(runs, cases.size() * all.size()) << "some index has no variant that searches it";
    } else {
      expect_runs(GetParam(), runs, cases.size());
    }
  }

  static bool works_on(backend_kind backend) {
    if (GetParam().empty()) return true;
    for (const std::string& name : names_on(primitives::hash_search_variants(), backend)) {
      if (name == GetParam()) return true;
    }
    return false;
  }
};

INSTANTIATE_TEST_SUITE_P(HashSearch, EveryHashVariant, testing::ValuesIn(search_variant_names()), test_name_of);

TEST_P(EveryHashVariant, FindsKeysOfEveryKindWidthStrideAndLoad) {
  std::vector<hash_case> cases;
  std::uint64_t seed = 1;
  for (const std::uint64_t count : {1, 2, 3, 5, 8, 31, 64, 65, 100, 1000, 5000}) {
    for (const std::uint64_t probes : {1, 2, 63, 64, 65, 129, 1000}) {
      cases.push_back(drawn_hash_case(count, probes, seed++));
      cases.push_back(drawn_hash_case(count, probes, seed++));
    }
  }
  expect_answers_of(cases);
}

TEST_P(EveryHashVariant, FindsNoneSomeAndAllOfEveryKind) {
  std::vector<hash_case> cases;
  for (const key_kind kind : key_kinds) {
    for (const std::uint64_t hits : {0, 50, 100}) {
      for (const std::uint64_t key_bytes : {4, 8}) {
        cases.push_back({.count = 3000, .probes = 500, .key_bytes = key_bytes, .kind = kind, .hits = hits});
        cases.back().seed = cases.size();
      }
    }
  }
  expect_answers_of(cases);
}

TEST_P(EveryHashVariant, FindsManyKeysInManyRecords) {
  expect_answers_of(
      {{.count = 200'000, .probes = 300'000, .key_bytes = 8, .hits = 90},
       {.count = 300'000, .probes = 100'000, .key_bytes = 4, .kind = key_kind::in_order, .stride_bytes = 12},
       {.count = 150'000, .probes = 20, .key_bytes = 8, .kind = key_kind::halves, .hits = 100}});
}

// Every variant splits its probes, takes them in tiles, or samples them; here there are enough for more than one.
TEST_P(EveryHashVariant, FindsKeysOfSeveralTilesOfProbes) {
  std::vector<hash_case> cases;
  for (const std::uint64_t probes : {4095, 4096, 5000, 8193, 70'000}) {
    cases.push_back({.count = 9000, .probes = probes, .key_bytes = probes % 2 == 0 ? 8UL : 4UL, .hits = 70});
    cases.back().stride_bytes = cases.back().key_bytes;
  }
  expect_answers_of(cases);
}

TEST_P(EveryHashVariant, FindsManyKeysThatWantOneBucket) {
  for (const key_kind kind : {key_kind::one_bucket, key_kind::first_bucket, key_kind::last_bucket}) {
    expect_answers_of(
        {{.count = 40'000, .probes = 100'000, .key_bytes = 8, .kind = kind, .hits = 50},
         {.count = 30'000, .probes = 50'000, .key_bytes = 4, .kind = kind, .hits = 50, .stride_bytes = 4}});
  }
}

TEST_P(EveryHashVariant, WalksPastTwentyFiveKeysInAMillionRows) {
  hash_case c{.count = 1 << 20, .probes = 40, .key_bytes = 4, .kind = key_kind::few, .hits = 50};
  c.stride_bytes = 4;
  expect_answers_of({c});
}

TEST_P(EveryHashVariant, AnswersForNoKeysAndNoProbes) {
  expect_answers_of({{.count = 0, .probes = 100}, {.count = 0, .probes = 0}, {.count = 100, .probes = 0}});
}

// 25 keys in 2^24 rows: what is found is many times what is looked for.
TEST(HashSearchLarge, TwentyFiveKeysInSixteenMillionRows) {
  if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1";
  hash_case c{.count = 1 << 24, .probes = 64, .key_bytes = 8, .kind = key_kind::few, .hits = 50};
  const hash_trial t(c);
  for (const named_context& where : every_context()) {
    if (!is_hash_planned_on(where.ctx)) continue;
    SCOPED_TRACE(where.name);
    for (const std::string& build : names_on(primitives::hash_build_variants(), where.ctx.backend())) {
      SCOPED_TRACE(build);
      const hash_index index = index_of(where.ctx, t, build);
      EXPECT_EQ(index.distinct(), 25U);
      std::size_t searched = 0;
      for (const std::string& name : names_on(primitives::hash_search_variants(), where.ctx.backend())) {
        SCOPED_TRACE(name);
        searched += expect_answers(where.ctx, index, t, name) ? 1 : 0;
      }
      EXPECT_GT(searched, 0U);
    }
  }
}

TEST(HashSearch, TakesTypedRangesAndFieldsOfRecords) {
  const context ctx = context::cpu(2);
  struct row {
    std::uint32_t tag;
    float key;
    double value;
  };
  const std::vector<row> rows{{1, 2.5F, 10}, {2, -0.0F, 20}, {3, 2.5F, 30}, {4, 0.0F, 40}};
  const const_records keys(&rows[0].key, rows.size(), sizeof(float), sizeof(row));
  const hash_index index = build_hash_index(ctx, keys);
  EXPECT_EQ(index.count(), 4U);
  EXPECT_EQ(index.distinct(), 3U);
  EXPECT_EQ(index.longest_chain(), 2U);
  const std::vector<float> wanted{0.0F, 2.5F, 7.0F, -0.0F};
  const hash_matches found = hash_search(ctx, index, wanted);
  EXPECT_EQ(numbers_of(ctx, found.offsets()), (std::vector<std::uint64_t>{0, 1, 3, 3, 4}));
  EXPECT_EQ(numbers_of(ctx, found.ids()), (std::vector<std::uint64_t>{3, 0, 2, 1}));
  // The fourth step of the paper: a gather fetches the records.
  std::vector<row> fetched(found.total);
  gather(ctx, rows, found.ids(), fetched);
  EXPECT_EQ(fetched[0].tag, 4U);
  EXPECT_EQ(fetched[1].tag, 1U);
  EXPECT_EQ(fetched[2].tag, 3U);
  EXPECT_EQ(fetched[3].tag, 2U);
  std::vector<std::int32_t> first(4);
  hash_find(ctx, index, wanted, first);
  EXPECT_EQ(first, (std::vector<std::int32_t>{3, 0, -1, 1}));
  std::vector<std::uint8_t> is_there(4);
  hash_contains(ctx, index, wanted, is_there);
  EXPECT_EQ(is_there, (std::vector<std::uint8_t>{1, 1, 0, 1}));
  std::vector<std::uint64_t> counts(4);
  hash_count(ctx, index, wanted, counts);
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 2, 0, 1}));
}

}  // namespace
}  // namespace sheaf::tests::primitives_hash_search_test
