#include "cuda/edges/tile_build.hpp"

#include "cuda/block/scan.cuh"
#include "cuda/device/launch.cuh"

// Builds tiles, a block for each: it sorts the tile's nodes by their number of edges, and keeps the places of its halo
// in a hash table, both in shared memory.
namespace sheaf::cuda {

/// What the host has to know of all tiles.
struct tile_facts {
  unsigned most_nodes;  ///< own and halo nodes of a tile
  unsigned most_edges;  ///< of a node
  unsigned has_wide_tile;
};

namespace {

using edge_kernels::list_entry;
using edge_kernels::local_second_end;
using edge_kernels::no_local_entry;
using edge_kernels::second_end;
using edge_kernels::slice_nodes;
using primitives::edge_memory;

constexpr unsigned build_threads = 512;
constexpr unsigned scan_threads = 1024;
constexpr std::uint32_t most_edges_of_a_node = 4096;  ///< a thread sums all edges of a node
constexpr std::uint32_t table_bits = 13;
constexpr std::uint32_t table_slots = 1U << table_bits;
constexpr std::uint32_t most_halo_nodes = table_slots / 4 * 3;
constexpr std::uint32_t free_slot = 0xffffffffU;  ///< no place: nodes have 31 bits
static_assert(most_tile_nodes + most_halo_nodes < edge_kernels::most_local_nodes);

/// The places of a tile's own nodes.
struct own_range {
  std::uint64_t begin;
  std::uint32_t count;

  __device__ own_range(std::uint64_t nodes, std::uint32_t tile_nodes)
      : begin(std::uint64_t{blockIdx.x} * tile_nodes),
        count(static_cast<std::uint32_t>(min(std::uint64_t{tile_nodes}, nodes - begin))) {}
  __device__ bool has(std::uint32_t place) const { return place - begin < count; }
};

/// The shared memory of a block.
struct tile_workspace {
  std::uint32_t* sorted;     ///< own nodes in the order of their number of edges: the number above a local place
  std::uint32_t* halo;       ///< hash table of places
  std::uint32_t* halo_size;  ///< places in it
  std::uint16_t* number;     ///< beside the table: numbers of halo nodes
  std::uint16_t* rank;       ///< of own nodes in `sorted`

  __device__ explicit tile_workspace(std::uint32_t* memory)
      : sorted(memory),
        halo(sorted + most_tile_nodes),
        halo_size(halo + table_slots),
        number(reinterpret_cast<std::uint16_t*>(halo_size + 1)),
        rank(number + table_slots) {}
  __device__ std::uint32_t local_at(std::uint32_t k) const { return sorted[k] & 0xffffU; }
};

/// 60 KiB, which all devices have.
constexpr std::size_t build_memory_bytes = (most_tile_nodes + table_slots + 1) * sizeof(std::uint32_t) +
                                           (table_slots + most_tile_nodes) * sizeof(std::uint16_t);

/// Sorts the own nodes by their number of edges, most first, and by their place (bitonic network), so that the 32 nodes
/// of a slice have about as many.
__device__ void sort_by_edges(const own_range& own, const std::uint64_t* begins, const tile_workspace& work) {
  for (std::uint32_t k = threadIdx.x; k < most_tile_nodes; k += build_threads) {
    std::uint32_t key = 0xffffffffU;
    if (k < own.count) {
      const std::uint64_t length = begins[own.begin + k + 1] - begins[own.begin + k];
      key = (0xfffeU - static_cast<std::uint32_t>(min(length, std::uint64_t{0xfffeU}))) << 16 | k;
    }
    work.sorted[k] = key;
  }
  for (std::uint32_t run = 2; run <= most_tile_nodes; run *= 2) {
    for (std::uint32_t step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      for (std::uint32_t i = threadIdx.x; i < most_tile_nodes / 2; i += build_threads) {
        const std::uint32_t low = i / step * (2 * step) + i % step;
        const std::uint32_t high = low + step;
        const bool ascends = (low & run) == 0;
        const std::uint32_t a = work.sorted[low];
        const std::uint32_t b = work.sorted[high];
        if ((a > b) == ascends) {
          work.sorted[low] = b;
          work.sorted[high] = a;
        }
      }
    }
  }
  __syncthreads();
}

__device__ std::uint32_t slot_of(std::uint32_t place) { return place * 0x9e3779b1U >> (32 - table_bits); }

/// Puts the places of other tiles that the tile's edges reach into the table. Returns how many they are; more than
/// most_halo_nodes say that not all are in it.
__device__ std::uint32_t find_halo(const own_range& own, const tile_inputs& in, const tile_workspace& work) {
  for (std::uint32_t slot = threadIdx.x; slot < table_slots; slot += build_threads) work.halo[slot] = free_slot;
  if (threadIdx.x == 0) *work.halo_size = 0;
  __syncthreads();
  const std::uint64_t end = in.begins[own.begin + own.count];
  for (std::uint64_t at = in.begins[own.begin] + threadIdx.x; at < end; at += build_threads) {
    const std::uint32_t place = in.entries[at].other & ~edge_kernels::second_end;
    if (own.has(place)) continue;
    // As many threads as there are may each add one more, for which the table has room.
    if (*static_cast<volatile std::uint32_t*>(work.halo_size) > most_halo_nodes) break;
    for (std::uint32_t slot = slot_of(place);; slot = (slot + 1) % table_slots) {
      const std::uint32_t before = atomicCAS(work.halo + slot, free_slot, place);
      if (before == free_slot) atomicAdd(work.halo_size, 1U);
      if (before == free_slot || before == place) break;
    }
  }
  __syncthreads();
  return *work.halo_size;
}

/// Numbers the halo, behind the own nodes, and writes its nodes.
__device__ void number_halo(const own_range& own, const std::uint32_t* order, std::uint32_t* ids,
                            const tile_workspace& work) {
  __syncthreads();
  if (threadIdx.x == 0) *work.halo_size = 0;
  __syncthreads();
  for (std::uint32_t slot = threadIdx.x; slot < table_slots; slot += build_threads) {
    const std::uint32_t place = work.halo[slot];
    if (place == free_slot) continue;
    const std::uint32_t local = own.count + atomicAdd(work.halo_size, 1U);
    work.number[slot] = static_cast<std::uint16_t>(local);
    ids[local] = order[place];
  }
  __syncthreads();
}

/// The number of a place that the tile has or reaches.
__device__ std::uint32_t local_number(const own_range& own, std::uint32_t place, const tile_workspace& work) {
  if (own.has(place)) return work.rank[place - own.begin];
  std::uint32_t slot = slot_of(place);
  while (work.halo[slot] != place) slot = (slot + 1) % table_slots;
  return work.number[slot];
}

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
    const std::uint64_t sum = inclusive_warp_sum(own, lane);
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

tile_build_scratch::tile_build_scratch(std::uint64_t nodes, std::uint32_t tile_nodes, core::scratch_arrays& arrays)
    : facts(arrays.take<tile_facts>(1)),
      ids_of_tile(arrays.take<std::uint32_t>(ceil_div(nodes, tile_nodes))),
      rows_of_slice(arrays.take<std::uint32_t>(ceil_div(nodes, tile_nodes) * (tile_nodes / slice_nodes))) {}

bool build_tiles(const context& ctx, std::uint64_t nodes, std::uint32_t tile_nodes, const tile_inputs& in,
                 const tile_build_scratch& scratch, edge_tiles& made) {
  const std::uint64_t tiles = ceil_div(nodes, tile_nodes);
  const std::uint64_t slices = tiles * (tile_nodes / slice_nodes);
  made.nodes = nodes;
  made.tile_nodes = tile_nodes;
  made.id_begins = edge_memory(ctx, "offsets of the tiles", (tiles + 1) * sizeof(std::uint64_t));
  made.slice_begins = edge_memory(ctx, "offsets of the tiles' edges", (slices + 1) * sizeof(std::uint64_t));
  auto* const id_begins = made.id_begins.as<std::uint64_t>();
  auto* const slice_begins = made.slice_begins.as<std::uint64_t>();
  require(cudaMemsetAsync(scratch.facts, 0, sizeof *scratch.facts, ctx.stream()), ctx);
  launch_shared(ctx, measure_tiles, tiles, build_threads, build_memory_bytes, in, nodes, tile_nodes,
                scratch.ids_of_tile, scratch.rows_of_slice, scratch.facts);
  launch_blocks(ctx, sum_counts, 1, scan_threads, scratch.ids_of_tile, tiles, id_begins);
  launch_blocks(ctx, sum_counts, 1, scan_threads, scratch.rows_of_slice, slices, slice_begins);
  tile_facts found{};
  std::uint64_t ids = 0;
  std::uint64_t rows = 0;
  ctx.state().copy(&found, scratch.facts, sizeof found);  // waits
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
