// Sums in any order by atomics, of lists that are long enough to be looked at for hot slots: by a block's first tile
// and then, where this repeats slots, by a sample of the list; in longer ones by the sample alone.
#include <sheaf/memory.hpp>
#include <sheaf/scatter_reduce.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "support/contexts.hpp"
#include "support/trials/scatter_reduce.hpp"

namespace sheaf::tests::cuda_atomic_sums_test {
namespace {

class AtomicSums : public testing::Test {
 protected:
  void SetUp() override {
    ctx_ = cuda_context();
    if (!ctx_) GTEST_SKIP() << "no device";
  }

  void expect_sums(const reduce_case& c) {
    SCOPED_TRACE(c.description());
    const reduce_trial t(c);
    std::vector<std::byte> got;
    ASSERT_TRUE(run_variant(*ctx_, t, {.order = reduction_order::unordered, .variant = "cuda.atomic"}, got));
    EXPECT_NO_THROW(ctx_->wait());
    expect_slots(got, t);
  }

  std::optional<context> ctx_;
};

// Sorted lists have 1 to 100 values a slot; more than 2048 slots are looked for hot ones.
TEST_F(AtomicSums, AreRightWhetherSlotsAreHotOrNeighboursAlone) {
  for (const char* pattern : {"sorted", "identity", "uniform", "zipf", "same"}) {
    for (const std::uint64_t slots : {3'001, 70'001, 1'000'003}) {
      expect_sums({pattern, 300'007, slots, value_type::f32, reduction::add, index_type::u32});
      expect_sums({pattern, 300'007, slots, value_type::u64, reduction::subtract, index_type::i64});
    }
    expect_sums({pattern, (1 << 21) + 3, 100'003, value_type::f64, reduction::add, index_type::i32});
    expect_sums({pattern, (1 << 22) + 3, 1'000'003, value_type::u32, reduction::add, index_type::u64});
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_atomic_sums_test
