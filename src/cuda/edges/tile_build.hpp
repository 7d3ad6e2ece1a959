#pragma once

#include <sheaf/cuda/detail/edge_arguments.hpp>

#include "core/scratch_offsets.hpp"
#include "primitives/edges/prepare.hpp"

namespace sheaf::cuda {

constexpr std::uint32_t least_tile_nodes = 256;
constexpr std::uint32_t most_tile_nodes = 2048;

/// The nodes of a graph in tiles, as a run takes them (edge_kernels::tile_arguments).
struct edge_tiles {
  std::uint64_t nodes = 0;
  std::uint32_t tile_nodes = least_tile_nodes;
  std::uint32_t most_nodes = 0;  ///< own and halo nodes of the tile that has most
  buffer ids;
  buffer id_begins;
  buffer entries;
  buffer edges;
  buffer slice_begins;

  std::uint64_t kept_bytes() const {
    return ids.size() + id_begins.size() + entries.size() + edges.size() + slice_begins.size();
  }
};

/// Lists in the order of tiles, in device memory.
struct tile_inputs {
  const std::uint32_t* order;               ///< the node at each place
  const std::uint64_t* begins;              ///< where the list of each place begins
  const edge_kernels::list_entry* entries;  ///< the other ends are places
  std::uint64_t entry_count;
};

struct tile_facts;

/// Scratch in which tiles are built.
struct tile_build_scratch {
  tile_facts* facts;
  std::uint32_t* ids_of_tile;
  std::uint32_t* rows_of_slice;

  tile_build_scratch(std::uint64_t nodes, std::uint32_t tile_nodes, core::scratch_arrays& arrays);
};

/// Builds tiles, and waits for the device. Returns whether it did: not where a tile reaches more nodes, or a node has
/// more edges, than tiles are good for. @throws error(out_of_memory)
bool build_tiles(const context& ctx, std::uint64_t nodes, std::uint32_t tile_nodes, const tile_inputs& in,
                 const tile_build_scratch& scratch, edge_tiles& made);

}  // namespace sheaf::cuda
