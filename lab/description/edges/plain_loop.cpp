#include <algorithm>
#include <cmath>

#include "lab/description/edges/graph.hpp"
#include "lab/description/plain_loops.hpp"

namespace sheaf::jobs {
namespace {

template <class Value, class Index, std::uint32_t Components>
struct edge_loop {
  std::uint64_t edges;
  std::uint64_t nodes;
  const Index* first;
  const Index* second;
  std::uint64_t stride;
  const Value* values;
  const Value* weights;
  Value* result;
  bool is_force;

  void operator()() const {
    std::fill_n(result, nodes * Components, Value{0});
    for (std::uint64_t e = 0; e < edges; ++e) {
      const std::uint64_t i = first[e * stride];
      const std::uint64_t j = second[e * stride];
      Value step[Components];
      Value square = 0;
      for (std::uint32_t k = 0; k < Components; ++k) {
        step[k] = values[j * Components + k] - values[i * Components + k];
        square += step[k] * step[k];
      }
      Value factor = weights == nullptr ? Value{1} : weights[e];
      if (is_force) factor = square == 0 ? Value{0} : factor / (square * std::sqrt(square));
      for (std::uint32_t k = 0; k < Components; ++k) {
        result[i * Components + k] += factor * step[k];
        result[j * Components + k] -= factor * step[k];
      }
    }
  }
};

template <class Value, std::uint32_t Components>
plain_call loop_of(const problem_spec& p, const array_set& arrays) {
  return with_index_type(p.index, [&]<class Index>(std::type_identity<Index>) -> plain_call {
    const auto* const ends = items_of<const Index>(arrays[places::index]);
    return edge_loop<Value, Index, Components>{
        .edges = p.count,
        .nodes = primitives::nodes_of_graph(p),
        .first = ends,
        .second = ends + (p.is_packed ? 1 : p.count),
        .stride = p.is_packed ? 2U : 1U,
        .values = items_of<const Value>(arrays[places::source]),
        .weights = p.has_weights ? items_of<const Value>(arrays[edge_places::weights]) : nullptr,
        .result = items_of<Value>(arrays[places::target]),
        .is_force = p.of_edges == edge_function::inverse_square};
  });
}

template <class Value>
plain_call loop_of(const problem_spec& p, const array_set& arrays) {
  switch (primitives::components_of_node(p)) {
    case 1: return loop_of<Value, 1>(p, arrays);
    case 2: return loop_of<Value, 2>(p, arrays);
    case 3: return loop_of<Value, 3>(p, arrays);
    case 4: return loop_of<Value, 4>(p, arrays);
    case 5: return loop_of<Value, 5>(p, arrays);
    case 6: return loop_of<Value, 6>(p, arrays);
    case 7: return loop_of<Value, 7>(p, arrays);
    default: return loop_of<Value, 8>(p, arrays);
  }
}

}  // namespace

plain_call plain_edge_sum(const context&, const problem_spec& p, const array_set& arrays) {
  return p.value == value_type::f64 ? loop_of<double>(p, arrays) : loop_of<float>(p, arrays);
}

}  // namespace sheaf::jobs
