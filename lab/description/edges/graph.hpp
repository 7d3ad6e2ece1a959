#pragma once

#include <cstdint>

#include "lab/description/problem_spec.hpp"

// What the sizes of an edge_sum's problem mean.
namespace sheaf::primitives {

/// Edges of a node in a box of tetrahedra (Freudenthal's cut of each cube into six), whose sides are joined.
constexpr std::uint64_t edges_of_a_node = 7;

/// Nodes of the graph: as given, else one for seven edges.
std::uint64_t nodes_of_graph(const problem_spec& p);
/// Components of a node's value, which are as many as its result has.
std::uint32_t components_of_node(const problem_spec& p);

}  // namespace sheaf::primitives
