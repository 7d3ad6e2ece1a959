#pragma once

#include <cstdint>

#include <sheaf/context.hpp>

#include "primitives/edges/prepare.hpp"

// Orders in which nodes that are near each other come one after another. They depend on the arguments alone, not on the
// number of threads.
namespace sheaf::cpu {

/// order[k] = the node that comes k-th along a Morton curve through the coordinates (Morton 1966), in cells of 2^-16 of
/// the longest side of their box (2^-24 in two dimensions). Coordinates that are not finite count as those of a corner.
/// @throws error(out_of_memory)
void order_by_place(const context& ctx, const primitives::prepare_edge_sum_problem& p, const void* coordinates,
                    std::uint32_t* order);

/// order[k] = the node that comes k-th where parts of `part_nodes` nodes are grown one after another, each
/// breadth-first from a node beside those before it (greedy graph growing). All ends of edges are nodes. @throws
/// error(out_of_memory)
void order_by_edges(const context& ctx, const primitives::edge_sum_problem& p, const edge_view& edges,
                    std::uint64_t part_nodes, std::uint32_t* order);

}  // namespace sheaf::cpu
