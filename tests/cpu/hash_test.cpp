// The CPU's index and its searches where sizes do not lead by themselves: keys whose hashes share their leading bits,
// record numbers of 8 bytes, several tiles of probes, and any number of threads.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/hash_search.hpp>

#include "cpu/hash/bucket_index.hpp"
#include "plan/choose.hpp"
#include "primitives/hash/function.hpp"
#include "primitives/hash/search.hpp"
#include "support/hash_keys.hpp"
#include "support/trials/hash.hpp"

namespace sheaf::cpu {
extern const primitives::hash_build_variant hash_build_partitioned;
extern const primitives::hash_search_variant hash_search_direct, hash_search_partitioned;
}  // namespace sheaf::cpu

namespace sheaf::tests::cpu_hash_test {
namespace {

TEST(HashFunction, IsABijectionWhoseBucketsAscend) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t wide = i < 3 ? i - 1 : inputs::mix(i);
    const auto narrow = static_cast<std::uint32_t>(wide);
    EXPECT_EQ(primitives::hash_of(key_with_hash(wide)), wide);
    EXPECT_EQ(primitives::hash_of(key_with_hash(narrow)), narrow);
    for (const std::uint64_t buckets : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 20, 10'000'019UL}) {
      EXPECT_LT(primitives::bucket_of(wide, buckets), buckets);
      EXPECT_LE(primitives::bucket_of(wide, buckets), primitives::bucket_of(wide | 0xffffU, buckets));
      EXPECT_LT(primitives::bucket_of(narrow, buckets), buckets);
      EXPECT_LE(primitives::bucket_of(narrow, buckets), primitives::bucket_of(narrow | 0xffffU, buckets));
    }
    EXPECT_EQ(primitives::bucket_of(narrow, std::uint64_t{1} << 32), narrow);
  }
  EXPECT_EQ(primitives::bucket_of(~std::uint64_t{0}, 1000), 999U);
  EXPECT_EQ(primitives::bucket_of(~std::uint32_t{0}, 1000), 999U);
}

/// Searches for keys and for what is not there, through every variant, and compares with the reference.
template <class Key>
void expect_as_reference(const context& ctx, const std::vector<Key>& keys, const std::vector<Key>& probes) {
  const hash_index index = build_hash_index(ctx, keys, {.variant = "cpu.partitioned"});
  const hash_index sorted = build_hash_index(ctx, keys, {.variant = "reference.serial"});
  EXPECT_EQ(index.distinct(), sorted.distinct());
  EXPECT_EQ(index.longest_chain(), sorted.longest_chain());
  const hash_matches wanted = hash_search(ctx, sorted, probes);
  for (const char* const variant : {"cpu.direct", "cpu.partitioned"}) {
    SCOPED_TRACE(variant);
    const hash_matches found = hash_search(ctx, index, probes, {.variant = variant});
    EXPECT_EQ(found.total, wanted.total);
    EXPECT_TRUE(numbers_of(ctx, found.offsets()) == numbers_of(ctx, wanted.offsets()));
    EXPECT_TRUE(numbers_of(ctx, found.ids()) == numbers_of(ctx, wanted.ids()));
    std::vector<std::uint32_t> first(probes.size()), wanted_first(probes.size());
    hash_find(ctx, index, probes, first, {.variant = variant});
    hash_find(ctx, sorted, probes, wanted_first);
    EXPECT_TRUE(first == wanted_first);
    hash_count(ctx, index, probes, first, {.variant = variant});
    hash_count(ctx, sorted, probes, wanted_first);
    EXPECT_TRUE(first == wanted_first);
  }
}

class CpuHash : public testing::TestWithParam<int> {
 protected:
  context ctx = context::cpu(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Threads, CpuHash, testing::Values(1, 2, 7));

// All keys in one bucket, and in one partition of every split: the first one, one in the middle, and the last one.
TEST_P(CpuHash, FindsKeysWhoseHashesShareTheirLeadingBits) {
  for (const std::uint64_t lead : {std::uint64_t{0}, std::uint64_t{0x5a5a5a5a}, std::uint64_t{0xffffffff}}) {
    SCOPED_TRACE(lead);
    for (const std::uint64_t count : {5, 6, 7, 12, 100, 3000, 40'000}) {
      SCOPED_TRACE(count);
      std::vector<std::uint64_t> keys, probes;
      for (std::uint64_t i = 0; i < count; ++i) {
        // Every third key twice; of the probes every second is between two keys.
        keys.push_back(key_with_hash(lead << 32 | 2 * i));
        if (i % 3 == 0) keys.push_back(keys.back());
        probes.push_back(key_with_hash(lead << 32 | i));
      }
      probes.push_back(key_with_hash(lead << 32 | 0xffffffffU));
      probes.push_back(0);
      expect_as_reference(ctx, keys, probes);
    }
  }
}

TEST_P(CpuHash, FindsNarrowKeysWhoseHashesShareTheirLeadingBits) {
  for (const std::uint32_t lead : {0U, 0x5a5aU, 0xffffU}) {
    SCOPED_TRACE(lead);
    std::vector<std::uint32_t> keys, probes;
    for (std::uint32_t i = 0; i < 0x10000; ++i) {
      if (i % 2 == 0 || i > 0xfff0) keys.push_back(key_with_hash(lead << 16 | i));
      probes.push_back(key_with_hash(lead << 16 | i));
    }
    expect_as_reference(ctx, keys, probes);
  }
}

// Buckets that are exactly full, and the last bucket of all with overflow.
TEST_P(CpuHash, FindsKeysOfTheLastBucketAndOfFullOnes) {
  for (std::uint64_t in_bucket = 1; in_bucket < 12; ++in_bucket) {
    SCOPED_TRACE(in_bucket);
    std::vector<std::uint64_t> keys, probes;
    for (std::uint64_t i = 0; i < in_bucket; ++i) {
      for (const std::uint64_t lead : {0x00ULL, 0x80ULL, 0xffULL}) {
        const std::uint64_t hash = lead << 56 | (lead == 0xff ? 0xffffffffffffff - i : i);
        keys.push_back(key_with_hash(hash));
        if (i % 2 == 1) keys.push_back(key_with_hash(hash));
        probes.push_back(key_with_hash(hash));
        probes.push_back(key_with_hash(hash ^ 0x100));
      }
    }
    expect_as_reference(ctx, keys, probes);
  }
}

/// A case by the variants themselves, with record numbers of 8 bytes, and scratch that holds no more than `limit`.
void expect_wide_answers(const context& ctx, const hash_trial& t, const primitives::hash_search_variant& search) {
  primitives::hash_build_problem build;
  build.count = t.c.count;
  build.key_bytes = t.c.key_bytes;
  build.key_stride_bytes = t.c.stride_bytes;
  build.id = index_type::u64;
  const plan::planned build_plan = cpu::hash_build_partitioned.plan(build, plan::scope_of(ctx));
  std::unique_ptr<primitives::hash_table> made;
  const buffer build_scratch(ctx, build_plan.scratch_bytes);
  cpu::hash_build_partitioned.run(ctx, build, build_plan, {t.keys.view(), &made}, build_scratch.data());
  EXPECT_EQ(made->facts.distinct, t.records.size());
  EXPECT_EQ(made->facts.longest_chain, t.longest_chain());

  primitives::hash_search_problem p;
  p.probes = t.c.probes;
  p.probe_stride_bytes = t.c.stride_bytes;
  p.index = made->facts;
  p.index.records = t.c.count;
  p.index.key_bytes = t.c.key_bytes;
  p.index.id = index_type::u64;
  const auto run = [&](primitives::hash_output output, std::uint64_t out_bytes, void* out,
                       const std::function<primitives::hash_match_room(std::uint64_t)>* make_room) {
    p.output = output;
    p.out_bytes = out_bytes;
    const plan::planned plan = search.plan(p, plan::scope_of(ctx));
    const buffer scratch(ctx, plan.scratch_bytes);
    search.run(ctx, p, plan, {made.get(), t.probes.view(), out, make_room}, scratch.data());
  };
  std::vector<std::uint64_t> offsets(t.c.probes + 1), ids(t.total()), numbers(t.c.probes);
  const std::function<primitives::hash_match_room(std::uint64_t)> make_room = [&](std::uint64_t total) {
    EXPECT_EQ(total, t.total());
    return primitives::hash_match_room{ids.data(), ids.size()};
  };
  run(primitives::hash_output::matches, 8, offsets.data(), &make_room);
  EXPECT_TRUE(offsets == t.offsets);
  EXPECT_TRUE(ids == t.ids);
  run(primitives::hash_output::counts, 8, numbers.data(), nullptr);
  EXPECT_TRUE(numbers == t.for_each_probe([](std::uint64_t begin, std::uint64_t end) { return end - begin; }));
  run(primitives::hash_output::first, 8, numbers.data(), nullptr);
  EXPECT_TRUE(numbers == t.for_each_probe([&](std::uint64_t begin, std::uint64_t end) {
    return end > begin ? t.ids[begin] : ~std::uint64_t{0};
  }));
}

TEST_P(CpuHash, HasRecordNumbersOfEightBytes) {
  for (const std::uint64_t key_bytes : {4, 8}) {
    for (const key_kind kind : key_kinds) {
      for (const std::uint64_t count : {1, 20, 30'000}) {
        const bool repeats = kind == key_kind::equal || kind == key_kind::few || kind == key_kind::halves;
        const std::uint64_t probes = repeats ? 100 : 2000;
        const hash_trial t({.count = count,
                            .probes = probes,
                            .key_bytes = key_bytes,
                            .kind = kind,
                            .hits = 60,
                            .stride_bytes = 9,
                            .misalignment = 3});
        SCOPED_TRACE(t.c.description());
        expect_wide_answers(ctx, t, cpu::hash_search_direct);
        expect_wide_answers(ctx, t, cpu::hash_search_partitioned);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(CpuHash, SplitsProbesTileByTileWhereScratchIsLimited) {
  const hash_trial t({.count = 300'000, .probes = 400'000, .hits = 70});
  const hash_index index = index_of(ctx, t, "");
  const const_records probes = t.probes.view();
  std::uint64_t most = explain_hash_find(ctx, index, probes, {.variant = "cpu.partitioned"}).choice()->scratch_bytes;
  ctx.limit_scratch(most / 4);
  const std::uint64_t less =
      explain_hash_find(ctx, index, probes, {.variant = "cpu.partitioned"}).choice()->scratch_bytes;
  EXPECT_LE(less, most / 4);
  std::vector<std::uint32_t> first(t.c.probes);
  hash_find(ctx, index, probes, first, {.variant = "cpu.partitioned"});
  for (std::uint64_t i = 0; i < t.c.probes && !HasFailure(); ++i) {
    EXPECT_EQ(first[i], t.offsets[i] == t.offsets[i + 1] ? 0xffffffffU : t.ids[t.offsets[i]]) << "probe " << i;
  }
}

// The index is one and the same for any number of threads, byte for byte, where no byte is left unwritten.
TEST(CpuHashIndex, DoesNotDependOnThreads) {
  for (const key_kind kind : key_kinds) {
    const hash_trial t({.count = 100'000, .probes = 0, .kind = kind});
    SCOPED_TRACE(t.c.description());
    std::vector<std::vector<std::byte>> seen;
    for (const int threads : {1, 2, 7}) {
      const hash_index index = index_of(context::cpu(threads), t, "cpu.partitioned");
      const auto& table = static_cast<const cpu::bucket_index&>(index.table());
      const cpu::index_layout& l = table.layout();
      std::vector<std::byte> bytes(table.data(), table.data() + l.lines_bytes());
      const auto append = [&](std::uint64_t at, std::uint64_t count) {
        bytes.insert(bytes.end(), table.data() + at, table.data() + at + count);
      };
      append(l.overflow_at, (l.overflow + 1) * (l.key_bytes + l.id_bytes));
      append(l.rows_at, l.has_rows() ? l.records * l.id_bytes : 0);
      seen.push_back(std::move(bytes));
    }
    EXPECT_TRUE(seen[0] == seen[1]);
    EXPECT_TRUE(seen[0] == seen[2]);
  }
}

}  // namespace
}  // namespace sheaf::tests::cpu_hash_test
