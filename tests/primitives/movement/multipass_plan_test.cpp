#include <gtest/gtest.h>

#include "plan/he2007.hpp"
#include "primitives/movement/multipass.hpp"
#include "support/contexts.hpp"
#include "support/trials/multipass.hpp"

namespace sheaf::tests::primitives_movement_multipass_plan_test {
namespace {

TEST(EqualParts, CoverEverythingOnce) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  for (const std::uint64_t places : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1000}, most}) {
    for (const std::uint64_t parts : {1, 2, 3, 7, 16, 1000}) {
      const primitives::equal_parts cut(places, parts);
      std::uint64_t next = 0;
      for (std::uint64_t i = 0; i < parts; ++i) {
        ASSERT_EQ(cut.begin(i), next) << places << " in " << parts;
        ASSERT_LE(cut.count(0) - cut.count(i), 1U);
        next += cut.count(i);
      }
      EXPECT_EQ(next, places) << "in " << parts;
    }
  }
}

TEST(ReachableRecords, StopWhereTheIndexTypeEnds) {
  primitives::movement m;
  m.indexed_count = std::uint64_t{1} << 40;
  m.index = index_type::u32;
  EXPECT_EQ(primitives::reachable_records(m), std::uint64_t{1} << 32);
  m.index = index_type::i32;
  EXPECT_EQ(primitives::reachable_records(m), std::uint64_t{1} << 31);
  m.index = index_type::i64;
  EXPECT_EQ(primitives::reachable_records(m), m.indexed_count);
  m.indexed_count = ~std::uint64_t{0};
  EXPECT_EQ(primitives::reachable_records(m), std::uint64_t{1} << 63);
  m.index = index_type::u64;
  EXPECT_EQ(primitives::reachable_records(m), m.indexed_count);
}

TEST(NearBytesMoved, CountSectorsThatHoldARecordOfThePass) {
  primitives::movement m;
  m.count = 1000;
  m.record_bytes = 8;
  m.sequential_stride_bytes = 8;
  EXPECT_EQ(primitives::sequential_bytes_moved(m, 1, 32), 8000U);
  EXPECT_EQ(primitives::sequential_bytes_moved(m, 2, 32), 15000U) << "a sector of four is missed once in 16";
  m.sequential_stride_bytes = 64;
  EXPECT_EQ(primitives::sequential_bytes_moved(m, 4, 32), 64000U) << "a sector of its own moves once";
}

TEST(MultipassPlan, RejectsWhatItDoesNotPromise) {
  for (const named_context& where : every_context()) {
    const bool cuda = where.ctx.backend() == backend_kind::cuda;
    const auto& variant = named(primitives::scatter_variants(), cuda ? "cuda.multipass" : "cpu.multipass");
    primitives::scatter_problem p;
    p.backend = where.ctx.backend();
    p.count = p.indexed_count = 1000;
    p.record_bytes = p.sequential_stride_bytes = p.indexed_stride_bytes = p.word_bytes = 8;
    EXPECT_TRUE(variant.plan(p, where.ctx.profile()).applicable());
    p.duplicates = duplicates::last;
    EXPECT_STREQ(variant.plan(p, where.ctx.profile()).rejection, "any writer may win");
    p.duplicates = duplicates::any;
    p.indexed_count = 0;
    EXPECT_STREQ(variant.plan(p, where.ctx.profile()).rejection, "there is no record that an index could name");
  }
}

TEST(MultipassPlan, TakesPassesFromTheModel) {
  const context ctx = context::cpu(1);
  const auto& variant = named(primitives::scatter_variants(), "cpu.multipass");
  primitives::scatter_problem p;
  p.count = p.indexed_count = 2 * ctx.profile().cache_bytes / 8;
  p.record_bytes = p.sequential_stride_bytes = p.indexed_stride_bytes = p.word_bytes = 8;
  namespace he2007 = plan::he2007;
  const auto expected = he2007::best_passes(he2007::operation::scatter, {p.count, p.indexed_count, 8, p.count * 4},
                                            access_pattern::unknown(), he2007::parameters_of(ctx.profile()));
  EXPECT_EQ(variant.plan(p, ctx.profile()).decided.get<primitives::multipass_decision>().passes, expected);
  p.pattern = access_pattern::sequential();
  EXPECT_EQ(variant.plan(p, ctx.profile()).decided.get<primitives::multipass_decision>().passes, 1U);
}

}  // namespace
}  // namespace sheaf::tests::primitives_movement_multipass_plan_test
