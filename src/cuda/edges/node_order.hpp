#pragma once

#include "core/scratch_offsets.hpp"
#include "primitives/edges/prepare.hpp"

// The order of the nodes from which tiles are cut.
namespace sheaf::cuda {

struct coordinate_box;

/// Scratch in which coordinates are sorted.
struct node_order_scratch {
  coordinate_box* box = nullptr;
  std::uint32_t* keys[2] = {};  ///< low and high halves of the keys
  std::uint32_t* sorted_keys = nullptr;
  std::uint32_t* low_order = nullptr;
  std::byte* passes = nullptr;

  node_order_scratch(const primitives::prepare_edge_sum_problem& problem, core::scratch_arrays& arrays);
};

/// Queues order[k] = the node that comes k-th along a Morton curve through the coordinates (Morton 1966), in cells of
/// 2^-16 of the longest side of their box (2^-24 in two dimensions), and place[order[k]] = k. Coordinates that are not
/// finite count as those of a corner. Without coordinates the host grows the order along the edges, in parts of
/// `part_nodes` nodes, which waits for the stream; nodes stay in the caller's order where neighbours in the list of
/// edges are near each other.
void queue_node_order(const context& ctx, const primitives::prepare_edge_sum_problem& problem,
                      const primitives::prepare_edge_sum_buffers& buffers, std::uint64_t part_nodes,
                      const node_order_scratch& scratch, std::uint32_t* order, std::uint32_t* place);

/// Seconds that it takes.
double node_order_seconds(const primitives::prepare_edge_sum_problem& problem, const machine& machine);

// Nodes that have no coordinates and whose numbers say nothing of where they are. Growing parts of a graph
// breadth-first is a long chain of short steps, so the host does it.

/// Whether it is the host that brings the nodes of this preparation into order.
bool is_order_grown(const primitives::prepare_edge_sum_problem& problem) noexcept;

/// order[k] = the node that comes k-th where parts of `part_nodes` nodes are grown one after another, each
/// breadth-first (graph::grow_order). Copies the ends to the host, waits, and leaves the order in device memory.
/// @throws error(out_of_memory) where the host has no memory for ends and neighbours
void grow_node_order(const context& ctx, const primitives::edge_sum_problem& problem, const edge_view& edges,
                     std::uint64_t part_nodes, std::uint32_t* order);

/// Seconds that it takes.
double grown_order_seconds(const primitives::edge_sum_problem& problem, const machine& machine);

}  // namespace sheaf::cuda
