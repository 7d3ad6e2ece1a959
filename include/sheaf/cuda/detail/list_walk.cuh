#pragma once

#include <cstdint>
#include <cstring>

#include <sheaf/cuda/detail/list_nodes.cuh>

// Step 3: walks along the sublists of level 0, and along those of a level above.
namespace sheaf::list_kernels {

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

/// Sums of 4 or 8 bytes are kept like nodes; others are written one by one.
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

/// A block's place in the order in which blocks begin, of which CUDA promises nothing.
__device__ __forceinline__ std::uint32_t place_of_block(const walk_arguments& a) {
  if (a.summing_blocks == 0) return blockIdx.x;
  __shared__ std::uint32_t place;
  if (threadIdx.x == 0) place = atomicAdd(&a.status->begun, 1U);
  __syncthreads();
  return place;
}

/// Step 1 beside step 3: the blocks of a walk that begin first sum the successors while the others walk, whose reads at
/// random leave the memory bus half idle. They do so whatever the walks have found by then, because one walk waits for
/// them.
template <class T, class Reader>
__device__ void sum_beside_walks(const walk_arguments& args, const Reader& reader, std::uint32_t block) {
  constexpr int unrolled = 8;
  successor_sums sums;
  const std::uint64_t step = std::uint64_t{args.summing_blocks} * list_threads;
  for (std::uint64_t first = block * list_threads + threadIdx.x; first < args.cut.count; first += unrolled * step) {
    std::uint32_t next[unrolled];
#pragma unroll
    for (int k = 0; k < unrolled; ++k) {
      T value{};
      next[k] = list_end;
      if (first + k * step < args.cut.count) next[k] = reader.load(static_cast<std::uint32_t>(first + k * step), value);
    }
#pragma unroll
    for (int k = 0; k < unrolled; ++k) {
      if (first + k * step < args.cut.count) sums.note(next[k], args.cut.count);
    }
  }
  __syncwarp();
  sums.add_to(args.status);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&args.status->summed, 1U);
}

/// The head of one list, once all summing blocks have ended: they have begun before any block that walks, and never
/// wait.
__device__ __forceinline__ std::uint32_t wait_for_head(const walk_arguments& args) {
  while (*static_cast<volatile std::uint32_t*>(&args.status->summed) < args.summing_blocks) __nanosleep(200);
  __threadfence();
  const auto* const sums = static_cast<const volatile list_status*>(args.status);
  const list_status status{.sum = sums->sum, .ends = sums->ends};
  return single_head(status, args.cut.count);
}

/// The walks of a lane of walk_and_log, one sublist after another.
template <class T, class Op, class Reader>
struct logging_lane {
  const walk_arguments& args;
  const Reader& reader;
  const Op& op;
  bool is_forest;
  std::uint32_t all_walks;
  warp_supply<8> walk_numbers;
  bool walks = false;    ///< is in args sublist
  bool may_draw = true;  ///< there may be sublists that nobody has drawn
  std::uint32_t node = 0;
  std::uint32_t sublist = no_sublist;
  std::uint32_t before = 0;  ///< nodes of the sublist before this one
  T running{};               ///< their sum, if there are any

  __device__ __forceinline__ logging_lane(const walk_arguments& arguments, const Reader& nodes, const Op& function)
      : args(arguments),
        reader(nodes),
        op(function),
        is_forest(args.heads.forest != nullptr),
        all_walks(args.cut.blocks + (is_forest ? args.status->heads : 1)),
        walk_numbers{&args.status->walks} {}

  /// Draws walks for the lanes that need one, until they have one or none is left. All lanes of the warp call it.
  __device__ __forceinline__ void find_work(bool needs) {
    while (__any_sync(~0U, needs)) {
      const std::uint32_t walk = walk_numbers.draw(needs);
      if (!needs) continue;
      begin_walk(walk);
      needs = may_draw && !walks;
    }
  }

  /// Notes in which sublist args chunk begins, and where there. Returns whether the log has room for it.
  __device__ __forceinline__ bool begin_chunk(std::uint32_t chunk) {
    if (chunk >= args.most_chunks) {
      // More nodes than there are: sublists that join.
      args.status->is_bad = 1;
      walks = may_draw = false;
      return false;
    }
    args.chunk_sublists[chunk] = sublist;
    args.chunk_before[chunk] = before;
    return true;
  }

  /// Logs args node for each lane that has one, batch after batch. All lanes of the warp call it.
  __device__ __forceinline__ void fill_chunk(std::uint32_t chunk, bool has_chunk) {
    T* const sums = static_cast<T*>(args.log_sums);
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
        const auto log_sum = [&](const T& sum) {
          if constexpr (keeps_sums<T>) {
            kept[k] = sum;
          } else {
            sums[place + k] = sum;
          }
        };
        go_on(visit(log_sum));
      }
      store_sectors(nodes, has_chunk ? args.log + place : nullptr);
      if constexpr (keeps_sums<T>) store_sums(kept, has_chunk ? sums + place : nullptr);
    }
  }

 private:
  /// Walks are numbered block by block; the heads' come last.
  __device__ __forceinline__ void begin_walk(std::uint32_t walk) {
    before = 0;
    if (walk >= all_walks) {
      may_draw = false;
    } else if (walk < args.cut.blocks) {
      node = splitter_at(args.cut, walk);
      sublist = walk;
      walks = true;
    } else {
      node = is_forest ? args.heads.forest[walk - args.cut.blocks] : wait_for_head(args);
      sublist = no_sublist;
      if (node == no_node) {
        args.status->is_bad = 1;
      } else {
        const std::uint32_t own = splitter_of(args.cut, node);
        walks = own == no_sublist;
        if (!walks) level_arrays<T>(args.above).carries[own] = make_prefix(list_start, 0, T{});
      }
    }
  }

  /// Adds the node's value, and logs the sum up to it or before it. Returns its successor.
  template <class LogSum>
  __device__ __forceinline__ std::uint32_t visit(const LogSum& log_sum) {
    T value{};
    const std::uint32_t next = reader.load(node, value);
    if constexpr (has_values<T>) {
      const T sum_before = running;
      fold(running, before, value, op);
      log_sum(args.is_exclusive ? sum_before : running);
    }
    ++before;
    return next;
  }

  /// Steps to the successor, or ends the walk where the next sublist begins, the list ends, or something is wrong.
  __device__ __forceinline__ void go_on(std::uint32_t next) {
    std::uint32_t next_sublist = no_sublist;
    if (next < args.cut.count) next_sublist = splitter_of(args.cut, next);
    if (next < args.cut.count && next_sublist == no_sublist && before < args.most_steps) {
      node = next;
      return;
    }
    walks = false;
    if (next == list_end) {
      args.status->last = end_of_list(sublist, before);
    } else if (next_sublist == no_sublist) {
      args.status->is_bad = 1;
    }
    const level_arrays<T> above(args.above);
    if (sublist != no_sublist) {
      above.nodes[sublist] = make_sublist(next == list_end ? list_end : next_sublist, before, running);
    } else {
      if (next_sublist != no_sublist) above.carries[next_sublist] = make_prefix(list_start, before, running);
      if (is_forest) atomicAdd(&args.status->nodes_of_heads, before);
    }
  }
};

/// Step 3 of cuda.log: walks all sublists, each by one thread, and writes the nodes in the order in which they are met
/// to chunks of a log, with the sum of their sublist up to them. Each thread walks many sublists, which it draws from a
/// counter, and fills one chunk after another. The lanes of a warp log one node each in every step, so that all their
/// chunks are full at the same time.
template <class T, class Op, class Reader>
__global__ void __launch_bounds__(list_threads)
    walk_and_log(const __grid_constant__ walk_arguments args, const Reader reader, const Op op) {
  const std::uint32_t block = place_of_block(args);
  if (block < args.summing_blocks) return sum_beside_walks<T>(args, reader, block);
  if (args.status->is_bad != 0) return;
  logging_lane<T, Op, Reader> lane(args, reader, op);
  warp_supply<1> chunk_numbers{&args.status->chunks};
  for (;;) {
    lane.find_work(lane.may_draw && !lane.walks);
    bool has_chunk = lane.walks;
    if (!__any_sync(~0U, has_chunk)) return;
    const std::uint32_t chunk = chunk_numbers.draw(has_chunk);
    if (has_chunk) has_chunk = lane.begin_chunk(chunk);
    lane.fill_chunk(chunk, has_chunk);
  }
}

/// Walks one sublist in place: writes to each of its nodes what comes before it. `before` and `running` hold what comes
/// before the first node. Returns the node of the next level that the sublist leads to, or list_end.
template <class T, class Op, class Nodes>
__device__ std::uint32_t walk_in_place(const list_cut& cut, const Nodes& nodes, const Op& op, std::uint32_t node,
                                       std::uint32_t sublist, std::uint32_t& before, T& running,
                                       list_prefix<T>* prefixes, list_status* status, std::uint32_t most_steps) {
  for (std::uint32_t step = 0;; ++step) {
    T value{};
    std::uint32_t length = 0;
    const std::uint32_t next = nodes.load(node, value, length);
    prefixes[node] = make_prefix(sublist, before, running);
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

template <class T, class Op, class Nodes>
__device__ void walk_from_splitter(const list_cut& cut, const Nodes& nodes, const Op& op, std::uint32_t block,
                                   list_prefix<T>* prefixes, const level_arrays<T>& above, list_status* status,
                                   std::uint32_t most_steps) {
  const std::uint32_t node = splitter_at(cut, block);
  std::uint32_t before = 0;
  T running{};
  const std::uint32_t next = walk_in_place(cut, nodes, op, node, block, before, running, prefixes, status, most_steps);
  above.nodes[block] = make_sublist(next, before, running);
}

/// Walks from a node where a list of this level begins. One that is a splitter is a start of the level above. Returns
/// the nodes of level 0 up to the end of the sublist, the carry included.
template <class T, class Op, class Nodes>
__device__ std::uint32_t walk_from_start(const list_cut& cut, const Nodes& nodes, const Op& op, std::uint32_t node,
                                         const list_prefix<T>& carry, list_prefix<T>* prefixes,
                                         const level_arrays<T>& above, list_status* status, std::uint32_t most_steps) {
  std::uint32_t to = splitter_of(cut, node);
  std::uint32_t before = carry.before;
  T running{};
  if constexpr (has_values<T>) running = carry.sum;
  if (to == no_sublist) {
    to = walk_in_place(cut, nodes, op, node, no_sublist, before, running, prefixes, status, most_steps);
    if (to == list_end) return before;
  }
  above.carries[to] = make_prefix(list_start, before, running);
  return before;
}

/// Step 3 of cuda.sublist, as in the paper: each sublist is walked by one thread, which writes to each node what comes
/// before it in the sublist.
template <class T, class Op, class Reader>
__global__ void __launch_bounds__(list_threads)
    walk_level_0(const __grid_constant__ walk_arguments args, const Reader reader, const Op op) {
  const std::uint32_t block = place_of_block(args);
  if (block < args.summing_blocks) return sum_beside_walks<T>(args, reader, block);
  if (args.status->is_bad != 0) return;
  const single_nodes<T, Reader> nodes{reader};
  const level_arrays<T> above(args.above);
  auto* const prefixes = static_cast<list_prefix<T>*>(args.prefixes);
  const bool is_forest = args.heads.forest != nullptr;
  const std::uint32_t all_walks = args.cut.blocks + (is_forest ? args.status->heads : 1);
  // The first walk of each thread is its own, the others it draws.
  const std::uint32_t threads = (gridDim.x - args.summing_blocks) * list_threads;
  std::uint32_t walk = (block - args.summing_blocks) * list_threads + threadIdx.x;
  for (; walk < all_walks; walk = all_walks <= threads ? all_walks : threads + atomicAdd(&args.status->walks, 1U)) {
    if (walk < args.cut.blocks) {
      walk_from_splitter<T>(args.cut, nodes, op, walk, prefixes, above, args.status, args.most_steps);
    } else {
      const std::uint32_t from = is_forest ? args.heads.forest[walk - args.cut.blocks] : wait_for_head(args);
      if (from == no_node) {
        args.status->is_bad = 1;
        continue;
      }
      const std::uint32_t nodes_of_head = walk_from_start<T>(args.cut, nodes, op, from, make_prefix(list_start, 0, T{}),
                                                             prefixes, above, args.status, args.most_steps);
      if (is_forest) atomicAdd(&args.status->nodes_of_heads, nodes_of_head);
    }
  }
}

}  // namespace sheaf::list_kernels
