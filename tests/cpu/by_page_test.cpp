#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "cpu/movement/order_sample.hpp"
#include "cpu/movement/page_order.hpp"
#include "lab/inputs/pattern.hpp"

// Page order begins with whole tiles of accesses that are scattered over many pages, more than the small outputs of the
// other tests have.
namespace sheaf::tests::cpu_by_page_test {
namespace {

constexpr std::uint64_t out_count = cpu::tile_entries * 2 + 4321;
constexpr std::uint64_t stride_bytes = 256;  // 64 MB: a tile has far fewer entries of a page than pages

class CpuByPage : public testing::TestWithParam<int> {
 protected:
  CpuByPage() : untouched(out_count * stride_bytes), ctx(context::cpu(GetParam())), index(out_count) {
    inputs::fill_records(ctx, {untouched.data(), out_count, 8, stride_bytes}, 5);
    inputs::fill_index(ctx, inputs::parse_pattern("permutation"), out_count, index, 0);
  }

  // The output after a scatter, and what wait() says.
  std::vector<std::byte> scattered(std::uint64_t width, const char* variant, std::string& message) {
    std::vector<std::byte> in(out_count * width);
    inputs::fill_records(ctx, {in.data(), out_count, width}, 9);
    std::vector<std::byte> out = untouched;
    scatter(ctx, {in.data(), out_count, width}, index, {out.data(), out_count, width, stride_bytes},
            {.variant = variant});
    message = "nothing";
    try {
      ctx.wait();
    } catch (const error& e) {
      message = e.what();
    }
    return out;
  }

  void expect_reference(std::uint64_t width, const std::string& expected_message) {
    std::string expected_words, words;
    const auto expected = scattered(width, "reference.serial", expected_words);
    EXPECT_TRUE(scattered(width, "cpu.by_page", words) == expected) << width << " bytes";
    EXPECT_EQ(expected_words, expected_message);
    EXPECT_EQ(words, expected_message);
  }

  std::vector<std::byte> untouched;
  context ctx;
  std::vector<std::uint32_t> index;
};

TEST_P(CpuByPage, TestListsAreScattered) {
  EXPECT_TRUE(cpu::is_scattered(index.data(), cpu::tile_entries, stride_bytes));
}

TEST_P(CpuByPage, ScatterEqualsTheReference) {
  for (const std::uint64_t width : {4, 8, 16, 24, 7}) expect_reference(width, "nothing");
}

TEST_P(CpuByPage, ABadIndexInATileIsReportedAndSkipped) {
  const std::uint64_t bad = cpu::tile_entries + 777;
  index[bad] = out_count;
  index[bad + 1000] = 4000000000;
  expect_reference(8, "scatter: index[" + std::to_string(bad) + "] is " + std::to_string(out_count) +
                          ", past the output's " + std::to_string(out_count) + " records");
}

INSTANTIATE_TEST_SUITE_P(Threads, CpuByPage, testing::Values(1, 2, 5),
                         [](const testing::TestParamInfo<int>& threads) { return std::to_string(threads.param); });

}  // namespace
}  // namespace sheaf::tests::cpu_by_page_test
