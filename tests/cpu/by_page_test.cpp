#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "cpu/movement/page_order.hpp"
#include "inputs/pattern.hpp"

// Ordering by page starts with whole tiles of accesses that are scattered over many pages: more than the small tables
// of the other tests have.
namespace sheaf::tests {
namespace {

constexpr std::uint64_t table_count = cpu::tile_entries * 2;
constexpr std::uint64_t stride_bytes = 256;  // 64 MB: many more pages than a tile has runs of entries
constexpr std::uint64_t count = cpu::tile_entries * 2 + 4321;

std::vector<std::uint32_t> scattered_index(std::uint64_t entries) {
  std::vector<std::uint32_t> index(entries);
  inputs::fill_index(context::cpu(1), inputs::parse_pattern("uniform"), table_count, index, 0);
  return index;
}

class CpuByPage : public testing::TestWithParam<int> {
 protected:
  CpuByPage() : table(table_count * stride_bytes), ctx(context::cpu(GetParam())) {
    inputs::fill_records(ctx, far(), 5);
  }

  records far(std::uint64_t width = 8) { return {table.data(), table_count, width, stride_bytes}; }

  std::vector<std::byte> table;
  context ctx;
};

TEST_P(CpuByPage, TestListsAreScattered) {
  const auto index = scattered_index(count);
  EXPECT_TRUE(cpu::is_scattered(index.data(), cpu::tile_entries, stride_bytes));
}

TEST_P(CpuByPage, GatherEqualsTheReference) {
  const auto index = scattered_index(count);
  for (const std::uint64_t width : {4, 8, 16, 24, 7}) {
    std::vector<std::byte> expected(count * width);
    std::vector<std::byte> got(count * width);
    gather(ctx, far(width), index, {expected.data(), count, width}, {.variant = "reference.serial"});
    gather(ctx, far(width), index, {got.data(), count, width}, {.variant = "cpu.by_page"});
    ctx.wait();
    EXPECT_EQ(std::memcmp(expected.data(), got.data(), got.size()), 0) << width << " bytes";
  }
}

TEST_P(CpuByPage, ScatterEqualsTheReference) {
  std::vector<std::uint32_t> index(table_count);
  inputs::fill_index(ctx, inputs::parse_pattern("permutation"), table_count, index, 0);
  std::vector<std::uint64_t> in(table_count);
  inputs::fill_records(ctx, in, 9);
  auto expected = table;
  scatter(ctx, in, index, {expected.data(), table_count, 8, stride_bytes}, {.variant = "reference.serial"});
  scatter(ctx, in, index, far(), {.variant = "cpu.by_page"});
  ctx.wait();
  EXPECT_TRUE(expected == table);
}

TEST_P(CpuByPage, ABadIndexInATileIsReportedAndSkipped) {
  auto index = scattered_index(count);
  const std::uint64_t bad = cpu::tile_entries + 777;
  index[bad] = table_count;
  index[bad + 1000] = 4000000000;
  std::vector<std::uint64_t> expected(count);
  std::vector<std::uint64_t> got(count, ~std::uint64_t{0});
  const auto message_of = [&](std::vector<std::uint64_t>& out, const char* variant) -> std::string {
    gather(ctx, far(), index, out, {.variant = variant});
    try {
      ctx.wait();
    } catch (const error& e) {
      return e.what();
    }
    return "nothing";
  };
  const std::string words = message_of(expected, "reference.serial");
  EXPECT_EQ(words, "gather: index[" + std::to_string(bad) + "] is 262144, past the table's 262144 records");
  EXPECT_EQ(message_of(got, "cpu.by_page"), words);
  EXPECT_TRUE(got == expected);
}

INSTANTIATE_TEST_SUITE_P(Threads, CpuByPage, testing::Values(1, 2, 5),
                         [](const testing::TestParamInfo<int>& threads) { return std::to_string(threads.param); });

}  // namespace
}  // namespace sheaf::tests
