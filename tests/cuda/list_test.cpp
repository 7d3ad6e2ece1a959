// Lists made against the splitters of cuda.log and cuda.sublist: all splitters of every cut that a plan may choose
// stand in a row, behind the head or at the end. One sublist, that of the last splitter or that of the head, then has
// nearly all nodes, and its walk is given up.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/cuda/detail/list_arguments.hpp>
#include <sheaf/list_scan.hpp>
#include <sheaf/memory.hpp>

#include "cuda/linked_list/plan.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "plan/choose.hpp"
#include "primitives/linked_list/contract.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::cuda_list_test {
namespace {

constexpr std::uint32_t count = 300'000;
constexpr const char* walking_variants[] = {"cuda.log", "cuda.sublist", "cuda.sublist_host_scan"};

bool is_a_splitter_of_some_cut(std::uint32_t node) {
  for (std::uint32_t log2_block = 3; log2_block <= 16; ++log2_block) {
    const std::uint32_t blocks = (count + (1U << log2_block) - 1) >> log2_block;
    const list_kernels::list_cut cut{.log2_block = log2_block, .count = count, .blocks = blocks, .seed = 0};
    if (list_kernels::splitter_at(cut, node >> log2_block) == node) return true;
  }
  return false;
}

std::vector<std::uint32_t> nodes_at_random() {
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(inputs::permute(i, count, 5));
  return order;
}

/// The nodes in the list's order: splitters first or last, each group at random.
std::vector<std::uint32_t> splitters_in_a_row(bool splitters_first) {
  std::vector<std::uint32_t> order = nodes_at_random();
  std::stable_partition(order.begin(), order.end(),
                        [&](std::uint32_t node) { return is_a_splitter_of_some_cut(node) == splitters_first; });
  return order;
}

std::vector<std::uint32_t> successors_of(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> successor(order.size(), 0xffffffffU);
  for (std::size_t i = 0; i + 1 < order.size(); ++i) successor[order[i]] = order[i + 1];
  return successor;
}

/// The parameter says whether splitters come first.
class ListsAgainstSplitters : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!ctx_) GTEST_SKIP() << "no CUDA device here";
  }
  template <class T>
  buffer on_device(const std::vector<T>& values) const {
    buffer b(*ctx_, values.size() * sizeof(T));
    copy_bytes(*ctx_, b.data(), values.data(), values.size() * sizeof(T));
    return b;
  }
  template <class T>
  std::vector<T> on_host(const buffer& b) const {
    std::vector<T> values(count);
    copy_bytes(*ctx_, values.data(), b.data(), values.size() * sizeof(T));
    return values;
  }

  const std::optional<context> ctx_ = cuda_context();
  const std::vector<std::uint32_t> order_ = splitters_in_a_row(GetParam());
};

INSTANTIATE_TEST_SUITE_P(SplittersFirst, ListsAgainstSplitters, ::testing::Bool());

TEST_P(ListsAgainstSplitters, AreRanked) {
  const buffer successor = on_device(successors_of(order_));
  for (const char* const variant : walking_variants) {
    SCOPED_TRACE(variant);
    const buffer rank = on_device(std::vector<std::uint32_t>(count, 0xffffffffU));
    list_rank(*ctx_, {successor.data(), count, index_type::u32}, {rank.data(), count, index_type::u32},
              {.variant = variant});
    ctx_->wait();
    const auto ranks = on_host<std::uint32_t>(rank);
    std::uint64_t wrong = 0;
    for (std::uint32_t i = 0; i < count; ++i) wrong += ranks[order_[i]] != i;
    EXPECT_EQ(wrong, 0U);
  }
}

TEST_P(ListsAgainstSplitters, AreScannedWithTheSameSumsInEveryRun) {
  const buffer successor = on_device(successors_of(order_));
  std::vector<double> values(count);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = static_cast<double>(inputs::mix(i) % 1000) / 7;
  const buffer in = on_device(values);
  const buffer out(*ctx_, count * sizeof(double));
  for (const char* const variant : walking_variants) {
    SCOPED_TRACE(variant);
    std::vector<double> first;
    for (int run = 0; run < 3; ++run) {
      list_scan(*ctx_, {successor.data(), count, index_type::u32}, {in.data(), count, value_type::f64},
                {out.data(), count, value_type::f64}, scan_operator::add, {.exclusive_from = 0.5, .variant = variant});
      ctx_->wait();
      const auto sums = on_host<double>(out);
      if (run == 0) first = sums;
      EXPECT_EQ(sums, first);
    }
    double sum = 0.5;
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_NEAR(first[order_[i]], sum, 1e-9 * sum) << "rank " << i;
      sum += values[order_[i]];
    }
  }
}

TEST_P(ListsAgainstSplitters, AndAForestOfThemAreScanned) {
  std::vector<std::uint32_t> next = successors_of(order_);
  std::vector<std::uint32_t> begins{0, 1000, count / 2, count - 1};
  for (std::size_t list = 1; list < begins.size(); ++list) next[order_[begins[list] - 1]] = 0xffffffffU;
  const buffer successor = on_device(next);
  const buffer in = on_device(std::vector<std::uint32_t>(count, 3));
  const buffer out(*ctx_, count * sizeof(std::uint32_t));
  for (const char* const variant : walking_variants) {
    SCOPED_TRACE(variant);
    list_scan(*ctx_, {successor.data(), count, index_type::u32}, {in.data(), count, value_type::u32},
              {out.data(), count, value_type::u32}, scan_operator::add,
              {.lists = list_count::many, .variant = variant});
    ctx_->wait();
    const auto sums = on_host<std::uint32_t>(out);
    std::uint32_t begin = 0;
    std::uint64_t wrong = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (std::find(begins.begin(), begins.end(), i) != begins.end()) begin = i;
      wrong += sums[order_[i]] != 3 * (i - begin + 1);
    }
    EXPECT_EQ(wrong, 0U);
  }
}

/// What the steps of a call knew of the list in the end, with sublists of 32 nodes in the mean.
list_kernels::list_status status_after(const context& ctx, const buffer& successor, const char* variant) {
  primitives::list_problem p;
  p.backend = backend_kind::cuda;
  p.count = count;
  p.log2_block = 5;
  const auto chosen = plan::cheapest(primitives::list_variants(), p, backend_kind::cuda, plan::scope_of(ctx), variant);
  const buffer scratch(ctx, chosen.plan.scratch_bytes);
  const buffer rank(ctx, count * sizeof(std::uint32_t));
  primitives::list_buffers b;
  b.successor = {successor.data(), count, index_type::u32};
  b.out = rank.data();
  chosen.variant->run(ctx, p, chosen.plan, b, scratch.data());
  ctx.wait();
  const auto arrays = core::arrays_in<cuda::list_arrays>(scratch.data(), p, cuda::list_cuts(p, p.log2_block));
  list_kernels::list_status status{};
  copy_bytes(ctx, &status, arrays.status, sizeof status);
  return status;
}

// A walk that went on to the end would leave a list that nothing is wrong with, and take as long as a serial one.
TEST_P(ListsAgainstSplitters, AreGivenUpByTheirLongWalk) {
  ASSERT_LT(cuda::most_steps(5), count / 4) << "a walk to the end would pass the limit";
  const buffer against = on_device(successors_of(order_));
  const buffer at_random = on_device(successors_of(nodes_at_random()));
  for (const char* const variant : walking_variants) {
    SCOPED_TRACE(variant);
    const list_kernels::list_status given_up = status_after(*ctx_, against, variant);
    EXPECT_NE(given_up.is_bad, 0U);
    EXPECT_EQ(given_up.is_faulty, 0U);
    EXPECT_EQ(status_after(*ctx_, at_random, variant).is_bad, 0U) << "the list at random";
  }
}

/// Pointers of nodes on a cycle of `length` nodes after so many rounds over all of them at once.
std::vector<list_kernels::list_jump> jumped(std::uint32_t length, std::uint32_t nodes, int rounds) {
  std::vector<list_kernels::list_jump> jumps(length);
  for (std::uint32_t i = 0; i < length; ++i) jumps[i] = {(i + length - 1) % length, 1};
  for (int round = 0; round < rounds; ++round) {
    const std::vector<list_kernels::list_jump> before = jumps;
    for (list_kernels::list_jump& own : jumps) own = list_kernels::further_jump(own, before[own.to], nodes);
  }
  return jumps;
}

// Steps of 32 bits would wrap around to 0, which is a head's, after 32 rounds.
TEST(ListJump, StepsOnACycleNeverBecomeAHeads) {
  for (const std::uint32_t nodes : {1000U, 1U << 30, 1U << 31, 0xffffffefU}) {
    for (const std::uint32_t length : {1U, 2U, 3U, 4U, 5U, 64U}) {
      for (const int rounds : {1, 10, 31, 32, 33, 34}) {
        for (const list_kernels::list_jump jump : jumped(length, nodes, rounds)) {
          ASSERT_NE(jump.steps, 0U) << nodes << " nodes, a cycle of " << length << ", " << rounds << " rounds";
        }
      }
    }
  }
}

TEST(ListJump, StepsOnAListAddUp) {
  const list_kernels::list_jump jump = list_kernels::further_jump({7, 0x40000000U}, {3, 0x3fffffffU}, 0xffffffefU);
  EXPECT_EQ(jump.to, 3U);
  EXPECT_EQ(jump.steps, 0x7fffffffU);
}

}  // namespace
}  // namespace sheaf::tests::cuda_list_test
