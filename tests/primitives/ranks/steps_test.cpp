#include "support/contexts.hpp"
#include "support/trials/ranks.hpp"

namespace sheaf::tests::primitives_ranks_steps_test {
namespace {

template <class Check>
void everywhere(Check check) {
  for (const named_context& c : every_context()) {
    for (const routing_steps_case& problem : routing_steps_cases()) {
      SCOPED_TRACE(c.name + ": " + std::to_string(problem.ranks) + " ranks, " + std::to_string(problem.entries) +
                   " entries of type " + std::to_string(static_cast<int>(problem.type)) + ", width " +
                   std::to_string(problem.width));
      check(routing_steps_trial(problem), c.ctx);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(RoutingSteps, RoutesFindOwnersRowsAndTheFirstBadEntry) {
  everywhere([](const routing_steps_trial& trial, const context& ctx) { trial.check_route(ctx); });
}

TEST(RoutingSteps, GathersFromPartsReadEveryPart) {
  everywhere([](const routing_steps_trial& trial, const context& ctx) { trial.check_gather(ctx); });
}

TEST(RoutingSteps, SayHowMuchMemoryIsFree) {
  for (const named_context& c : every_context())
    EXPECT_GT(primitives::routing_steps_of(c.ctx.backend()).free_bytes(c.ctx), 0U) << c.name;
}

}  // namespace
}  // namespace sheaf::tests::primitives_ranks_steps_test
