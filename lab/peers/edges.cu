#include "lab/description/edges/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/peers/cub/calls.cuh"

namespace sheaf::bench::peers::device {
namespace {

constexpr unsigned edge_threads = 256;

template <class Value>
struct edge_arrays {
  const void* first;
  const Value* values;
  const Value* weights;
  Value* result;
  std::uint64_t count;
  bool is_packed;
  bool is_force;
};

template <class Value, class Index, int Components>
__global__ void add_edges(const __grid_constant__ edge_arrays<Value> arrays) {
  const std::uint64_t e = std::uint64_t{blockIdx.x} * edge_threads + threadIdx.x;
  if (e >= arrays.count) return;
  const Index* const ends = static_cast<const Index*>(arrays.first);
  const std::uint64_t i = arrays.is_packed ? ends[2 * e] : ends[e];
  const std::uint64_t j = arrays.is_packed ? ends[2 * e + 1] : ends[arrays.count + e];
  Value step[Components];
  Value square = 0;
#pragma unroll
  for (int k = 0; k < Components; ++k) {
    step[k] = arrays.values[j * Components + k] - arrays.values[i * Components + k];
    square += step[k] * step[k];
  }
  Value factor = arrays.weights == nullptr ? Value{1} : arrays.weights[e];
  if (arrays.is_force) factor = square == 0 ? Value{0} : factor / (square * sqrt(square));
#pragma unroll
  for (int k = 0; k < Components; ++k) {
    atomicAdd(arrays.result + i * Components + k, factor * step[k]);
    atomicAdd(arrays.result + j * Components + k, -factor * step[k]);
  }
}

template <class Value>
using kernel = void (*)(edge_arrays<Value>);

template <class Value, class Index>
kernel<Value> kernel_of(std::uint32_t components) {
  if (components < 1 || components > most_edge_components) return nullptr;
  return primitives::with_components(
      components, [](auto n) -> kernel<Value> { return add_edges<Value, Index, decltype(n)::value>; });
}

template <class Value>
std::function<void(const jobs::array_set&)> queue_of(const context& ctx, const problem& problem) {
  const primitives::edge_part& sum = problem.part<primitives::edge_part>();
  const std::uint32_t components = primitives::components_of_node(problem);
  const kernel<Value> add = bytes(problem.index) == 4 ? kernel_of<Value, std::uint32_t>(components)
                                                      : kernel_of<Value, std::uint64_t>(components);
  if (add == nullptr) return {};
  return [ctx, problem, sum, add](const jobs::array_set& all) {
    edge_arrays<Value> arrays{};
    arrays.first = all[jobs::places::index].data;
    arrays.values = reinterpret_cast<const Value*>(all[jobs::places::source].data);
    if (sum.has_weights) arrays.weights = reinterpret_cast<const Value*>(all[jobs::edge_places::weights].data);
    arrays.result = reinterpret_cast<Value*>(all[jobs::places::target].data);
    arrays.count = problem.count;
    arrays.is_packed = sum.is_packed;
    arrays.is_force = sum.function == edge_function::inverse_square;
    require(cudaMemsetAsync(arrays.result, 0, primitives::nodes_of_graph(problem) * problem.record_bytes, ctx.stream()),
            "atomics");
    if (problem.count == 0) return;
    add<<<static_cast<unsigned>((problem.count + edge_threads - 1) / edge_threads), edge_threads, 0, ctx.stream()>>>(
        arrays);
    require(cudaGetLastError(), "atomics");
  };
}

std::function<void(const jobs::array_set&)> queue_of_type(const context& ctx, const problem& p) {
  return p.value == value_type::f64 ? queue_of<double>(ctx, p) : queue_of<float>(ctx, p);
}

}  // namespace

std::vector<contender> edge_atomics(const context& ctx, const problem& p, const workspace& arrays) {
  const auto queue = queue_of_type(ctx, p);
  if (!queue) return {};
  return {{.who = "atomics",
           .queue = [queue, &arrays](std::uint64_t copy) { queue(arrays.all(copy)); },
           .wait = [ctx] { wait(ctx); }}};
}

std::function<void()> atomic_edge_kernel(const context& ctx, const problem& p, const jobs::array_set& arrays) {
  const auto queue = queue_of_type(ctx, p);
  if (!queue) return {};
  return [queue, arrays] { queue(arrays); };
}

}  // namespace sheaf::bench::peers::device
