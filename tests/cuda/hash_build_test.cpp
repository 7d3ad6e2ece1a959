// Tables that CUDA builds are those of the definition: keys in the order of their hashes, each in the first free slot
// from its bucket on, and the rows of keys that repeat behind each other. Whichever way a build takes, the bytes are
// the same.
#include <sheaf/hash_search.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "cuda/hash/slot_index.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "primitives/hash/function.hpp"
#include "support/contexts.hpp"
#include "support/hash_keys.hpp"

namespace sheaf::tests::cuda_hash_build_test {
namespace {

class HashBuildOnCuda : public testing::Test {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }
  std::optional<context> ctx;
};

template <class T>
std::vector<T> downloaded(const context& ctx, const void* from, std::uint64_t count) {
  std::vector<T> values(count);
  if (count > 0) copy_bytes(ctx, values.data(), from, count * sizeof(T));
  return values;
}

/// Slots as pairs of words, and rows of 4 bytes, up to the last key.
template <class Word>
struct expected_table {
  std::vector<Word> words;
  std::vector<std::uint32_t> rows;
  std::uint64_t distinct = 0;
  std::uint64_t longest_chain = 0;

  template <class Key>
  expected_table(const std::vector<Key>& keys, std::uint64_t buckets) {
    constexpr std::uint64_t slots_per_bucket = cuda::sector_bytes / (2 * sizeof(Word));
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return primitives::hash_of(keys[a]) < primitives::hash_of(keys[b]);
    });
    std::uint64_t next = 0;
    for (std::size_t first = 0; first < order.size();) {
      const Key hash = primitives::hash_of(keys[order[first]]);
      std::size_t end = first + 1;
      while (end < order.size() && keys[order[end]] == keys[order[first]]) ++end;
      const auto leading = static_cast<std::uint32_t>(hash >> (8 * sizeof(Key) - 32));
      next = std::max(next, primitives::bucket_of(leading, buckets) * slots_per_bucket);
      words.resize(2 * (next + 1), ~Word{0});
      words[2 * next] = static_cast<Word>(hash);
      words[2 * next + 1] = value_of(end - first, order[first]);
      ++next;
      if (end - first > 1) {
        rows.push_back(static_cast<std::uint32_t>(end - first));
        rows.insert(rows.end(), order.begin() + static_cast<std::ptrdiff_t>(first),
                    order.begin() + static_cast<std::ptrdiff_t>(end));
      }
      ++distinct;
      longest_chain = std::max<std::uint64_t>(longest_chain, end - first);
      first = end;
    }
  }

 private:
  /// Of a key whose rows come next.
  Word value_of(std::uint64_t records, std::uint32_t first) const {
    if constexpr (sizeof(Word) == 8) return Word{records == 1 ? 0xfffffffeU : rows.size()} << 32 | first;
    return records == 1 ? first : static_cast<Word>(0x80000000U | rows.size());
  }
};

template <class Word, class Key>
void expect_table(const context& ctx, const cuda::slot_index& made, const std::vector<Key>& keys) {
  const expected_table<Word> expected(keys, made.buckets);
  EXPECT_EQ(made.facts.distinct, expected.distinct);
  EXPECT_EQ(made.facts.longest_chain, expected.longest_chain);
  const std::uint64_t words = made.all_buckets * cuda::sector_bytes / sizeof(Word);
  ASSERT_LT(expected.words.size(), words) << "the last slot is empty";
  std::vector<Word> whole = expected.words;
  whole.resize(words, ~Word{0});
  EXPECT_TRUE(downloaded<Word>(ctx, made.slots(), words) == whole) << "slots";
  const std::uint64_t row_bytes = made.bytes() - made.all_buckets * cuda::sector_bytes;
  EXPECT_TRUE(downloaded<std::uint32_t>(ctx, made.rows(), row_bytes / 4) == expected.rows) << "rows";
}

template <class Key>
void expect_built(const context& ctx, const std::vector<Key>& keys, double load) {
  const buffer placed(ctx, keys.size() * sizeof(Key));
  copy_bytes(ctx, placed.data(), keys.data(), placed.size());
  const const_records view(placed.data(), keys.size(), sizeof(Key), sizeof(Key));
  const hash_index index = build_hash_index(ctx, view, {.load = load, .variant = "cuda.sorted"});
  const auto& made = static_cast<const cuda::slot_index&>(index.table());
  if (made.form == cuda::slot_form::narrow) {
    expect_table<std::uint32_t>(ctx, made, keys);
  } else {
    expect_table<std::uint64_t>(ctx, made, keys);
  }
}

/// Keys of which each has so many records, in an order that has no pattern.
template <class Key>
std::vector<Key> keys_with(std::uint64_t count, std::uint64_t repeats) {
  std::vector<Key> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t place = i * 1'000'003 % count;
    keys[i] = static_cast<Key>(static_cast<std::uint32_t>(place / repeats) * 2'654'435'761U);
  }
  return keys;
}

template <class Key>
void expect_built_with_repeats(const context& ctx) {
  for (const std::uint64_t count : {1, 2, 511, 512, 513, 2047, 2048, 2049, 70'000, 131'073, 300'000}) {
    for (const std::uint64_t repeats : {1, 2, 16, 127, 300}) {
      for (const double load : {0.0, 0.99}) {
        SCOPED_TRACE(fmt::format("{} keys of {} bytes, each {} times, load {}", count, sizeof(Key), repeats, load));
        expect_built(ctx, keys_with<Key>(count, repeats), load);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_F(HashBuildOnCuda, KeysThatRepeatOrNotLieWhereTheDefinitionSays) {
  expect_built_with_repeats<std::uint32_t>(*ctx);
  expect_built_with_repeats<std::uint64_t>(*ctx);
}

// Partitions end at 2048 records in the mean and at 4,194,304 in all; some keys repeat by chance.
TEST_F(HashBuildOnCuda, TablesAroundTheMostPartitionedRecords) {
  for (const std::uint64_t count : {(1U << 20) - 1, (1U << 20) + 1, (1U << 22) - 1, 1U << 22, (1U << 22) + 1}) {
    SCOPED_TRACE(count);
    std::vector<std::uint32_t> narrow(count);
    std::vector<std::uint64_t> wide(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      wide[i] = inputs::mix(i);
      narrow[i] = static_cast<std::uint32_t>(wide[i]);
    }
    expect_built(*ctx, narrow, 0);
    expect_built(*ctx, wide, 0);
    if (HasFailure()) return;
  }
}

// Somebody may choose keys whose hashes share their leading bits, so that one block would have all of them.
TEST_F(HashBuildOnCuda, ChosenHashesAndHeavyKeysAreBuiltByTheSort) {
  for (const std::uint64_t chosen : {127, 128, 129, 3072, 3073, 50'000}) {
    for (const std::uint64_t others : {0, 3000, 200'000}) {
      SCOPED_TRACE(fmt::format("{} chosen keys and {} others", chosen, others));
      std::vector<std::uint64_t> keys(chosen + others);
      for (std::uint64_t i = 0; i < keys.size(); ++i) {
        keys[i] = i < chosen ? key_with_hash(std::uint64_t{0x5a5a5a5a} << 32 | i) : inputs::mix(i);
      }
      expect_built(*ctx, keys, 0);
      for (std::uint64_t i = 0; i < chosen; ++i) keys[i] = 17;
      expect_built(*ctx, keys, 0);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_hash_build_test
