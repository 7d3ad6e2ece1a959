#include "apps/sheaf/corrections.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

#include "lab/description/job.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::apps_sheaf_corrections_test {
namespace {

TEST(Corrections, AreMeasuredOfEveryVariantThatCompetesAndComeBackFromAFile) {
  for (const named_context& named : every_context()) {
    SCOPED_TRACE(named.name);
    context ctx = context::on(named.ctx.backend(), named.ctx.threads());
    machine m = ctx.profile();
    double share = 0;
    std::set<std::string, std::less<>> announced;
    const auto progress = [&](std::string_view what, double done) {
      EXPECT_GE(done, share);
      EXPECT_LT(done, 1);
      share = done;
      announced.emplace(what);
    };
    jobs::measure_corrections(ctx, m, m, {.seconds = 1e6, .most_bytes = 64 * 1024, .progress = progress});
    EXPECT_TRUE(announced.contains("gather"));
    EXPECT_TRUE(announced.contains("sort_pairs"));
    EXPECT_TRUE(announced.contains("spmv"));
    ASSERT_FALSE(m.corrections.empty());
    EXPECT_EQ(ctx.profile().corrections.size(), m.corrections.size());
    std::set<std::string> of_gathers;
    std::set<std::string> of_products;
    for (const variant_correction& c : m.corrections) {
      EXPECT_GT(c.factor, 0);
      if (c.primitive == "gather") of_gathers.insert(c.variant);
      if (c.primitive == "spmv") of_products.insert(c.variant);
    }
    // A small gather has one variant, whose correction says how long it takes.
    EXPECT_GE(of_gathers.size(), 1U);
    EXPECT_GE(of_products.size(), 2U);
    const machine back = parse_machine(format_machine(m), "m.json");
    ASSERT_EQ(back.corrections.size(), m.corrections.size());
    EXPECT_EQ(format_machine(back), format_machine(m));
  }
}

TEST(Corrections, EndWithTheTimeTheyAreGiven) {
  context ctx = context::cpu(1);
  machine m = ctx.profile();
  m.corrections.push_back({"gather", "cpu.direct", access_pattern::kind::random, 8, 8, 8, 2});
  EXPECT_TRUE(jobs::measure_corrections(ctx, m, m, {.seconds = 0}).empty());
  EXPECT_TRUE(m.corrections.empty());
}

using primitives::problem_spec;

// What a variant takes on a machine, in place of a run.
double seconds_on(const machine& m, const problem_spec& problem, std::string_view variant) {
  const auto estimates = entry_of(problem).estimates(problem, m.backend, m);
  return std::ranges::find(estimates, variant, &variant_estimate::variant)->seconds;
}

std::string choice_of(const machine& m, const problem_spec& problem) {
  return primitives::cheapest(entry_of(problem).estimates(problem, m.backend, m))->variant;
}

TEST(Corrections, KeepWhatTheShippedProfileChoosesWhereItChoosesBetter) {
  context ctx = context::cpu(1);
  const machine shipped = nearest_machine(backend_kind::cpu, "").with_parallelism(1);
  machine m = shipped;
  // A measurement that a load disturbed at every other point of its curves, and its rates of streams and steps.
  for (auto* rates : {&m.random_read, &m.random_write}) {
    for (std::size_t i = 0; i < rates->size(); ++i) (*rates)[i].records_per_second *= i % 2 == 0 ? 15 : 1.0 / 15;
  }
  m.cached_bytes_per_second *= 15;
  m.copy_bytes_per_second /= 15;
  m.digit_seconds /= 15;
  const std::vector<jobs::better_shipped> better = jobs::measure_corrections(
      ctx, m, shipped,
      {.seconds = 1e6,
       .now = [] { return 0.0; },
       .seconds_of = [&](const auto& p, auto variant) { return 3 * seconds_on(shipped, p, variant); }});
  // Which sort it is depends on the instructions of the processor that runs this.
  std::string_view name = "sort_gather_index/uniform/r4/u64";
  auto found = std::ranges::find(better, "sort_gather_index", &jobs::better_shipped::primitive);
  if (found == better.end()) {
    name = "sort_pairs/uniform/r8/u64";
    found = std::ranges::find(better, "sort_pairs", &jobs::better_shipped::primitive);
  }
  std::string all;
  for (const jobs::better_shipped& b : better) all += b.primitive + " ";
  ASSERT_NE(found, better.end()) << "but of " << all;
  EXPECT_NEAR(found->shipped_loss, 1, 1e-9);
  EXPECT_GT(found->loss, 1.02);
  for (const std::uint64_t count : {std::uint64_t{4} << 10, std::uint64_t{64} << 10, std::uint64_t{1} << 20}) {
    const problem_spec p = jobs::problem_of({name}, count);
    const std::string variant = choice_of(m, p);
    // The factors of other problems, which this measurement scatters by 225, have a little weight here.
    EXPECT_LE(seconds_on(shipped, p, variant), 1.1 * seconds_on(shipped, p, choice_of(shipped, p))) << variant;
    EXPECT_NEAR(seconds_on(m, p, variant), 3 * seconds_on(shipped, p, variant), 0.4 * seconds_on(shipped, p, variant))
        << "predictions are those of the shipped profile, times how far off they are";
  }
}

TEST(Corrections, AreTheMeasuredOnesWhereTheseChooseBetter) {
  context ctx = context::cpu(1);
  const machine truth = nearest_machine(backend_kind::cpu, "").with_parallelism(1);
  machine shipped = truth;
  for (std::size_t i = 0; i < shipped.random_read.size(); ++i) shipped.random_read[i].records_per_second *= 15;
  machine m = truth;
  const std::vector<jobs::better_shipped> better = jobs::measure_corrections(
      ctx, m, shipped,
      {.seconds = 1e6,
       .now = [] { return 0.0; },
       .seconds_of = [&](const auto& p, auto variant) { return 2 * seconds_on(truth, p, variant); }});
  EXPECT_TRUE(better.empty());
  for (const variant_correction& c : m.corrections) {
    // Plans that are told no order took as long as those with it.
    if (c.primitive != "gather" || c.order == access_pattern::kind::unknown) continue;
    EXPECT_NEAR(c.factor, 2, 1e-3) << c.variant;
  }
}

TEST(Corrections, KeepToTheirTimeAndGiveEachPrimitiveItsShare) {
  context ctx = context::cpu(1);
  machine m = nearest_machine(backend_kind::cpu, "").with_parallelism(1);
  double clock = 0;
  const auto now = [&] { return clock; };
  const auto run = [&](const problem_spec& p, std::string_view) {
    clock += static_cast<double>(p.count * p.record_bytes) * 2e-9;
    return 1e-3;
  };
  jobs::measure_corrections(ctx, m, m, {.seconds = 10, .now = now, .seconds_of = run});
  EXPECT_LT(clock, 13) << "a problem that has begun is run to its end";
  std::set<std::string, std::less<>> measured;
  for (const variant_correction& c : m.corrections) measured.insert(c.primitive);
  for (const char* primitive : {"gather", "scatter", "split", "sort_pairs", "list_rank", "list_scan",
                                "build_hash_index", "hash_search", "hash_count", "spmv"}) {
    EXPECT_TRUE(measured.contains(primitive)) << primitive;
  }
  // Those that have the same variants on the host are measured once.
  for (const char* primitive : {"split_unstable", "hash_find", "hash_contains"}) {
    EXPECT_FALSE(measured.contains(primitive)) << primitive;
  }
  for (const variant_correction& c : m.corrections) EXPECT_FALSE(c.variant.starts_with("reference.")) << c.primitive;
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_corrections_test
