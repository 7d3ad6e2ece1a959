#include "plan/choose.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>

#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/variant_lists.hpp"

namespace sheaf::tests::plan_planner_test {
namespace {

// A primitive that does nothing, with three variants, whose seconds are part of the problem, and an oracle.
struct priced {
  double fast;
  double slow;
  bool fast_can = true;
  bool slow_can = true;

  friend bool operator==(const priced&, const priced&) = default;
};
struct nothing {};
using priced_variant = plan::variant<priced, nothing>;

plan::planned plan_at(double seconds, bool can) {
  if (!can) return plan::rejected("is switched off");
  plan::planned p;
  p.add("half", seconds / 2).add("other half", seconds / 2);
  p.scratch_bytes = 64;
  return p;
}
plan::planned plan_oracle(const priced&, const plan::scope&) {
  plan::planned p = plan_at(0.001, true);
  p.by_name_only = true;
  return p;
}
plan::planned plan_slow(const priced& p, const plan::scope&) { return plan_at(p.slow, p.slow_can); }
plan::planned plan_fast(const priced& p, const plan::scope&) { return plan_at(p.fast, p.fast_can); }
void run_nothing(const context&, const priced&, const plan::planned&, const nothing&, std::byte*) {}

constexpr priced_variant listed[] = {{"t.oracle", std::nullopt, plan_oracle, run_nothing},
                                     {"t.slow", std::nullopt, plan_slow, run_nothing},
                                     {"t.fast", std::nullopt, plan_fast, run_nothing}};
constexpr std::span<const priced_variant> list = listed;

std::string_view chosen(const priced& p, std::string_view asked = {}) {
  return plan::choose("idle", list, p, context::cpu(1), asked).variant->name;
}
explanation explained(const priced& p, std::string_view asked = {}) {
  return plan::explain("idle", list, p, context::cpu(1), asked);
}

// What plan() decides is bytes, which another variant must not read as its own.
TEST(Planned, IsForTheVariantThatPlannedIt) {
  plan::planned p;
  const std::string message = "a variant was run with the plan of another one";
  const auto expect_refused = [&](const auto& read) {
    try {
      read();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), error_code::internal);
      EXPECT_EQ(e.what(), message);
    }
  };
  expect_refused([&] { static_cast<void>(p.decided.get<int>()); });
  expect_refused([&] { static_cast<void>(p.inner<int>()); });
  p.decided.set(7);
  EXPECT_EQ(p.decided.get<int>(), 7);
  expect_refused([&] { static_cast<void>(p.decided.get<float>()); });
  plan::planned other;
  other.decided.set(7);
  EXPECT_TRUE(p.decided == other.decided);
  other.decided.set(8);
  EXPECT_FALSE(p.decided == other.decided);
  other.decided.set(7U);
  EXPECT_FALSE(p.decided == other.decided) << "the same bytes of another type";
  p.inner_calls = std::make_shared<int>(5);
  EXPECT_EQ(p.inner<int>(), 5);
}

// Errors of work name the variant that runs: the innermost, and none once all are over, however they end.
TEST(Variant, IsWhatTheContextRunsUntilItsWorkIsOver) {
  const context ctx = context::cpu(1);
  static std::vector<std::string> seen;
  seen.clear();
  const auto note = [](const context& c) { seen.emplace_back(c.state().running()); };
  static constexpr priced_variant inner{
      "t.inner", std::nullopt, plan_oracle,
      [](const context& c, const priced&, const plan::planned&, const nothing&, std::byte*) {
        seen.emplace_back(c.state().running());
        throw std::runtime_error("refused");
      }};
  static constexpr priced_variant outer{
      "t.outer", std::nullopt, plan_oracle,
      [](const context& c, const priced& p, const plan::planned& plan, const nothing& b, std::byte* scratch) {
        EXPECT_THROW(inner.run(c, p, plan, b, scratch), std::runtime_error);
        seen.emplace_back(c.state().running());
      }};
  note(ctx);
  outer.run(ctx, {}, {}, {}, nullptr);
  note(ctx);
  EXPECT_EQ(seen, (std::vector<std::string>{"", "t.inner", "t.outer", ""}));
}

TEST(Planned, TermsThatTakeNoTimeOverlapInNone) {
  plan::planned p;
  p.add_overlapped(2, {{"bus", 0}, {"issue", 0}});
  EXPECT_EQ(p.seconds, 0);
  EXPECT_EQ(p.term_count, 2U);
  p.add_overlapped(2, {{"bus", 3}, {"issue", 4}});
  EXPECT_NEAR(p.seconds, 5, 1e-12);
}

TEST(Choose, TakesTheSmallestTimeWhereverItStands) {
  EXPECT_EQ(chosen({1, 2}), "t.fast");
  EXPECT_EQ(chosen({2, 1}), "t.slow");
  EXPECT_EQ(chosen({1, 1}), "t.slow") << "the first of equals";
}

TEST(Choose, PassesOverWhatCannotRun) {
  EXPECT_EQ(chosen({1, 2, false, true}), "t.slow");
  EXPECT_EQ(chosen({2, 1, true, false}), "t.fast");
}

TEST(Choose, TakesTheOracleOnlyByName) {
  EXPECT_EQ(chosen({1, 2}, "t.oracle"), "t.oracle");
  expect_error(
      error_code::no_variant,
      "idle: no variant can run this: t.oracle (runs by name only); t.slow (is switched off); t.fast (is switched off)",
      [] {
        chosen({1, 2, false, false});
      });
}

TEST(Choose, TakesTheForcedOneThoughItIsSlower) { EXPECT_EQ(chosen({1, 9}, "t.slow"), "t.slow"); }

TEST(Choose, SaysWhyTheForcedOneCannotRun) {
  expect_error(error_code::no_variant, "idle: no variant can run this: t.slow (is switched off)", [] {
    chosen({1, 2, true, false}, "t.slow");
  });
  expect_error(error_code::bad_argument, "idle: no variant is named 't.slo'; there are t.oracle, t.slow, t.fast", [] {
    chosen({1, 2}, "t.slo");
  });
}

TEST(Choose, HandsOverThePlanItMade) {
  const auto choice = plan::choose("idle", list, priced{3, 5}, context::cpu(1), "");
  EXPECT_DOUBLE_EQ(choice.plan.seconds, 3);
  EXPECT_EQ(choice.plan.scratch_bytes, 64U);
  EXPECT_EQ(choice.plan.term_count, 2U);
}

TEST(Choose, RemembersOnlyTheVerySameProblem) {
  const context ctx = context::cpu(1);
  const auto chosen_again = [&](const priced& p, std::string_view asked = {}) {
    return plan::choose("idle", list, p, ctx, asked).variant->name;
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(chosen_again({1, 2}), "t.fast");
    EXPECT_EQ(chosen_again({1, 2}), "t.fast");
    EXPECT_EQ(chosen_again({2, 1}), "t.slow");
    EXPECT_EQ(chosen_again({2, 1}, "t.fast"), "t.fast") << "a name comes before what is remembered";
    EXPECT_EQ(chosen_again({2, 1}), "t.slow") << "a forced choice is not remembered";
  }
}

// The first variant costs one launch of the machine.
plan::planned plan_launch(const priced&, const plan::scope& scope) {
  return plan_at(scope.machine.launch_seconds, true);
}
constexpr priced_variant launched[] = {{"t.launch", std::nullopt, plan_launch, run_nothing},
                                       {"t.fast", std::nullopt, plan_fast, run_nothing}};

// Variants that take scratch, the more the faster.
struct scratch_of_names {
  std::vector<std::pair<std::string, std::uint64_t>> runs;
};
using scratch_variant = plan::variant<priced, scratch_of_names*>;

template <std::uint64_t Bytes>
plan::planned plan_taking(const priced&, const plan::scope&) {
  plan::planned p;
  p.add("time", 1.0 / static_cast<double>(Bytes + 1));
  p.scratch_bytes = Bytes;
  p.decided.set(Bytes);
  return p;
}
template <std::uint64_t Bytes>
void run_taking(const context&, const priced&, const plan::planned& p, scratch_of_names* const& made,
                std::byte* scratch) {
  EXPECT_EQ(scratch == nullptr, Bytes == 0);
  made->runs.emplace_back("took", p.decided.get<std::uint64_t>());
}
constexpr scratch_variant takers[] = {{"t.none", std::nullopt, plan_taking<0>, run_taking<0>},
                                      {"t.some", std::nullopt, plan_taking<512>, run_taking<512>},
                                      {"t.much", std::nullopt, plan_taking<4096>, run_taking<4096>}};

TEST(Execute, TakesTheNextCheapestWhereMemoryIsShort) {
  for (const auto& [had, expected] : {std::pair<std::uint64_t, std::uint64_t>{1 << 20, 4096},
                                      {4096, 4096},
                                      {4095, 512},
                                      {512, 512},
                                      {511, 0},
                                      {0, 0}}) {
    SCOPED_TRACE(had);
    context ctx = context::cpu(1);
    scratch_of_names made;
    static std::uint64_t most;
    most = had;
    static memory_resource under;
    under = ctx.state().memory;
    ctx.use(memory_resource{[](void*, std::uint64_t bytes, CUstream_st* stream) -> void* {
                              return bytes <= most ? under.allocate(under.state, bytes, stream) : nullptr;
                            },
                            [](void*, void* block, std::uint64_t bytes, CUstream_st* stream) {
                              under.deallocate(under.state, block, bytes, stream);
                            },
                            nullptr});
    const std::span<const scratch_variant> variants = takers;
    const auto ran = plan::execute<priced, scratch_of_names*>("take", variants, priced{1, 1}, ctx, "", &made);
    EXPECT_EQ(ran.plan.scratch_bytes, expected);
    ASSERT_EQ(made.runs.size(), 1U);
    EXPECT_EQ(made.runs[0].second, expected);
    if (had < 4096) {
      expect_error(error_code::out_of_memory, "take: 4096 bytes of cpu memory are not available", [&] {
        plan::execute<priced, scratch_of_names*>("take", variants, priced{1, 1}, ctx, "t.much", &made);
      });
    }
    ctx.use(under);
    ctx.limit_scratch(had);
    EXPECT_EQ(
        (plan::execute<priced, scratch_of_names*>("take", variants, priced{1, 1}, ctx, "", &made)).plan.scratch_bytes,
        expected);
    if (had < 4096) {
      expect_error(error_code::out_of_memory,
                   fmt::format("take: t.much takes 4096 bytes of scratch, but the context's limit is {}", had), [&] {
                     plan::execute<priced, scratch_of_names*>("take", variants, priced{1, 1}, ctx, "t.much", &made);
                   });
    }
  }
}

TEST(Decision, IsOfTheTypeThatWasDecided) {
  plan::decision decided;
  EXPECT_THROW(decided.get<int>(), error) << "nothing was decided";
  decided.set(7);
  EXPECT_EQ(decided.get<int>(), 7);
  EXPECT_THROW(decided.get<unsigned>(), error);
  EXPECT_THROW(plan::planned().inner<int>(), error);
}

struct told_decision {
  std::uint32_t passes;
  bool streams;
  double run_seconds;
  std::string_view product;

  void tell(plan::told& to) const {
    to.add("passes", passes).add("streams", streams).add("run_seconds", run_seconds).add("product", product);
  }
};

TEST(Decision, TellsWhatItsTypeHasToTell) {
  plan::decision decided;
  EXPECT_EQ(decided.told_values(), std::vector<decided_value>()) << "nothing was decided";
  decided.set(told_decision{3, true, 0.5, "cpu.rows"});
  const std::vector<decided_value> told = decided.told_values();
  ASSERT_EQ(told.size(), 4U);
  EXPECT_STREQ(told[0].what, "passes");
  EXPECT_EQ(std::get<std::uint64_t>(told[0].value), 3U);
  EXPECT_TRUE(std::get<bool>(told[1].value));
  EXPECT_EQ(std::get<double>(told[2].value), 0.5);
  EXPECT_EQ(std::get<std::string>(told[3].value), "cpu.rows");
  EXPECT_EQ(decided.get<told_decision>().passes, 3U);
  decided.set(7);
  EXPECT_TRUE(decided.told_values().empty()) << "a number tells nothing";
}

// A variant for another backend does not exist for this context, but its name is known.
constexpr priced_variant elsewhere[] = {{"cuda.fast", backend_kind::cuda, plan_fast, run_nothing},
                                        {"cpu.slow", backend_kind::cpu, plan_slow, run_nothing}};

TEST(Choose, LooksAtTheContextsBackendAlone) {
  const std::span<const priced_variant> variants = elsewhere;
  const context ctx = context::cpu(1);
  EXPECT_EQ(plan::choose("idle", variants, priced{1, 2}, ctx, "").variant->name, "cpu.slow");
  EXPECT_EQ(plan::explain("idle", variants, priced{1, 2}, ctx, "").variants.size(), 1U);
  expect_error(error_code::no_variant, "idle: no variant can run this: cuda.fast (works on cuda memory)", [&] {
    plan::choose("idle", variants, priced{1, 2}, ctx, "cuda.fast");
  });
  expect_error(error_code::bad_argument, "idle: no variant is named 'fast'; there are cpu.slow", [&] {
    plan::choose("idle", variants, priced{1, 2}, ctx, "fast");
  });
}

TEST(Choose, ForgetsWithANewProfile) {
  context ctx = context::cpu(1);
  const auto chosen_now = [&] {
    return plan::choose("idle", std::span<const priced_variant>(launched), priced{1, 1}, ctx, "").variant->name;
  };
  machine m = ctx.profile();
  m.launch_seconds = 0.5;
  ctx.use(m);
  EXPECT_EQ(chosen_now(), "t.launch");
  m.launch_seconds = 2;
  ctx.use(m);
  EXPECT_EQ(chosen_now(), "t.fast");
}

TEST(Explain, GivesAReasonToEveryLoser) {
  const explanation why = explained({2, 5});
  ASSERT_EQ(why.variants.size(), 3U);
  EXPECT_EQ(why.primitive, "idle");
  EXPECT_FALSE(why.machine.empty());
  EXPECT_EQ(why.choice()->variant, "t.fast");
  EXPECT_EQ(why.variants[0].reason, "runs by name only");
  EXPECT_EQ(why.variants[1].reason, "predicted 2.50x the time of t.fast");
  EXPECT_EQ(why.variants[2].reason, "");
  EXPECT_EQ(explained({2, 5}, "t.slow").variants[2].reason, "t.slow is forced");
  EXPECT_EQ(explained({2, 5}, "t.oracle").choice()->variant, "t.oracle");
  EXPECT_EQ(explained({2, 5}, "t.oracle").choice()->reason, "");
}

TEST(Explain, ListsReasonsWhereNothingCanRun) {
  const explanation why = explained({1, 2, false, false});
  EXPECT_EQ(why.choice(), nullptr);
  EXPECT_EQ(why.variants[1].reason, "is switched off");
  EXPECT_FALSE(why.variants[1].applicable);
}

// Each problem is planned on each of these machines in every build: a plan reads numbers only.
std::vector<context> planning_contexts() {
  std::vector<context> all;
  for (const named_context& where : every_context()) all.push_back(where.ctx);
  return all;
}

void expect_whole(const explanation& why, std::size_t variants) {
  ASSERT_EQ(why.variants.size(), variants);
  std::set<std::string> names;
  std::size_t chosen = 0;
  for (const variant_estimate& v : why.variants) {
    SCOPED_TRACE(v.variant);
    names.insert(v.variant);
    chosen += v.chosen ? 1 : 0;
    EXPECT_EQ(v.reason.empty(), v.chosen);
    const double sum = std::accumulate(v.terms.begin(), v.terms.end(), 0.0,
                                       [](double s, const cost_term& t) { return s + t.seconds; });
    EXPECT_DOUBLE_EQ(sum, v.seconds);
    if (!v.applicable) continue;
    EXPECT_GT(v.seconds, 0) << "free of charge";
    EXPECT_FALSE(v.terms.empty());
    for (const cost_term& t : v.terms) {
      if (std::string_view(t.what) != "overlap") {
        EXPECT_GE(t.seconds, 0) << t.what;
      } else {
        EXPECT_LE(t.seconds, 0);
      }
    }
    if (v.reason != "runs by name only") {
      EXPECT_GE(v.seconds, why.choice()->seconds);
    }
  }
  EXPECT_EQ(names.size(), variants) << "two variants share a name";
  EXPECT_EQ(chosen, 1U);
  EXPECT_FALSE(why.choice()->variant.starts_with("reference.")) << "the oracle was chosen unasked";
}

// count, indexed count, record width and padding in bytes
struct view_shape {
  std::uint64_t count, indexed_count, width, padding;
};
constexpr view_shape shapes[] = {{1, 1, 1, 0},
                                 {1000, 1000, 4, 0},
                                 {1 << 20, 1 << 20, 16, 0},
                                 {1 << 26, 1 << 26, 8, 0},
                                 {1 << 20, 1 << 28, 3, 5},
                                 {1 << 24, 1 << 24, 100, 0},
                                 {1 << 10, 1 << 20, 65536, 0},
                                 {std::uint64_t{1} << 33, std::uint64_t{1} << 33, 1, 0},
                                 {1 << 20, 7, 16, 0}};
constexpr access_pattern hints[] = {access_pattern::unknown(),       access_pattern::sequential(),
                                    access_pattern::random(),        access_pattern::partitioned(256),
                                    access_pattern::clustered(4096), access_pattern::strided(16),
                                    access_pattern::skewed(),        access_pattern::repeated(1)};

TEST(Explain, CoversEveryGatherVariantAndAgreesWithTheChoice) {
  for (const context& ctx : planning_contexts()) {
    for (const view_shape& s : shapes) {
      for (const access_pattern& pattern : hints) {
        const records out(nullptr, s.count, s.width, s.width + s.padding);
        const const_records table(nullptr, s.indexed_count, s.width, s.width + s.padding);
        const index_span index(nullptr, s.count, index_type::u64);
        const auto why = explain_gather(ctx, table, index, out, {.pattern = pattern});
        ASSERT_NO_FATAL_FAILURE(expect_whole(why, count_of(primitives::gather_variants(), ctx.backend())));
        const primitives::gather_problem problem{
            primitives::describe_movement(ctx, out, index, table, pattern, bounds::check)};
        EXPECT_EQ(plan::choose("gather", primitives::gather_variants(), problem, ctx, "").variant->name,
                  why.choice()->variant);
      }
    }
  }
}

TEST(Explain, CoversEveryScatterVariantAndAgreesWithTheChoice) {
  for (const context& ctx : planning_contexts()) {
    for (const view_shape& s : shapes) {
      for (const duplicates order : {duplicates::any, duplicates::last}) {
        const const_records in(nullptr, s.count, s.width, s.width + s.padding);
        const records out(nullptr, s.indexed_count, s.width, s.width + s.padding);
        const index_span index(nullptr, s.count, index_type::i64);
        const auto why = explain_scatter(ctx, in, index, out, {.duplicates = order});
        ASSERT_NO_FATAL_FAILURE(expect_whole(why, count_of(primitives::scatter_variants(), ctx.backend())));
        const primitives::scatter_problem problem{primitives::describe_movement(ctx, in, index, out, {}, bounds::check),
                                                  order};
        EXPECT_EQ(plan::choose("scatter", primitives::scatter_variants(), problem, ctx, "").variant->name,
                  why.choice()->variant);
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::plan_planner_test
