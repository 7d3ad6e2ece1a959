// The CPU's hash search of 2007 by chunks of the table. By name, with the chunks that it plans, it runs with all
// variants of hash search; here the number of chunks is given.
#include "papers/he2007/cache_chunks.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "plan/choose.hpp"
#include "support/trials/hash.hpp"

namespace sheaf::cpu {
extern const primitives::hash_build_variant hash_build_partitioned;
extern const primitives::hash_search_variant hash_search_cache_chunks;
}  // namespace sheaf::cpu

namespace sheaf::tests::papers_he2007_cache_chunks_test {
namespace {

using primitives::hash_match_room;
using primitives::hash_output;
using primitives::hash_search_problem;

/// An index with record numbers of a width, and the search of it by the probes of a trial.
struct searched_table {
  std::unique_ptr<primitives::hash_table> table;
  hash_search_problem problem;

  searched_table(const context& ctx, const hash_trial& t, index_type id) {
    primitives::hash_build_problem build;
    build.count = t.c.count;
    build.key_bytes = t.c.key_bytes;
    build.key_stride_bytes = t.c.stride_bytes;
    build.id = id;
    build.load = t.c.load;
    const plan::planned plan = cpu::hash_build_partitioned.plan(build, plan::scope_of(ctx));
    const buffer scratch(ctx, plan.scratch_bytes);
    cpu::hash_build_partitioned.run(ctx, build, plan, {t.keys.view(), &table}, scratch.data());
    problem.probes = t.c.probes;
    problem.probe_stride_bytes = t.c.stride_bytes;
    problem.index = table->facts;
    problem.index.records = t.c.count;
    problem.index.key_bytes = t.c.key_bytes;
    problem.index.id = id;
    problem.index.load = t.c.load;
  }

  std::uint64_t buckets() const { return static_cast<const cpu::bucket_index&>(*table).layout().buckets; }
};

plan::planned planned_in_chunks(const hash_search_problem& p, const plan::scope& scope, std::uint64_t chunks) {
  plan::planned plan = cpu::hash_search_cache_chunks.plan(p, scope);
  auto decision = plan.decided.get<cpu::cache_chunks_decision>();
  decision.chunks = chunks;
  plan.decided.set(decision);
  return plan;
}

/// Runs the search for one output in so many chunks, in the planned scratch and no more, and returns the entries that
/// it writes.
template <class Entry>
std::vector<std::uint64_t> entries_by_chunks(const context& ctx, searched_table& searched, const hash_trial& t,
                                             hash_output output, std::uint64_t count, std::uint64_t chunks,
                                             const std::function<hash_match_room(std::uint64_t)>* make_room = nullptr) {
  searched.problem.output = output;
  searched.problem.out_bytes = sizeof(Entry);
  const plan::planned plan = planned_in_chunks(searched.problem, plan::scope_of(ctx), chunks);
  constexpr std::uint64_t guarded_bytes = 512;
  constexpr std::byte guard{0x5a};
  const buffer scratch(ctx, plan.scratch_bytes + guarded_bytes);
  std::fill_n(scratch.data(), scratch.size(), guard);
  std::vector<Entry> out(count, static_cast<Entry>(0xa5a5a5a5a5a5a5a5U));
  cpu::hash_search_cache_chunks.run(ctx, searched.problem, plan,
                                    {searched.table.get(), t.probes.view(), out.data(), make_room}, scratch.data());
  for (std::uint64_t i = 0; i < guarded_bytes; ++i) {
    EXPECT_EQ(scratch.data()[plan.scratch_bytes + i], guard) << "byte " << i << " behind the scratch was written";
  }
  return {out.begin(), out.end()};
}

template <class Id>
void expect_all_outputs(const context& ctx, searched_table& searched, const hash_trial& t, std::uint64_t chunks) {
  const auto counts = t.for_each_probe([](std::uint64_t begin, std::uint64_t end) { return end - begin; });
  EXPECT_TRUE(entries_by_chunks<std::uint32_t>(ctx, searched, t, hash_output::counts, t.c.probes, chunks) == counts);
  EXPECT_TRUE(entries_by_chunks<std::uint64_t>(ctx, searched, t, hash_output::counts, t.c.probes, chunks) == counts);
  const auto contains = t.for_each_probe([](std::uint64_t begin, std::uint64_t end) { return end > begin ? 1U : 0U; });
  EXPECT_TRUE(entries_by_chunks<std::uint8_t>(ctx, searched, t, hash_output::contains, t.c.probes, chunks) == contains);
  const auto first =
      t.for_each_probe([&](std::uint64_t begin, std::uint64_t end) { return end > begin ? t.ids[begin] : Id(~Id{0}); });
  EXPECT_TRUE(entries_by_chunks<Id>(ctx, searched, t, hash_output::first, t.c.probes, chunks) == first);

  // Room for all but the last match, which is then not written.
  const std::uint64_t room = std::max<std::uint64_t>(t.total(), 1) - 1;
  constexpr Id unwritten = static_cast<Id>(0x3c3c3c3c3c3c3c3cU);
  std::vector<Id> ids(t.total() + 1, unwritten);
  const std::function<hash_match_room(std::uint64_t)> make_room = [&](std::uint64_t total) {
    EXPECT_EQ(total, t.total());
    return hash_match_room{ids.data(), room};
  };
  EXPECT_TRUE(entries_by_chunks<std::uint64_t>(ctx, searched, t, hash_output::matches, t.c.probes + 1, chunks,
                                               &make_room) == t.offsets);
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(ids[i], i < room ? static_cast<Id>(t.ids[i]) : unwritten) << "match " << i;
  }
}

/// Every output, in one chunk, in several, and in more than there are buckets.
void expect_answers_in_chunks(const context& ctx, const hash_case& c) {
  const hash_trial t(c);
  SCOPED_TRACE(t.c.description());
  for (const index_type id : {index_type::u32, index_type::u64}) {
    searched_table searched(ctx, t, id);
    EXPECT_EQ(searched.table->facts.distinct, t.records.size());
    for (const std::uint64_t chunks : {std::uint64_t{1}, std::uint64_t{3}, searched.buckets() + 2}) {
      if (chunks > 300) continue;  // a pass for each
      SCOPED_TRACE(fmt::format("{} chunks of {} buckets, ids of {} bytes", chunks, searched.buckets(), bytes(id)));
      id == index_type::u32 ? expect_all_outputs<std::uint32_t>(ctx, searched, t, chunks)
                            : expect_all_outputs<std::uint64_t>(ctx, searched, t, chunks);
    }
  }
}

class CacheChunks : public testing::TestWithParam<int> {
 protected:
  context ctx = context::cpu(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Threads, CacheChunks, testing::Values(1, 2, 7));

TEST_P(CacheChunks, FindKeysOfEveryKindAndWidthInAnyNumber) {
  std::uint64_t seed = 1;
  for (const key_kind kind : key_kinds) {
    for (const std::uint64_t key_bytes : {4, 8}) {
      const std::uint64_t stride_bytes = key_bytes + (seed % 3 == 0 ? 5 : 0);
      expect_answers_in_chunks(ctx, {.count = 400,
                                     .probes = 1100,
                                     .key_bytes = key_bytes,
                                     .kind = kind,
                                     .hits = 60,
                                     .stride_bytes = stride_bytes,
                                     .misalignment = seed % 4,
                                     .load = seed % 2 == 0 ? 0.99 : 0.3,
                                     .seed = seed});
      ++seed;
      if (HasFailure()) return;
    }
  }
}

TEST_P(CacheChunks, FindOneKeyAndNoneByOneProbeAndMany) {
  for (const std::uint64_t count : {1, 2, 6}) {
    for (const std::uint64_t probes : {1, 3, 4000}) {
      for (const std::uint64_t hits : {0, 100}) {
        expect_answers_in_chunks(ctx, {.count = count, .probes = probes, .hits = hits});
      }
    }
  }
}

// Enough probes for a partition of each thread.
TEST_P(CacheChunks, FindManyKeysByPartitionsOfTheProbes) {
  expect_answers_in_chunks(ctx, {.count = 30'000, .probes = 40'000, .key_bytes = 4, .hits = 90, .stride_bytes = 4});
  expect_answers_in_chunks(ctx, {.count = 20'000, .probes = 5'000, .kind = key_kind::halves, .hits = 3});
}

TEST(CacheChunksOfCalls, AnswerForNoKeysAndNoProbes) {
  const context ctx = context::cpu(2);
  const hash_search_options options{.variant = "cpu.cache_chunks"};
  const std::vector<std::uint64_t> none;
  const std::vector<std::uint64_t> three{3, 1, 2};
  const hash_matches of_no_keys = hash_search(ctx, build_hash_index(ctx, none), three, options);
  EXPECT_EQ(of_no_keys.total, 0U);
  EXPECT_EQ(numbers_of(ctx, of_no_keys.offsets()), (std::vector<std::uint64_t>{0, 0, 0, 0}));
  const hash_matches of_no_probes = hash_search(ctx, build_hash_index(ctx, three), none, options);
  EXPECT_EQ(numbers_of(ctx, of_no_probes.offsets()), (std::vector<std::uint64_t>{0}));
  std::vector<std::uint32_t> first(3, 7);
  hash_find(ctx, build_hash_index(ctx, none), three, first, options);
  EXPECT_EQ(first, (std::vector<std::uint32_t>(3, ~0U)));
  hash_find(ctx, build_hash_index(ctx, three), std::vector<std::uint64_t>{2, 9, 3}, first, options);
  EXPECT_EQ(first, (std::vector<std::uint32_t>{2, ~0U, 0}));
}

TEST(CacheChunksOfCalls, RunByNameOnlyAndRefuseOtherIndices) {
  const context ctx = context::cpu(2);
  const std::vector<std::uint32_t> keys{5, 6, 7};
  const hash_index index = build_hash_index(ctx, keys, {.variant = "cpu.partitioned"});
  const explanation why = explain_hash_search(ctx, index, keys);
  const auto place = std::ranges::find(why.variants, "cpu.cache_chunks", &variant_estimate::variant);
  ASSERT_NE(place, why.variants.end());
  EXPECT_TRUE(place->applicable && place->by_name_only && !place->chosen);
  const hash_index of_reference = build_hash_index(ctx, keys, {.variant = "reference.serial"});
  try {
    hash_search(ctx, of_reference, keys, {.variant = "cpu.cache_chunks"});
    FAIL() << "an index of the reference was searched";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), error_code::no_variant) << e.what();
  }
}

/// A machine whose second-level cache has so many bytes.
machine with_second_level(std::uint64_t bytes) {
  machine m = context::cpu(2).profile();
  m.cache_levels = {32 * 1024, bytes, 1 << 30};
  return m;
}

hash_search_problem search_of(std::uint64_t records, std::uint64_t distinct, hash_output output) {
  hash_search_problem p;
  p.output = output;
  p.probes = 1 << 20;
  p.index.records = records;
  p.index.distinct = distinct;
  return p;
}

std::uint64_t planned_chunks(const hash_search_problem& p, const machine& m) {
  return cpu::hash_search_cache_chunks.plan(p, m).decided.get<cpu::cache_chunks_decision>().chunks;
}

TEST(CacheChunksPlan, HasChunksOfTheSecondLevelCache) {
  const hash_search_problem p = search_of(1 << 20, 1 << 20, hash_output::matches);
  const cpu::index_layout layout = cpu::layout_of(p.index);
  const std::uint64_t table_bytes = layout.lines_bytes() + layout.overflow_bytes();
  for (const std::uint64_t cache_bytes : {std::uint64_t{1} << 16, std::uint64_t{1} << 20, table_bytes / 2}) {
    const std::uint64_t chunks = planned_chunks(p, with_second_level(cache_bytes));
    EXPECT_GE(chunks * cache_bytes, table_bytes);
    EXPECT_LT((chunks - 1) * cache_bytes, table_bytes);
    EXPECT_GT(chunks, 1U);
  }
  EXPECT_EQ(planned_chunks(p, with_second_level(table_bytes)), 1U);
  EXPECT_EQ(planned_chunks(p, with_second_level(table_bytes - 1)), 2U);
  EXPECT_LE(planned_chunks(p, with_second_level(0)), layout.buckets) << "a profile that knows no such cache";
}

TEST(CacheChunksPlan, CountsRecordNumbersOfKeysThatRepeatWhereTheFirstIsRead) {
  const machine m = with_second_level(1 << 16);
  const std::uint64_t of_matches = planned_chunks(search_of(1 << 20, 1 << 18, hash_output::matches), m);
  EXPECT_GT(planned_chunks(search_of(1 << 20, 1 << 18, hash_output::first), m), of_matches);
  EXPECT_EQ(planned_chunks(search_of(1 << 18, 1 << 18, hash_output::first), m), of_matches);
}

TEST(CacheChunksPlan, CostsMoreInMoreChunksAndTakesNoMoreScratch) {
  const hash_search_problem p = search_of(1 << 22, 1 << 22, hash_output::matches);
  const plan::planned few = cpu::hash_search_cache_chunks.plan(p, with_second_level(1 << 26));
  const plan::planned many = cpu::hash_search_cache_chunks.plan(p, with_second_level(1 << 16));
  EXPECT_TRUE(few.by_name_only && many.by_name_only);
  EXPECT_GT(many.seconds, 2 * few.seconds);
  EXPECT_EQ(many.scratch_bytes, few.scratch_bytes);
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_cache_chunks_test
