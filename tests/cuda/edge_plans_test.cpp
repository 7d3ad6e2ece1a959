// What plans make of sums over edges on the shipped profile of a CUDA device. No device is needed.
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

#include "primitives/edges/prepare.hpp"

namespace sheaf::tests::cuda_edge_plans_test {
namespace {

using primitives::edge_sum_problem;
using primitives::prepare_edge_sum_problem;

machine shipped() {
  for (const machine& m : shipped_machines()) {
    if (m.backend == backend_kind::cuda) return m;
  }
  ADD_FAILURE() << "no profile of a CUDA device is shipped";
  return {};
}

edge_sum_problem mesh_of(std::uint64_t edges) {
  edge_sum_problem p;
  p.backend = backend_kind::cuda;
  p.edges = edges;
  p.nodes = edges / 7;
  p.value_components = p.components = 3;
  p.value = value_type::f32;
  return p;
}

template <class Variants, class Problem>
std::string cheapest(const Variants& variants, const Problem& p, const machine& m) {
  std::string name;
  double least = 0;
  for (const auto& v : variants) {
    if (v.backend != backend_kind::cuda) continue;
    const plan::planned plan = v.plan(p, plan::scope(m));
    if (!plan.applicable() || (!name.empty() && plan.seconds >= least)) continue;
    name = v.name;
    least = plan.seconds;
  }
  return name;
}

template <class Variants, class Problem>
std::string rejection(const Variants& variants, std::string_view name, const Problem& p, const machine& m) {
  for (const auto& v : variants) {
    if (v.name != name) continue;
    const plan::planned plan = v.plan(p, plan::scope(m));
    return plan.applicable() ? "" : plan.rejection;
  }
  return "there is no such variant";
}

TEST(EdgeSumPlansOfCuda, FollowTheOrderThatIsAskedFor) {
  const machine m = shipped();
  edge_sum_problem p = mesh_of(1'000'000);
  EXPECT_EQ(cheapest(primitives::edge_sum_variants(), p, m), "cuda.bucketed");
  p.weight_components = 1;
  EXPECT_EQ(cheapest(primitives::edge_sum_variants(), p, m), "cuda.bucketed");
  p.order = reduction_order::unordered;
  EXPECT_EQ(cheapest(primitives::edge_sum_variants(), p, m), "cuda.atomic");
}

// Measured on an H200: atomics take 11 to 24 ps an edge of a mesh, whatever the order of its nodes, and lists by
// buckets 33 to 80; at random atomics take 110 to 143, and lists 61 to 77.
TEST(EdgeSumPlansOfCuda, SumRandomGraphsByBucketsInAnyOrder) {
  const machine m = shipped();
  edge_sum_problem p = mesh_of(56'000'000);
  p.order = reduction_order::unordered;
  EXPECT_EQ(cheapest(primitives::edge_sum_variants(), p, m), "cuda.atomic");
  p.pattern = access_pattern::sequential();
  EXPECT_EQ(cheapest(primitives::edge_sum_variants(), p, m), "cuda.atomic");
  p.pattern = access_pattern::random();
  EXPECT_EQ(cheapest(primitives::edge_sum_variants(), p, m), "cuda.bucketed");
}

template <class Variants, class Problem>
double seconds_of(const Variants& variants, std::string_view name, const Problem& p, const machine& m,
                  std::string_view term) {
  double seconds = 0;
  for (const auto& v : variants) {
    if (v.name != name) continue;
    const plan::planned plan = v.plan(p, plan::scope(m));
    for (std::size_t t = 0; t < plan.term_count; ++t) {
      if (plan.terms[t].what == term) seconds += plan.terms[t].seconds;
    }
  }
  return seconds;
}

// Nodes of a bucket whose lists do not fit shared memory at once are listed part by part, and each part walks all ends
// of its bucket: two parts from 8.4 x 10^6 nodes on, four from 16.8, eight from 33.6.
TEST(EdgeSumPlansOfCuda, PriceEachPartOfABucketThatIsListed) {
  const machine m = shipped();
  const auto listed = [&](std::uint64_t nodes) {
    return seconds_of(primitives::edge_sum_variants(), "cuda.bucketed", mesh_of(7 * nodes), m, "ends listed") /
           static_cast<double>(nodes);
  };
  const double one = listed(8'000'000);
  EXPECT_NEAR(listed(16'000'000) / one, 1.4, 0.05);
  EXPECT_NEAR(listed(32'000'000) / one, 1 + 3 * 0.4, 0.05);
  EXPECT_NEAR(listed(64'000'000) / one, 1 + 7 * 0.4, 0.1);
}

// Lists of up to 64 entries in the mean are brought into rows, which moves 16 bytes an entry.
TEST(EdgeSumPlansOfCuda, PriceTheRowsThatAPreparationWrites) {
  const machine m = shipped();
  prepare_edge_sum_problem p;
  p.sum = mesh_of(10'000'000);
  const auto rows = [&] { return seconds_of(primitives::prepare_edge_sum_variants(), "cuda.by_node", p, m, "rows"); };
  const double moved = 2 * 10'000'000.0 * 16;
  EXPECT_GT(rows(), moved / m.copy_bytes_per_second);
  EXPECT_LT(rows(), 1.5 * moved / m.copy_bytes_per_second);
  p.sum.nodes = p.sum.edges / 100;
  EXPECT_EQ(rows(), 0);
}

TEST(EdgeSumPlansOfCuda, PrepareMeshesByTilesAndOtherGraphsByNode) {
  const machine m = shipped();
  prepare_edge_sum_problem p;
  p.sum = mesh_of(100'000'000);
  p.expected_runs = 100;
  EXPECT_EQ(cheapest(primitives::prepare_edge_sum_variants(), p, m), "cuda.by_node");
  p.dimensions = 3;
  EXPECT_EQ(cheapest(primitives::prepare_edge_sum_variants(), p, m), "cuda.tiles");
}

// The host's order takes longer than many runs by node, and none where the caller's order will do.
TEST(EdgeSumPlansOfCuda, GrowTilesAlongTheEdgesForManyRuns) {
  const machine m = shipped();
  prepare_edge_sum_problem p;
  p.sum = mesh_of(100'000'000);
  p.sum.pattern = access_pattern::random();
  p.expected_runs = 100'000;
  EXPECT_EQ(cheapest(primitives::prepare_edge_sum_variants(), p, m), "cuda.tiles");
  const auto seconds_of_order = [&] {
    for (const auto& v : primitives::prepare_edge_sum_variants()) {
      if (v.name == "cuda.tiles") return v.plan(p, plan::scope(m)).terms[0].seconds;
    }
    return -1.0;
  };
  const double grown = seconds_of_order();
  p.sum.pattern = access_pattern::sequential();
  EXPECT_LT(seconds_of_order(), grown / 100);
  p.dimensions = 3;
  EXPECT_LT(seconds_of_order(), grown / 100);
}

TEST(EdgeSumPlansOfCuda, SayWhyListsCannotBeMade) {
  const machine m = shipped();
  edge_sum_problem p = mesh_of(1'000'000);
  const auto sums = primitives::edge_sum_variants();
  EXPECT_EQ(rejection(sums, "cuda.atomic", p, m), "adds in the order in which threads arrive");
  EXPECT_EQ(rejection(sums, "cuda.two_pass", p, m), "");
  EXPECT_EQ(rejection(sums, "cuda.bucketed", p, m), "");
  p.edges = std::uint64_t{1} << 32;
  EXPECT_EQ(rejection(sums, "cuda.two_pass", p, m), "its lists number edges with 32 bits");
  p.nodes = p.edges / 7;
  EXPECT_EQ(rejection(sums, "cuda.bucketed", p, m), "it numbers ends with 32 bits");
  p.edges = p.nodes;
  EXPECT_EQ(rejection(sums, "cuda.bucketed", p, m), "there are more nodes than its buckets have");
  p.nodes = p.edges / 1000;
  EXPECT_EQ(rejection(sums, "cuda.bucketed", p, m), "lists are longer than a thread should sum");
  p.edges = 0;
  EXPECT_EQ(rejection(sums, "cuda.bucketed", p, m), "there is nothing to put in order");
  prepare_edge_sum_problem many;
  many.sum = mesh_of(1000);
  many.sum.nodes = std::uint64_t{1} << 31;
  for (const char* const variant : {"cuda.by_node", "cuda.tiles"}) {
    EXPECT_EQ(rejection(primitives::prepare_edge_sum_variants(), variant, many, m),
              "its lists number nodes with 31 bits");
    many.sum.nodes = 0;
    EXPECT_EQ(rejection(primitives::prepare_edge_sum_variants(), variant, many, m), "there is nothing to put in order");
    many.sum.nodes = std::uint64_t{1} << 31;
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_edge_plans_test
