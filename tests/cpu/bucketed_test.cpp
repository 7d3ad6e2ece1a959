#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <sheaf/scatter_reduce.hpp>
#include <sheaf/sheaf.hpp>

#include "cpu/movement/order_sample.hpp"
#include "lab/inputs/pattern.hpp"

// A bucketed movement begins where a list is scattered over many pages, more than the small tables of the other tests
// have. A profile with a small second-level cache makes many buckets of them.
namespace sheaf::tests::cpu_bucketed_test {
namespace {

constexpr std::uint64_t indexed_count = std::uint64_t{1} << 18;
constexpr std::uint64_t stride_bytes = 256;
constexpr std::uint64_t count = 150001;

class CpuBucketed : public testing::TestWithParam<int> {
 protected:
  CpuBucketed() : indexed(indexed_count * stride_bytes), ctx(context::cpu(GetParam())) {
    machine profile = ctx.profile();
    profile.cache_levels = {4096, std::uint64_t{1} << 18};
    profile.cache_bytes = GetParam() == 2 ? 4096 : std::uint64_t{1} << 30;  // streamed and not
    ctx.use(profile);
    inputs::fill_records(ctx, records{indexed.data(), indexed_count, 8, stride_bytes}, 5);
  }

  std::string message() const {
    try {
      ctx.wait();
    } catch (const error& e) {
      return e.what();
    }
    return "none";
  }

  std::vector<std::byte> indexed;
  context ctx;
};

std::vector<std::uint32_t> random_index(std::uint64_t entries, std::uint64_t limit) {
  std::mt19937_64 random(20070715);
  std::vector<std::uint32_t> index(entries);
  for (auto& i : index) i = static_cast<std::uint32_t>(random() % limit);
  return index;
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& list) {
  return {list.begin(), list.end()};
}

TEST_P(CpuBucketed, TestListsAreScattered) {
  EXPECT_TRUE(cpu::is_scattered(random_index(count, indexed_count).data(), count, stride_bytes));
}

TEST_P(CpuBucketed, GatherEqualsTheReference) {
  auto index = random_index(count, indexed_count);
  index[77777] = indexed_count;
  index[77778] = 0xffffffff;
  const auto wide = converted<std::int64_t>(index);
  for (const std::uint64_t width : {1, 2, 3, 4, 7, 8, 12, 16, 24, 32}) {
    const records table{indexed.data(), indexed_count, width, stride_bytes};
    std::vector<std::byte> expected(count * width, std::byte{1});
    std::vector<std::byte> got(count * width, std::byte{2});
    const records to{expected.data(), count, width};
    const records got_to{got.data(), count, width};
    gather(ctx, table, index, to, {.variant = "reference.serial"});
    const std::string words = message();
    EXPECT_EQ(words, "gather: index[77777] is 262144, past the table's 262144 records");
    gather(ctx, table, index, got_to, {.variant = "cpu.bucketed"});
    EXPECT_EQ(message(), words);
    EXPECT_TRUE(got == expected) << width << " bytes";
    got.assign(got.size(), std::byte{3});
    gather(ctx, table, wide, got_to, {.variant = "cpu.bucketed"});
    EXPECT_EQ(message(), words);
    EXPECT_TRUE(got == expected) << width << " bytes, 64-bit index";
  }
}

TEST_P(CpuBucketed, ScatterOfRepeatsLeavesTheLast) {
  auto index = random_index(count, indexed_count);
  for (std::uint64_t i = 0; i < count; i += 3)
    index[i] = static_cast<std::uint32_t>(i % 1000);  // buckets with many entries
  index[99999] = indexed_count + 4;
  const auto wide = converted<std::uint64_t>(index);
  for (const std::uint64_t width : {1, 2, 3, 4, 7, 8, 12, 16, 24, 32}) {
    std::vector<std::byte> in(count * width);
    inputs::fill_records(ctx, records{in.data(), count, width}, 9);
    const const_records from(in.data(), count, width);
    auto expected = indexed;
    auto got = indexed;
    auto got_wide = indexed;
    const auto into = [&](std::vector<std::byte>& out) {
      return records{out.data(), indexed_count, width, stride_bytes};
    };
    const scatter_options last{.duplicates = duplicates::last, .variant = "cpu.bucketed"};
    scatter(ctx, from, index, into(expected), {.duplicates = duplicates::last, .variant = "reference.serial"});
    const std::string words = message();
    EXPECT_EQ(words, "scatter: index[99999] is 262148, past the output's 262144 records");
    scatter(ctx, from, index, into(got), last);
    EXPECT_EQ(message(), words);
    EXPECT_TRUE(got == expected) << width << " bytes";
    scatter(ctx, from, wide, into(got_wide), last);
    EXPECT_EQ(message(), words);
    EXPECT_TRUE(got_wide == expected) << width << " bytes, 64-bit index";
  }
}

template <class T>
void expect_reduced(const context& ctx, const char* variant, std::uint64_t slots, reduction_order order) {
  std::mt19937_64 random(20050101);
  const auto index = random_index(count, slots);
  std::vector<T> in(count);
  for (T& value : in) value = static_cast<T>(static_cast<double>(random() % 2000000) / 7 - 100000);
  for (const reduction op : {reduction::add, reduction::min, reduction::max, reduction::subtract}) {
    std::vector<T> expected(slots, T{3});
    auto got = expected;
    scatter_reduce(ctx, in, index, expected, op, {.variant = "reference.serial"});
    try {
      scatter_reduce(ctx, in, index, got, op, {.order = order, .variant = variant});
    } catch (const error& e) {
      EXPECT_EQ(e.code(), error_code::no_variant);
      EXPECT_TRUE(std::is_floating_point_v<T> && std::string(variant) == "cpu.private");
      continue;
    }
    ctx.wait();
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), slots * sizeof(T)), 0)
        << variant << ", " << slots << " slots, operation " << static_cast<int>(op);
  }
}

TEST_P(CpuBucketed, ReductionsEqualTheReferenceBitByBit) {
  for (const char* variant : {"cpu.owner", "cpu.split", "cpu.private"}) {
    for (const std::uint64_t slots : {1, 5, 1000, 100003}) {
      expect_reduced<std::int32_t>(ctx, variant, slots, reduction_order::deterministic);
      expect_reduced<std::uint32_t>(ctx, variant, slots, reduction_order::deterministic);
      expect_reduced<std::int64_t>(ctx, variant, slots, reduction_order::deterministic);
      expect_reduced<std::uint64_t>(ctx, variant, slots, reduction_order::deterministic);
      expect_reduced<float>(ctx, variant, slots, reduction_order::deterministic);
      expect_reduced<double>(ctx, variant, slots, reduction_order::deterministic);
    }
  }
}

TEST_P(CpuBucketed, ReductionsReportTheFirstBadIndex) {
  auto index = random_index(count, 1000);
  index[140000] = 1000;
  index[70000] = 4000000000;
  const std::vector<std::uint32_t> in(count, 1);
  std::vector<std::uint32_t> expected(1000);
  scatter_reduce(ctx, in, index, expected, reduction::add, {.variant = "reference.serial"});
  const std::string words = message();
  EXPECT_EQ(words, "scatter_reduce: index[70000] is 4000000000, past the output's 1000 slots");
  for (const char* variant : {"cpu.owner", "cpu.split", "cpu.private"}) {
    std::vector<std::uint32_t> got(1000);
    scatter_reduce(ctx, in, index, got, reduction::add, {.variant = variant});
    EXPECT_EQ(message(), words) << variant;
    EXPECT_TRUE(got == expected) << variant;
  }
}

// Small whole numbers add up exactly in any order, so that even here the sum is known.
TEST_P(CpuBucketed, UnorderedSumsOfFloatsAddEveryValueOnce) {
  const auto index = random_index(count, 100);
  std::vector<float> in(count);
  for (std::uint64_t i = 0; i < count; ++i) in[i] = static_cast<float>(i % 8);
  std::vector<float> expected(101, -0.0F);
  auto got = expected;
  scatter_reduce(ctx, in, index, expected, reduction::add, {.variant = "reference.serial"});
  scatter_reduce(ctx, in, index, got, reduction::add, {.order = reduction_order::unordered, .variant = "cpu.private"});
  ctx.wait();
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): -0 is not 0 here
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), 101 * sizeof(float)), 0);
  scatter_reduce(ctx, in, index, expected, reduction::subtract, {.variant = "reference.serial"});
  scatter_reduce(ctx, in, index, got, reduction::subtract,
                 {.order = reduction_order::unordered, .variant = "cpu.private"});
  ctx.wait();
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): -0 is not 0 here
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), 101 * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, CpuBucketed, testing::Values(1, 2, 5),
                         [](const testing::TestParamInfo<int>& threads) { return std::to_string(threads.param); });

}  // namespace
}  // namespace sheaf::tests::cpu_bucketed_test
