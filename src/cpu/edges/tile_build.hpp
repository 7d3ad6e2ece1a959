#pragma once

#include "primitives/edges/prepare.hpp"

namespace sheaf::cpu {

/// The nodes of a graph in tiles, each with all edges that have an end in it, in the order of the edges. An edge
/// between two tiles is in both. Ends are local numbers: the tile's own nodes come first, and behind them the nodes of
/// other tiles that its edges reach (halo).
struct edge_tiles {
  std::uint64_t tiles = 0;
  std::uint64_t nodes = 0;
  std::uint64_t tile_nodes = 1;  ///< own nodes of a tile; the last may have fewer
  std::uint64_t most_nodes = 0;  ///< own and halo nodes of the tile that has most
  bool ends_are_wide = false;    ///< local numbers have 32 bits, not 16
  buffer order;                  ///< the caller's number of each tile's own nodes, tile after tile: u32
  buffer halo;                   ///< and of its halo: u32
  buffer halo_begins;            ///< where a tile's halo begins: u64, one more than there are tiles
  buffer edge_begins;            ///< where a tile's edges begin: u64, one more than there are tiles
  buffer first;                  ///< local numbers of first ends: u16 or u32
  buffer second;
  buffer numbers;  ///< the caller's numbers of the edges: u32

  std::uint64_t kept_bytes() const {
    return order.size() + halo.size() + halo_begins.size() + edge_begins.size() + first.size() + second.size() +
           numbers.size();
  }
};

/// order[k] = the node that comes k-th along a Morton curve through the coordinates (Morton 1966), in cells of 2^-16 of
/// the longest side of their box (2^-24 in two dimensions). Coordinates that are not finite count as those of a corner.
/// The order depends on the arguments alone, not on the number of threads.
/// @throws error(out_of_memory)
void order_by_place(const context& ctx, const primitives::prepare_edge_sum_problem& problem, const void* coordinates,
                    std::uint32_t* order);

/// An order of the nodes in, tiles out. Returns the first edge that has a bad end, or no_edge; then nothing is built.
std::uint64_t find_bad_end(const primitives::edge_sum_problem& problem, const edge_view& edges, std::uint64_t threads);

/// All ends are nodes. `order` is a permutation of the nodes, and becomes the tiles'. @throws error(out_of_memory)
edge_tiles build_tiles(const context& ctx, const primitives::edge_sum_problem& problem, const edge_view& edges,
                       buffer order, std::uint64_t tile_nodes, std::uint64_t threads);

}  // namespace sheaf::cpu
