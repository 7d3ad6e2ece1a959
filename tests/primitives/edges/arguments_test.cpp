// What edge_sum and prepare_edge_sum refuse, and in which words; and what they say of their plans.
#include <sheaf/edge_sum.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/context_state.hpp"
#include "support/expect_error.hpp"
#include "support/scoped_environment.hpp"
#include "support/trials/edge.hpp"

namespace sheaf::tests::primitives_edges_arguments_test {
namespace {

class EdgeSumArguments : public testing::Test {
 protected:
  void refuses(const std::string& message, const edge_view& of, const_values from, const_values by, values to,
               std::uint32_t components = 2, const edge_sum_options& o = {}) {
    const edge_function function = edge_function::weighted_difference;
    expect_error(error_code::bad_argument, "edge_sum: " + message,
                 [&] { edge_sum(ctx, of, from, by, to, components, function, o); });
  }
  void both_refuse(const std::string& message, const edge_view& of, const_values from, const_values by, values to,
                   std::uint32_t components = 2) {
    refuses(message, of, from, by, to, components);
    expect_error(error_code::bad_argument, "edge_sum: " + message,
                 [&] { explain_edge_sum(ctx, of, from, by, to, components, edge_function::weighted_difference); });
  }
  void prepare_refuses(const std::string& message, const edge_view& of, std::uint64_t count, std::uint32_t components,
                       const prepare_edge_sum_options& o = {}) {
    expect_error(error_code::bad_argument, "prepare_edge_sum: " + message,
                 [&] { prepare_edge_sum(ctx, of, count, components, 1, o); });
  }

  context ctx = context::cpu(2);
  std::vector<std::uint32_t> first{0, 1};
  std::vector<std::uint32_t> second{1, 2};
  edge_view edges{first, second};
  std::vector<double> nodes{1, 2, 3, 4, 5, 6};
  std::vector<double> weights{1, 1};
  std::vector<double> result = std::vector<double>(6);
};

TEST_F(EdgeSumArguments, ViewsOfEdgesAreOfOneLengthAndType) {
  expect_error(error_code::bad_argument, "edge_view: 2 first ends but 1 second ends",
               [&] { edge_view(first, index_span(second.data(), 1, index_type::u32)); });
  expect_error(error_code::bad_argument, "edge_view: first and second ends are of different types",
               [&] { edge_view(first, index_span(second.data(), 2, index_type::i32)); });
  const std::vector<std::int64_t> odd{1, 2, 3};
  expect_error(error_code::bad_argument, "edge_view: 3 ends are not two for each edge", [&] { edge_view{odd}; });
  expect_error(error_code::bad_argument, "edge_view: the type of the ends is 9, not 0 to 3",
               [&] { edge_view(index_span(first.data(), 2, static_cast<index_type>(9))); });
}

TEST_F(EdgeSumArguments, LengthsMustAgree) {
  both_refuse("weights has 3 values for 2 edges", edges, nodes, std::vector<double>(3), result);
  both_refuse("the result has 5 values for 3 nodes of 2 components", edges, nodes, weights,
              values(result.data(), 5, value_type::f64));
  both_refuse("node_values has 6 values, not a multiple of 4 components", edges, nodes, weights, result, 4);
  both_refuse("0 components of a node, not 1 to 8", edges, nodes, weights, result, 0);
  both_refuse("9 components of a node, not 1 to 8", edges, nodes, weights, result, 9);
  edge_view odd = edges;
  odd.stride = 3;
  both_refuse("the stride of the ends is 3, not 1 or 2", odd, nodes, weights, result);
  prepare_refuses("the stride of the ends is 3, not 1 or 2", odd, 3, 2);
  odd = edges;
  odd.count = ~std::uint64_t{0};
  both_refuse("18446744073709551615 edges are more than memory can hold", odd, nodes, {}, result);
  prepare_refuses("0 components of a node, not 1 to 8", edges, 3, 0);
  prepare_refuses("18446744073709551615 nodes are more than memory can hold", edges, ~std::uint64_t{0}, 1);
}

TEST_F(EdgeSumArguments, TypesAreFloatsAndAgree) {
  const std::vector<float> narrow(6);
  const std::vector<std::int32_t> whole(6);
  both_refuse("node_values has values of type i32, not f32 or f64", edges, whole, weights, result);
  both_refuse("weights has values of type f32, but the nodes have f64", edges, nodes, std::vector<float>(2), result);
  both_refuse("the result has values of type f64, but the nodes have f32", edges, narrow, {}, result);
  edge_view odd = edges;
  odd.type = static_cast<index_type>(7);
  both_refuse("the type of the ends is 7, not 0 to 3", odd, nodes, weights, result);
  both_refuse("the type of node_values is 12, not 0 to 5", edges, {nodes.data(), 6, static_cast<value_type>(12)}, {},
              result);
  both_refuse("takes i32 to f64, but the type of node_values is bf16", edges, {nodes.data(), 6, value_type::bf16}, {},
              result);
  expect_error(error_code::bad_argument, "edge_sum: the function is 2, not 0 to 1",
               [&] { edge_sum(ctx, edges, nodes, weights, result, 2, static_cast<edge_function>(2)); });
  expect_error(error_code::bad_argument, "edge_sum: the order is 2, not 0 to 1", [&] {
    edge_sum(ctx, edges, nodes, weights, result, 2, edge_function::weighted_difference,
             {.order = static_cast<reduction_order>(2)});
  });
  prepare_refuses("the values are of an integer type, not f32 or f64", edges, 3, 2, {.value = value_type::u32});
}

TEST_F(EdgeSumArguments, ViewsLieInMemoryAndApart) {
  refuses("the array of first ends is null", edge_view(nullptr, second.data(), 2, 1, index_type::u32), nodes, weights,
          result);
  refuses("the array of second ends is null", edge_view(first.data(), nullptr, 2, 1, index_type::u32), nodes, weights,
          result);
  refuses("node_values is null", edges, {nullptr, 6, value_type::f64}, weights, result);
  refuses("weights is null", edges, nodes, {nullptr, 2, value_type::f64}, result);
  refuses("the result is null", edges, nodes, weights, {nullptr, 6, value_type::f64});
  refuses("the result overlaps node_values", edges, nodes, weights, {nodes.data(), 6, value_type::f64});
  std::vector<double> both(8);
  refuses("the result overlaps weights", edges, nodes, {both.data() + 5, 2, value_type::f64},
          {both.data(), 6, value_type::f64});
  refuses("the result overlaps the array of first ends",
          edge_view(result.data() + 2, second.data(), 2, 1, index_type::u32), nodes, weights, result);
  refuses("the result overlaps the array of second ends",
          edge_view(first.data(), result.data() + 2, 2, 1, index_type::u32), nodes, weights, result);
  const auto* const odd = reinterpret_cast<const std::byte*>(first.data()) + 1;
  refuses("the array of first ends is not aligned to its 4 bytes", edge_view(odd, second.data(), 1, 1, index_type::u32),
          nodes, {}, result);
  prepare_refuses("the array of first ends is null", edge_view(nullptr, second.data(), 2, 1, index_type::u32), 3, 2);
}

TEST_F(EdgeSumArguments, CoordinatesAreTwoOrThreeForEachNode) {
  const std::vector<double> four(4);
  const std::vector<std::int32_t> whole(6);
  prepare_refuses("4 coordinates for 3 nodes, not 2 or 3 for each", edges, 3, 2, {.coordinates = four});
  prepare_refuses("the coordinates are of an integer type, not f32 or f64", edges, 3, 2, {.coordinates = whole});
  prepare_refuses("9 weights of an edge, not 0 to 8", edges, 3, 2, {.edge_weights = 9});
  prepare_refuses("the function is 2, not 0 to 1", edges, 3, 2, {.function = static_cast<edge_function>(2)});
  prepare_refuses("the coordinates is null", edges, 3, 2, {.coordinates = {nullptr, 6, value_type::f64}});
}

TEST_F(EdgeSumArguments, RunsTakeWhatWasPreparedFor) {
  const prepared_edge_sum prepared = prepare_edge_sum(ctx, edges, 3, 2, 1);
  const auto refuses_run = [&](const std::string& message, const_values from, const_values by, values to) {
    expect_error(error_code::bad_argument, "prepared_edge_sum: " + message,
                 [&] { prepared.run(from, by, to, edge_function::weighted_difference); });
  };
  refuses_run("node_values has 5 values for 3 nodes of 2 components", std::vector<double>(5), weights, result);
  refuses_run("the result has 4 values for 3 nodes of 2 components", nodes, weights,
              {result.data(), 4, value_type::f64});
  refuses_run("weights has 4 values for 2 edges", nodes, std::vector<double>(4), result);
  refuses_run("the result overlaps node_values", nodes, weights, nodes);
  prepared_edge_sum from = prepared;
  const prepared_edge_sum to = std::move(from);
  expect_error(error_code::bad_argument, "prepared_edge_sum: it was moved from; another object holds its contents now",
               // NOLINTNEXTLINE(bugprone-use-after-move)
               [&] { from.run(nodes, weights, result, edge_function::weighted_difference); });
}

TEST_F(EdgeSumArguments, FunctionsHaveNoMoreThanEightWeightsOfAnEdge) {
  const auto nothing = [](const double*, const double*, const double*, double* out) { *out = 0; };
  expect_error(error_code::bad_argument, "edge_sum: weights has 3 values for 2 edges, not 0 to 8 for each",
               [&] { edge_sum<6, 1>(ctx, edges, nodes, std::vector<double>(3), std::vector<double>(1), nothing); });
  expect_error(error_code::bad_argument, "edge_sum: weights has 18 values for 2 edges, not 0 to 8 for each",
               [&] { edge_sum<6, 1>(ctx, edges, nodes, std::vector<double>(18), std::vector<double>(1), nothing); });
}

TEST_F(EdgeSumArguments, NamesOfVariantsAreThoseThatThereAre) {
  const std::string words = message_of(error_code::bad_argument, [&] {
    edge_sum(ctx, edges, nodes, weights, result, 2, edge_function::weighted_difference, {.variant = "cpu.magic"});
  });
  EXPECT_TRUE(words.starts_with("edge_sum: ")) << words;
  EXPECT_NE(words.find("cpu.owner"), std::string::npos) << words;
  EXPECT_NE(words.find("cpu.binned"), std::string::npos) << words;
  const scoped_environment forced("SHEAF_VARIANT", "edge_sum:cpu.binned,prepare_edge_sum:cpu.tiles");
  const context of_environment = context::cpu(1);
  EXPECT_EQ(explain_edge_sum(of_environment, edges, nodes, weights, result, 2, edge_function::weighted_difference)
                .choice()
                ->variant,
            "cpu.binned");
  EXPECT_EQ(prepare_edge_sum(of_environment, edges, 3, 2, 1).report().variant, "cpu.tiles");
}

TEST_F(EdgeSumArguments, ExplanationsTouchNoData) {
  const edge_view shapes(nullptr, nullptr, 7'000'000, 1, index_type::u32);
  const const_values from(nullptr, 3'000'000, value_type::f32);
  const values to(nullptr, 3'000'000, value_type::f32);
  const explanation why = explain_edge_sum(ctx, shapes, from, {}, to, 3, edge_function::inverse_square);
  ASSERT_NE(why.choice(), nullptr);
  EXPECT_EQ(why.variants.size(), 3U);
  for (const variant_estimate& v : why.variants) EXPECT_GT(v.seconds, 0) << v.variant;
}

}  // namespace
}  // namespace sheaf::tests::primitives_edges_arguments_test
