#pragma once

#include <cstdint>

#include "cuda/edges/tile_build.hpp"

// What a block does to build its tile: it sorts the tile's nodes by their number of edges, and keeps the places of its
// halo in a hash table, both in shared memory.
namespace sheaf::cuda {

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
__device__ inline void sort_by_edges(const own_range& own, const std::uint64_t* begins, const tile_workspace& work) {
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

__device__ inline std::uint32_t slot_of(std::uint32_t place) { return place * 0x9e3779b1U >> (32 - table_bits); }

/// Puts the places of other tiles that the tile's edges reach into the table. Returns how many they are; more than
/// most_halo_nodes say that not all are in it.
__device__ inline std::uint32_t find_halo(const own_range& own, const tile_inputs& in, const tile_workspace& work) {
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
__device__ inline void number_halo(const own_range& own, const std::uint32_t* order, std::uint32_t* ids,
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
__device__ inline std::uint32_t local_number(const own_range& own, std::uint32_t place, const tile_workspace& work) {
  if (own.has(place)) return work.rank[place - own.begin];
  std::uint32_t slot = slot_of(place);
  while (work.halo[slot] != place) slot = (slot + 1) % table_slots;
  return work.number[slot];
}

}  // namespace sheaf::cuda
