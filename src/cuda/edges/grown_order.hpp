#pragma once

#include <cstdint>

#include "primitives/edges/prepare.hpp"

// The order of nodes that have no coordinates and whose numbers say nothing of where they are. Growing parts of a graph
// breadth-first is a long chain of short steps, so the host does it.
namespace sheaf::cuda {

/// Whether it is the host that brings the nodes of this preparation into order.
bool is_order_grown(const primitives::prepare_edge_sum_problem& p) noexcept;

/// order[k] = the node that comes k-th where parts of `part_nodes` nodes are grown one after another, each
/// breadth-first (graph::grow_order). Copies the ends to the host, waits, and leaves the order in device memory.
/// @throws error(out_of_memory) where the host has no memory for ends and neighbours
void grow_node_order(const context& ctx, const primitives::edge_sum_problem& p, const edge_view& edges,
                     std::uint64_t part_nodes, std::uint32_t* order);

/// Seconds that it takes.
double grown_order_seconds(const primitives::edge_sum_problem& p, const machine& m);

}  // namespace sheaf::cuda
