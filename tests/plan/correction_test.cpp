#include "plan/correction.hpp"

#include <string_view>

#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/machine.hpp>

#include "primitives/hash/search.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/split/contract.hpp"

namespace sheaf::tests::plan_correction_test {
namespace {

using kind = access_pattern::kind;

variant_correction gather_correction(const char* variant, kind order, std::uint64_t record_bytes, std::uint64_t count,
                                     double factor) {
  return {"gather", variant, order, record_bytes, count, count, factor};
}

plan::measured_place place(kind order, std::uint64_t record_bytes, std::uint64_t count) {
  return {"gather", order, record_bytes, count, count};
}

machine with_corrections(std::vector<variant_correction> corrections) {
  machine m = nearest_machine(backend_kind::cpu, "");
  m.corrections = std::move(corrections);
  return m;
}

TEST(Correction, IsOneWhereNothingWasMeasured) {
  EXPECT_EQ(plan::correction_at(with_corrections({}), "cpu.direct", place(kind::random, 4, 1000)), 1);
  const machine m = with_corrections({gather_correction("cpu.direct", kind::random, 4, 1000, 2)});
  plan::measured_place scatter = place(kind::random, 4, 1000);
  scatter.primitive = "scatter";
  EXPECT_EQ(plan::correction_at(m, "cpu.direct", scatter), 1);
}

TEST(Correction, OfAVariantThatWasNotMeasuredIsTheMedianOfThoseThatWere) {
  const machine m = with_corrections({gather_correction("cpu.bucketed", kind::sequential, 4, 1000, 8),
                                      gather_correction("cpu.bucketed", kind::random, 4, 1000, 0.25),
                                      gather_correction("cpu.by_page", kind::random, 4, 1000, 0.5),
                                      gather_correction("cpu.direct", kind::random, 4, 1000, 4)});
  EXPECT_DOUBLE_EQ(plan::correction_at(m, "cpu.multipass", place(kind::random, 4, 1000)), 0.5);
  EXPECT_DOUBLE_EQ(plan::correction_at(m, "cpu.multipass", place(kind::sequential, 4, 1000)), 8);
  EXPECT_DOUBLE_EQ(plan::correction_at(m, "cpu.bucketed", place(kind::random, 4, 1000)), 0.25);
}

TEST(Correction, OfAnOrderThatWasNotMeasuredIsTheMeanOfAllOrders) {
  const machine m = with_corrections({gather_correction("cpu.bucketed", kind::sequential, 4, 1000, 8),
                                      gather_correction("cpu.bucketed", kind::random, 4, 1000, 2),
                                      gather_correction("cpu.by_page", kind::random, 4, 1000, 0.5),
                                      gather_correction("cpu.direct", kind::random, 4, 1000, 1)});
  EXPECT_DOUBLE_EQ(plan::correction_at(m, "cpu.bucketed", place(kind::clustered, 4, 1000)), 4);
  EXPECT_DOUBLE_EQ(plan::correction_at(m, "cpu.by_page", place(kind::clustered, 4, 1000)), 0.5);
  EXPECT_DOUBLE_EQ(plan::correction_at(m, "cpu.multipass", place(kind::clustered, 4, 1000)), 1);
}

TEST(Correction, IsThatOfTheNearestProblems) {
  const machine m = with_corrections({gather_correction("cpu.direct", kind::random, 4, 1 << 10, 1.5),
                                      gather_correction("cpu.direct", kind::random, 4, 1 << 20, 0.5),
                                      gather_correction("cpu.direct", kind::random, 64, 1 << 20, 3)});
  const auto at = [&](std::uint64_t record_bytes, std::uint64_t count) {
    return plan::correction_at(m, "cpu.direct", place(kind::random, record_bytes, count));
  };
  EXPECT_NEAR(at(4, 1 << 10), 1.5, 0.01);
  EXPECT_NEAR(at(4, 1 << 20), 0.5, 0.02);
  EXPECT_NEAR(at(64, 1 << 20), 3, 0.02);
  EXPECT_NEAR(at(4, 1 << 15), 1, 0.2);  // halfway between two in doublings
  EXPECT_GT(at(4, 1 << 13), at(4, 1 << 17));
  EXPECT_NEAR(at(4, 1), 1.5, 0.3);
  EXPECT_GT(at(4, 0), 0);
}

TEST(Correction, MultipliesAPlanAndAllOfItsTerms) {
  const primitives::gather_problem p =
      primitives::describe_gather(context::cpu(2), {nullptr, 100000, 8}, {nullptr, 100000, index_type::u32},
                                  {nullptr, 100000, 8}, access_pattern::random());
  const machine plain = with_corrections({});
  const machine slow = with_corrections({gather_correction("cpu.bucketed", kind::random, 8, 100000, 1),
                                         gather_correction("cpu.direct", kind::random, 8, 100000, 4)});
  std::size_t corrected = 0;
  for (const auto& v : primitives::gather_variants()) {
    if (!v.works_on(backend_kind::cpu)) continue;
    const plan::planned before = plan::corrected_plan(v, p, plan::scope(plain));
    const plan::planned after = plan::corrected_plan(v, p, plan::scope(slow));
    const double factor = v.name == "cpu.direct" ? 4 : 1;
    corrected += factor == 4;
    EXPECT_DOUBLE_EQ(after.seconds, factor * before.seconds) << v.name;
    for (std::uint32_t t = 0; t < before.term_count; ++t) {
      EXPECT_DOUBLE_EQ(after.terms[t].seconds, factor * before.terms[t].seconds) << v.name;
    }
  }
  EXPECT_EQ(corrected, 1U);
}

// The factor by which the plan of the CPU's variant for a problem is corrected.
template <class Variants, class Problem>
double factor_of(const Variants& variants, std::string_view name, const Problem& p, const machine& m) {
  machine plain = m;
  plain.corrections.clear();
  for (const auto& v : variants) {
    if (v.name != name || !v.works_on(backend_kind::cpu)) continue;
    return plan::corrected_plan(v, p, plan::scope(m)).seconds / plan::corrected_plan(v, p, plan::scope(plain)).seconds;
  }
  return 0;
}

TEST(Correction, OfListsIsByWhatIsAskedAndInWhichOrder) {
  const machine m = with_corrections({{"list_rank", "cpu.sublist", kind::unknown, 4, 1 << 20, 0, 2},
                                      {"list_rank", "cpu.sublist", kind::random, 4, 1 << 20, 0, 3},
                                      {"list_scan", "cpu.sublist", kind::unknown, 8, 1 << 20, 0, 5}});
  primitives::list_problem p{.count = 1 << 20};
  const auto factor = [&] { return factor_of(primitives::list_variants(), "cpu.sublist", p, m); };
  EXPECT_NEAR(factor(), 2, 1e-9);
  p.pattern = access_pattern::random();
  EXPECT_NEAR(factor(), 3, 1e-9);
  p = {.count = 1 << 20, .value_bytes = 8, .out_bytes = 8};
  EXPECT_NEAR(factor(), 5, 1e-9);
}

TEST(Correction, OfHashSearchesIsByProbesAndRecordsAndTellsSearchesForAllApart) {
  const machine m = with_corrections({{"hash_count", "cpu.direct", kind::unknown, 8, 1 << 16, 1 << 14, 2},
                                      {"hash_count", "cpu.direct", kind::unknown, 8, 1 << 16, 1 << 22, 6},
                                      {"hash_search", "cpu.direct", kind::unknown, 8, 1 << 16, 1 << 14, 4}});
  primitives::hash_search_problem p{.output = primitives::hash_output::counts, .probes = 1 << 16};
  p.index.records = p.index.distinct = 1 << 14;
  const auto factor = [&] { return factor_of(primitives::hash_search_variants(), "cpu.direct", p, m); };
  EXPECT_NEAR(factor(), 2, 0.1);
  p.output = primitives::hash_output::first;
  EXPECT_NEAR(factor(), 2, 0.1);
  p.index.records = p.index.distinct = 1 << 22;
  EXPECT_NEAR(factor(), 6, 0.1);
  p.output = primitives::hash_output::matches;
  EXPECT_NEAR(factor(), 4, 1e-9);
}

TEST(Correction, OfSplitsThatKeepNoOrderIsThatOfStableOnesOnTheHost) {
  primitives::split_problem p{.stable = false, .count = 1000, .categories = 32};
  EXPECT_EQ(place_of(p).primitive, "split");
  p.backend = backend_kind::cuda;
  EXPECT_EQ(place_of(p).primitive, "split_unstable");
}

TEST(Correction, DecidesWhatCallsTakeAndExplain) {
  context ctx = context::cpu(2);
  const auto choice = [&] {
    return explain_gather(ctx, {nullptr, 1 << 24, 8}, {nullptr, 1 << 24, index_type::u32}, {nullptr, 1 << 24, 8},
                          {.pattern = access_pattern::random()})
        .choice()
        ->variant;
  };
  for (const char* slow : {"cpu.bucketed", "cpu.direct"}) {
    std::vector<variant_correction> measured;
    for (const char* variant : {"cpu.bucketed", "cpu.direct"}) {
      measured.push_back(
          gather_correction(variant, kind::random, 8, 1 << 24, variant == std::string_view(slow) ? 100 : 1));
    }
    machine m = with_corrections(measured);
    ctx.use(m);
    EXPECT_NE(choice(), slow);
  }
}

}  // namespace
}  // namespace sheaf::tests::plan_correction_test
