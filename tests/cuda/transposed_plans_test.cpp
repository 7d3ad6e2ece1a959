// What plans make of transposed products on the shipped profile of a CUDA device. No device is needed.
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

#include "primitives/sparse/prepare_spmv.hpp"

namespace sheaf::tests::cuda_transposed_plans_test {
namespace {

using primitives::spmv_problem;

machine shipped() {
  for (const machine& m : shipped_machines()) {
    if (m.backend == backend_kind::cuda) return m;
  }
  ADD_FAILURE() << "no profile of a CUDA device is shipped";
  return {};
}

spmv_problem product_of(std::uint64_t entries, std::uint64_t rows, access_pattern pattern = access_pattern::unknown()) {
  spmv_problem p;
  p.backend = backend_kind::cuda;
  p.rows = p.columns = rows;
  p.entries = entries;
  p.transposed = true;
  p.order = reduction_order::unordered;
  p.pattern = pattern;
  return p;
}

plan::planned plan_of(std::string_view variant, const spmv_problem& p) {
  for (const auto& v : primitives::spmv_variants()) {
    if (v.name == variant) return v.plan(p, plan::scope(shipped()));
  }
  ADD_FAILURE() << "there is no variant " << variant;
  return plan::rejected("there is none");
}

std::string decided(const plan::planned& plan, std::string_view what) {
  for (const decided_value& d : plan.decided.told_values()) {
    if (d.what != what) continue;
    const auto* const word = std::get_if<std::string>(&d.value);
    return word != nullptr ? *word : std::to_string(std::get<std::uint64_t>(d.value));
  }
  return "nothing";
}

TEST(TransposedPlansOfCuda, SayWhichColumnsAreHotAndWhereSumsArePrivate) {
  const auto hot = [](const spmv_problem& p) { return decided(plan_of("cuda.atomic", p), "hot_columns"); };
  EXPECT_EQ(hot(product_of(1 << 16, 1 << 12)), "sampled");
  EXPECT_EQ(hot(product_of((1 << 16) - 1, 1 << 12)), "none") << "too few to look at";
  EXPECT_EQ(hot(product_of(1 << 16, 1 << 12, access_pattern::skewed())), "present");
  EXPECT_EQ(hot(product_of(1 << 16, 1 << 12, access_pattern::repeated(9))), "present");
  EXPECT_EQ(hot(product_of(1 << 16, 1 << 12, access_pattern::random())), "none");
  const spmv_problem few = product_of(1 << 20, 100);
  EXPECT_EQ(decided(plan_of("cuda.atomic", few), "copies_of_y"), "16");
  EXPECT_EQ(hot(few), "none") << "each block has copies of y";
}

TEST(TransposedPlansOfCuda, SumsInFixedPointTakeTwentyBytesAColumnAndTwelveWhereNoneCanWrap) {
  spmv_problem p = product_of(1 << 24, 1 << 20);
  p.order = reduction_order::deterministic;
  const plan::planned plan = plan_of("cuda.fixed_point", p);
  EXPECT_EQ(plan.scratch_bytes, 20 << 20);
  EXPECT_FALSE(plan_of("cuda.atomic", p).applicable());
  spmv_problem narrow = p;
  narrow.value = value_type::f32;
  EXPECT_EQ(plan_of("cuda.fixed_point", narrow).scratch_bytes, 12 << 20);
  narrow.has_row_ends = true;  // entries may be in several rows
  EXPECT_EQ(plan_of("cuda.fixed_point", narrow).scratch_bytes, 20 << 20);
  narrow.has_row_ends = false;
  narrow.entries = (std::uint64_t{1} << 30) + 1;
  EXPECT_EQ(plan_of("cuda.fixed_point", narrow).scratch_bytes, 20 << 20);
  EXPECT_EQ(decided(plan, "hot_columns"), "sampled");
  p.columns = 1024;
  EXPECT_EQ(decided(plan_of("cuda.fixed_point", p), "hot_columns"), "present") << "all fit into shared memory";
  p.columns = 1025;
  EXPECT_EQ(decided(plan_of("cuda.fixed_point", p), "hot_columns"), "sampled");
  p.transposed = false;
  EXPECT_STREQ(plan_of("cuda.fixed_point", p).rejection, "multiplies by the transposed matrix");
}

// What a preparation saves is counted against products in the order that is asked for.
TEST(TransposedPlansOfCuda, PreparationsAreComparedWithProductsOfTheirOrder) {
  for (const reduction_order order : {reduction_order::deterministic, reduction_order::unordered}) {
    primitives::prepare_spmv_problem p{product_of(1 << 24, 1 << 20), 10};
    p.product.order = order;
    double least = 0;
    std::string cheapest;
    for (const auto& v : primitives::spmv_variants()) {
      if (v.backend != backend_kind::cuda) continue;
      const plan::planned plan = v.plan(p.product, plan::scope(shipped()));
      if (!plan.applicable() || plan.by_name_only || (!cheapest.empty() && plan.seconds >= least)) continue;
      least = plan.seconds;
      cheapest = v.name;
    }
    EXPECT_EQ(cheapest == "cuda.atomic", order == reduction_order::unordered) << cheapest;
    for (const auto& v : primitives::prepare_spmv_variants()) {
      if (v.name != "kept") continue;
      const plan::planned kept = v.plan(p, plan::scope(shipped()));
      EXPECT_EQ(decided(kept, "product"), cheapest);
      EXPECT_DOUBLE_EQ(kept.seconds, 10 * least);
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_transposed_plans_test
