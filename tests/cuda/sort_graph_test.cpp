// Sorts captured into graphs: a graph sorts what its arrays hold when it runs, however unlike that is to what they held
// before, as the device alone decides what the sort has to do.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/memory.hpp>
#include <sheaf/sort.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "support/captured_graph.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::cuda_sort_graph_test {
namespace {

struct key_contents {
  const char* name;
  std::uint64_t (*number)(std::uint64_t i);
};

// Keys of 4 bytes are the lower half, so both halves are of the kind.
constexpr std::uint64_t in_both_halves(std::uint32_t number) { return std::uint64_t{number} << 32 | number; }

// Numbers on both sides of the middle of all, as the keys of a normal distribution are, with few different high bits.
std::uint32_t near_the_middle(std::uint64_t i) {
  const std::uint64_t number = inputs::mix(i);
  const std::uint64_t sum = (number & 0xffffff) + (number >> 24 & 0xffffff);
  return static_cast<std::uint32_t>(0x7f000000 + sum);
}

// "descending" is in order but for its direction; of the second one key takes most places, so that digits have one
// bucket; of the third as many keys are alike as make another way of sorting the better one. Of those from the fifth on
// few highest bits are usual, so that a sample decides about the bins of the first pass; of the last few digits are
// usual everywhere.
constexpr key_contents contents[] = {
    {"uniform", [](std::uint64_t i) { return inputs::mix(i); }},
    {"one key 15 times of 16",
     [](std::uint64_t i) { return inputs::mix(i) % 16 == 0 ? inputs::mix(~i) : 0x7777777777777777; }},
    {"few often, many rarely",
     [](std::uint64_t i) {
       const std::uint64_t number = inputs::mix(i);
       return inputs::mix((number >> 16) % (std::uint64_t{1} << number % 32));
     }},
    {"descending", [](std::uint64_t i) { return ~i << 20; }},
    {"near the middle", [](std::uint64_t i) { return in_both_halves(near_the_middle(i)); }},
    {"near the middle but for one of 1000",
     [](std::uint64_t i) { return i % 1000 == 999 ? inputs::mix(i) : in_both_halves(near_the_middle(i)); }},
    {"half as many with each power of two",
     [](std::uint64_t i) {
       const auto number = static_cast<std::uint32_t>(inputs::mix(i) >> 32);
       return in_both_halves(number >> inputs::mix(~i) % 12);
     }},
    {"20 low bits alone", [](std::uint64_t i) { return in_both_halves(0x12300000 + inputs::mix(i) % 0x100000); }},
    {"one bit in eight", [](std::uint64_t i) { return inputs::mix(i) & inputs::mix(~i) & inputs::mix(i << 32 | 1); }},
};

template <class Key>
std::vector<Key> keys_of(const key_contents& of, std::uint64_t count) {
  std::vector<Key> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = static_cast<Key>(of.number(i));
  return keys;
}

// Arrays of a context's memory.
template <class T>
struct device_array {
  device_array(const context& on, std::uint64_t count) : ctx(on), memory(ctx, count * sizeof(T)) {}

  std::span<T> span() const { return {memory.as<T>(), memory.size() / sizeof(T)}; }
  void fill(const std::vector<T>& from) const { copy_bytes(ctx, memory.data(), from.data(), memory.size()); }
  std::vector<T> on_host() const {
    std::vector<T> copy(memory.size() / sizeof(T));
    copy_bytes(ctx, copy.data(), memory.data(), memory.size());
    return copy;
  }

  context ctx;
  buffer memory;
};

// Whether two lists hold the same keys: a sort of millions on the host takes longer than all else here.
template <class Key>
bool have_same_keys(const std::vector<Key>& a, const std::vector<Key>& b) {
  const auto sum = [](const std::vector<Key>& keys) {
    std::uint64_t all = 0;
    for (const Key key : keys) all += inputs::mix(static_cast<std::uint64_t>(key));
    return all;
  };
  return a.size() == b.size() && sum(a) == sum(b);
}

template <class Key>
void expect_keys_in_order(std::uint64_t count, std::string_view variant) {
  const context ctx = context::cuda();
  const device_array<Key> keys(ctx, count), sorted(ctx, count);
  keys.fill(std::vector<Key>(count));
  const captured_graph graph(ctx, [&] { sort_keys(ctx, keys.span(), sorted.span(), {.variant = variant}); });
  for (const key_contents& of : contents) {
    SCOPED_TRACE(of.name);
    SCOPED_TRACE(sizeof(Key));
    const std::vector<Key> given = keys_of<Key>(of, count);
    keys.fill(given);
    graph.launch();
    ctx.wait();
    const std::vector<Key> found = sorted.on_host();
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    EXPECT_TRUE(have_same_keys(found, given));
  }
}

class CudaSortGraph : public testing::TestWithParam<std::tuple<std::uint64_t, std::string>> {
 protected:
  static std::uint64_t count() { return std::get<0>(GetParam()); }
  static std::string_view variant() { return std::get<1>(GetParam()); }

  void SetUp() override {
    if (!cuda_context()) GTEST_SKIP() << "no CUDA device here";
  }

  // Values are positions: of equal keys they ascend.
  template <class Key, class Value>
  void expect_pairs_in_order() const {
    const context ctx = context::cuda();
    const device_array<Key> keys(ctx, count()), sorted_keys(ctx, count());
    const device_array<Value> values(ctx, count()), sorted_values(ctx, count());
    std::vector<Value> positions(count());
    std::iota(positions.begin(), positions.end(), Value{0});
    keys.fill(std::vector<Key>(count()));
    values.fill(positions);
    const captured_graph graph(ctx, [&] {
      sort_pairs(ctx, keys.span(), sorted_keys.span(), values.span(), sorted_values.span(), {.variant = variant()});
    });
    for (const key_contents& of : contents) {
      SCOPED_TRACE(of.name);
      SCOPED_TRACE(sizeof(Key));
      const std::vector<Key> given = keys_of<Key>(of, count());
      keys.fill(given);
      graph.launch();
      ctx.wait();
      const std::vector<Key> found = sorted_keys.on_host();
      const std::vector<Value> order = sorted_values.on_host();
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
      std::vector<bool> is_met(count());
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < count(); ++i) {
        const Value at = order[i];
        const bool is_new = at < count() && !is_met[at];
        if (is_new) is_met[at] = true;
        const bool ascends = i == 0 || found[i - 1] != found[i] || order[i - 1] < at;
        if (!is_new || given[at] != found[i] || !ascends) ++wrong;
      }
      EXPECT_EQ(wrong, 0U) << "values of " << sizeof(Value);
    }
  }
};

// Counts for one block, for several blocks, and for more than one MSD pass.
INSTANTIATE_TEST_SUITE_P(Words, CudaSortGraph,
                         testing::Combine(testing::Values(std::uint64_t{1000}, std::uint64_t{50021},
                                                          (std::uint64_t{1} << 20) + 321, (std::uint64_t{1} << 22) + 5),
                                          testing::Values("", "cuda.cub", "cuda.sample", "cuda.onesweep")),
                         [](const auto& tested) {
                           const std::string count = std::to_string(std::get<0>(tested.param));
                           const std::string& variant = std::get<1>(tested.param);
                           return variant.empty() ? count : count + "_by_" + variant.substr(variant.find('.') + 1);
                         });

TEST_P(CudaSortGraph, SortsTheKeysOfEachRun) {
  expect_keys_in_order<std::uint32_t>(count(), variant());
  expect_keys_in_order<std::uint64_t>(count(), variant());
  expect_keys_in_order<std::int64_t>(count(), variant());
}

// Bits above those that decide differ from key to key, and say nothing.
TEST_P(CudaSortGraph, SortsByBitsThatOthersLieAbove) {
  constexpr std::uint64_t deciding = 0xffffffff;
  const context ctx = context::cuda();
  const device_array<std::uint64_t> rows(ctx, count()), sorted(ctx, count());
  sort_key low_half = sort_key::of<std::uint64_t>();
  low_half.fields[0].bit_count = 32;
  for (const key_contents& of : contents) {
    SCOPED_TRACE(of.name);
    std::vector<std::uint64_t> given = keys_of<std::uint64_t>(of, count());
    for (std::uint64_t i = 0; i < count(); ++i) given[i] = (given[i] & deciding) | inputs::mix(i) << 32;
    rows.fill(given);
    sort_records(ctx, const_records(rows.memory.data(), count(), 8), low_half,
                 records(sorted.memory.data(), count(), 8), {variant()});
    ctx.wait();
    const std::vector<std::uint64_t> found = sorted.on_host();
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                               [](std::uint64_t a, std::uint64_t b) { return (a & deciding) < (b & deciding); }));
    EXPECT_TRUE(have_same_keys(found, given));
  }
}

TEST_P(CudaSortGraph, SortsThePairsOfEachRun) {
  expect_pairs_in_order<std::uint32_t, std::uint32_t>();
  expect_pairs_in_order<std::uint64_t, std::uint32_t>();
  expect_pairs_in_order<std::uint64_t, std::uint64_t>();
}

// The radix sort of 2007 sorts partitions in shared memory, or in a kernel whose grid synchronizes, by how long they
// are; its cases have one phase, several, and tuples that it packs.
TEST(CudaSort, MsdBitonicSortsTheKeysOfEachRunOfAGraph) {
  if (!cuda_context()) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint64_t count : {1000, 50021, (1 << 20) + 321}) {
    expect_keys_in_order<std::uint64_t>(count, "cuda.msd_bitonic");
    expect_keys_in_order<std::uint32_t>(count, "cuda.msd_bitonic");
  }
}

// Words hold a key of few letters and the number of the row, all of whose digits have few keys.
TEST(CudaSort, RowsOfFewLettersAreOrderedByTheirNumbersToo) {
  if (!cuda_context()) GTEST_SKIP() << "no CUDA device here";
  constexpr std::uint64_t count = (std::uint64_t{1} << 22) + 5;
  const context ctx = context::cuda();
  std::vector<std::uint32_t> given(count);
  for (std::uint64_t i = 0; i < count; ++i) given[i] = 0x61616161U + (inputs::mix(i) & 0x03030303U);
  const device_array<std::uint32_t> rows(ctx, count), order(ctx, count);
  rows.fill(given);
  for (const char* variant : {"", "cuda.sample"}) {
    SCOPED_TRACE(variant);
    sort_gather_index(ctx, const_records(rows.memory.data(), count, 4), key_field{0, 4, key_type::bytes},
                      index_output(order.memory.data(), count, index_type::u32), {.variant = variant});
    ctx.wait();
    const std::vector<std::uint32_t> found = order.on_host();
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 1; i < count; ++i) {
      const std::uint32_t before = __builtin_bswap32(given.at(found[i - 1]));
      const std::uint32_t after = __builtin_bswap32(given.at(found[i]));
      if (before > after || (before == after && found[i - 1] >= found[i])) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
  }
}

// The keys of a highest byte have one second byte, which is among the highest three digits. Their two least ones are
// equal, and those that a pass looks at, in every pass anew.
TEST(CudaSort, KeysThatAreFrequentAmongTheHighestDigitsTakeFewPasses) {
  if (!cuda_context()) GTEST_SKIP() << "no CUDA device here";
  constexpr std::uint64_t buckets = 100;
  constexpr std::uint64_t bucket_rows = 11000;
  constexpr std::uint64_t count = buckets * bucket_rows;
  const context ctx = context::cuda();
  std::vector<std::uint64_t> given(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t place = i % bucket_rows;
    given[i] = (i / bucket_rows) << 56 | std::uint64_t{0xfd} << 48 | std::min(place, bucket_rows - 1 - place);
  }
  std::vector<std::uint32_t> positions(count);
  std::iota(positions.begin(), positions.end(), 0U);
  const device_array<std::uint64_t> keys(ctx, count), sorted_keys(ctx, count);
  const device_array<std::uint32_t> values(ctx, count), first_out(ctx, count), second_out(ctx, count);
  keys.fill(given);
  values.fill(positions);
  const const_records column(values.memory.data(), count, 4);
  const std::array<sort_column, 2> columns{
      {{column, records(first_out.memory.data(), count, 4)}, {column, records(second_out.memory.data(), count, 4)}}};
  sort_pairs(ctx, const_records(keys.memory.data(), count, 8), sort_key::of<std::uint64_t>(),
             records(sorted_keys.memory.data(), count, 8), columns, {.variant = "cuda.sample"});
  ctx.wait();
  std::vector<std::uint32_t> expected = positions;
  std::stable_sort(expected.begin(), expected.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return given[a] < given[b]; });
  EXPECT_TRUE(first_out.on_host() == expected);
  EXPECT_TRUE(second_out.on_host() == expected);
  std::sort(given.begin(), given.end());
  EXPECT_TRUE(sorted_keys.on_host() == given);
}

}  // namespace
}  // namespace sheaf::tests::cuda_sort_graph_test
