#pragma once

#include "primitives/edges/edge_sum.hpp"

// An order of a graph's nodes in which neighbours come one after another, made by one thread of the host from the edges
// alone. Backends share it.
namespace sheaf::graph {

/// Bytes of scratch that grow_order() takes.
std::uint64_t order_scratch_bytes(const primitives::edge_sum_problem& problem) noexcept;

/// order[k] = the node that comes k-th where parts of `part_nodes` nodes are grown one after another, each
/// breadth-first from a node beside those before it (greedy graph growing). The order depends on the arguments alone.
/// An edge with an end that is not a node is skipped.
/// @param edges    in host memory
/// @param scratch  aligned to 8 bytes
/// @param order    as many numbers as there are nodes, which have 32 bits
void grow_order(const primitives::edge_sum_problem& problem, const edge_view& edges, std::uint64_t part_nodes,
                std::byte* scratch, std::uint32_t* order);

}  // namespace sheaf::graph
