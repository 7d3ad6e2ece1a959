#include "plan/learning.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/cpu_state.hpp"
#include "plan/choose.hpp"
#include "support/expect_error.hpp"
#include "support/replayed_clock.hpp"

namespace sheaf::tests::plan_learning_test {
namespace {

// A primitive that notes who ran, with three variants: one takes seconds that the problem says, one more, one far more.
struct timed {
  std::uint64_t count = 4;
  double seconds_each = 1;
  double rival_seconds_each = 1.5;
  std::uint64_t scratch_bytes = 0;  ///< of the rival
  bool promises_one_result = true;
  friend bool operator==(const timed&, const timed&) = default;
};
struct notes {
  std::vector<std::string> ran;
  access_pattern::kind order = access_pattern::kind::unknown;
  bool throws = false;
  bool finds_bad_index = false;
};
using notes_buffers = notes*;
using timed_variant_of_test = plan::variant<timed, notes_buffers>;

std::optional<timed> learned_shape(const timed& p) {
  if (!p.promises_one_result) return std::nullopt;
  timed shape = p;
  shape.count = std::bit_floor(p.count);
  return shape;
}
access_pattern::kind sampled_order(const context&, const timed&, notes* const& n) { return n->order; }

plan::planned plan_at(double seconds, std::uint64_t scratch_bytes = 0) {
  plan::planned p;
  p.add("time", seconds);
  p.scratch_bytes = scratch_bytes;
  return p;
}
plan::planned plan_near(const timed& p, const plan::scope&) {
  return plan_at(p.seconds_each * static_cast<double>(p.count));
}
plan::planned plan_rival(const timed& p, const plan::scope&) {
  return plan_at(p.rival_seconds_each * static_cast<double>(p.count), p.scratch_bytes);
}
plan::planned plan_far(const timed&, const plan::scope&) { return plan_at(1e9); }
void run_noted(const context& ctx, const timed&, const plan::planned&, notes* const& n, std::byte*) {
  n->ran.emplace_back(ctx.state().running());
  if (n->throws) throw std::runtime_error("refused");
  if (n->finds_bad_index) {
    static constexpr core::index_wording wording{"note", "index", "the table's", "records"};
    core::cpu(ctx).keep_first({.call = 1, .position = 0, .value = 9, .limit = 1, .wording = &wording});
  }
}

constexpr timed_variant_of_test listed[] = {{"t.far", std::nullopt, plan_far, run_noted},
                                            {"t.near", std::nullopt, plan_near, run_noted},
                                            {"t.rival", std::nullopt, plan_rival, run_noted}};
constexpr std::span<const timed_variant_of_test> list = listed;

void call(const context& ctx, const timed& p, notes& n, std::string_view asked = {}) {
  plan::execute<timed, notes_buffers>("note", list, p, ctx, asked, &n);
}

context learner() {
  context ctx = context::cpu(1);
  ctx.learn(true);
  return ctx;
}

std::vector<std::string> ran_in(const context& ctx, const timed& p, std::size_t calls, std::string_view asked = {}) {
  notes n;
  for (std::size_t i = 0; i < calls; ++i) call(ctx, p, n, asked);
  return n.ran;
}

explanation explained(const context& ctx, const timed& p) { return plan::explain("note", list, p, ctx, ""); }

using names = std::vector<std::string>;
names operator+(names first, const names& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

TEST(Learning, TimesBothInTurnAndKeepsTheFaster) {
  const context ctx = learner();
  const auto clock = replay(ctx, {9, 3, 8, 4});
  EXPECT_EQ(ran_in(ctx, {}, 8),
            (names{"t.near", "t.rival", "t.near", "t.rival", "t.rival", "t.rival", "t.rival", "t.rival"}));
  EXPECT_EQ(clock->calls(), 4U);
}

TEST(Learning, KeepsTheCheapestWhereItWasTheFaster) {
  const context ctx = learner();
  replay(ctx, {3, 9, 4, 2.9});
  EXPECT_EQ(ran_in(ctx, {}, 6), (names{"t.near", "t.rival", "t.near", "t.rival", "t.rival", "t.rival"}))
      << "the least of the times of each counts";
  const context other = learner();
  replay(other, {3, 9, 4, 3});
  EXPECT_EQ(ran_in(other, {}, 6).back(), "t.near") << "the cheapest of equals";
}

TEST(Learning, IsOffUnlessItIsAskedFor) {
  const context ctx = context::cpu(1);
  if (ctx.learns()) GTEST_SKIP() << "SHEAF_LEARN is 1";
  const auto clock = replay(ctx, {});
  EXPECT_EQ(ran_in(ctx, {}, 4), names(4, "t.near"));
  EXPECT_EQ(clock->times_asked, 0U);
  EXPECT_EQ(explained(ctx, {}).learned, "");
}

TEST(Learning, LeavesAloneWhatIsNotCloseOrTooShort) {
  const context ctx = learner();
  const auto clock = replay(ctx, {});
  EXPECT_EQ(ran_in(ctx, {.rival_seconds_each = 2.1}, 4), names(4, "t.near"));
  EXPECT_EQ(ran_in(ctx, {.seconds_each = 1e-4, .rival_seconds_each = 1.1e-4}, 4), names(4, "t.near"));
  EXPECT_EQ(ran_in(ctx, {}, 3, "t.rival"), names(3, "t.rival")) << "forced";
  EXPECT_EQ(ran_in(ctx, {.promises_one_result = false}, 4), names(4, "t.near"));
  EXPECT_EQ(clock->times_asked, 0U);
}

// What is kept is measured over predicted time: a variant that was timed with twice the work was not half as fast.
TEST(Learning, HoldsForAllCountsOfAShape) {
  const context ctx = learner();
  const auto clock = replay(ctx, {8, 9, 8, 9});
  notes n;
  call(ctx, {.count = 4}, n);  // 8 s where 4 were predicted
  call(ctx, {.count = 7}, n);  // 9 s where 10.5 were predicted
  call(ctx, {.count = 4}, n);
  call(ctx, {.count = 7}, n);
  for (const std::uint64_t count : {4, 5, 6, 7}) call(ctx, {.count = count}, n);
  EXPECT_EQ(n.ran, (names{"t.near", "t.rival", "t.near", "t.rival", "t.rival", "t.rival", "t.rival", "t.rival"}));
  EXPECT_EQ(clock->calls(), 4U);
  clock->seconds.push_back(1);
  call(ctx, {.count = 8}, n);
  EXPECT_EQ(n.ran.back(), "t.near") << "another shape";
  EXPECT_EQ(clock->calls(), 5U);
}

TEST(Learning, DoesNotCountTheFirstCallByAVariantWithScratch) {
  const context ctx = learner();
  const auto clock = replay(ctx, {2, 50, 2, 1, 1});
  EXPECT_EQ(ran_in(ctx, {.scratch_bytes = 64}, 7),
            (names{"t.near", "t.rival", "t.near", "t.rival", "t.rival", "t.rival", "t.rival"}));
  EXPECT_EQ(clock->calls(), 5U);
  EXPECT_EQ(explained(ctx, {.scratch_bytes = 64}).learned,
            "chosen by 4 timed calls: t.near took 2.00x the time of t.rival");
}

TEST(Learning, KnowsListsOfAnotherOrderApart) {
  const context ctx = learner();
  replay(ctx, {1, 2, 1, 2, 2, 1, 2, 1});
  notes in_order{.ran = {}, .order = access_pattern::kind::sequential};
  notes at_random{.ran = {}, .order = access_pattern::kind::random};
  for (int i = 0; i < 5; ++i) call(ctx, {}, in_order);
  for (int i = 0; i < 5; ++i) call(ctx, {}, at_random);
  EXPECT_EQ(in_order.ran.back(), "t.near");
  EXPECT_EQ(at_random.ran.back(), "t.rival");
  EXPECT_EQ(explained(ctx, {}).choice()->variant, "t.rival") << "the last list that came";
  call(ctx, {}, in_order);
  EXPECT_EQ(in_order.ran.back(), "t.near");
  EXPECT_EQ(explained(ctx, {}).choice()->variant, "t.near");
}

TEST(Learning, ForgetsWithProfileScratchLimitAndSwitch) {
  context ctx = learner();
  const auto forgets_by = [&](auto change) {
    replay(ctx, {2, 1, 2, 1, 1});
    EXPECT_EQ(ran_in(ctx, {}, 5).back(), "t.rival");
    change();
    EXPECT_EQ(explained(ctx, {}).learned, "");
    EXPECT_EQ(ran_in(ctx, {}, 1).back(), "t.near");
    ctx.learn(true);
  };
  forgets_by([&] { ctx.use(machine(ctx.profile())); });
  forgets_by([&] { ctx.limit_scratch(1 << 20); });
  forgets_by([&] { ctx.learn(false); });
  forgets_by([&] { ctx.learn(true); });
}

TEST(Learning, KeepsTheShapesThatWereUsedLast) {
  const context ctx = learner();
  const auto shape = [](std::size_t i) { return timed{.seconds_each = 1 + static_cast<double>(i) / 1000}; };
  const std::size_t most = plan::timed_shapes::most_shapes;
  const auto clock = replay(ctx, std::vector<double>(2 * most + 8, 1));
  const auto& known = [&]() -> const plan::timed_shapes& { return plan::learned_by(ctx.state()); };
  for (std::size_t i = 0; i < most; ++i) ran_in(ctx, shape(i), 1);
  EXPECT_EQ(known().size(), most);
  ran_in(ctx, shape(0), 1);
  ran_in(ctx, shape(most), 1);
  EXPECT_EQ(known().size(), most);
  EXPECT_EQ(explained(ctx, shape(0)).learned, "timed calls so far: 2; the next one takes t.near");
  EXPECT_EQ(explained(ctx, shape(1)).learned, "") << "used least recently";
  EXPECT_NE(explained(ctx, shape(2)).learned, "");
  EXPECT_NE(explained(ctx, shape(most)).learned, "");
}

TEST(Learning, GivesUpAPlanWhoseScratchIsNotToBeHad) {
  context ctx = learner();
  static memory_resource under;
  under = ctx.state().memory;
  ctx.use(memory_resource{[](void*, std::uint64_t, CUstream_st*) -> void* { return nullptr; },
                          [](void*, void* block, std::uint64_t bytes, CUstream_st* stream) {
                            under.deallocate(under.state, block, bytes, stream);
                          },
                          nullptr});
  const auto clock = replay(ctx, {1, 1, 1});
  const timed p{.scratch_bytes = 64};
  EXPECT_EQ(ran_in(ctx, p, 2), names(2, "t.near"));
  EXPECT_EQ(clock->times_asked, 3U) << "the second call began as the rival's, and had no scratch";
  clock->times_asked = 4;
  EXPECT_EQ(ran_in(ctx, p, 2), names(2, "t.near"));
  EXPECT_EQ(explained(ctx, p).learned, "chosen by 2 timed calls: t.rival had no memory for its scratch");
}

TEST(Learning, AsksForScratchAgainAfterAWhile) {
  context ctx = learner();
  static memory_resource under;
  static bool is_short;
  under = ctx.state().memory;
  is_short = true;
  ctx.use(memory_resource{[](void*, std::uint64_t bytes, CUstream_st* stream) -> void* {
                            return is_short ? nullptr : under.allocate(under.state, bytes, stream);
                          },
                          [](void*, void* block, std::uint64_t bytes, CUstream_st* stream) {
                            under.deallocate(under.state, block, bytes, stream);
                          },
                          nullptr});
  const auto clock = replay(ctx, {3, 0, 3, 9, 1, 3, 1, 1});
  const timed p{.scratch_bytes = 64};
  EXPECT_EQ(ran_in(ctx, p, 2), names(2, "t.near"));
  clock->times_asked = 4;  // the second call began as the rival's
  EXPECT_EQ(ran_in(ctx, p, 16), names(16, "t.near"));
  is_short = false;
  EXPECT_EQ(ran_in(ctx, p, 8),
            (names{"t.near", "t.rival", "t.rival", "t.near", "t.rival", "t.rival", "t.rival", "t.rival"}));
  EXPECT_EQ(clock->calls(), 8U);
}

TEST(Learning, CountsNoCallThatFails) {
  const context ctx = learner();
  double now = 0;
  ctx.state().clock = [&] { return now += 1; };
  notes n;
  n.throws = true;
  for (int i = 0; i < 3; ++i) EXPECT_THROW(call(ctx, {}, n), std::runtime_error);
  EXPECT_EQ(n.ran, names(3, "t.near"));
  n.throws = false;
  n.finds_bad_index = true;
  for (int i = 0; i < 3; ++i) call(ctx, {}, n);
  EXPECT_EQ(n.ran, names(6, "t.near"));
  EXPECT_EQ(explained(ctx, {}).learned, "timed calls so far: 0; the next one takes t.near");
  expect_error(error_code::bad_index, "note: index[0] is 9, past the table's 1 records", [&] { ctx.wait(); });
  n.finds_bad_index = false;
  for (int i = 0; i < 2; ++i) call(ctx, {}, n);
  EXPECT_EQ(n.ran.back(), "t.rival");
}

// A state whose work goes into a graph, and one whose calls return before their work is done.
class other_state final : public core::host_state {
 public:
  other_state(bool captured, bool done) : host_state(backend_kind::cpu, "test"), captured_(captured), done_(done) {
    learn(true);
  }
  bool is_captured() const override { return captured_; }
  bool is_done_on_return() const noexcept override { return done_; }

 private:
  std::string_view lost_in_a_fork() const noexcept override { return ""; }
  std::string_view works_on() const noexcept override { return "a test"; }
  bool captured_;
  bool done_;
};

TEST(Learning, TimesOnlyOutermostCallsThatRunAndAreDone) {
  EXPECT_TRUE(plan::may_learn(other_state(false, true)));
  EXPECT_FALSE(plan::may_learn(other_state(true, true))) << "captured";
  EXPECT_FALSE(plan::may_learn(other_state(false, false))) << "asynchronous";
  other_state busy(false, true);
  const core::running_scope inside(busy, "t.outer");
  EXPECT_FALSE(plan::may_learn(busy)) << "a call inside a call";
}

// Other work of the machine made the rival's first calls slow.
TEST(Learning, LooksAgainEverMoreRarely) {
  const context ctx = learner();
  const auto clock = replay(ctx, {3, 9, 3, 9, 3, 1, 3, 1, 3, 1});
  EXPECT_EQ(ran_in(ctx, {}, 20), names({"t.near", "t.rival", "t.near", "t.rival"}) + names(16, "t.near"));
  EXPECT_EQ(clock->calls(), 4U);
  EXPECT_EQ(explained(ctx, {}).learned, "timed calls so far: 4; the next one takes t.near");
  EXPECT_EQ(ran_in(ctx, {}, 50), names({"t.near", "t.rival"}) + names(48, "t.rival"));
  EXPECT_EQ(clock->calls(), 6U);
  EXPECT_EQ(ran_in(ctx, {}, 3), names({"t.near", "t.rival", "t.rival"})) << "after 64 calls by what is known";
  EXPECT_EQ(clock->calls(), 8U);
  ran_in(ctx, {}, 190);
  EXPECT_EQ(clock->calls(), 8U);
  ran_in(ctx, {}, 3);
  EXPECT_EQ(clock->calls(), 10U) << "after 256";
}

TEST(Learning, IsExplained) {
  const context ctx = learner();
  replay(ctx, {8, 3, 10, 4});
  EXPECT_EQ(explained(ctx, {}).learned, "");
  ran_in(ctx, {}, 1);
  explanation why = explained(ctx, {});
  EXPECT_EQ(why.learned, "timed calls so far: 1; the next one takes t.rival");
  EXPECT_EQ(why.choice()->variant, "t.rival");
  EXPECT_EQ(why.variants[1].reason, "t.rival is timed next");
  EXPECT_EQ(why.variants[1].timed_calls, 1U);
  EXPECT_DOUBLE_EQ(why.variants[1].timed_seconds, 8);
  EXPECT_EQ(why.variants[2].timed_calls, 0U);
  EXPECT_EQ(why.variants[2].timed_seconds, 0);
  ran_in(ctx, {}, 3);
  why = explained(ctx, {});
  EXPECT_EQ(why.learned, "chosen by 4 timed calls: t.near took 2.67x the time of t.rival");
  EXPECT_EQ(why.choice()->variant, "t.rival");
  EXPECT_EQ(why.choice()->reason, "");
  EXPECT_EQ(why.variants[1].reason, "took 2.67x the time of t.rival");
  EXPECT_EQ(why.variants[0].timed_calls, 0U);
  EXPECT_TRUE(why.variants[0].reason.starts_with("predicted ")) << why.variants[0].reason;
  why = explained(ctx, {.count = 6});
  EXPECT_DOUBLE_EQ(why.choice()->timed_seconds, 4.5) << "scaled to this count";
  EXPECT_EQ(plan::explain("note", list, timed{}, ctx, "t.near").learned, "") << "forced";
}

}  // namespace
}  // namespace sheaf::tests::plan_learning_test
