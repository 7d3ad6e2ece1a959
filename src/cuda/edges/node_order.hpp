#pragma once

#include <cstdint>

#include "core/scratch_offsets.hpp"
#include "primitives/edges/prepare.hpp"

// The order of the nodes from which tiles are cut.
namespace sheaf::cuda {

/// Where the parts of the scratch begin, in bytes.
struct node_order_layout {
  std::uint64_t box = 0;
  std::uint64_t keys[2] = {};  ///< low and high halves of the keys
  std::uint64_t sorted_keys = 0;
  std::uint64_t low_order = 0;
  std::uint64_t passes = 0;

  node_order_layout() = default;
  node_order_layout(const primitives::prepare_edge_sum_problem& p, core::scratch_offsets& place);
};

/// Queues order[k] = the node that comes k-th along a Morton curve through the coordinates (Morton 1966), in cells of
/// 2^-16 of the longest side of their box (2^-24 in two dimensions), and place[order[k]] = k. Coordinates that are not
/// finite count as those of a corner. Without coordinates the host grows the order along the edges, in parts of
/// `part_nodes` nodes, which waits for the stream; nodes stay in the caller's order where neighbours in the list of
/// edges are near each other.
void queue_node_order(const context& ctx, const primitives::prepare_edge_sum_problem& p,
                      const primitives::prepare_edge_sum_buffers& b, std::uint64_t part_nodes,
                      const node_order_layout& layout, std::byte* scratch, std::uint32_t* order, std::uint32_t* place);

/// Seconds that it takes.
double node_order_seconds(const primitives::prepare_edge_sum_problem& p, const machine& m);

}  // namespace sheaf::cuda
