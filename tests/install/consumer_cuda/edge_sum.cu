// A program with a function of edges of its own, compiled against an installed sheaf: fluxes between nodes of three
// components by two weights of an edge, on a ring. Without a GPU it says so and ends with 77, which a test takes for
// skipped.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/cuda/edge_sum.cuh>
#include <sheaf/sheaf.hpp>

namespace {

struct flux {
  __host__ __device__ void operator()(const float* first, const float* second, const float* weights, float* out) const {
    out[0] = weights[0] * first[0] * second[1] + first[2];
    out[1] = weights[1] - second[2] * first[0];
  }
};

template <class T>
T* on_device(const std::vector<T>& values) {
  T* there = nullptr;
  cudaMalloc(&there, values.size() * sizeof(T));
  cudaMemcpy(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return there;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device here");
    return 77;
  }
  using sheaf::value_type;
  constexpr std::uint32_t nodes = 10'000;
  std::vector<std::uint32_t> pairs;
  std::vector<float> values(3 * nodes);
  std::vector<float> weights(2 * nodes);
  std::vector<float> expected(2 * nodes);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 5);
  for (std::uint32_t e = 0; e < nodes; ++e) {
    const std::uint32_t i = e;
    const std::uint32_t j = (e + 1) % nodes;
    pairs.insert(pairs.end(), {i, j});
    float out[2];
    flux{}(&values[3 * i], &values[3 * j], &weights[2 * e], out);
    for (int k = 0; k < 2; ++k) expected[2 * i + k] += out[k];
    for (int k = 0; k < 2; ++k) expected[2 * j + k] -= out[k];
  }
  const sheaf::context ctx = sheaf::context::cuda();
  const sheaf::edge_view edges(sheaf::index_span(on_device(pairs), pairs.size(), sheaf::index_type::u32));
  const sheaf::const_values node_values(on_device(values), values.size(), value_type::f32);
  const sheaf::const_values edge_weights(on_device(weights), weights.size(), value_type::f32);
  float* const there = on_device(std::vector<float>(2 * nodes, -1));
  const sheaf::values result(there, 2 * nodes, value_type::f32);
  const auto is_right = [&](const char* variant) {
    ctx.wait();
    std::vector<float> found(2 * nodes);
    cudaMemcpy(found.data(), there, found.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (std::uint32_t i = 0; i < 2 * nodes; ++i) {
      if (found[i] == expected[i]) continue;  // all are small whole numbers
      std::printf("wrong: number %u is %g, not %g, variant '%s'\n", i, found[i], expected[i], variant);
      return false;
    }
    return true;
  };
  for (const char* const variant : {"", "cuda.two_pass"}) {
    sheaf::edge_sum<3, 2, float>(ctx, edges, node_values, edge_weights, result, flux{}, {.variant = variant});
    if (!is_right(variant)) return 1;
  }
  for (const char* const variant : {"cuda.by_node", "cuda.tiles"}) {
    const auto prepared = sheaf::prepare_edge_sum(ctx, edges, nodes, 3, 10, {.variant = variant});
    sheaf::run_edge_sum<3, 2, float>(prepared, node_values, edge_weights, result, flux{});
    if (!is_right(variant)) return 1;
  }
  std::puts("right");
  return 0;
}
