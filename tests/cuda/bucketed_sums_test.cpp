// Sums by buckets of lists that are long enough to be sampled: the routes that a sample chooses, one pass and two, full
// buckets, bad indices, and runs of a captured graph.
#include <sheaf/memory.hpp>
#include <sheaf/scatter_reduce.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/captured_graph.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/trials/scatter_reduce.hpp"

namespace sheaf::tests::cuda_bucketed_sums_test {
namespace {

constexpr const char* variant = "cuda.bucketed";

class BucketedSums : public testing::Test {
 protected:
  void SetUp() override {
    ctx_ = cuda_context();
    if (!ctx_) GTEST_SKIP() << "no device";
  }

  void expect_sums(const reduce_case& c, const access_pattern& pattern) {
    SCOPED_TRACE(c.description());
    const reduce_trial t(c);
    std::vector<std::byte> got;
    ASSERT_TRUE(
        run_variant(*ctx_, t, {.pattern = pattern, .order = reduction_order::unordered, .variant = variant}, got));
    EXPECT_NO_THROW(ctx_->wait());
    expect_slots(got, t);
  }

  std::optional<context> ctx_;
};

// 2^13 slots of 4 bytes or 2^12 of 8 make a bucket, and 2^8 buckets a pass: 70,000 slots take one, 3 million two. Lists
// in order and with hot slots go to atomics, unless the caller says that they are at random: then buckets overflow.
TEST_F(BucketedSums, AreRightByEveryRoute) {
  for (const char* pattern : {"uniform", "permutation", "identity", "sorted", "zipf", "same"}) {
    for (const std::uint64_t slots : {70'001, 3'000'017}) {
      if (std::string(pattern) == "permutation" && slots < 300'007) continue;
      for (const access_pattern& said : {access_pattern::unknown(), access_pattern::random()}) {
        expect_sums({pattern, 300'007, slots, value_type::f32, reduction::add, index_type::u32}, said);
        expect_sums({pattern, 300'007, slots, value_type::u64, reduction::subtract, index_type::i64}, said);
      }
    }
    expect_sums({pattern, 1 << 20, 1 << 20, value_type::f64, reduction::subtract, index_type::i32}, {});
    expect_sums({pattern, 1 << 20, 1 << 20, value_type::i32, reduction::add, index_type::u64}, {});
  }
}

TEST_F(BucketedSums, SkipBadIndicesAndReportTheFirst) {
  constexpr std::uint64_t count = 200'000;
  for (const char* pattern : {"uniform", "identity"}) {
    for (const index_type index : {index_type::u32, index_type::i64}) {
      const reduce_trial t({pattern, count, 3'000'000, value_type::u32, reduction::add, index},
                           {{777, 3'000'000}, {778, 4'000'000}, {count - 1, 0x7fffffff}});
      SCOPED_TRACE(t.c.description());
      std::vector<std::byte> got;
      ASSERT_TRUE(run_variant(*ctx_, t, {.variant = variant}, got));
      expect_error(error_code::bad_index, "scatter_reduce: index[777] is 3000000, past the output's 3000000 slots",
                   [&] { ctx_->wait(); });
      expect_slots(got, t);
      if (index == index_type::u32) continue;
      ASSERT_TRUE(run_variant(*ctx_, t, {.bounds = bounds::trust, .variant = variant}, got));
      EXPECT_NO_THROW(ctx_->wait());
      expect_slots(got, t);
    }
  }
}

// Each run of a graph samples the list anew: the second one finds it in order.
TEST_F(BucketedSums, OfAGraphSampleTheListInEveryRun) {
  constexpr std::uint64_t count = 300'007;
  const reduce_trial scattered({"uniform", count, count, value_type::u32, reduction::add, index_type::u32});
  const reduce_trial ordered({"identity", count, count, value_type::u32, reduction::add, index_type::u32});
  const placed in(*ctx_, scattered.in);
  const placed index(*ctx_, scattered.index);
  const placed other_index(*ctx_, ordered.index);
  const placed out(*ctx_, scattered.before);
  const captured_graph graph(*ctx_, [&] {
    scatter_reduce(*ctx_, const_values(in.view().data, count, value_type::u32), index.index(index_type::u32),
                   values(out.view().data, count, value_type::u32), reduction::add, {.variant = variant});
  });
  graph.launch();
  ctx_->wait();
  expect_slots(out.download(), scattered);
  copy_bytes(*ctx_, index.view().data, other_index.view().data, count * sizeof(std::uint32_t));
  graph.launch();
  ctx_->wait();
  image expected = scattered.after;
  for (std::uint64_t i = 0; i < count; ++i) {
    set_entry(expected, i,
              reduce_trial::at<std::uint32_t>(expected, i) + reduce_trial::at<std::uint32_t>(scattered.in, i));
  }
  expect_bytes(out.download(), expected, "out");
}

}  // namespace
}  // namespace sheaf::tests::cuda_bucketed_sums_test
