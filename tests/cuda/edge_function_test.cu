// edge_sum by device functions of a program's own: what they see at each edge, on every variant, and what is refused.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/cuda/edge_sum.cuh>
#include <sheaf/error.hpp>
#include <sheaf/memory.hpp>

namespace sheaf::tests::cuda_edge_function_test {
namespace {

std::optional<context> device_context() {
  try {
    return context::cuda();
  } catch (const error&) {
    return std::nullopt;
  }
}

/// A flux of two components between nodes of three, by two weights of the edge, that knows which end is first.
struct flux {
  template <class T>
  __host__ __device__ void operator()(const T* first, const T* second, const T* weights, T* out) const {
    out[0] = weights[0] * first[0] * second[1] + first[2];
    out[1] = weights[1] - second[2] * first[0];
  }
};

/// A difference that says of itself that exchanged ends turn its sign.
struct stretch {
  static constexpr bool is_antisymmetric = true;
  template <class T>
  __host__ __device__ void operator()(const T* first, const T* second, const T* weights, T* out) const {
    const T w = weights == nullptr ? T{2} : weights[1];
    out[0] = w * (second[2] - first[2]);
    out[1] = w * (second[0] - first[0]);
  }
};

template <class T>
buffer on_device(const context& ctx, const std::vector<T>& values) {
  buffer b(ctx, std::max<std::size_t>(1, values.size() * sizeof(T)));
  copy_bytes(ctx, b.data(), values.data(), values.size() * sizeof(T));
  return b;
}

using edge_list = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

edge_list ring(std::uint32_t nodes) {
  edge_list edges;
  for (std::uint32_t i = 0; i < nodes; ++i) edges.emplace_back(i, (i * 31 + 1) % nodes);
  return edges;
}

edge_list star(std::uint32_t nodes) {
  edge_list edges;
  for (std::uint32_t i = 1; i < nodes; ++i) edges.emplace_back(i % 2 == 0 ? 0 : i, i % 2 == 0 ? i : 0);
  return edges;
}

/// Sums by every variant. Values are whole numbers, so sums are exact in any order.
template <class T, class F>
void expect_sums(const context& ctx, const edge_list& edges, std::uint32_t nodes, bool has_weights, const F& f) {
  constexpr value_type type = sizeof(T) == 8 ? value_type::f64 : value_type::f32;
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> second;
  std::vector<T> values(3 * nodes);
  std::vector<T> weights(has_weights ? 2 * edges.size() : 0);
  std::vector<T> expected(2 * nodes);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 5 % 7);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<T>(i * 3 % 5);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto [i, j] = edges[e];
    first.push_back(i);
    second.push_back(j);
    T out[2];
    f(&values[3 * i], &values[3 * j], has_weights ? &weights[2 * e] : nullptr, out);
    for (int k = 0; k < 2; ++k) expected[2 * i + k] += out[k];
    for (int k = 0; k < 2; ++k) expected[2 * j + k] -= out[k];
  }
  const buffer first_ends = on_device(ctx, first);
  const buffer second_ends = on_device(ctx, second);
  const buffer node_values = on_device(ctx, values);
  const buffer edge_weights = on_device(ctx, weights);
  const buffer result = on_device(ctx, std::vector<T>(2 * nodes, T{-1}));
  const edge_view view(first_ends.data(), second_ends.data(), edges.size(), 1, index_type::u32);
  const const_values from(node_values.data(), values.size(), type);
  const const_values by(edge_weights.data(), weights.size(), type);
  const sheaf::values to(result.data(), 2 * nodes, type);
  const auto expect_result = [&](const std::string& variant) {
    ctx.wait();
    std::vector<T> found(2 * nodes);
    copy_bytes(ctx, found.data(), result.data(), found.size() * sizeof(T));
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i]) << variant << ", number " << i;
    const std::vector<T> wiped(found.size(), T{-1});
    copy_bytes(ctx, result.data(), wiped.data(), wiped.size() * sizeof(T));
  };
  for (const char* const variant : {"", "cuda.atomic", "cuda.two_pass", "cuda.bucketed"}) {
    const reduction_order order =
        variant == std::string("cuda.atomic") ? reduction_order::unordered : reduction_order::deterministic;
    edge_sum<3, 2, T>(ctx, view, from, by, to, f, {.order = order, .variant = variant});
    expect_result(variant);
  }
  for (const char* const variant : {"kept", "cuda.by_node", "cuda.tiles"}) {
    const prepared_edge_sum prepared = prepare_edge_sum(ctx, view, nodes, 5, 1, {.variant = variant});
    run_edge_sum<3, 2, T>(prepared, from, by, to, f);
    expect_result(variant);
  }
}

TEST(EdgeFunctionOfADevice, SeesBothEndsAndTheWeightsOfEachEdge) {
  const std::optional<context> ctx = device_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  for (const std::uint32_t nodes : {1U, 2U, 33U, 2049U, 20'000U, 50'000U}) {
    for (const edge_list& edges : {ring(nodes), star(nodes)}) {
      if (edges.empty()) continue;
      SCOPED_TRACE(testing::Message() << nodes << " nodes, " << edges.size() << " edges");
      expect_sums<float>(*ctx, edges, nodes, true, flux{});
      expect_sums<double>(*ctx, edges, nodes, true, flux{});
      expect_sums<float>(*ctx, edges, nodes, true, stretch{});
      expect_sums<double>(*ctx, edges, nodes, false, stretch{});
      if (HasFailure()) return;
    }
  }
}

/// A difference of every component, times the edge's weight.
template <std::uint32_t Components>
struct difference {
  template <class T>
  __host__ __device__ void operator()(const T* first, const T* second, const T* weights, T* out) const {
    for (std::uint32_t k = 0; k < Components; ++k) out[k] = weights[0] * (second[k] - first[k]);
  }
};

/// The edges of a box of side^3 nodes in order, along its axes and to the corner behind.
edge_list box(std::uint32_t side) {
  edge_list edges;
  const std::uint32_t steps[] = {1, side, side * side, side * side + side + 1};
  for (std::uint32_t i = 0; i < side * side * side; ++i) {
    for (const std::uint32_t step : steps) {
      if (i + step < side * side * side) edges.emplace_back(i, i + step);
    }
  }
  return edges;
}

template <std::uint32_t Components>
void expect_differences(const context& ctx, const prepared_edge_sum& prepared, const edge_list& edges,
                        std::uint32_t nodes) {
  std::vector<double> values(Components * nodes);
  std::vector<double> weights(edges.size());
  std::vector<double> expected(Components * nodes);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i % 101);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    weights[e] = static_cast<double>(e % 13);
    for (std::uint32_t k = 0; k < Components; ++k) {
      const double step =
          weights[e] * (values[edges[e].second * Components + k] - values[edges[e].first * Components + k]);
      expected[edges[e].first * Components + k] += step;
      expected[edges[e].second * Components + k] -= step;
    }
  }
  const buffer node_values = on_device(ctx, values);
  const buffer edge_weights = on_device(ctx, weights);
  const buffer result = on_device(ctx, std::vector<double>(values.size(), -1));
  run_edge_sum<Components, Components, double>(
      prepared, const_values(node_values.data(), values.size(), value_type::f64),
      const_values(edge_weights.data(), weights.size(), value_type::f64),
      sheaf::values(result.data(), values.size(), value_type::f64), difference<Components>{});
  ctx.wait();
  std::vector<double> found(values.size());
  copy_bytes(ctx, found.data(), result.data(), found.size() * sizeof(double));
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i]) << "number " << i;
}

// Prepared for one number, tiles have 2048 nodes. Those of a box in order, whose planes have 1600 nodes, reach 1641
// more on either side: of values of eight f64 that makes 333 KiB, where a multiprocessor has no more than 228.
TEST(EdgeFunctionOfADevice, ValuesThatSharedMemoryDoesNotHoldAreReadWhereTheyLie) {
  const std::optional<context> ctx = device_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  constexpr std::uint32_t side = 40;
  constexpr std::uint32_t nodes = side * side * side;
  const edge_list edges = box(side);
  std::vector<std::uint32_t> pairs;
  for (const auto& [i, j] : edges) pairs.insert(pairs.end(), {i, j});
  const buffer ends = on_device(*ctx, pairs);
  const edge_view view(index_span(ends.data(), pairs.size(), index_type::u32));
  const prepared_edge_sum prepared =
      prepare_edge_sum(*ctx, view, nodes, 1, 1, {.pattern = access_pattern::sequential(), .variant = "cuda.tiles"});
  ASSERT_EQ(prepared.report().run_variant, "cuda.tiles");
  expect_differences<1>(*ctx, prepared, edges, nodes);
  expect_differences<8>(*ctx, prepared, edges, nodes);
}

TEST(EdgeFunctionOfADevice, IsRefusedOnOtherContextsAndTypes) {
  const std::vector<std::uint32_t> ends{0, 1};
  const std::vector<double> nodes(6);
  std::vector<double> result(4);
  const auto message_of_call = [&](const context& ctx, auto call) {
    try {
      call(ctx);
    } catch (const error& e) {
      EXPECT_EQ(e.code(), error_code::bad_argument);
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  const edge_view pairs(ends.data(), ends.data() + 1, 1, 2, index_type::u32);
  const const_values from(nodes.data(), nodes.size(), value_type::f64);
  const values to(result.data(), result.size(), value_type::f64);
  const context host = context::cpu(1);
  EXPECT_EQ(
      message_of_call(host, [&](const context& ctx) { edge_sum<3, 2, double>(ctx, pairs, from, {}, to, stretch{}); }),
      "edge_sum: a device function of the caller's runs on a CUDA context, not on cpu");
  const prepared_edge_sum prepared = prepare_edge_sum(host, pairs, 2, 3, 1);
  EXPECT_EQ(
      message_of_call(host, [&](const context&) { run_edge_sum<3, 2, double>(prepared, from, {}, to, stretch{}); }),
      "prepared_edge_sum: a device function of the caller's runs on a CUDA context, not on cpu");
  const std::optional<context> ctx = device_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  EXPECT_EQ(message_of_call(*ctx, [&](const context& c) { edge_sum<3, 2, float>(c, pairs, from, {}, to, stretch{}); }),
            "edge_sum: node_values has values of type f64, but the function takes f32");
}

}  // namespace
}  // namespace sheaf::tests::cuda_edge_function_test
