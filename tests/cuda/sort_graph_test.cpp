// Sorts captured into graphs: a graph sorts what its arrays hold when it runs, however unlike that is to what they held
// before, as the device alone decides what the sort has to do.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/memory.hpp>
#include <sheaf/sort.hpp>

#include "inputs/pattern_function.hpp"
#include "support/captured_graph.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests {
namespace {

struct key_contents {
  const char* name;
  std::uint64_t (*number)(std::uint64_t i);
};

// The last is in order but for its direction; of the second one key takes most places, so that digits have one bucket;
// of the third as many keys are alike as make another way of sorting the better one.
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

class CudaSortGraph : public testing::TestWithParam<std::tuple<std::uint64_t, std::string>> {
 protected:
  static std::uint64_t count() { return std::get<0>(GetParam()); }
  static sort_options options() { return {.variant = std::get<1>(GetParam())}; }

  void SetUp() override {
    if (!cuda_context()) GTEST_SKIP() << "no CUDA device here";
  }

  template <class Key>
  void expect_keys_in_order() const {
    const context ctx = context::cuda();
    const device_array<Key> keys(ctx, count()), sorted(ctx, count());
    keys.fill(std::vector<Key>(count()));
    const captured_graph graph(ctx, [&] { sort_keys(ctx, keys.span(), sorted.span(), false, options()); });
    for (const key_contents& of : contents) {
      std::vector<Key> expected = keys_of<Key>(of, count());
      keys.fill(expected);
      graph.launch();
      ctx.wait();
      std::sort(expected.begin(), expected.end());
      EXPECT_TRUE(sorted.on_host() == expected) << of.name << ", keys of " << sizeof(Key) << " bytes";
    }
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
      sort_pairs(ctx, keys.span(), sorted_keys.span(), values.span(), sorted_values.span(), false, options());
    });
    for (const key_contents& of : contents) {
      const std::vector<Key> given = keys_of<Key>(of, count());
      keys.fill(given);
      graph.launch();
      ctx.wait();
      std::vector<Value> expected = positions;
      std::stable_sort(expected.begin(), expected.end(), [&](Value a, Value b) { return given[a] < given[b]; });
      EXPECT_TRUE(sorted_values.on_host() == expected)
          << of.name << ", keys of " << sizeof(Key) << " bytes, values of " << sizeof(Value);
      std::vector<Key> expected_keys = given;
      std::sort(expected_keys.begin(), expected_keys.end());
      EXPECT_TRUE(sorted_keys.on_host() == expected_keys) << of.name << ", keys of " << sizeof(Key) << " bytes";
    }
  }
};

// Counts for one block, for several blocks, and for more than one MSD pass.
INSTANTIATE_TEST_SUITE_P(Words, CudaSortGraph,
                         testing::Combine(testing::Values(std::uint64_t{1000}, std::uint64_t{50021},
                                                          (std::uint64_t{1} << 20) + 321, (std::uint64_t{1} << 23) + 5),
                                          testing::Values("", "cuda.cub")),
                         [](const auto& tested) {
                           const std::string count = std::to_string(std::get<0>(tested.param));
                           return std::get<1>(tested.param).empty() ? count : count + "_by_cub";
                         });

TEST_P(CudaSortGraph, SortsTheKeysOfEachRun) {
  expect_keys_in_order<std::uint32_t>();
  expect_keys_in_order<std::uint64_t>();
  expect_keys_in_order<std::int64_t>();
}

TEST_P(CudaSortGraph, SortsThePairsOfEachRun) {
  expect_pairs_in_order<std::uint32_t, std::uint32_t>();
  expect_pairs_in_order<std::uint64_t, std::uint32_t>();
  expect_pairs_in_order<std::uint64_t, std::uint64_t>();
}

}  // namespace
}  // namespace sheaf::tests
