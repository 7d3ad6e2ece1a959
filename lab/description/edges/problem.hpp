#pragma once

#include <sheaf/edge_sum.hpp>

#include "lab/description/problem_spec.hpp"

// What an edge_sum's problem says, and what its sizes mean.
namespace sheaf::primitives {

/// Sums over the edges of a graph of problem_spec::table nodes, which lie in the order of the problem's pattern.
struct edge_part {
  edge_function function = edge_function::weighted_difference;
  bool has_weights = false;
  bool is_packed = false;  ///< both ends of an edge lie side by side
  reduction_order order = reduction_order::deterministic;
};

/// Edges of a node in a box of tetrahedra (Freudenthal's cut of each cube into six), whose sides are joined.
constexpr std::uint64_t edges_of_a_node = 7;

/// Nodes of the graph: as given, else one for seven edges.
std::uint64_t nodes_of_graph(const problem_spec& problem);
/// Components of a node's value, which are as many as its result has.
std::uint32_t components_of_node(const problem_spec& problem);

/// What body(std::integral_constant<std::uint32_t, n>) returns for a number of components that the compiler then knows.
template <class Body>
auto with_components(std::uint32_t components, Body body) {
  switch (components) {
    case 1: return body(std::integral_constant<std::uint32_t, 1>{});
    case 2: return body(std::integral_constant<std::uint32_t, 2>{});
    case 3: return body(std::integral_constant<std::uint32_t, 3>{});
    case 4: return body(std::integral_constant<std::uint32_t, 4>{});
    case 5: return body(std::integral_constant<std::uint32_t, 5>{});
    case 6: return body(std::integral_constant<std::uint32_t, 6>{});
    case 7: return body(std::integral_constant<std::uint32_t, 7>{});
    default: return body(std::integral_constant<std::uint32_t, 8>{});
  }
}

}  // namespace sheaf::primitives
