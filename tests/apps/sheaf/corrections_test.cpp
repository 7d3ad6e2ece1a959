#include "apps/sheaf/corrections.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

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
    jobs::measure_corrections(ctx, m, {.seconds = 1e6, .most_bytes = 64 * 1024, .progress = progress});
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
    EXPECT_GE(of_gathers.size(), 2U);
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
  jobs::measure_corrections(ctx, m, {.seconds = 0});
  EXPECT_TRUE(m.corrections.empty());
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_corrections_test
