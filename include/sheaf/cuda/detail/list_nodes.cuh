#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sheaf/cuda/detail/list_arguments.hpp>

// Nodes of a list on all its levels, and how they are read. The kernels of list_rank and list_scan that depend on the
// type of values and on the operator are compiled into the library for the built-in operators, and by a program's own
// CUDA compiler for its operators (sheaf/cuda/list_scan.cuh).
//
// A list of n nodes is level 0. Its nodes are cut into blocks of 2^b, of which each has one node drawn at random as a
// splitter (Wei and JaJa 2010, step 2). A sublist goes from one splitter to before the next, or to the end; the nodes
// from the head to before the first splitter are a sublist of no splitter. The splitters in the list's order are the
// list of level 1, and so on. A level's list may have several beginnings (`starts`): heads, or splitters that a
// sublist of no splitter led to, which then hold what came before them (`carry`).
namespace sheaf::list_kernels {

/// Stands for values where only ranks are asked for.
struct no_value {};

template <class T>
constexpr bool has_values = !std::is_same_v<T, no_value>;

/// A node of level 0 that is packed for a walk.
template <class T>
struct alignas(sizeof(T) <= 4    ? 8
               : sizeof(T) <= 12 ? 16
               : alignof(T) > 4  ? alignof(T)
                                 : 4) packed_node {
  T value;
  std::uint32_t next;
};

/// A node of a level above 0: a sublist of the level below.
template <class T>
struct sublist_node {
  std::uint32_t next;    ///< node of the same level, or list_end
  std::uint32_t length;  ///< nodes of level 0 in it
  T total;
};
template <>
struct sublist_node<no_value> {
  std::uint32_t next;
  std::uint32_t length;
};

/// What comes before a node: after a walk from the beginning of its sublist on, after the pass back down from the head
/// on.
template <class T>
struct list_prefix {
  /// The sublist from whose beginning on this counts; no_sublist: it counts from the head on; unreached: no list leads
  /// to the node.
  std::uint32_t sublist;
  std::uint32_t before;  ///< nodes of level 0 before it
  T sum;                 ///< of these; nothing if there are none
};
template <>
struct list_prefix<no_value> {
  std::uint32_t sublist;
  std::uint32_t before;
};

template <class T>
__device__ __forceinline__ sublist_node<T> make_sublist(std::uint32_t next, std::uint32_t length, const T& total) {
  if constexpr (has_values<T>) {
    return {next, length, total};
  } else {
    return {next, length};
  }
}

template <class T>
__device__ __forceinline__ list_prefix<T> make_prefix(std::uint32_t sublist, std::uint32_t before, const T& sum) {
  if constexpr (has_values<T>) {
    return {sublist, before, sum};
  } else {
    return {sublist, before};
  }
}

/// What is known of one level above 0.
template <class T>
struct level_arrays {
  sublist_node<T>* nodes;
  list_prefix<T>* prefixes;  ///< of the nodes
  list_prefix<T>* carries;   ///< what comes before nodes that are starts

  __device__ explicit level_arrays(const list_level& level)
      : nodes(static_cast<sublist_node<T>*>(level.nodes)),
        prefixes(static_cast<list_prefix<T>*>(level.prefixes)),
        carries(static_cast<list_prefix<T>*>(level.carries)) {}
};

/// The number of the splitter's block if the node is a splitter, else no_sublist.
__device__ __forceinline__ std::uint32_t splitter_of(const list_cut& cut, std::uint32_t node) {
  const std::uint32_t block = node >> cut.log2_block;
  return node == splitter_at(cut, block) ? block : no_sublist;
}

/// Successors of all types as one: list_end where the list ends, list_end - 1 for a number that no node can have.
template <class Successor>
__device__ __forceinline__ std::uint32_t canonical_successor(Successor bits, std::uint32_t node,
                                                             std::uint32_t is_signed) {
  static_assert(std::is_unsigned_v<Successor>);
  const bool is_negative = is_signed != 0 && (bits >> (8 * sizeof(Successor) - 1)) != 0;
  if (bits == node || is_negative || bits == static_cast<Successor>(-1)) return list_end;
  return bits < most_list_nodes ? static_cast<std::uint32_t>(bits) : list_end - 1;
}

/// Sums over successors, by which the head of one list is known: the only node that is not in them (step 1).
struct successor_sums {
  std::uint64_t sum = 0;
  std::uint32_t ends = 0;
  bool is_bad = false;

  __device__ __forceinline__ void note(std::uint32_t next, std::uint32_t count) {
    if (next == list_end) {
      ++ends;
    } else if (next >= count) {
      is_bad = true;
    } else {
      sum += next;
    }
  }
  /// Called by whole warps.
  __device__ __forceinline__ void add_to(list_status* status) const {
    std::uint64_t all = sum;
    for (int other = 16; other > 0; other /= 2) all += __shfl_xor_sync(~0U, all, other);
    const std::uint32_t all_ends = __reduce_add_sync(~0U, ends);
    const bool any_bad = __any_sync(~0U, static_cast<int>(is_bad)) != 0;
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(reinterpret_cast<unsigned long long*>(&status->sum), static_cast<unsigned long long>(all));
    if (all_ends > 0) atomicAdd(&status->ends, all_ends);
    if (any_bad) status->is_bad = 1;
  }
};

/// The head of what must be one list, or no_node if it cannot be one.
__device__ __forceinline__ std::uint32_t single_head(const list_status& status, std::uint32_t count) {
  const std::uint64_t all = std::uint64_t{count} * (count - 1) / 2;
  const std::uint64_t head = all - status.sum;
  return status.ends == 1 && head < count ? static_cast<std::uint32_t>(head) : no_node;
}

/// list_status::last: the sublist with the end of the list, and its length.
__device__ __forceinline__ std::uint64_t end_of_list(std::uint32_t sublist, std::uint32_t length) {
  return std::uint64_t{sublist} << 32 | length;
}

__device__ __forceinline__ bool is_list_head(const list_heads& heads, std::uint32_t single, std::uint32_t node) {
  if (heads.forest == nullptr) return node == single;
  return ((heads.has_predecessor[node / 32] >> (node % 32)) & 1U) == 0;
}

/// Nodes of level 0 whose ranks are asked for: successors of 4 or 8 bytes.
template <class Successor>
struct successor_reader {
  const Successor* successors;
  std::uint32_t is_signed;

  __device__ __forceinline__ std::uint32_t load(std::uint32_t node, no_value&) const {
    return canonical_successor(__ldg(successors + node), node, is_signed);
  }
};

/// Packed nodes of level 0, the caller's or those of pack_nodes.
template <class T>
struct node_reader {
  const packed_node<T>* nodes;
  std::uint32_t is_signed;

  __device__ __forceinline__ std::uint32_t load(std::uint32_t node, T& value) const {
    packed_node<T> read;
    if constexpr (sizeof(packed_node<T>) == 8) {
      const uint2 words = __ldg(reinterpret_cast<const uint2*>(nodes + node));
      memcpy(&read, &words, sizeof read);
    } else if constexpr (sizeof(packed_node<T>) == 16 && alignof(packed_node<T>) == 16) {
      const uint4 words = __ldg(reinterpret_cast<const uint4*>(nodes + node));
      memcpy(&read, &words, sizeof read);
    } else {
      read = nodes[node];
    }
    value = read.value;
    return canonical_successor(read.next, node, is_signed);
  }
};

/// Nodes of a level above 0, for a walk in place.
template <class T>
struct sublist_reader {
  static constexpr int level = 1;
  const sublist_node<T>* nodes;

  __device__ __forceinline__ std::uint32_t load(std::uint32_t node, T& total, std::uint32_t& length) const {
    const sublist_node<T> read = nodes[node];
    if constexpr (has_values<T>) total = read.total;
    length = read.length;
    return read.next;
  }
};

/// Nodes of level 0, for a walk in place.
template <class T, class Reader>
struct single_nodes {
  static constexpr int level = 0;
  Reader reader;

  __device__ __forceinline__ std::uint32_t load(std::uint32_t node, T& value, std::uint32_t& length) const {
    length = 1;
    return reader.load(node, value);
  }
};

/// Writes a packed node whole, the bytes between its members too, because node_reader reads whole words.
template <class T>
__device__ __forceinline__ void store_packed(packed_node<T>* out, const T& value, std::uint32_t next) {
  packed_node<T> node;
  memset(&node, 0, sizeof node);
  node.value = value;
  node.next = next;
  if constexpr (sizeof node == 8) {
    uint2 words;
    memcpy(&words, &node, sizeof words);
    *reinterpret_cast<uint2*>(out) = words;
  } else if constexpr (sizeof node == 16 && alignof(packed_node<T>) == 16) {
    uint4 words;
    memcpy(&words, &node, sizeof words);
    *reinterpret_cast<uint4*>(out) = words;
  } else {
    *out = node;
  }
}

/// Packs values and successors side by side, and looks at each successor once: see successor_sums.
template <class T, class Successor>
__global__ void __launch_bounds__(list_threads)
    pack_nodes(const Successor* successors, std::uint32_t is_signed, const T* values, std::uint32_t count,
               packed_node<T>* out, list_status* status) {
  successor_sums sums;
  const std::uint32_t step = gridDim.x * list_threads;
  for (std::uint64_t i = blockIdx.x * list_threads + threadIdx.x; i < count; i += step) {
    const auto node = static_cast<std::uint32_t>(i);
    const std::uint32_t next = canonical_successor(__ldcs(successors + i), node, is_signed);
    sums.note(next, count);
    store_packed(out + i, values[i], next);
  }
  sums.add_to(status);
}

/// What a scan has where nothing comes before a value: the value. The library's own operators have something else.
template <class Op, class T>
struct first_result {
  __device__ static __forceinline__ const T& of(const Op&, const T& value) { return value; }
};

/// Goes on from `running`, which holds something if `before` > 0, by one value.
template <class T, class Op>
__device__ __forceinline__ void fold(T& running, std::uint32_t before, const T& value, const Op& op) {
  if constexpr (has_values<T>) running = before > 0 ? op(running, value) : first_result<Op, T>::of(op, value);
}

}  // namespace sheaf::list_kernels
