// list_scan by a function of the caller's on the CPU: functions that throw, on any number of threads, functions by
// their name, and values of a strict alignment.
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/list_scan.hpp>

namespace sheaf::tests::cpu_list_function_test {
namespace {

/// A list in the order of its nodes.
std::vector<std::uint32_t> ordered_list(std::uint32_t count) {
  std::vector<std::uint32_t> successor(count);
  std::iota(successor.begin(), successor.end(), 1U);
  successor.back() = ~0U;
  return successor;
}

TEST(ListFunction, ThrowsWhatItThrowsOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 4, 7}) {
    const context ctx = context::cpu(threads);
    for (const std::uint32_t count : {2U, 1000U, 300'000U}) {
      SCOPED_TRACE(testing::Message() << threads << " threads, " << count << " nodes");
      const std::vector<std::uint32_t> successor = ordered_list(count);
      const std::vector<int> in(count, 1);
      std::vector<int> out(count);
      const auto throwing = [](int, int) -> int { throw std::runtime_error("the function's own"); };
      try {
        list_scan(ctx, index_span(successor.data(), count, index_type::u32), in, out, throwing);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "the function's own");
      }
      list_scan(ctx, index_span(successor.data(), count, index_type::u32), in, out, std::plus<>{});
      ctx.wait();
      EXPECT_EQ(out.back(), static_cast<int>(count)) << "the context must go on working";
    }
  }
}

int sum_of(const int& earlier, const int& later) { return earlier + later; }

TEST(ListFunction, MayBeAFunctionByItsName) {
  const context ctx = context::cpu(2);
  const std::vector<std::uint32_t> successor = ordered_list(1000);
  const std::vector<int> in(1000, 3);
  std::vector<int> out(1000);
  list_scan(ctx, index_span(successor.data(), 1000, index_type::u32), in, out, sum_of);
  ctx.wait();
  EXPECT_EQ(out.back(), 3000);
  list_scan(ctx, index_span(successor.data(), 1000, index_type::u32), in, out, &sum_of);
  ctx.wait();
  EXPECT_EQ(out[499], 1500);
}

template <std::size_t Alignment>
struct alignas(Alignment) aligned_number {
  std::uint64_t number = 0;
  bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(this) % Alignment == 0; }
};

struct add_aligned {
  template <std::size_t Alignment>
  aligned_number<Alignment> operator()(const aligned_number<Alignment>& a, const aligned_number<Alignment>& b) const {
    if (!a.is_aligned() || !b.is_aligned()) return {};
    return {a.number + b.number};
  }
};

static_assert(list_scan_function<add_aligned, aligned_number<256>>);
static_assert(!list_scan_function<add_aligned, aligned_number<512>>, "scratch is aligned to 256 bytes");

template <std::size_t Alignment>
void expect_aligned() {
  const context ctx = context::cpu(3);
  const std::uint32_t count = 20'000;
  const std::vector<std::uint32_t> successor = ordered_list(count);
  std::vector<aligned_number<Alignment>> in(count, aligned_number<Alignment>{1});
  std::vector<aligned_number<Alignment>> out(count);
  list_scan(ctx, index_span(successor.data(), count, index_type::u32), in, out, add_aligned{});
  ctx.wait();
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(out[i].number, i + 1);
}

TEST(ListFunction, SeesValuesAtTheirAlignment) {
  expect_aligned<8>();
  expect_aligned<32>();
  expect_aligned<64>();
  expect_aligned<128>();
  expect_aligned<256>();
}

}  // namespace
}  // namespace sheaf::tests::cpu_list_function_test
