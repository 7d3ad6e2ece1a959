#include "core/startable.hpp"
#include "lab/description/edges/problem.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/peers/contenders.hpp"

namespace sheaf::bench::peers {
namespace {

/// A loop over the edges whose additions are atomic, for a number of components that the compiler knows.
template <class Value, class Index, int Components>
void atomic_loop(const problem& problem, int threads, const jobs::array_set& arrays) {
  const primitives::edge_part& sum = problem.part<primitives::edge_part>();
  const auto* const first = jobs::items_of<const Index>(arrays[jobs::places::index]);
  const Index* const second = first + (sum.is_packed ? 1 : problem.count);
  const std::uint64_t stride = sum.is_packed ? 2 : 1;
  const auto* const values = jobs::items_of<const Value>(arrays[jobs::places::source]);
  const auto* const weights =
      sum.has_weights ? jobs::items_of<const Value>(arrays[jobs::edge_places::weights]) : nullptr;
  auto* const result = jobs::items_of<Value>(arrays[jobs::places::target]);
  const std::uint64_t numbers = primitives::nodes_of_graph(problem) * Components;
  const bool is_force = sum.function == edge_function::inverse_square;
#pragma omp parallel num_threads(core::startable(threads))
  {
#pragma omp for schedule(static)
    for (std::uint64_t n = 0; n < numbers; ++n) result[n] = 0;
#pragma omp for schedule(static)
    for (std::uint64_t e = 0; e < problem.count; ++e) {
      const std::uint64_t i = first[e * stride];
      const std::uint64_t j = second[e * stride];
      Value step[Components];
      Value square = 0;
      for (int k = 0; k < Components; ++k) {
        step[k] = values[j * Components + k] - values[i * Components + k];
        square += step[k] * step[k];
      }
      Value factor = weights == nullptr ? Value{1} : weights[e];
      if (is_force) factor = square == 0 ? Value{0} : factor / (square * std::sqrt(square));
      for (int k = 0; k < Components; ++k) {
#pragma omp atomic
        result[i * Components + k] += factor * step[k];
#pragma omp atomic
        result[j * Components + k] -= factor * step[k];
      }
    }
  }
}

using loop = void (*)(const problem&, int, const jobs::array_set&);

template <class Value, class Index>
loop loop_of(std::uint32_t components) {
  return primitives::with_components(components,
                                     [](auto n) -> loop { return atomic_loop<Value, Index, decltype(n)::value>; });
}

template <class Value>
loop loop_of(const problem& p) {
  const std::uint32_t components = primitives::components_of_node(p);
  return bytes(p.index) == 4 ? loop_of<Value, std::uint32_t>(components) : loop_of<Value, std::uint64_t>(components);
}

}  // namespace

namespace host {

std::function<void()> atomic_edge_loop(const problem& p, int threads, const jobs::array_set& arrays) {
  const loop atomic = p.value == value_type::f64 ? loop_of<double>(p) : loop_of<float>(p);
  return [atomic, p, threads, arrays] { atomic(p, threads, arrays); };
}

std::vector<contender> edge_loops(const context& ctx, const problem& p, const workspace& arrays) {
  std::vector<contender> all = plain_loop("serial_loop", ctx, p, arrays);
  const auto atomic = [ctx, p, &arrays](std::uint64_t copy) { atomic_edge_loop(p, ctx.threads(), arrays.all(copy))(); };
  all.push_back(peer("atomic_loop", 0, atomic));
  return all;
}

}  // namespace host
}  // namespace sheaf::bench::peers
