// edge_sum by a function of the caller's on the CPU: what it sees, in which order its contributions are added, and what
// becomes of what it throws.
#include <sheaf/edge_sum.hpp>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "support/trials/edge.hpp"

namespace sheaf::tests::primitives_edges_function_test {
namespace {

/// A flux of two components between nodes of three, by two weights of the edge.
struct flux {
  template <class T>
  void operator()(const T* first, const T* second, const T* weights, T* out) const {
    out[0] = weights[0] * (first[0] * second[1]) + first[2];
    out[1] = weights[1] - second[2] * first[0];
  }
};
static_assert(edge_contribution<flux, float> && edge_contribution<flux, double>);
static_assert(!edge_contribution<flux, int>);

template <class T>
struct arrays {
  std::vector<std::uint32_t> pairs;
  std::vector<T> nodes;
  std::vector<T> weights;
  std::vector<T> expected;

  explicit arrays(const edge_graph& g) : nodes(3 * g.nodes), weights(2 * g.edges.size()), expected(2 * g.nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<T>(drawn_float(i));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<T>(drawn_float(i + 77));
    for (std::size_t e = 0; e < g.edges.size(); ++e) {
      const auto [i, j] = g.edges[e];
      pairs.push_back(static_cast<std::uint32_t>(i));
      pairs.push_back(static_cast<std::uint32_t>(j));
      T out[2];
      flux{}(&nodes[3 * i], &nodes[3 * j], &weights[2 * e], out);
      for (int k = 0; k < 2; ++k) expected[2 * i + k] += out[k];
      for (int k = 0; k < 2; ++k) expected[2 * j + k] -= out[k];
    }
  }
};

template <class T>
class EdgeFunction : public testing::Test {};
using value_types = testing::Types<float, double>;
TYPED_TEST_SUITE(EdgeFunction, value_types);

TYPED_TEST(EdgeFunction, SeesBothEndsAndTheWeightsOfEachEdge) {
  using T = TypeParam;
  for (const edge_graph& g : {box_graph(12, true), rmat_graph(9, 5000), star_graph(3000)}) {
    const arrays<T> a(g);
    for (const int threads : {1, 2, 3, 7}) {
      const context ctx = context::cpu(threads);
      for (const char* variant : {"", "reference.serial", "cpu.owner", "cpu.binned"}) {
        SCOPED_TRACE(fmt::format("{}, {} threads, {}", g.name, threads, variant));
        std::vector<T> result(2 * g.nodes, T{-1});
        edge_sum<3, 2>(ctx, edge_view(a.pairs), a.nodes, a.weights, result, flux{}, {.variant = variant});
        ctx.wait();
        EXPECT_EQ(std::memcmp(result.data(), a.expected.data(), result.size() * sizeof(T)), 0);
      }
      for (const char* variant : {"kept", "cpu.tiles"}) {
        SCOPED_TRACE(fmt::format("{}, {} threads, {}", g.name, threads, variant));
        const prepared_edge_sum prepared =
            prepare_edge_sum(ctx, edge_view(a.pairs), g.nodes, 5, 1, {.variant = variant});
        std::vector<T> result(2 * g.nodes, T{-1});
        prepared.template run<3, 2>(a.nodes, a.weights, result, flux{});
        ctx.wait();
        EXPECT_EQ(std::memcmp(result.data(), a.expected.data(), result.size() * sizeof(T)), 0);
      }
    }
  }
}

void one_for_each(const double*, const double*, const double* weights, double* out) {
  out[0] = weights == nullptr ? 1 : -1;
}

TEST(EdgeFunctions, MayBeFunctionsByTheirName) {
  const context ctx = context::cpu(2);
  const edge_graph g = path_graph(1000);
  const arrays<double> a(g);
  std::vector<double> result(1001);
  edge_sum<3, 1>(ctx, edge_view(a.pairs), a.nodes, std::vector<double>(), result, one_for_each);
  EXPECT_EQ(result.front(), 1);
  EXPECT_EQ(result[500], 0);
  EXPECT_EQ(result.back(), -1);
  edge_sum<3, 1>(ctx, edge_view(a.pairs), a.nodes, std::vector<double>(), result, &one_for_each);
  EXPECT_EQ(result.back(), -1);
}

TEST(EdgeFunctions, ThrowWhatTheyThrowOnAnyNumberOfThreads) {
  const edge_graph g = box_graph(14, true);
  const arrays<float> a(g);
  const auto throws = [&](const float* first, const float*, const float*, float* out) {
    out[0] = 0;
    if (first == &a.nodes[3 * 77]) throw std::runtime_error("the function's own");
  };
  for (const int threads : {1, 2, 7}) {
    const context ctx = context::cpu(threads);
    for (const char* variant : {"reference.serial", "cpu.owner", "cpu.binned"}) {
      SCOPED_TRACE(fmt::format("{} threads, {}", threads, variant));
      std::vector<float> result(g.nodes);
      try {
        edge_sum<3, 1>(ctx, edge_view(a.pairs), a.nodes, a.weights, result, throws, {.variant = variant});
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "the function's own");
      }
      std::vector<float> two(2 * g.nodes);
      edge_sum<3, 2>(ctx, edge_view(a.pairs), a.nodes, a.weights, two, flux{}, {.variant = variant});
      ctx.wait();
      EXPECT_EQ(two, a.expected) << "the context must go on working";
    }
    const prepared_edge_sum prepared =
        prepare_edge_sum(ctx, edge_view(a.pairs), g.nodes, 3, 1, {.variant = "cpu.tiles"});
    std::vector<float> result(g.nodes);
    const auto always = [](const float*, const float*, const float*, float*) { throw 5; };
    EXPECT_THROW((prepared.run<3, 1>(a.nodes, a.weights, result, always)), int);
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_edges_function_test
