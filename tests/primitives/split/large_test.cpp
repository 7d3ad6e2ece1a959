#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/split.hpp>

#include "lab/inputs/pattern.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "support/large.hpp"

// Past 2^32 records. Only where SHEAF_LARGE=1, as in large_test.cpp.
namespace sheaf::tests::primitives_split_large_test {
namespace {

constexpr std::uint64_t record_count = (std::uint64_t{1} << 32) + 5;
constexpr std::uint64_t seed = 23;
constexpr bit_field keys[] = {{0, 8}, {4, 3}};  // the second field lets the order inside a category be seen

class SplitLarge : public large_fixture {
 protected:
  std::vector<std::uint64_t> counts_of(const bit_field& bits) const {
    std::vector<std::uint64_t> counts(std::size_t{1} << bits.count, 0);
    for (std::uint64_t i = 0; i < record_count; ++i) ++counts[category(i, bits)];
    return counts;
  }
  static std::uint64_t category(std::uint64_t i, const bit_field& bits) {
    return inputs::record_byte(seed, i, 0) >> bits.first & ((1U << bits.count) - 1);
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, SplitLarge, testing::ValuesIn(large_backends),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(SplitLarge, RecordsPastTwoTo32AreInOrder) {
  const bool copies = GetParam() == backend_kind::cuda;
  const auto in = memory(2 * record_count, copies ? record_count : 0);
  if (!in) GTEST_SKIP() << "not enough memory";
  const records from(in->data(), record_count, 1);
  const records to(in->data() + record_count, record_count, 1);
  inputs::fill_records(*ctx, from, seed);
  std::vector<unsigned char> copied(copies ? record_count : 0);
  for (const bit_field& bits : keys) {
    SCOPED_TRACE(fmt::format("bits {}+{}", bits.first, bits.count));
    const split_key key = split_key::of_record(bits);
    const buffer bounds(*ctx, (key.categories + 1) * 8);
    const std::span<std::uint64_t> offsets(bounds.as<std::uint64_t>(), key.categories + 1);
    const std::vector<std::uint64_t> counts = counts_of(bits);
    for_each_variant(explain_split(*ctx, from, key), [&](const std::string& variant) {
      split(*ctx, from, key, to, offsets, {variant});
      ctx->wait();
      std::vector<std::uint64_t> next(key.categories + 1);
      copy_bytes(*ctx, next.data(), offsets.data(), offsets.size_bytes());
      for (std::uint64_t c = 0; c < key.categories; ++c) ASSERT_EQ(next[c + 1] - next[c], counts[c]) << c;
      ASSERT_EQ(next.back(), record_count);
      if (copies) copy_bytes(*ctx, copied.data(), to.data, record_count);
      const auto* out = copies ? copied.data() : reinterpret_cast<const unsigned char*>(to.data);
      for (std::uint64_t i = 0; i < record_count; ++i) {
        const std::uint64_t at = next[category(i, bits)]++;
        if (out[at] != inputs::record_byte(seed, i, 0)) FAIL() << "record " << i << " is not at " << at;
      }
    });
  }
}

// A gather index is right if its entries for a category ascend, name records of that category, and are as many as there
// are such records.
TEST_P(SplitLarge, GatherIndexNamesRecordsPastTwoTo32) {
  constexpr std::uint64_t chunk = std::uint64_t{8} << 20;
  const auto there = memory(9 * record_count + 8);
  if (!there) GTEST_SKIP() << "not enough memory";
  const records from(there->data() + 8 * record_count, record_count, 1);
  inputs::fill_records(*ctx, from, seed);
  const index_output index(there->data(), record_count, index_type::u64);
  for (const bit_field& bits : keys) {
    SCOPED_TRACE(fmt::format("bits {}+{}", bits.first, bits.count));
    const split_key key = split_key::of(from, bits);
    const std::vector<std::uint64_t> counts = counts_of(bits);
    for_each_variant(explain_split_gather_index(*ctx, key, index.type), [&](const std::string& variant) {
      split_gather_index(*ctx, key, index, {}, {variant});
      ctx->wait();
      std::vector<std::uint64_t> found(counts.size(), 0);
      std::vector<std::uint64_t> part(chunk);
      std::uint64_t last_category = 0, last = 0;
      for (std::uint64_t first = 0; first < record_count; first += chunk) {
        const std::uint64_t here = std::min(chunk, record_count - first);
        copy_bytes(*ctx, part.data(), there->data() + 8 * first, 8 * here);
        for (std::uint64_t i = 0; i < here; ++i) {
          ASSERT_LT(part[i], record_count) << first + i;
          const std::uint64_t c = category(part[i], bits);
          const bool follows =
              found[c] == 0 ? first + i == 0 || c > last_category : c == last_category && part[i] > last;
          ASSERT_TRUE(follows) << "entry " << first + i << " is " << part[i] << ", of category " << c;
          ++found[c];
          last_category = c;
          last = part[i];
        }
      }
      EXPECT_EQ(found, counts);
    });
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_split_large_test
