#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/sort.hpp>

#include "lab/inputs/pattern.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "support/large.hpp"

// Past 2^32 rows. Only where SHEAF_LARGE=1, as in large_test.cpp.
namespace sheaf::tests::primitives_sort_large_test {
namespace {

constexpr std::uint64_t row_count = (std::uint64_t{1} << 32) + 5;
constexpr std::uint64_t seed = 29;

class SortLarge : public large_fixture {};

INSTANTIATE_TEST_SUITE_P(EveryBackend, SortLarge, testing::ValuesIn(large_backends),
                         [](const auto& tested) { return std::string(name(tested.param)); });

// Keys in order, and of each as many as in the input.
TEST_P(SortLarge, BytesPastTwoTo32AreInOrder) {
  const auto there = memory(2 * row_count);
  if (!there) GTEST_SKIP() << "not enough memory";
  const records in(there->data(), row_count, 1);
  const records out(there->data() + row_count, row_count, 1);
  inputs::fill_records(*ctx, in, seed);
  std::vector<std::uint64_t> counts(256, 0);
  for (std::uint64_t i = 0; i < row_count; ++i) ++counts[inputs::record_byte(seed, i, 0)];
  const sort_key key = sort_key::of<std::int8_t>();
  for_each_variant(explain_sort_records(*ctx, in, key), [&](const std::string& variant) {
    sort_records(*ctx, in, key, out, {variant});
    ctx->wait();
    std::vector<std::uint64_t> found(256, 0);
    std::int8_t last = -128;
    for_each_chunk(out.data, row_count, [&](std::uint64_t at, std::span<const std::byte> bytes) {
      for (std::uint64_t i = 0; i < bytes.size(); ++i) {
        const std::int8_t number = static_cast<std::int8_t>(bytes[i]);
        ASSERT_LE(last, number) << at + i;
        last = number;
        ++found[std::to_integer<std::size_t>(bytes[i])];
      }
    });
    EXPECT_EQ(found, counts);
  });
}

// Keys in order, with the sum and the exclusive or of the input's keys.
TEST_P(SortLarge, NumbersPastTwoTo32AreInOrder) {
  const auto there = memory(8 * row_count);
  if (!there) GTEST_SKIP() << "not enough memory";
  const records in(there->data(), row_count, 4);
  const records out(there->data() + 4 * row_count, row_count, 4);
  inputs::fill_records(*ctx, in, seed);
  std::uint64_t sum = 0;
  std::uint32_t mixed = 0;
  const auto number_at = [](std::span<const std::byte> bytes, std::uint64_t at) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
  };
  for_each_chunk(in.data, 4 * row_count, [&](std::uint64_t, std::span<const std::byte> bytes) {
    for (std::uint64_t b = 0; b < bytes.size(); b += 4) {
      sum += number_at(bytes, b);
      mixed ^= number_at(bytes, b);
    }
  });
  const sort_key key = sort_key::of<std::uint32_t>();
  for_each_variant(explain_sort_records(*ctx, in, key), [&](const std::string& variant) {
    sort_records(*ctx, in, key, out, {variant});
    ctx->wait();
    std::uint64_t found_sum = 0;
    std::uint32_t found_mixed = 0;
    std::uint32_t last = 0;
    for_each_chunk(out.data, 4 * row_count, [&](std::uint64_t at, std::span<const std::byte> bytes) {
      for (std::uint64_t b = 0; b < bytes.size(); b += 4) {
        const std::uint32_t number = number_at(bytes, b);
        ASSERT_LE(last, number) << (at + b) / 4;
        last = number;
        found_sum += number;
        found_mixed ^= number;
      }
    });
    EXPECT_EQ(found_sum, sum);
    EXPECT_EQ(found_mixed, mixed);
  });
}

// An index by keys of few bits is right if its entries for a key ascend, name rows of that key, and are as many as
// there are such rows.
TEST_P(SortLarge, GatherIndexNamesRowsPastTwoTo32) {
  const auto there = memory(9 * row_count + 8);
  if (!there) GTEST_SKIP() << "not enough memory";
  const records in(there->data() + 8 * row_count, row_count, 1);
  inputs::fill_records(*ctx, in, seed);
  const index_output index(there->data(), row_count, index_type::u64);
  const sort_key key = key_field{0, 1, key_type::unsigned_integer, false, 4, 3};
  const auto key_of = [](std::uint64_t i) { return inputs::record_byte(seed, i, 0) >> 4 & 7U; };
  std::vector<std::uint64_t> counts(8, 0);
  for (std::uint64_t i = 0; i < row_count; ++i) ++counts[key_of(i)];
  for_each_variant(explain_sort_gather_index(*ctx, in, key, index.type), [&](const std::string& variant) {
    sort_gather_index(*ctx, in, key, index, {variant});
    ctx->wait();
    std::vector<std::uint64_t> found(8, 0);
    unsigned last_key = 0;
    std::uint64_t last = 0;
    for_each_chunk(there->data(), 8 * row_count, [&](std::uint64_t at, std::span<const std::byte> bytes) {
      for (std::uint64_t b = 0; b < bytes.size(); b += 8) {
        std::uint64_t row = 0;
        std::memcpy(&row, bytes.data() + b, sizeof row);
        ASSERT_LT(row, row_count) << (at + b) / 8;
        const unsigned number = key_of(row);
        ASSERT_TRUE(found[number] == 0 ? number >= last_key : number == last_key && row > last) << (at + b) / 8;
        ++found[number];
        last_key = number;
        last = row;
      }
    });
    EXPECT_EQ(found, counts);
  });
}

}  // namespace
}  // namespace sheaf::tests::primitives_sort_large_test
