#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

// What the kernels of edge_sum share with the library: plain structs, whose arrays the library lays out.
namespace sheaf {
namespace edge_kernels {

constexpr unsigned edge_threads = 256;               ///< of a block of every kernel
constexpr std::uint32_t piece_entries = 4096;        ///< entries of a piece of the lists
constexpr std::uint32_t long_list = piece_entries;   ///< lists from this length on are summed piece by piece
constexpr std::uint32_t second_end = 0x80000000U;    ///< in list_entry::other: the list's node is the second end
constexpr std::uint32_t most_local_nodes = 0x7fffU;  ///< own and halo nodes of a tile
constexpr std::uint32_t local_second_end = 0x8000U;  ///< in an entry of a tile: its node is the second end
constexpr std::uint32_t no_local_entry = 0xffffU;    ///< fills lists of a tile up to the longest of 32
constexpr std::uint32_t slice_nodes = 32;            ///< nodes whose entries lie side by side
constexpr std::uint64_t whole_lists = std::uint64_t{1} << 63;  ///< in list_arguments::begins: see there

/// The caller's ends as unsigned numbers, so that a negative end lies above every node.
struct end_arrays {
  const void* first;
  const void* second;
  std::uint64_t stride;
  std::uint64_t count;
  std::uint64_t limit;  ///< the least number that is not a node
  bool is_wide;         ///< ends have 8 bytes, not 4
};

/// What every sum reads and writes.
struct sum_views {
  const void* values;   ///< of the nodes
  const void* weights;  ///< null where there are none
  std::uint64_t edge_weights;
  void* result;
};

struct atomic_arguments {
  end_arrays edges;
  sum_views views;
  void* sums;                     ///< of the nodes: the result, or scratch in which sums are padded
  std::uint32_t sum_values;       ///< from a node's sum to the next's: its components, or more
  unsigned long long* first_bad;  ///< lowest edge that has a bad end
};

/// An edge in the list of one of its ends.
struct alignas(8) list_entry {
  std::uint32_t other;  ///< node at the other end, and second_end
  std::uint32_t edge;
};

/// The edges of each node, list after list. They come as entries, or, in rows, as `others` and `edges` beside them. In
/// rows, the lists of a slice of 32 nodes lie interleaved: row r has entry r of each list that is longer than r, in the
/// order of the nodes. Where whole_lists is set in the begin of a slice's first node, its lists lie one after another.
struct list_arguments {
  sum_views views;
  const std::uint64_t* begins;  ///< where a node's list begins: one more than there are nodes
  const list_entry* entries;    ///< null: in rows
  const std::uint32_t* others;  ///< as list_entry::other
  const std::uint32_t* edges;   ///< null: no run has weights, or in rows these lie in the order of the entries
  std::uint64_t nodes;
  std::uint64_t count;           ///< most entries that all lists have together
  void* piece_sums;              ///< two sums for each piece; null: no list is long
  const std::uint32_t* longest;  ///< length of the longest list, in device memory; null: not known
  std::uint32_t lanes;           ///< that sum a list of entries, a power of two up to 32
  bool adds_to_result;           ///< else it is overwritten
};

/// Nodes in tiles. A tile's own nodes come in the order of their number of edges, and their lists are cut into slices
/// of 32 nodes (sliced ELLPACK): row r of a slice has entries 2 r and 2 r + 1 of its 32 lists.
struct tile_arguments {
  sum_views views;
  const std::uint32_t* ids;           ///< the caller's numbers of a tile's own nodes, and behind them of its halo
  const std::uint64_t* id_begins;     ///< where those of a tile begin: one more than there are tiles
  const std::uint32_t* entries;       ///< two local numbers, and local_second_end
  const uint2* edges;                 ///< beside the entries, their edges
  const std::uint64_t* slice_begins;  ///< first row of each slice: one more than there are slices
  std::uint64_t nodes;
  std::uint32_t tile_nodes;  ///< own nodes of a tile, a multiple of slice_nodes; the last may have fewer
  std::uint32_t most_nodes;  ///< own and halo nodes of the tile that has most
};

}  // namespace edge_kernels

namespace detail {

/// The kernels for a type of values, numbers of components and a function. Functions queue one kernel.
struct device_edge_function {
  const void* function;  ///< in host memory, while the call is queued
  cudaError_t (*add_by_atomics)(cudaStream_t, const void* f, const edge_kernels::atomic_arguments&);
  cudaError_t (*sum_pieces)(cudaStream_t, const void* f, const edge_kernels::list_arguments&);
  cudaError_t (*sum_lists)(cudaStream_t, const void* f, const edge_kernels::list_arguments&);
  cudaError_t (*sum_rows)(cudaStream_t, const void* f, const edge_kernels::list_arguments&);
  cudaError_t (*sum_tiles)(cudaStream_t, const void* f, const edge_kernels::tile_arguments&);
};

}  // namespace detail
}  // namespace sheaf
