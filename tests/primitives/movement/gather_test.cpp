#include <sheaf/gather.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "primitives/movement/gather.hpp"
#include "support/cases/movement.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::primitives_movement_gather_test {
namespace {

// Input and output of a gather before the call, and the output that the reference makes.
struct gather_trial {
  index_type type;
  image table;
  image index;
  image out;
  image expected;
};

gather_trial prepare(const movement_case& c) {
  gather_trial t{c.index,
                 filled(c.indexed_count, c.record_bytes, c.record_bytes + c.indexed_padding, c.indexed_misalignment, 7),
                 index_list(c.pattern, c.indexed_count, c.count, c.index),
                 poisoned(c.count, c.record_bytes, c.record_bytes + c.sequential_padding, c.sequential_misalignment),
                 {}};
  t.expected = t.out;
  gather(context::cpu(1), std::as_const(t.table).view(), index_view(t.index, t.type), t.expected.view(),
         {.variant = "reference.serial"});
  return t;
}

// Runs the variant and compares its output. Returns false if the variant refuses the problem, which it may only do
// with no_variant.
bool try_variant(const context& ctx, const gather_trial& t, const gather_options& options) {
  const placed table(ctx, t.table);
  const placed index(ctx, t.index);
  const placed out(ctx, t.out);
  const auto call = [&] { gather(ctx, table.view(), index.index(t.type), out.view(), options); };
  const explanation why = explain_gather(ctx, table.view(), index.index(t.type), out.view(), options);
  if (why.choice() == nullptr && t.out.count > 0) {
    message_of(error_code::no_variant, call);
    return false;
  }
  call();
  ctx.wait();
  expect_bytes(out.download(), t.expected, "out");
  expect_bytes(table.download(), t.table, "table");
  expect_bytes(index.download(), t.index, "index");
  return true;
}

class EveryGatherVariant : public testing::TestWithParam<std::string> {};

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::gather_variants()) names.emplace_back(v.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Gather, EveryGatherVariant, testing::ValuesIn(variant_names()), test_name_of);

TEST_P(EveryGatherVariant, MatchesReferenceBitForBit) {
  if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  const auto contexts = contexts_to_try(GetParam());
  std::size_t runs = 0;
  bool hinted = false;
  const std::vector<movement_case> cases = movement_cases(false);
  for (const movement_case& c : cases) {
    SCOPED_TRACE(c.description());
    const gather_trial trial = prepare(c);
    hinted = !hinted;
    for (const named_context& where : contexts) {
      SCOPED_TRACE(where.name);
      const access_pattern pattern = hinted ? hint(c.pattern) : access_pattern::unknown();
      if (try_variant(where.ctx, trial, {.pattern = pattern, .variant = GetParam()})) ++runs;
    }
    if (HasFailure()) break;
  }
  expect_runs(GetParam(), runs, cases.size(),
              {{"cpu.bucketed", 261},
               {"cuda.direct", 166},
               {"cuda.adaptive", 96},
               {"cuda.bucketed", 166},
               {"opengl.texture", 138},
               {"opengl.vertex", 138}});
}

TEST_P(EveryGatherVariant, TrustsGoodIndices) {
  if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  std::size_t runs = 0;
  for (const std::uint64_t width : {1, 4, 16, 24, 100}) {
    for (const index_type type : index_types) {
      const movement_case c{inputs::parse_pattern("uniform"), type, 9001, 777, width};
      SCOPED_TRACE(c.description());
      const gather_trial trial = prepare(c);
      for (const named_context& where : contexts_to_try(GetParam())) {
        SCOPED_TRACE(where.name);
        if (try_variant(where.ctx, trial, {.bounds = bounds::trust, .variant = GetParam()})) ++runs;
      }
    }
  }
  expect_runs(GetParam(), runs, 5 * std::size(index_types),
              {{"cpu.bucketed", 16},
               {"cuda.direct", 12},
               {"cuda.adaptive", 8},
               {"cuda.bucketed", 12},
               {"opengl.texture", 8},
               {"opengl.vertex", 8}});
}

TEST(Gather, IsReadyAfterWaitWhenManyCallsAreQueued) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    constexpr std::uint64_t n = 5000;
    const image first = filled(n, 8, 8, 0, 3);
    const image list = index_list(inputs::parse_pattern("reverse"), n, n, index_type::u32);
    const image nothing = poisoned(n, 8, 8);
    const placed index(where.ctx, list);
    const placed a(where.ctx, first);
    const placed b(where.ctx, nothing);
    const placed c(where.ctx, nothing);
    gather(where.ctx, a.view(), index.index(index_type::u32), b.view());
    gather(where.ctx, b.view(), index.index(index_type::u32), c.view());
    where.ctx.wait();
    const auto got = c.download();
    EXPECT_TRUE(
        std::equal(first.record(0), first.record(0) + n * 8, got.begin() + static_cast<std::ptrdiff_t>(nothing.first)))
        << "reversing twice is not the identity";
  }
}

TEST(Gather, TakesTypedSpans) {
  const context ctx = context::cpu(2);
  const std::vector<double> table{10, 11, 12, 13};
  const std::vector<std::uint32_t> index{3, 3, 0};
  std::vector<double> out(3, -1);
  gather(ctx, std::span(table), std::span(index), std::span(out));
  ctx.wait();
  EXPECT_EQ(out, (std::vector<double>{13, 13, 10}));
}

TEST(Gather, DoesNothingForNoIndices) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    gather(where.ctx, const_records(nullptr, 0, 8), index_span(nullptr, 0, index_type::u64), records(nullptr, 0, 8));
    where.ctx.wait();
    EXPECT_EQ(where.ctx.status(), work_status::done);
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_movement_gather_test
