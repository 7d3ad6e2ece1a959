#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <sheaf/sheaf.hpp>
#include <sheaf/sort.hpp>

#include "cpu/sort/vqsort.hpp"
#include "support/contexts.hpp"
#include "support/trials/sort.hpp"

// What threads, passes and rounds could get wrong, and how much memory a sort takes.
namespace sheaf::tests::cpu_sort_test {
namespace {

constexpr std::uint64_t seed = 19990907;

// Counts the bytes that are allocated at a time.
struct counting_memory {
  std::uint64_t taken = 0;
  std::uint64_t most = 0;

  static void* allocate(void* state, std::uint64_t bytes, CUstream_st*) {
    auto& self = *static_cast<counting_memory*>(state);
    self.taken += bytes;
    self.most = std::max(self.most, self.taken);
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  static void deallocate(void* state, void* block, std::uint64_t bytes, CUstream_st*) {
    static_cast<counting_memory*>(state)->taken -= bytes;
    std::free(block);
  }
  memory_resource resource() { return {allocate, deallocate, this}; }
};

std::vector<std::uint64_t> keys_of(key_spread spread, std::uint64_t count) {
  sort_case c;
  c.keys_are = spread;
  c.count = count;
  c.row_bytes = 8;
  c.fields = {field(0, 8, key_type::unsigned_integer)};
  const sort_trial t(c);
  std::vector<std::uint64_t> keys(count);
  std::memcpy(keys.data(), t.in.record(0), count * 8);
  return keys;
}

/// Sorts keys, pairs and an index of keys, and compares each with std::stable_sort by `less`.
template <class Key, class Less>
void expect_stable(const std::vector<Key>& keys, bool descending, Less less) {
  const std::uint64_t count = keys.size();
  std::vector<std::uint32_t> order(count);
  for (std::uint64_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  const std::vector<std::uint32_t> numbers = order;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return descending ? less(keys[b], keys[a]) : less(keys[a], keys[b]);
  });
  for (const char* const variant : {"cpu.msd", "cpu.vqsort"}) {
    if (std::string(variant) == "cpu.vqsort" && !cpu::sorts_in_vectors()) continue;
    SCOPED_TRACE(fmt::format("{}, {} keys, descending {}", variant, count, descending));
    const context ctx = context::cpu(1);
    const sort_number_options options{descending, variant};
    std::vector<Key> sorted(count), sorted_beside(count);
    std::vector<std::uint32_t> values(count), index(count);
    sort_keys(ctx, keys, sorted, options);
    sort_pairs(ctx, keys, sorted_beside, numbers, values, options);
    sort_gather_index(ctx, keys, sort_key::of<Key>(descending), index, {variant});
    EXPECT_EQ(values, order);
    EXPECT_EQ(index, order);
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(std::memcmp(&sorted[i], &keys[order[i]], sizeof(Key)), 0) << "key " << i;
      ASSERT_EQ(std::memcmp(&sorted_beside[i], &keys[order[i]], sizeof(Key)), 0) << "key of a pair " << i;
    }
  }
}

// What is in order, or in the opposite order with no two equal, is copied; a tie anywhere, or one key out of place, is
// seen.
TEST(CpuSort, KeepsTheOrderOfWhatIsNearlyInOrder) {
  const auto expect_all = [](auto from, auto less) {
    using key = decltype(from(0));
    for (const std::uint64_t count : {1, 2, 3, 9, 10, 257, 1000, 5000}) {
      for (const std::uint64_t at : {std::uint64_t{0}, count / 2, count - 1}) {
        for (const int kind : {0, 1, 2, 3, 4}) {
          std::vector<key> keys(count);
          for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t number = kind == 0 || kind == 2 ? i : kind == 4 ? 7 : count - 1 - i;
            keys[i] = from(number);
          }
          if (kind == 2) keys[at] = from(count / 3);                    // ascending, but for one
          if (kind == 3) keys[at] = keys[at > 0 ? at - 1 : count / 4];  // descending, with a tie or one out of place
          for (const bool descending : {false, true}) {
            expect_stable(keys, descending, less);
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  };
  const auto less = [](auto a, auto b) { return a < b; };
  expect_all([](std::uint64_t i) { return static_cast<std::uint32_t>(i); }, less);
  expect_all([](std::uint64_t i) { return static_cast<std::int32_t>(i) - 100; }, less);
  expect_all([](std::uint64_t i) { return static_cast<float>(i) - 100.0F; }, less);
  expect_all([](std::uint64_t i) { return i; }, less);
  expect_all([](std::uint64_t i) { return static_cast<std::int64_t>(i) - 100; }, less);
  expect_all([](std::uint64_t i) { return static_cast<double>(i) - 100.0; }, less);
}

// -0 is before +0, so +0, -0 descend.
TEST(CpuSort, OrdersZerosThatLookInOrder) {
  const auto before = [](double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
  const std::vector<double> zeros[] = {
      {0.0, -0.0}, {-0.0, 0.0}, {0.0, -0.0, -0.0}, {1, 0.0, -0.0, -1}, {-1, -0.0, 0.0}};
  for (const std::vector<double>& keys : zeros) {
    for (const bool descending : {false, true}) expect_stable(keys, descending, before);
  }
}

TEST(CpuSort, EveryNumberOfThreadsGivesTheSame) {
  constexpr std::uint64_t count = 300007;
  for (const key_spread spread : {key_spread::uniform, key_spread::zipf, key_spread::huge, key_spread::nested}) {
    const std::vector<std::uint64_t> keys = keys_of(spread, count);
    std::vector<std::uint32_t> values(count), first;
    for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i);
    for (const char* variant : {"cpu.msd", "cpu.lsd"}) {
      for (const int threads : {1, 2, 5, 16}) {
        const context ctx = context::cpu(threads);
        std::vector<std::uint64_t> keys_out(count);
        std::vector<std::uint32_t> values_out(count);
        sort_pairs(ctx, keys, keys_out, values, values_out, {.variant = variant});
        if (first.empty()) first = values_out;
        EXPECT_TRUE(values_out == first) << variant << " with " << threads << " threads, " << name(spread);
        EXPECT_TRUE(std::is_sorted(keys_out.begin(), keys_out.end()));
      }
    }
  }
}

// Output beyond the last-level cache is streamed; a profile with a small cache makes that of a small input.
TEST(CpuSort, StreamedLinesAreWhole) {
  context ctx = context::cpu(3);
  machine small = ctx.profile();
  small.cache_bytes = 1024;
  ctx.use(small);
  constexpr std::uint64_t count = 900001;
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> in(count), out(count);
  for (auto& k : in) k = random();
  std::vector<std::uint64_t> expected = in;
  std::sort(expected.begin(), expected.end());
  for (const char* variant : {"cpu.msd", "cpu.lsd"}) {
    sort_keys(ctx, in, out, {.variant = variant});
    EXPECT_TRUE(out == expected) << variant;
    std::vector<std::uint64_t> values_out(count);
    sort_pairs(ctx, in, out, in, values_out, {.variant = variant});
    EXPECT_TRUE(out == expected && values_out == expected) << variant;
  }
}

// Rows that are their own key, and pairs of arrays without gaps, are sorted with scratch of no more than their own
// size.
TEST(CpuSort, TakesNoMoreMemoryThanItSays) {
  constexpr std::uint64_t count = 20000003;
  constexpr std::uint64_t least = std::uint64_t{64} << 20;
  counting_memory memory;
  context ctx = context::cpu(2);
  ctx.use(memory.resource());
  for (const key_spread spread : {key_spread::uniform, key_spread::huge}) {
    std::vector<std::uint32_t> in(count), out(count), values(count), values_out(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t any = inputs::mix(i);
      in[i] = spread == key_spread::huge && any % 16 != 0 ? 7 : static_cast<std::uint32_t>(any);
      values[i] = static_cast<std::uint32_t>(i);
    }
    for (const char* variant : {"cpu.msd", "cpu.lsd", ""}) {
      memory.most = 0;
      sort_keys(ctx, in, out, {.variant = variant});
      EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
      EXPECT_LE(memory.most, count * 4 / 10 * 11 + least) << variant;
      memory.most = 0;
      sort_pairs(ctx, in, out, values, values_out, {.variant = variant});
      EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
      EXPECT_LE(memory.most, count * 8 / 10 * 11 + least) << variant;
      const explanation why = explain_sort_records(ctx, in, sort_key::of<std::uint32_t>(), {variant});
      EXPECT_LE(why.choice()->scratch_bytes, count * 4 / 10 * 11 + least);
    }
  }
  EXPECT_EQ(memory.taken, 0U);
}

TEST(CpuSort, SaysWhatItTakes) {
  counting_memory memory;
  context ctx = context::cpu(2);
  ctx.use(memory.resource());
  for (const std::uint64_t count : {1, 1000, 100000}) {
    const image rows = filled(count, 40, 40, 0, seed);
    image out = rows;
    for (const char* variant : {"cpu.msd", "cpu.lsd"}) {
      const sort_key key{{4, 32, key_type::bytes}};
      memory.most = 0;
      sort_records(ctx, rows.view(), key, out.view(), {variant});
      EXPECT_EQ(memory.most, explain_sort_records(ctx, rows.view(), key, {variant}).choice()->scratch_bytes) << variant;
    }
  }
}

// Keys of 32 bytes that differ in the last one: every round of words but the last sees equal keys.
TEST(CpuSort, KeysThatDifferInTheirLastBytesAlone) {
  constexpr std::uint64_t count = 150001;
  std::vector<std::byte> rows(count * 32, std::byte{'x'});
  std::mt19937 random(seed);
  for (std::uint64_t i = 0; i < count; ++i) rows[i * 32 + 31] = static_cast<std::byte>(random() % 7);
  for (const int threads : {1, 3}) {
    const context ctx = context::cpu(threads);
    const auto order = [&](const char* variant) {
      std::vector<std::uint32_t> index(count);
      sort_gather_index(ctx, {rows.data(), count, 32}, key_field{0, 32, key_type::bytes}, index, {variant});
      return index;
    };
    const auto expected = order("reference.serial");
    EXPECT_TRUE(order("cpu.msd") == expected);
    EXPECT_TRUE(order("cpu.lsd") == expected);
  }
}

TEST(CpuSort, InputsInOrderComeBackAsTheyAre) {
  constexpr std::uint64_t count = 400009;
  const context ctx = context::cpu(3);
  std::vector<std::int32_t> rising(count), out(count);
  for (std::uint64_t i = 0; i < count; ++i) rising[i] = static_cast<std::int32_t>(i / 3) - 70000;
  const std::vector<std::int32_t> falling(rising.rbegin(), rising.rend());
  std::vector<std::int32_t> strictly(count);
  for (std::uint64_t i = 0; i < count; ++i) strictly[i] = static_cast<std::int32_t>(count - i);
  for (const bool descending : {false, true}) {
    sort_keys(ctx, rising, out, {descending, "cpu.msd"});
    EXPECT_TRUE(out == (descending ? falling : rising));
    sort_keys(ctx, falling, out, {descending, "cpu.msd"});
    EXPECT_TRUE(out == (descending ? falling : rising));
    sort_keys(ctx, strictly, out, {descending, "cpu.msd"});
    EXPECT_EQ(out.front(), descending ? static_cast<std::int32_t>(count) : 1);
    EXPECT_TRUE(descending ? std::is_sorted(out.rbegin(), out.rend()) : std::is_sorted(out.begin(), out.end()));
  }
}

// Every spread of keys: numbers of 8 bytes alone, and keys of 4 and 8 whose row numbers lie below them in a word.
TEST(CpuSort, SortsWordsInVectorsWhereTheProcessorHasThem) {
  for (const key_type type :
       {key_type::unsigned_integer, key_type::signed_integer, key_type::floating, key_type::bytes}) {
    for (const key_spread spread : key_spreads) {
      for (const std::uint64_t count : {1, 2, 15, 1000, 9001}) {
        sort_case c;
        c.count = count;
        c.keys_are = spread;
        c.row_bytes = 8;
        c.fields = {field(0, 8, type, count % 2 == 0)};
        SCOPED_TRACE(c.description());
        EXPECT_EQ(run_and_expect(context::cpu(1), sort_trial(c), "cpu.vqsort"), cpu::sorts_in_vectors());
        for (const sort_call call :
             {sort_call::records, sort_call::pairs, sort_call::pairs_without_keys, sort_call::gather_index}) {
          c.call = call;
          c.row_bytes = 4;
          c.fields = {field(0, 4, type, count % 2 == 0)};
          const bool has_values = call == sort_call::pairs || call == sort_call::pairs_without_keys;
          c.column_bytes = has_values ? std::vector<std::uint64_t>{8, 4} : std::vector<std::uint64_t>{};
          SCOPED_TRACE(c.description());
          EXPECT_EQ(run_and_expect(context::cpu(2), sort_trial(c), "cpu.vqsort"), cpu::sorts_in_vectors());
          for (const std::uint32_t key_bytes : {4, 8}) {
            c.row_bytes = key_bytes;
            c.fields = {field(0, key_bytes, type, count % 2 == 0)};
            if (has_values) c.column_bytes = {count % 3 == 0 ? std::uint64_t{8} : std::uint64_t{4}};
            SCOPED_TRACE(c.description());
            EXPECT_EQ(run_and_expect(context::cpu(1), sort_trial(c), "cpu.vqsort"), cpu::sorts_in_vectors());
          }
        }
        if (HasFailure()) return;
      }
    }
  }
}

// Keys that crowd in few places are sorted in vectors by cpu.msd, too, which looks at a sample of them.
TEST(CpuSort, SortsCrowdedKeys) {
  for (const key_type type : {key_type::unsigned_integer, key_type::signed_integer, key_type::floating}) {
    for (const key_spread spread : key_spreads) {
      for (const std::uint64_t count : {8191, 8192, 50000}) {
        if (under_address_sanitizer && count > 8192) continue;
        for (const sort_call call : {sort_call::pairs, sort_call::pairs_without_keys, sort_call::gather_index}) {
          for (const std::uint32_t key_bytes : {4, 8}) {
            sort_case c;
            c.call = call;
            c.count = count;
            c.keys_are = spread;
            c.row_bytes = key_bytes;
            c.fields = {field(0, key_bytes, type, count % 2 == 0)};
            if (call != sort_call::gather_index) c.column_bytes = {8};
            SCOPED_TRACE(c.description());
            EXPECT_TRUE(run_and_expect(context::cpu(1), sort_trial(c), "cpu.msd"));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(CpuSort, VectorsRefuseKeysOf8BytesWithTwoColumns) {
  sort_case c;
  c.count = 1000;
  c.row_bytes = 8;
  c.fields = {field(0, 8, key_type::unsigned_integer)};
  c.call = sort_call::pairs;
  c.column_bytes = {8, 4};
  EXPECT_FALSE(run_and_expect(context::cpu(1), sort_trial(c), "cpu.vqsort"));
}

TEST(CpuSort, CountsRowsOfOneAndTwoBytesAtAnyStride) {
  std::mt19937 random(seed);
  for (const std::uint64_t width : {1, 2}) {
    for (const std::uint64_t gap : {0, 1, 3}) {
      constexpr std::uint64_t count = 200003;
      sort_case c;
      c.count = count;
      c.row_bytes = width;
      c.fields = {field(0, static_cast<std::uint32_t>(width), key_type::signed_integer, random() % 2 == 0)};
      c.layout = {gap, gap + 1, gap, gap + 2};
      SCOPED_TRACE(c.description());
      const sort_trial t(c);
      for (const int threads : {1, 3}) EXPECT_TRUE(run_and_expect(context::cpu(threads), t, "cpu.counting"));
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::cpu_sort_test
