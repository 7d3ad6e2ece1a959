// What plans make of transposed products on the shipped profile of a CUDA device. No device is needed.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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

// Recorded on an H200 (docs/experiments/sparse.md, the prices of atomics).
TEST(TransposedPlansOfCuda, PriceSumsByAtomicsAsRecorded) {
  struct recorded {
    const char* matrix;
    std::uint64_t entries;
    std::uint64_t rows;
    value_type value;
    access_pattern pattern;
    double in_any_order;  // microseconds
    double in_fixed_order;
  };
  const recorded set[] = {
      {"banded", 1 << 20, 65'536, value_type::f32, access_pattern::clustered(16), 22, 29},
      {"grid", 1 << 20, 149'797, value_type::f32, access_pattern::clustered(90'000), 24, 33},
      {"uniform", 1 << 20, 65'536, value_type::f32, access_pattern::random(), 31, 52},
      {"uniform of rows by Zipf", 1 << 20, 122'111, value_type::f32, access_pattern::random(), 32, 60},
      {"zipf", 1 << 20, 65'536, value_type::f32, access_pattern::skewed(), 30, 45},
      {"banded", 1 << 20, 65'536, value_type::f64, access_pattern::clustered(16), 22, 32},
      {"grid", 1 << 20, 149'797, value_type::f64, access_pattern::clustered(90'000), 25, 38},
      {"uniform", 1 << 20, 65'536, value_type::f64, access_pattern::random(), 30, 54},
      {"uniform of rows by Zipf", 1 << 20, 122'111, value_type::f64, access_pattern::random(), 32, 65},
      {"zipf", 1 << 20, 65'536, value_type::f64, access_pattern::skewed(), 30, 47},
      {"banded", 1 << 23, 524'288, value_type::f32, access_pattern::clustered(16), 50, 97},
      {"grid", 1 << 23, 1'198'373, value_type::f32, access_pattern::clustered(90'000), 64, 119},
      {"uniform", 1 << 23, 524'288, value_type::f32, access_pattern::random(), 109, 233},
      {"uniform of rows by Zipf", 1 << 23, 819'200, value_type::f32, access_pattern::random(), 115, 249},
      {"zipf", 1 << 23, 524'288, value_type::f32, access_pattern::skewed(), 108, 205},
      {"banded", 1 << 23, 524'288, value_type::f64, access_pattern::clustered(16), 65, 123},
      {"grid", 1 << 23, 1'198'373, value_type::f64, access_pattern::clustered(90'000), 77, 158},
      {"uniform", 1 << 23, 524'288, value_type::f64, access_pattern::random(), 114, 244},
      {"uniform of rows by Zipf", 1 << 23, 819'200, value_type::f64, access_pattern::random(), 120, 264},
      {"zipf", 1 << 23, 524'288, value_type::f64, access_pattern::skewed(), 109, 240},
      {"banded", 1 << 26, 4'194'304, value_type::f32, access_pattern::clustered(16), 260, 596},
      {"grid", 1 << 26, 9'586'980, value_type::f32, access_pattern::clustered(90'000), 375, 857},
      {"uniform", 1 << 26, 4'194'304, value_type::f32, access_pattern::random(), 734, 2197},
      {"uniform of rows by Zipf", 1 << 26, 5'767'168, value_type::f32, access_pattern::random(), 739, 3148},
      {"zipf", 1 << 26, 4'194'305, value_type::f32, access_pattern::skewed(), 702, 1675},
      {"banded", 1 << 26, 4'194'305, value_type::f64, access_pattern::clustered(16), 382, 827},
      {"grid", 1 << 26, 9'586'980, value_type::f64, access_pattern::clustered(90'000), 495, 1149},
      {"uniform", 1 << 26, 4'194'303, value_type::f64, access_pattern::random(), 1013, 2496},
      {"uniform of rows by Zipf", 1 << 26, 5'767'168, value_type::f64, access_pattern::random(), 1652, 3388},
      {"zipf", 1 << 26, 4'194'306, value_type::f64, access_pattern::skewed(), 831, 2151},
  };
  for (const recorded& r : set) {
    for (const bool is_said : {true, false}) {
      spmv_problem p = product_of(r.entries, r.rows, is_said ? r.pattern : access_pattern::unknown());
      p.value = r.value;
      const double most = is_said ? 1.6 : 2.75;
      for (const auto& [variant, microseconds] :
           {std::pair{"cuda.atomic", r.in_any_order}, std::pair{"cuda.fixed_point", r.in_fixed_order}}) {
        const double factor = plan_of(variant, p).seconds * 1e6 / microseconds;
        EXPECT_LE(factor, most) << variant << " " << r.matrix << " " << r.entries << (is_said ? "" : ", unknown");
        EXPECT_GE(factor, 1 / most) << variant << " " << r.matrix << " " << r.entries << (is_said ? "" : ", unknown");
      }
    }
  }
  // Web rows by the mean of the logarithm of their lengths and sigma, and rows of one length near the diagonal.
  const recorded others[] = {
      {"web 1.6, 1.2", 30'000'000, 2'940'000, value_type::f64, access_pattern::unknown(), 422, 0},
      {"web 0.5, 1.8", 30'000'000, 3'600'000, value_type::f64, access_pattern::unknown(), 704, 0},
      {"135 a row", 30'000'000, 222'222, value_type::f64, access_pattern::unknown(), 495, 0},
      {"400 a row", 30'000'000, 75'000, value_type::f64, access_pattern::unknown(), 643, 0},
  };
  for (const recorded& r : others) {
    const double factor =
        plan_of("cuda.atomic", product_of(r.entries, r.rows, r.pattern)).seconds * 1e6 / r.in_any_order;
    EXPECT_LE(factor, 1.1) << r.matrix;
    EXPECT_GE(factor, 0.45) << r.matrix;
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_transposed_plans_test
