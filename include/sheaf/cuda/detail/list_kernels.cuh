#pragma once

#include <cooperative_groups.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sheaf/cuda/detail/list_arguments.hpp>

// The kernels of list_rank and list_scan that depend on the type of values and on the operator: compiled into the
// library for the built-in operators, and by a program's own CUDA compiler for its operators
// (sheaf/cuda/list_scan.cuh).
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
                                 : alignof(T)) packed_node {
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

/// What comes before a node. In a walk: in its sublist; after the pass back down: in its list.
template <class T>
struct list_place {
  std::uint32_t sublist;  ///< the sublist's number, no_sublist, or unreached; a pass down makes the first no_sublist
  std::uint32_t before;   ///< nodes of level 0 before it
  T sum;                  ///< of these; nothing if there are none
};
template <>
struct list_place<no_value> {
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
__device__ __forceinline__ list_place<T> make_place(std::uint32_t sublist, std::uint32_t before, const T& sum) {
  if constexpr (has_values<T>) {
    return {sublist, before, sum};
  } else {
    return {sublist, before};
  }
}

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
  return ((heads.led_to[node / 32] >> (node % 32)) & 1U) == 0;
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

/// Goes on from `running`, which holds something if `before` > 0, by one value.
template <class T, class Op>
__device__ __forceinline__ void fold(T& running, std::uint32_t before, const T& value, const Op& op) {
  if constexpr (has_values<T>) running = before > 0 ? op(running, value) : value;
}

/// Numbers from a counter in memory for the lanes of a warp. The warp draws Batch of them at once, because each draw
/// keeps it waiting as long as a read does.
template <std::uint32_t Batch>
struct warp_supply {
  std::uint32_t* counter;
  std::uint32_t next = 0;
  std::uint32_t left = 0;

  /// A number for each lane that needs one. All lanes call it.
  __device__ __forceinline__ std::uint32_t draw(bool needs) {
    const unsigned needing = __ballot_sync(~0U, needs);
    if (needing == 0) return 0;
    const unsigned lane = threadIdx.x % 32;
    const auto wanted = static_cast<std::uint32_t>(__popc(needing));
    const auto before = static_cast<std::uint32_t>(__popc(needing & ((1U << lane) - 1)));
    if (wanted <= left) {
      const std::uint32_t number = next + before;
      next += wanted;
      left -= wanted;
      return number;
    }
    const std::uint32_t drawn = (wanted - left + Batch - 1) / Batch * Batch;
    std::uint32_t first = 0;
    if (lane == 0) first = atomicAdd(counter, drawn);
    first = __shfl_sync(~0U, first, 0);
    const std::uint32_t number = before < left ? next + before : first + (before - left);
    next = first + (wanted - left);
    left = drawn - (wanted - left);
    return number;
  }
};

/// Entries that a thread keeps in registers before they go to the log: a sector of nodes. Single entries would reach
/// memory as parts of sectors, because the reads of all walks evict a sector from L2 before it is full. Shared memory
/// for whole lines would cost more than it saves: it is taken from L1, which every read on its way needs a line of.
constexpr unsigned log_batch = 8;

/// Writes eight words for each lane, to `out` of the lane, which is null where it has none. Pairs of lanes exchange
/// halves, so that a store fills a sector.
__device__ __forceinline__ void store_sectors(const std::uint32_t (&words)[8], std::uint32_t* out) {
  const bool is_odd = threadIdx.x % 2 != 0;
  const auto others = reinterpret_cast<std::uint32_t*>(
      __shfl_xor_sync(~0U, static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(out)), 1));
  std::uint32_t received[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) received[k] = __shfl_xor_sync(~0U, is_odd ? words[k] : words[4 + k], 1);
  std::uint32_t* const to_even = is_odd ? others : out;
  std::uint32_t* const to_odd = is_odd ? out : others;
  const unsigned half = is_odd ? 4 : 0;
  const uint4 of_even = is_odd ? make_uint4(received[0], received[1], received[2], received[3])
                               : make_uint4(words[0], words[1], words[2], words[3]);
  const uint4 of_odd = is_odd ? make_uint4(words[4], words[5], words[6], words[7])
                              : make_uint4(received[0], received[1], received[2], received[3]);
  if (to_even != nullptr) __stcg(reinterpret_cast<uint4*>(to_even + half), of_even);
  if (to_odd != nullptr) __stcg(reinterpret_cast<uint4*>(to_odd + half), of_odd);
}

/// Sums of 4 or 8 bytes are kept like nodes; wider ones fill sectors of their own.
template <class T>
constexpr bool keeps_sums = has_values<T> && (sizeof(T) == 4 || sizeof(T) == 8);

template <class T>
__device__ __forceinline__ void store_sums(const T (&sums)[log_batch], T* out) {
  constexpr unsigned words_each = sizeof(T) / 4;
#pragma unroll
  for (unsigned part = 0; part < words_each; ++part) {
    std::uint32_t words[8];
    memcpy(words, sums + part * log_batch / words_each, sizeof words);
    store_sectors(words, out == nullptr ? nullptr : reinterpret_cast<std::uint32_t*>(out) + part * 8);
  }
}

/// Step 1 beside step 3: the first blocks of a walk sum the successors while the others walk, whose reads at random
/// leave the memory bus half idle. They do so whatever the walks have found by then, because one walk waits for them.
template <class T, class Reader>
__device__ void sum_beside_walks(const walk_arguments& a, const Reader& reader) {
  constexpr int unrolled = 8;
  successor_sums sums;
  const std::uint64_t step = std::uint64_t{a.summing_blocks} * list_threads;
  for (std::uint64_t first = blockIdx.x * list_threads + threadIdx.x; first < a.cut.count; first += unrolled * step) {
    std::uint32_t next[unrolled];
#pragma unroll
    for (int k = 0; k < unrolled; ++k) {
      T value{};
      next[k] = list_end;
      if (first + k * step < a.cut.count) next[k] = reader.load(static_cast<std::uint32_t>(first + k * step), value);
    }
#pragma unroll
    for (int k = 0; k < unrolled; ++k) {
      if (first + k * step < a.cut.count) sums.note(next[k], a.cut.count);
    }
  }
  __syncwarp();
  sums.add_to(a.status);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&a.status->summed, 1U);
}

/// The head of one list, once all summing blocks have ended, which are the first of the grid and so never wait.
__device__ __forceinline__ std::uint32_t wait_for_head(const walk_arguments& a) {
  while (*static_cast<volatile std::uint32_t*>(&a.status->summed) < a.summing_blocks) __nanosleep(200);
  __threadfence();
  const auto* const sums = static_cast<const volatile list_status*>(a.status);
  const list_status status{.sum = sums->sum, .ends = sums->ends};
  return single_head(status, a.cut.count);
}

/// Step 3 of cuda.log: walks all sublists, each by one thread, and writes the nodes in the order in which they are met
/// to chunks of a log, with the sum of their sublist up to them. Each thread walks many sublists, which it draws from a
/// counter, and fills one chunk after another. The lanes of a warp log one node each in every step, so that all their
/// chunks are full at the same time.
template <class T, class Op, class Reader>
__global__ void __launch_bounds__(list_threads)
    walk_and_log(const __grid_constant__ walk_arguments a, const Reader reader, const Op op) {
  if (blockIdx.x < a.summing_blocks) return sum_beside_walks<T>(a, reader);
  if (a.status->is_bad != 0) return;
  auto* const sublists = static_cast<sublist_node<T>*>(a.above.nodes);
  auto* const carries = static_cast<list_place<T>*>(a.above.carries);
  T* const sums = static_cast<T*>(a.log_sums);
  const bool is_forest = a.heads.forest != nullptr;
  const std::uint32_t all_walks = a.cut.blocks + (is_forest ? a.status->heads : 1);
  warp_supply<8> walk_numbers{&a.status->walks};
  warp_supply<1> chunk_numbers{&a.status->chunks};

  bool walks = false;
  bool may_draw = true;
  std::uint32_t node = 0;
  std::uint32_t sublist = no_sublist;
  std::uint32_t before = 0;
  T running{};
  const auto find_work = [&](bool needs) {
    while (__any_sync(~0U, needs)) {
      const std::uint32_t walk = walk_numbers.draw(needs);
      if (!needs) continue;
      before = 0;
      if (walk >= all_walks) {
        may_draw = false;
      } else if (walk < a.cut.blocks) {
        node = splitter_at(a.cut, walk);
        sublist = walk;
        walks = true;
      } else {
        node = is_forest ? a.heads.forest[walk - a.cut.blocks] : wait_for_head(a);
        sublist = no_sublist;
        if (node == no_node) {
          a.status->is_bad = 1;
        } else {
          const std::uint32_t own = splitter_of(a.cut, node);
          walks = own == no_sublist;
          if (!walks) carries[own] = make_place(list_start, 0, T{});
        }
      }
      needs = may_draw && !walks;
    }
  };
  for (;;) {
    find_work(may_draw && !walks);
    bool has_chunk = walks;
    if (!__any_sync(~0U, has_chunk)) break;
    const std::uint32_t chunk = chunk_numbers.draw(has_chunk);
    if (has_chunk && chunk >= a.most_chunks) {
      // More nodes than there are: sublists that join.
      a.status->is_bad = 1;
      walks = may_draw = has_chunk = false;
    }
    if (has_chunk) {
      a.chunk_sublists[chunk] = sublist;
      a.chunk_before[chunk] = before;
    }
    std::uint64_t place = std::uint64_t{chunk} * log_chunk;
    for (unsigned batch = 0; batch < log_chunk / log_batch; ++batch, place += log_batch) {
      std::uint32_t nodes[log_batch];
      T kept[log_batch];
#pragma unroll
      for (unsigned k = 0; k < log_batch; ++k) {
        nodes[k] = no_node;
        if constexpr (keeps_sums<T>) kept[k] = running;
        find_work(has_chunk && may_draw && !walks);
        if (!walks) continue;
        nodes[k] = node;
        T value{};
        const std::uint32_t next = reader.load(node, value);
        if constexpr (has_values<T>) {
          const T sum_before = running;
          fold(running, before, value, op);
          const T& logged = a.is_exclusive ? sum_before : running;
          if constexpr (keeps_sums<T>) {
            kept[k] = logged;
          } else {
            sums[place + k] = logged;
          }
        }
        ++before;
        std::uint32_t next_sublist = no_sublist;
        if (next < a.cut.count) next_sublist = splitter_of(a.cut, next);
        if (next < a.cut.count && next_sublist == no_sublist && before < a.most_steps) {
          node = next;
          continue;
        }
        walks = false;
        if (next == list_end) {
          a.status->last = end_of_list(sublist, before);
        } else if (next_sublist == no_sublist) {
          a.status->is_bad = 1;
        }
        if (sublist != no_sublist) {
          sublists[sublist] = make_sublist(next == list_end ? list_end : next_sublist, before, running);
        } else {
          if (next_sublist != no_sublist) carries[next_sublist] = make_place(list_start, before, running);
          if (is_forest) atomicAdd(&a.status->nodes_of_heads, before);
        }
      }
      store_sectors(nodes, has_chunk ? a.log + place : nullptr);
      if constexpr (keeps_sums<T>) store_sums(kept, has_chunk ? sums + place : nullptr);
    }
  }
}

/// Where the sums of a level's nodes go, and what they are taken from, for a walk in place.
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

template <class T, class Reader>
struct single_nodes {
  static constexpr int level = 0;
  Reader reader;

  __device__ __forceinline__ std::uint32_t load(std::uint32_t node, T& value, std::uint32_t& length) const {
    length = 1;
    return reader.load(node, value);
  }
};

/// Walks one sublist in place: writes to each of its nodes what comes before it. `before` and `running` hold what comes
/// before the first node. Returns the node of the next level that the sublist leads to, or list_end.
template <class T, class Op, class Nodes>
__device__ std::uint32_t walk_in_place(const list_cut& cut, const Nodes& nodes, const Op& op, std::uint32_t node,
                                       std::uint32_t sublist, std::uint32_t& before, T& running, list_place<T>* places,
                                       list_status* status, std::uint32_t most_steps) {
  for (std::uint32_t step = 0;; ++step) {
    T value{};
    std::uint32_t length = 0;
    const std::uint32_t next = nodes.load(node, value, length);
    places[node] = make_place(sublist, before, running);
    fold(running, before, value, op);
    before += length;
    if (next == list_end) {
      if constexpr (Nodes::level == 0) status->last = end_of_list(sublist, before);
      return list_end;
    }
    if (next >= cut.count || step >= most_steps) {
      status->is_bad = 1;
      return list_end;
    }
    const std::uint32_t next_sublist = splitter_of(cut, next);
    if (next_sublist != no_sublist) return next_sublist;
    node = next;
  }
}

/// What is known of one level above 0.
template <class T>
struct level_arrays {
  sublist_node<T>* nodes;
  list_place<T>* places;   ///< of the nodes
  list_place<T>* carries;  ///< what comes before nodes that are starts

  __device__ explicit level_arrays(const list_level& level)
      : nodes(static_cast<sublist_node<T>*>(level.nodes)),
        places(static_cast<list_place<T>*>(level.places)),
        carries(static_cast<list_place<T>*>(level.carries)) {}
};

template <class T, class Op, class Nodes>
__device__ void walk_from_splitter(const list_cut& cut, const Nodes& nodes, const Op& op, std::uint32_t block,
                                   list_place<T>* places, const level_arrays<T>& above, list_status* status,
                                   std::uint32_t most_steps) {
  const std::uint32_t node = splitter_at(cut, block);
  std::uint32_t before = 0;
  T running{};
  const std::uint32_t next = walk_in_place(cut, nodes, op, node, block, before, running, places, status, most_steps);
  above.nodes[block] = make_sublist(next, before, running);
}

/// Walks from a node where a list of this level begins. One that is a splitter is a start of the level above. Returns
/// the nodes of level 0 up to the end of the sublist, the carry included.
template <class T, class Op, class Nodes>
__device__ std::uint32_t walk_from_start(const list_cut& cut, const Nodes& nodes, const Op& op, std::uint32_t node,
                                         const list_place<T>& carry, list_place<T>* places,
                                         const level_arrays<T>& above, list_status* status, std::uint32_t most_steps) {
  std::uint32_t to = splitter_of(cut, node);
  std::uint32_t before = carry.before;
  T running{};
  if constexpr (has_values<T>) running = carry.sum;
  if (to == no_sublist) {
    to = walk_in_place(cut, nodes, op, node, no_sublist, before, running, places, status, most_steps);
    if (to == list_end) return before;
  }
  above.carries[to] = make_place(list_start, before, running);
  return before;
}

/// Step 3 of cuda.sublist, as in the paper: each sublist is walked by one thread, which writes to each node what comes
/// before it in the sublist.
template <class T, class Op, class Reader>
__global__ void __launch_bounds__(list_threads)
    walk_level_0(const __grid_constant__ walk_arguments a, const Reader reader, const Op op) {
  if (blockIdx.x < a.summing_blocks) return sum_beside_walks<T>(a, reader);
  if (a.status->is_bad != 0) return;
  const single_nodes<T, Reader> nodes{reader};
  const level_arrays<T> above(a.above);
  auto* const places = static_cast<list_place<T>*>(a.places);
  const bool is_forest = a.heads.forest != nullptr;
  const std::uint32_t all_walks = a.cut.blocks + (is_forest ? a.status->heads : 1);
  // The first walk of each thread is its own, the others it draws.
  const std::uint32_t threads = (gridDim.x - a.summing_blocks) * list_threads;
  std::uint32_t walk = (blockIdx.x - a.summing_blocks) * list_threads + threadIdx.x;
  for (; walk < all_walks; walk = all_walks <= threads ? all_walks : threads + atomicAdd(&a.status->walks, 1U)) {
    if (walk < a.cut.blocks) {
      walk_from_splitter<T>(a.cut, nodes, op, walk, places, above, a.status, a.most_steps);
    } else {
      const std::uint32_t from = is_forest ? a.heads.forest[walk - a.cut.blocks] : wait_for_head(a);
      if (from == no_node) {
        a.status->is_bad = 1;
        continue;
      }
      const std::uint32_t nodes_of_head = walk_from_start<T>(a.cut, nodes, op, from, make_place(list_start, 0, T{}),
                                                             places, above, a.status, a.most_steps);
      if (is_forest) atomicAdd(&a.status->nodes_of_heads, nodes_of_head);
    }
  }
}

/// The last level, by Wyllie's pointer jumping along predecessors. What comes before a node is then in its place, which
/// is unreached if no start leads to it. Called by the whole grid.
template <class T, class Op, class Grid>
__device__ void jump_over_last_level(const Grid& grid, const list_level& level, const last_level_arrays& arrays,
                                     const Op& op) {
  const level_arrays<T> at(level);
  const std::uint32_t count = level.cut.count;
  const std::uint32_t first = blockIdx.x * list_threads + threadIdx.x;
  const std::uint32_t threads = gridDim.x * list_threads;
  std::uint32_t* const previous = arrays.previous;
  for (std::uint32_t i = first; i < count; i += threads) {
    const std::uint32_t next = at.nodes[i].next;
    if (next < count && at.carries[next].sublist != list_start) previous[next] = i;
  }
  grid.sync();
  // All up to and with each node from its hop on.
  auto* upto = static_cast<list_place<T>*>(arrays.upto[0]);
  auto* upto_after = static_cast<list_place<T>*>(arrays.upto[1]);
  std::uint32_t* hop = arrays.hop[0];
  std::uint32_t* hop_after = arrays.hop[1];
  for (std::uint32_t i = first; i < count; i += threads) {
    hop[i] = previous[i];
    list_place<T> own{};
    own.sublist = unreached;
    if (at.carries[i].sublist == list_start) {
      own = at.carries[i];
      own.sublist = no_sublist;
    }
    if constexpr (has_values<T>) fold(own.sum, own.before, at.nodes[i].total, op);
    own.before += at.nodes[i].length;
    upto[i] = own;
  }
  for (std::uint32_t reach = 1; reach < count; reach *= 2) {
    grid.sync();
    for (std::uint32_t i = first; i < count; i += threads) {
      const std::uint32_t from = hop[i];
      list_place<T> own = upto[i];
      std::uint32_t further = no_node;
      if (from != no_node) {
        const list_place<T> earlier = upto[from];
        further = hop[from];
        if constexpr (has_values<T>) own.sum = op(earlier.sum, own.sum);
        own.before += earlier.before;
        own.sublist = earlier.sublist;
      }
      upto_after[i] = own;
      hop_after[i] = further;
    }
    auto* const swapped = upto;
    upto = upto_after;
    upto_after = swapped;
    std::uint32_t* const swapped_hop = hop;
    hop = hop_after;
    hop_after = swapped_hop;
  }
  grid.sync();
  // From all up to a node to all before it.
  for (std::uint32_t i = first; i < count; i += threads) {
    list_place<T> before{};
    before.sublist = unreached;
    if (previous[i] != no_node) {
      before = upto[previous[i]];
    } else if (at.carries[i].sublist == list_start) {
      before = at.carries[i];
      before.sublist = no_sublist;
    }
    at.places[i] = before;
  }
}

/// What comes before a node in its list, from what comes before it in its sublist.
template <class T, class Op>
__device__ __forceinline__ list_place<T> place_in_list(list_place<T> place, const list_place<T>* places_above,
                                                       const Op& op) {
  if (place.sublist >= list_start) return place;  // no sublist, or unreached
  const list_place<T> above = places_above[place.sublist];
  place.sublist = above.sublist;
  if (above.sublist == unreached) return place;
  if constexpr (has_values<T>) {
    if (above.before > 0) place.sum = place.before > 0 ? op(above.sum, place.sum) : above.sum;
  }
  place.before += above.before;
  return place;
}

/// Step 4: scans the sublists in the order of their lists, by the same method level after level; the last level by
/// pointer jumping. Then all ranks are known, and whether the sublists that the head leads to have all nodes.
template <class T, class Op>
__global__ void __launch_bounds__(list_threads) scan_sublists(const __grid_constant__ levels_arguments a, const Op op) {
  const auto grid = cooperative_groups::this_grid();
  const std::uint32_t thread = blockIdx.x * list_threads + threadIdx.x;
  const std::uint32_t threads = gridDim.x * list_threads;
  const bool is_bad = a.status->is_bad != 0;
  grid.sync();  // all have read it before a walk sets it
  if (is_bad) return;
  for (std::uint32_t l = 0; l + 1 < a.levels; ++l) {
    const list_level& level = a.level[l];
    const level_arrays<T> at(level);
    const level_arrays<T> above(a.level[l + 1]);
    const sublist_reader<T> nodes{at.nodes};
    for (std::uint32_t block = thread; block < level.cut.blocks; block += threads) {
      walk_from_splitter<T>(level.cut, nodes, op, block, at.places, above, a.status, a.most_steps);
    }
    for (std::uint32_t node = thread; node < level.cut.count; node += threads) {
      if (at.carries[node].sublist != list_start) continue;
      walk_from_start<T>(level.cut, nodes, op, node, at.carries[node], at.places, above, a.status, a.most_steps);
    }
    grid.sync();
  }
  jump_over_last_level<T>(grid, a.level[a.levels - 1], a.last, op);
  for (std::uint32_t l = a.levels - 1; l-- > 0;) {
    grid.sync();
    const level_arrays<T> at(a.level[l]);
    const auto* const above = static_cast<const list_place<T>*>(a.level[l + 1].places);
    for (std::uint32_t node = thread; node < a.level[l].cut.count; node += threads) {
      at.places[node] = place_in_list(at.places[node], above, op);
    }
  }
  grid.sync();
  const level_arrays<T> at(a.level[0]);
  if (a.is_forest) {
    std::uint32_t nodes = thread == 0 ? a.status->nodes_of_heads : 0;
    for (std::uint32_t i = thread; i < a.level[0].cut.count; i += threads) {
      if (at.places[i].sublist != unreached) nodes += at.nodes[i].length;
    }
    if (nodes > 0) atomicAdd(&a.status->reached, nodes);
    grid.sync();
    if (thread == 0 && a.status->reached != a.nodes) a.status->is_bad = 1;
  } else if (thread == 0) {
    auto reached = static_cast<std::uint32_t>(a.status->last);
    const auto last = static_cast<std::uint32_t>(a.status->last >> 32);
    if (reached > 0 && last != no_sublist) {
      reached = at.places[last].sublist == unreached ? 0 : reached + at.places[last].before;
    }
    if (reached != a.nodes) a.status->is_bad = 1;
  }
}

/// A value of any type from another lane of the warp.
template <class Value>
__device__ __forceinline__ Value from_lane(unsigned lanes, const Value& value, unsigned lane) {
  if constexpr (sizeof(Value) % 4 == 0) {
    constexpr int words = sizeof(Value) / 4;
    std::uint32_t bits[words];
    memcpy(bits, &value, sizeof value);
#pragma unroll
    for (int w = 0; w < words; ++w) bits[w] = __shfl_sync(lanes, bits[w], static_cast<int>(lane));
    Value other;
    memcpy(&other, bits, sizeof other);
    return other;
  } else {
    Value other;
    auto* const to = reinterpret_cast<unsigned char*>(&other);
    const auto* const from = reinterpret_cast<const unsigned char*>(&value);
    for (unsigned b = 0; b < sizeof(Value); ++b) {
      to[b] = static_cast<unsigned char>(__shfl_sync(lanes, static_cast<unsigned>(from[b]), static_cast<int>(lane)));
    }
    return other;
  }
}

/// A node's result, from what its sum holds and what comes before its sublist.
template <class T, class Op>
__device__ __forceinline__ T result_of(const T& sum, bool has_sum, const list_place<T>& before, const T* initial,
                                       const Op& op) {
  bool has_result = has_sum;
  T result = sum;
  if (before.before > 0) {
    result = has_sum ? op(before.sum, sum) : before.sum;
    has_result = true;
  }
  if (initial != nullptr) result = has_result ? op(*initial, result) : *initial;
  return result;
}

/// Step 5 of cuda.log: ranks or results in the order of the log, beside their nodes, so that a scatter brings them into
/// place. Entries without a node become copies of others. If the list is no list, all entries are made harmless.
template <class T, class Op, class Out>
__global__ void __launch_bounds__(list_threads)
    finish_log(const __grid_constant__ finish_arguments a, const T initial, const Op op) {
  // A lane has four entries of a chunk, eight lanes have a chunk.
  constexpr unsigned each = 4;
  constexpr unsigned lanes = log_chunk / each;
  const unsigned lane = threadIdx.x % 32;
  const unsigned first_lane = lane / lanes * lanes;
  const unsigned lanes_below = ((1U << lane) - 1) & ~((1U << first_lane) - 1);
  const unsigned lanes_of_chunk = ((1U << lanes) - 1) << first_lane;
  const std::uint64_t step = std::uint64_t{gridDim.x} * list_threads;
  const std::uint64_t quads = std::uint64_t{a.chunks} * lanes;
  const bool is_bad = a.status->is_bad != 0;
  const std::uint32_t used = min(a.status->chunks, a.chunks);
  const std::uint32_t head = single_head(*a.status, a.cut.count);
  const auto* const places = static_cast<const list_place<T>*>(a.places);
  Out* const results = static_cast<Out*>(a.results);
  for (std::uint64_t quad = blockIdx.x * list_threads + threadIdx.x; quad - lane < quads; quad += step) {
    const bool is_in = quad < quads;
    const std::uint64_t at = quad * each;
    if (is_bad || used == 0) {
      for (unsigned k = 0; is_in && k < each; ++k) {
        a.log[at + k] = static_cast<std::uint32_t>((at + k) % a.cut.count);
        results[at + k] = Out{};
      }
      continue;
    }
    const auto chunk = static_cast<std::uint32_t>(min(quad, quads - 1) / lanes);
    const std::uint32_t from = chunk < used ? chunk : (chunk - used) % used;
    const unsigned entry = (lane - first_lane) * each;
    const std::uint64_t read = std::uint64_t{from} * log_chunk + entry;
    const uint4 words = *reinterpret_cast<const uint4*>(a.log + read);
    std::uint32_t node[each] = {words.x, words.y, words.z, words.w};
    // Of another's chunk only the first entry stays as it is.
    if (chunk >= used) {
      if (entry > 0) node[0] = no_node;
      node[1] = node[2] = node[3] = no_node;
    }
    T sum[each];
    if constexpr (has_values<T>) memcpy(sum, static_cast<const T*>(a.log_sums) + read, sizeof sum);
    std::uint32_t sublist = a.chunk_sublists[from];
    std::uint32_t before = a.chunk_before[from] + entry;

    // Where sublists begin among this lane's entries, and the last before them.
    std::uint32_t begun[each];  // the sublist, unreached if none begins
    unsigned last_begun = each;
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      begun[k] = unreached;
      if (node[k] == no_node) continue;
      const std::uint32_t block = splitter_of(a.cut, node[k]);
      if (block != no_sublist) begun[k] = block;
      if (is_list_head(a.heads, head, node[k])) begun[k] = no_sublist;
      if (begun[k] != unreached) last_begun = k;
    }
    const unsigned beginning = __ballot_sync(~0U, last_begun < each) & lanes_below;
    const int leader = beginning == 0 ? static_cast<int>(lane) : 31 - __clz(static_cast<int>(beginning));
    std::uint32_t last_sublist = 0;
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      if (k == last_begun) last_sublist = begun[k];
    }
    const std::uint32_t led_by = __shfl_sync(~0U, last_sublist, leader);
    const unsigned led_from = __shfl_sync(~0U, entry + last_begun, leader);
    if (beginning != 0) {
      sublist = led_by;
      before = entry - led_from;
    }
    list_place<T> base{};
    if (sublist != no_sublist) base = places[sublist];
    Out result[each];
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      if (begun[k] != unreached) {
        base = {};
        if (begun[k] != no_sublist) base = places[begun[k]];
        before = 0;
      }
      if constexpr (has_values<T>) {
        result[k] = result_of(sum[k], !a.is_exclusive || before > 0, base, a.is_exclusive ? &initial : nullptr, op);
      } else {
        result[k] = static_cast<Out>(base.before + before);
      }
      ++before;
    }
    // Entries without a node become copies of the chunk's first.
    const bool has_gap = node[each - 1] == no_node;  // only the last entries of a chunk may be without a node
    if ((__ballot_sync(~0U, has_gap) & lanes_of_chunk) != 0) {
      const std::uint32_t first_node = __shfl_sync(lanes_of_chunk, node[0], static_cast<int>(first_lane));
      const Out first_result = from_lane(lanes_of_chunk, result[0], first_lane);
#pragma unroll
      for (unsigned k = 0; k < each; ++k) {
        if (node[k] != no_node) continue;
        node[k] = first_node;
        result[k] = first_result;
      }
    }
    if (!is_in) continue;
    if (has_gap || chunk >= used) {
      *reinterpret_cast<uint4*>(a.log + at) = make_uint4(node[0], node[1], node[2], node[3]);
    }
    if constexpr (sizeof(Out) % 4 == 0 && sizeof(Out) <= 16) {
      uint4 bits[sizeof(Out) / 4];
      memcpy(bits, result, sizeof result);
#pragma unroll
      for (unsigned w = 0; w < sizeof(Out) / 4; ++w) reinterpret_cast<uint4*>(results + at)[w] = bits[w];
    } else {
#pragma unroll
      for (unsigned k = 0; k < each; ++k) results[at + k] = result[k];
    }
  }
}

/// Step 5 of cuda.sublist: each node's result from its place.
template <class T, class Op, class Out, class Reader>
__global__ void __launch_bounds__(list_threads)
    finish_places(const __grid_constant__ finish_arguments a, const Reader reader, const T initial, const Op op) {
  if (a.status->is_bad != 0) return;
  const auto* const own = static_cast<const list_place<T>*>(a.own_places);
  const auto* const places = static_cast<const list_place<T>*>(a.places);
  Out* const results = static_cast<Out*>(a.results);
  const std::uint32_t step = gridDim.x * list_threads;
  for (std::uint64_t i = blockIdx.x * list_threads + threadIdx.x; i < a.cut.count; i += step) {
    const list_place<T> place = place_in_list(own[i], places, op);
    if constexpr (has_values<T>) {
      if (a.is_exclusive) {
        results[i] = place.before > 0 ? op(initial, place.sum) : initial;
      } else {
        T value{};
        reader.load(static_cast<std::uint32_t>(i), value);
        results[i] = place.before > 0 ? op(place.sum, value) : value;
      }
    } else {
      results[i] = static_cast<Out>(place.before);
    }
  }
}

/// An inclusive scan by the whole grid, in runs of 64 items, each by one thread; then of the runs' totals in the same
/// way. The order of operations depends on `count` alone. `above` has room for items_above(count) items.
template <class Item, class Combine, class Grid>
__device__ void scan_runs(const Grid& grid, Item* items, std::uint64_t count, Item* above, const Combine& combine) {
  constexpr std::uint64_t run = 64;
  constexpr int most_heights = 7;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * list_threads + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * list_threads;
  Item* at[most_heights] = {items};
  std::uint64_t counts[most_heights] = {count};
  int top = 0;
  for (;; ++top) {
    const std::uint64_t runs = (counts[top] + run - 1) / run;
    at[top + 1] = top == 0 ? above : at[top] + counts[top];
    counts[top + 1] = runs;
    for (std::uint64_t r = first; r < runs; r += threads) {
      const std::uint64_t end = min((r + 1) * run, counts[top]);
      Item sum = at[top][r * run];
      for (std::uint64_t i = r * run + 1; i < end; ++i) {
        sum = combine(sum, at[top][i]);
        at[top][i] = sum;
      }
      at[top + 1][r] = sum;
    }
    grid.sync();
    if (runs <= 1) break;
  }
  for (int height = top - 1; height >= 0; --height) {
    for (std::uint64_t i = first; i < counts[height]; i += threads) {
      if (i >= run) at[height][i] = combine(at[height + 1][i / run - 1], at[height][i]);
    }
    grid.sync();
  }
}

/// A sum of the values from the last beginning of a list on. Its bytes have no gap for usual values, because whole
/// words of it are copied.
template <class T>
struct segment_sum {
  using flag = std::conditional_t<alignof(T) == 8, std::uint64_t, std::uint32_t>;
  T sum;
  flag begins;  ///< 1 if a list begins in it
};

/// Scans values by ranks that pointer jumping found: puts the nodes of each list one behind the other, and scans the
/// array. For lists whose sublists turned out to be too long, and for cuda.pointer_jumping.
template <class T, class Op, class Reader>
__global__ void __launch_bounds__(list_threads)
    scan_by_rank(const __grid_constant__ by_rank_arguments a, const Reader reader, const T initial, const Op op) {
  if (a.status->is_faulty != 0 || (!a.always && a.status->is_bad == 0)) return;
  const auto grid = cooperative_groups::this_grid();
  const std::uint32_t first = blockIdx.x * list_threads + threadIdx.x;
  const std::uint32_t threads = gridDim.x * list_threads;
  const auto over_nodes = [&](auto body) {
    for (std::uint64_t i = first; i < a.count; i += threads) body(static_cast<std::uint32_t>(i));
  };
  if (a.lengths != nullptr) {
    over_nodes([&](std::uint32_t node) {
      T value{};
      const list_jump jump = a.jumps[node];
      if (jump.steps != 0) a.lengths[node] = 0;
      if (reader.load(node, value) == list_end) a.lengths[jump.to] = jump.steps + 1;
    });
    grid.sync();
    scan_runs(grid, a.lengths, a.count, a.above_lengths, [](std::uint32_t x, std::uint32_t y) { return x + y; });
  }
  auto* const sums = static_cast<segment_sum<T>*>(a.sums);
  over_nodes([&](std::uint32_t node) {
    const list_jump jump = a.jumps[node];
    const std::uint32_t list = a.lengths == nullptr || jump.to == 0 ? 0 : a.lengths[jump.to - 1];
    T value{};
    reader.load(node, value);
    a.order[list + jump.steps] = node;
    sums[list + jump.steps] = {value, jump.steps == 0 ? 1U : 0U};
  });
  grid.sync();
  scan_runs(grid, sums, a.count, static_cast<segment_sum<T>*>(a.above_sums),
            [&](const segment_sum<T>& x, const segment_sum<T>& y) {
              return y.begins != 0 ? y : segment_sum<T>{op(x.sum, y.sum), x.begins};
            });
  T* const results = static_cast<T*>(a.results);
  over_nodes([&](std::uint32_t place) {
    const std::uint32_t node = a.order[place];
    if (!a.is_exclusive) {
      results[node] = sums[place].sum;
    } else {
      results[node] = a.jumps[node].steps == 0 ? initial : op(initial, sums[place - 1].sum);
    }
  });
}

}  // namespace sheaf::list_kernels
