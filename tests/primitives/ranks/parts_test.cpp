#include "support/trials/parts.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::primitives_ranks_parts_test {
namespace {

template <class Number>
void check(const context& ctx, const parts_case& c) {
  SCOPED_TRACE(name(c));
  parts_trial<Number>(c).check(ctx);
}

template <class Number>
void everywhere(std::string_view type) {
  for (const named_context& c : every_context()) {
    for (const parts_case& problem : few_rows_in_parts()) {
      SCOPED_TRACE(c.name + ": " + std::string(type));
      check<Number>(c.ctx, problem);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(PartSteps, TellRowsApartAndMoveThem) {
  everywhere<std::uint64_t>("u64");
  everywhere<std::uint32_t>("u32");
  everywhere<std::int64_t>("i64");
  everywhere<double>("f64");
  everywhere<float>("f32");
}

TEST(PartSteps, TellNumbersOfTwoBytesApart) { everywhere<std::int16_t>("i16"); }

TEST(PartSteps, SortManyRowsFromTheirRuns) {
  for (const named_context& c : every_context()) {
    if (c.ctx.backend() == backend_kind::cpu) continue;  // sorts any number of rows
    for (const parts_case& problem : many_rows_in_parts()) {
      SCOPED_TRACE(c.name);
      check<std::uint64_t>(c.ctx, problem);
      check<std::uint32_t>(c.ctx, problem);
      check<double>(c.ctx, problem);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_ranks_parts_test
