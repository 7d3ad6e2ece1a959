#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include <sheaf/cuda/detail/list_walk.cuh>

// Step 4: the scan of sublists in the order of their lists.
namespace sheaf::list_kernels {

/// What comes before a node that is a start; unreached if it is not a start.
template <class T>
__device__ __forceinline__ list_prefix<T> prefix_of_start(const level_arrays<T>& at, std::uint32_t node) {
  list_prefix<T> prefix{};
  prefix.sublist = unreached;
  if (at.carries[node].sublist == list_start) {
    prefix = at.carries[node];
    prefix.sublist = no_sublist;
  }
  return prefix;
}

/// The last level, by Wyllie's pointer jumping along predecessors. What comes before a node is then in its prefix,
/// which is unreached if no start leads to it. Called by the whole grid.
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
  auto* upto = static_cast<list_prefix<T>*>(arrays.upto[0]);
  auto* upto_after = static_cast<list_prefix<T>*>(arrays.upto[1]);
  std::uint32_t* hop = arrays.hop[0];
  std::uint32_t* hop_after = arrays.hop[1];
  for (std::uint32_t i = first; i < count; i += threads) {
    hop[i] = previous[i];
    list_prefix<T> own = prefix_of_start(at, i);
    if constexpr (has_values<T>) fold(own.sum, own.before, at.nodes[i].total, op);
    own.before += at.nodes[i].length;
    upto[i] = own;
  }
  for (std::uint32_t reach = 1; reach < count; reach *= 2) {
    grid.sync();
    for (std::uint32_t i = first; i < count; i += threads) {
      const std::uint32_t from = hop[i];
      list_prefix<T> own = upto[i];
      std::uint32_t further = no_node;
      if (from != no_node) {
        const list_prefix<T> earlier = upto[from];
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
    at.prefixes[i] = previous[i] != no_node ? upto[previous[i]] : prefix_of_start(at, i);
  }
}

/// What comes before a node in its list, from what comes before it in its sublist.
template <class T, class Op>
__device__ __forceinline__ list_prefix<T> prefix_in_list(list_prefix<T> prefix, const list_prefix<T>* prefixes_above,
                                                         const Op& op) {
  if (prefix.sublist >= list_start) return prefix;  // no sublist, or unreached
  const list_prefix<T> above = prefixes_above[prefix.sublist];
  prefix.sublist = above.sublist;
  if (above.sublist == unreached) return prefix;
  if constexpr (has_values<T>) {
    if (above.before > 0) prefix.sum = prefix.before > 0 ? op(above.sum, prefix.sum) : above.sum;
  }
  prefix.before += above.before;
  return prefix;
}

/// Step 4: scans the sublists in the order of their lists, by the same method level after level; the last level by
/// pointer jumping. Then all ranks are known, and whether the sublists that the head leads to have all nodes.
template <class T, class Op>
__global__ void __launch_bounds__(list_threads)
    scan_sublists(const __grid_constant__ levels_arguments args, const Op op) {
  const auto grid = cooperative_groups::this_grid();
  const std::uint32_t thread = blockIdx.x * list_threads + threadIdx.x;
  const std::uint32_t threads = gridDim.x * list_threads;
  const bool is_bad = args.status->is_bad != 0;
  grid.sync();  // all have read it before a walk sets it
  if (is_bad) return;
  for (std::uint32_t l = 0; l + 1 < args.levels; ++l) {
    const list_level& level = args.level[l];
    const level_arrays<T> at(level);
    const level_arrays<T> above(args.level[l + 1]);
    const sublist_reader<T> nodes{at.nodes};
    for (std::uint32_t block = thread; block < level.cut.blocks; block += threads) {
      walk_from_splitter<T>(level.cut, nodes, op, block, at.prefixes, above, args.status, args.most_steps);
    }
    for (std::uint32_t node = thread; node < level.cut.count; node += threads) {
      if (at.carries[node].sublist != list_start) continue;
      walk_from_start<T>(level.cut, nodes, op, node, at.carries[node], at.prefixes, above, args.status,
                         args.most_steps);
    }
    grid.sync();
  }
  jump_over_last_level<T>(grid, args.level[args.levels - 1], args.last, op);
  for (std::uint32_t l = args.levels - 1; l-- > 0;) {
    grid.sync();
    const level_arrays<T> at(args.level[l]);
    const auto* const above = static_cast<const list_prefix<T>*>(args.level[l + 1].prefixes);
    for (std::uint32_t node = thread; node < args.level[l].cut.count; node += threads) {
      at.prefixes[node] = prefix_in_list(at.prefixes[node], above, op);
    }
  }
  grid.sync();
  const level_arrays<T> at(args.level[0]);
  if (args.is_forest) {
    std::uint32_t nodes = thread == 0 ? args.status->nodes_of_heads : 0;
    for (std::uint32_t i = thread; i < args.level[0].cut.count; i += threads) {
      if (at.prefixes[i].sublist != unreached) nodes += at.nodes[i].length;
    }
    if (nodes > 0) atomicAdd(&args.status->reached, nodes);
    grid.sync();
    if (thread == 0 && args.status->reached != args.nodes) args.status->is_bad = 1;
  } else if (thread == 0) {
    auto reached = static_cast<std::uint32_t>(args.status->last);
    const auto last = static_cast<std::uint32_t>(args.status->last >> 32);
    if (reached > 0 && last != no_sublist) {
      reached = at.prefixes[last].sublist == unreached ? 0 : reached + at.prefixes[last].before;
    }
    if (reached != args.nodes) args.status->is_bad = 1;
  }
}

}  // namespace sheaf::list_kernels
