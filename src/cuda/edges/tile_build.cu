#include "cuda/edges/tile_build.hpp"

#include <utility>

#include "cuda/device/launch.cuh"
#include "cuda/edges/tile_nodes.cuh"

namespace sheaf::cuda {
namespace {

using edge_kernels::list_entry;
using edge_kernels::local_second_end;
using edge_kernels::no_local_entry;
using edge_kernels::second_end;
using edge_kernels::slice_nodes;
using primitives::edge_memory;

/// What the host has to know of all tiles.
struct tile_facts {
  unsigned most_nodes;  ///< own and halo nodes of a tile
  unsigned most_edges;  ///< of a node
  unsigned has_wide_tile;
};

/// The first step: how many nodes each tile has and reaches, and how many rows its slices have.
__global__ void __launch_bounds__(build_threads)
    measure_tiles(const __grid_constant__ tile_inputs in, std::uint64_t nodes, std::uint32_t tile_nodes,
                  std::uint32_t* ids_of_tile, std::uint32_t* rows_of_slice, tile_facts* facts) {
  extern __shared__ std::uint32_t build_memory[];
  const own_range own(nodes, tile_nodes);
  const tile_workspace work(build_memory);
  sort_by_edges(own, in.begins, work);
  for (std::uint32_t slice = threadIdx.x; slice < tile_nodes / slice_nodes; slice += build_threads) {
    // The first node of a slice has most edges.
    const std::uint32_t first = slice * slice_nodes;
    const std::uint64_t node = own.begin + (first < own.count ? work.local_at(first) : 0);
    const std::uint64_t length = first < own.count ? in.begins[node + 1] - in.begins[node] : 0;
    rows_of_slice[std::uint64_t{blockIdx.x} * (tile_nodes / slice_nodes) + slice] =
        static_cast<std::uint32_t>((length + 1) / 2);
    if (slice == 0)
      atomicMax(&facts->most_edges, static_cast<unsigned>(min(length, std::uint64_t{most_edges_of_a_node + 1})));
  }
  const std::uint32_t halo = find_halo(own, in, work);
  if (threadIdx.x != 0) return;
  ids_of_tile[blockIdx.x] = own.count + halo;
  atomicMax(&facts->most_nodes, own.count + halo);
  if (halo > most_halo_nodes) facts->has_wide_tile = 1;
}

/// Exclusive sums of counts, by one block.
__global__ void __launch_bounds__(scan_threads)
    sum_counts(const std::uint32_t* counts, std::uint64_t count, std::uint64_t* begins) {
  __shared__ std::uint64_t warp_sums[scan_threads / 32];
  std::uint64_t before = 0;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  for (std::uint64_t first = 0; first < count; first += scan_threads) {
    const std::uint64_t i = first + threadIdx.x;
    const std::uint64_t own = i < count ? counts[i] : 0;
    std::uint64_t sum = own;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint64_t earlier = __shfl_up_sync(~0U, sum, step);
      if (lane >= step) sum += earlier;
    }
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    std::uint64_t earlier_warps = 0;
    std::uint64_t all_warps = 0;
    for (unsigned w = 0; w < scan_threads / 32; ++w) {
      if (w == warp) earlier_warps = all_warps;
      all_warps += warp_sums[w];
    }
    if (i < count) begins[i] = before + earlier_warps + sum - own;
    before += all_warps;
    __syncthreads();
  }
  if (threadIdx.x == 0) begins[count] = before;
}

/// The second step: numbers of the nodes that each tile has and reaches, and its lists with local numbers. A warp
/// writes a slice, row by row.
__global__ void __launch_bounds__(build_threads)
    fill_tiles(const __grid_constant__ tile_inputs in, std::uint64_t nodes, std::uint32_t tile_nodes,
               const std::uint64_t* id_begins, const std::uint64_t* slice_begins, std::uint32_t* ids,
               std::uint32_t* entries, uint2* edges) {
  extern __shared__ std::uint32_t build_memory[];
  const own_range own(nodes, tile_nodes);
  const tile_workspace work(build_memory);
  sort_by_edges(own, in.begins, work);
  find_halo(own, in, work);
  std::uint32_t* const tile_ids = ids + id_begins[blockIdx.x];
  for (std::uint32_t k = threadIdx.x; k < own.count; k += build_threads) {
    work.rank[work.local_at(k)] = static_cast<std::uint16_t>(k);
    tile_ids[k] = in.order[own.begin + work.local_at(k)];
  }
  number_halo(own, in.order, tile_ids, work);
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t* const tile_slices = slice_begins + std::uint64_t{blockIdx.x} * (tile_nodes / slice_nodes);
  for (std::uint32_t slice = threadIdx.x / 32; slice * slice_nodes < own.count; slice += build_threads / 32) {
    const std::uint32_t k = slice * slice_nodes + lane;
    const std::uint64_t node = own.begin + (k < own.count ? work.local_at(k) : 0);
    const std::uint64_t begin = in.begins[node];
    const std::uint64_t end = k < own.count ? in.begins[node + 1] : begin;
    const std::uint64_t rows = tile_slices[slice + 1] - tile_slices[slice];
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::uint32_t pair = 0;
      std::uint32_t edge[2] = {0, 0};
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const std::uint64_t at = begin + 2 * row + half;
        std::uint32_t local = no_local_entry;
        if (at < end) {
          const list_entry entry = in.entries[at];
          local = local_number(own, entry.other & ~second_end, work);
          if ((entry.other & second_end) != 0) local |= local_second_end;
          edge[half] = entry.edge;
        }
        pair |= local << (16 * half);
      }
      const std::uint64_t to = (tile_slices[slice] + row) * slice_nodes + lane;
      entries[to] = pair;
      edges[to] = make_uint2(edge[0], edge[1]);
    }
  }
}

/// Whether runs would read more padding than edges. A list of an odd number of entries leaves half of its last row
/// empty in any case, so an entry for each node does not count as padding; what does is that a node has fewer edges
/// than the first of its slice.
bool slices_are_mostly_padding(std::uint64_t slice_entries, std::uint64_t filled_entries, std::uint64_t nodes) {
  return slice_entries > 2 * (filled_entries + nodes);
}

}  // namespace

tile_build_layout::tile_build_layout(std::uint64_t nodes, std::uint32_t tile_nodes, core::scratch_offsets& place) {
  const std::uint64_t tiles = ceil_div(nodes, tile_nodes);
  facts = place.take(sizeof(tile_facts));
  ids_of_tile = place.take(tiles * sizeof(std::uint32_t));
  rows_of_slice = place.take(tiles * (tile_nodes / slice_nodes) * sizeof(std::uint32_t));
}

bool build_tiles(const context& ctx, std::uint64_t nodes, std::uint32_t tile_nodes, const tile_inputs& in,
                 const tile_build_layout& layout, std::byte* scratch, edge_tiles& made) {
  const std::uint64_t tiles = ceil_div(nodes, tile_nodes);
  const std::uint64_t slices = tiles * (tile_nodes / slice_nodes);
  auto* const facts = reinterpret_cast<tile_facts*>(scratch + layout.facts);
  auto* const ids_of_tile = reinterpret_cast<std::uint32_t*>(scratch + layout.ids_of_tile);
  auto* const rows_of_slice = reinterpret_cast<std::uint32_t*>(scratch + layout.rows_of_slice);
  made.nodes = nodes;
  made.tile_nodes = tile_nodes;
  made.id_begins = edge_memory(ctx, "offsets of the tiles", (tiles + 1) * sizeof(std::uint64_t));
  made.slice_begins = edge_memory(ctx, "offsets of the tiles' edges", (slices + 1) * sizeof(std::uint64_t));
  auto* const id_begins = made.id_begins.as<std::uint64_t>();
  auto* const slice_begins = made.slice_begins.as<std::uint64_t>();
  require(cudaMemsetAsync(facts, 0, sizeof *facts, ctx.stream()), ctx);
  launch_shared(ctx, measure_tiles, tiles, build_threads, build_memory_bytes, in, nodes, tile_nodes, ids_of_tile,
                rows_of_slice, facts);
  launch_blocks(ctx, sum_counts, 1, scan_threads, ids_of_tile, tiles, id_begins);
  launch_blocks(ctx, sum_counts, 1, scan_threads, rows_of_slice, slices, slice_begins);
  tile_facts found{};
  std::uint64_t ids = 0;
  std::uint64_t rows = 0;
  ctx.state().copy(&found, facts, sizeof found);  // waits
  ctx.state().copy(&ids, id_begins + tiles, sizeof ids);
  ctx.state().copy(&rows, slice_begins + slices, sizeof rows);
  constexpr std::uint64_t entries_of_row = 2 * slice_nodes;
  if (found.has_wide_tile != 0 || found.most_edges > most_edges_of_a_node ||
      slices_are_mostly_padding(rows * entries_of_row, in.entry_count, nodes)) {
    return false;
  }
  made.most_nodes = found.most_nodes;
  made.ids = edge_memory(ctx, "numbers of the tiles' nodes", ids * sizeof(std::uint32_t));
  made.entries = edge_memory(ctx, "local numbers of the edges' ends", rows * slice_nodes * sizeof(std::uint32_t));
  made.edges = edge_memory(ctx, "numbers of the tiles' edges", rows * slice_nodes * sizeof(uint2));
  launch_shared(ctx, fill_tiles, tiles, build_threads, build_memory_bytes, in, nodes, tile_nodes, id_begins,
                slice_begins, made.ids.as<std::uint32_t>(), made.entries.as<std::uint32_t>(), made.edges.as<uint2>());
  return true;
}

}  // namespace sheaf::cuda
