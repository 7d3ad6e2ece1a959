#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_runtime_api.h>

// What the kernels of list_rank and list_scan share with the library: plain structs, whose arrays the library lays out.
namespace sheaf {
namespace list_kernels {

constexpr std::uint32_t list_end = 0xffffffffU;   ///< as a successor: there is none
constexpr std::uint32_t no_node = 0xffffffffU;    ///< as an entry of the log, or a predecessor
constexpr std::uint32_t unreached = 0xffffffffU;  ///< as a sublist: no start leads to the node. All bits set, by memset
constexpr std::uint32_t no_sublist = 0xfffffffeU;  ///< as a sublist: the one from a start to the first splitter
constexpr std::uint32_t list_start = 0xfffffffdU;  ///< as the sublist of a carry: the node is a start
constexpr std::uint64_t most_list_nodes = 0xfffffff0U;

constexpr unsigned list_threads = 256;               ///< of a block of every kernel
constexpr std::uint32_t log_chunk = 32;              ///< entries of the log that one thread fills and one warp finishes
constexpr std::uint32_t most_last_level = 1U << 18;  ///< nodes of the last level
constexpr std::uint32_t most_levels = 4;             ///< above level 0

/// How a level's nodes are cut into blocks with a splitter each.
struct list_cut {
  std::uint32_t log2_block = 0;
  std::uint32_t count = 0;  ///< nodes of the level
  std::uint32_t blocks = 0;
  std::uint32_t seed = 0;
};

/// Splitter of a block: any of its nodes, by a hash of the block's number; the first if the block is cut short before
/// it.
__host__ __device__ inline std::uint32_t splitter_at(const list_cut& cut, std::uint32_t block) {
  std::uint32_t x = (block + cut.seed) * 0x9e3779b1U;
  x ^= x >> 15;
  x *= 0x85ebca77U;
  x ^= x >> 13;
  const std::uint32_t first = block << cut.log2_block;
  const std::uint32_t node = first | (x & ((1U << cut.log2_block) - 1));
  return node < cut.count ? node : first;
}

/// What a call knows of its list so far, in device memory. Zero at first.
struct list_status {
  std::uint64_t sum;     ///< of all successors
  std::uint64_t last;    ///< sublist with the end of the list, and in the low half its nodes; 0 until it is found
  std::uint32_t ends;    ///< nodes without a successor
  std::uint32_t is_bad;  ///< no list, or one with a sublist that is too long: the steps end at once
  std::uint32_t heads;   ///< of a forest
  std::uint32_t walks;   ///< sublists that were drawn
  std::uint32_t chunks;  ///< chunks of the log that were drawn
  std::uint32_t nodes_of_heads;  ///< forest: nodes in the sublists of no splitter
  std::uint32_t reached;         ///< forest: nodes that heads lead to
  std::uint32_t begun;           ///< blocks of a walk that have begun, where some of them sum successors
  std::uint32_t summed;          ///< blocks that have summed their successors
  std::uint32_t is_faulty;       ///< what is wrong has been reported
};

/// A level above 0: its nodes are the splitters of the level below.
struct list_level {
  list_cut cut;    ///< of its nodes; no blocks on the last level
  void* nodes;     ///< sublist_node
  void* prefixes;  ///< list_prefix, all bits set at first
  void* carries;   ///< list_prefix, all bits set at first: what comes before nodes that a list of this level begins at
};

/// Where lists begin.
struct list_heads {
  const std::uint32_t* forest = nullptr;           ///< the heads of a forest; null for one list
  const std::uint32_t* has_predecessor = nullptr;  ///< a forest: one bit for each node, set if it is a node's successor
};

struct walk_arguments {
  list_status* status;
  list_cut cut;
  list_heads heads;
  list_level above;
  std::uint32_t most_steps;      ///< of a sublist
  std::uint32_t summing_blocks;  ///< blocks that begin first and sum successors; 0 if that is done
  bool is_exclusive;
  // cuda.log
  std::uint32_t* log;             ///< nodes
  void* log_sums;                 ///< beside them
  std::uint32_t* chunk_sublists;  ///< of a chunk's first node
  std::uint32_t* chunk_before;    ///< nodes before it in the sublist
  std::uint32_t most_chunks;
  // cuda.sublist
  void* prefixes;  ///< list_prefix of all nodes
};

/// What the last level's pointer jumping works in. Each round reads one half of an array of two and writes the other.
struct last_level_arrays {
  std::uint32_t* previous;  ///< predecessors; all bits set at first
  std::uint32_t* hop[2];    ///< the node that a pointer has come to; no_node once it is past the beginning of its list
  void* upto[2];            ///< list_prefix: all that lies between there and a node, with the node itself
};

struct levels_arguments {
  list_status* status;
  list_level level[most_levels];
  std::uint32_t levels;
  std::uint32_t nodes;  ///< of level 0
  std::uint32_t most_steps;
  last_level_arrays last;
  bool is_forest;
};

struct finish_arguments {
  const list_status* status;
  list_cut cut;
  list_heads heads;
  const void* prefixes;  ///< of the splitters
  bool is_exclusive;
  const void* initial;  ///< in host memory
  void* results;
  // cuda.log
  std::uint32_t* log;
  const void* log_sums;
  const std::uint32_t* chunk_sublists;
  const std::uint32_t* chunk_before;
  std::uint32_t chunks;
  // cuda.sublist
  const void* node_prefixes;
};

/// A pointer to a node's predecessor, or to one further towards the head, and the steps between. A head points to
/// itself, by no step. One word, so that all threads may follow and move pointers at once.
struct alignas(8) list_jump {
  std::uint32_t to;
  std::uint32_t steps;
};

/// A pointer along two. On a list of `count` nodes steps are fewer; on a cycle they stay at `count`, and never wrap
/// around to 0, which would be a head's.
__host__ __device__ inline list_jump further_jump(list_jump own, list_jump further, std::uint32_t count) {
  const std::uint64_t steps = std::uint64_t{own.steps} + further.steps;
  return {further.to, steps < count ? static_cast<std::uint32_t>(steps) : count};
}

/// Items that scan_runs needs above `count` items.
constexpr std::uint64_t items_above(std::uint64_t count) { return count / 63 + 8; }

/// What scan_by_rank works with: all ranks are known, but not by walks.
struct by_rank_arguments {
  list_status* status;
  std::uint32_t count;
  const list_jump* jumps;        ///< of each node: its head, and its rank
  std::uint32_t* lengths;        ///< forest: of the list of each head, then where the lists begin in `order`; else null
  std::uint32_t* above_lengths;  ///< for their scan
  std::uint32_t* order;          ///< nodes, list after list
  void* sums;                    ///< segment_sum, beside them
  void* above_sums;              ///< for their scan
  void* results;
  bool is_exclusive;
  const void* initial;  ///< in host memory
  bool always;          ///< else only if the steps before found the list bad
};

/// Nodes of level 0: successors alone for a rank, packed nodes for a scan.
struct list_input {
  const void* nodes;
  std::uint32_t successor_bytes;
  std::uint32_t is_signed;
};

struct pack_arguments {
  list_status* status;
  const void* successors;
  std::uint32_t successor_bytes;
  std::uint32_t is_signed;
  const void* values;
  std::uint32_t count;
  void* nodes;
};

}  // namespace list_kernels

namespace detail {

/// The kernels for a type of values and an operator. Functions queue one kernel.
struct device_scan_operator {
  const void* op;  ///< in host memory, while the call is queued
  std::uint32_t value_bytes;
  std::uint32_t packed_bytes;
  std::uint32_t sublist_bytes;
  std::uint32_t prefix_bytes;
  std::uint32_t segment_bytes;
  cudaError_t (*pack)(cudaStream_t, const list_kernels::pack_arguments&);
  cudaError_t (*walk_and_log)(cudaStream_t, std::uint32_t blocks, const void* op, const list_kernels::walk_arguments&,
                              const list_kernels::list_input&);
  cudaError_t (*walk_level_0)(cudaStream_t, std::uint32_t blocks, const void* op, const list_kernels::walk_arguments&,
                              const list_kernels::list_input&);
  cudaError_t (*scan_sublists)(cudaStream_t, const void* op, const list_kernels::levels_arguments&);
  cudaError_t (*finish_log)(cudaStream_t, const void* op, const list_kernels::finish_arguments&,
                            std::uint32_t out_bytes);
  cudaError_t (*finish_places)(cudaStream_t, const void* op, const list_kernels::finish_arguments&,
                               const list_kernels::list_input&, std::uint32_t out_bytes);
  cudaError_t (*scan_by_rank)(cudaStream_t, const void* op, const list_kernels::by_rank_arguments&,
                              const list_kernels::list_input&);
};

}  // namespace detail
}  // namespace sheaf
