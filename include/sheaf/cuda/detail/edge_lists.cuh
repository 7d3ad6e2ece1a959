#pragma once

#include <sheaf/cuda/detail/edge_contribution.cuh>

// Sums over the list of edges of each node, in a fixed order and without atomics (cuda.two_pass and cuda.by_node).
// Lanes take the entries of a list in turn, and a tree adds their sums. Long lists are cut at fixed places of the array
// of entries: a block sums each piece, and the lanes of the node add the pieces.
namespace sheaf::edge_kernels {

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
__device__ __forceinline__ void add_entry(const list_arguments& args, std::uint64_t at, bool is_aligned,
                                          const T (&own)[ValueComponents], const F& f, T (&sum)[Components]) {
  const uint2 entry = __ldcs(reinterpret_cast<const uint2*>(args.entries) + at);
  T other[ValueComponents];
  load_value(args.views.values, entry.x & ~second_end, is_aligned, other);
  add_contribution(f, own, other, (entry.x & second_end) != 0, weights_of<T>(args.views, entry.y), sum);
}

/// The node whose list has an entry.
__device__ __forceinline__ std::uint64_t node_of_entry(const list_arguments& a, std::uint64_t entry) {
  std::uint64_t low = 0;  // the last node whose list begins at the entry or before it
  for (std::uint64_t high = a.nodes - 1; low < high;) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (a.begins[middle] <= entry) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Sums of long lists in a piece. It has parts of two at most, because a long list is no shorter than a piece: sum 0 is
/// that of the list which has the piece's first entry, sum 1 that of a list which begins behind it.
template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
__global__ void __launch_bounds__(edge_threads)
    sum_pieces_of_lists(const __grid_constant__ list_arguments args, bool is_aligned, const F function) {
  constexpr unsigned warps = edge_threads / 32;
  __shared__ std::uint64_t nodes_at_edges[2];
  __shared__ T warp_sums[warps][Components];
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * piece_entries;
  const std::uint64_t end = min(begin + piece_entries, args.begins[args.nodes]);
  if (begin >= end) return;
  if (threadIdx.x < 2) nodes_at_edges[threadIdx.x] = node_of_entry(args, threadIdx.x == 0 ? begin : end - 1);
  __syncthreads();
  for (unsigned which = 0; which < 2; ++which) {
    const std::uint64_t node = nodes_at_edges[which];
    if (which == 1 && node == nodes_at_edges[0]) return;
    const std::uint64_t list_begin = args.begins[node];
    const std::uint64_t list_end = args.begins[node + 1];
    if (list_end - list_begin < long_list) continue;
    T own[ValueComponents];
    load_value(args.views.values, node, is_aligned, own);
    T sum[Components] = {};
    for (std::uint64_t at = max(begin, list_begin) + threadIdx.x; at < min(end, list_end); at += edge_threads) {
      add_entry(args, at, is_aligned, own, function, sum);
    }
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) sum[c] += __shfl_down_sync(~0U, sum[c], step);
      if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32][c] = sum[c];
    }
    __syncthreads();
    if (threadIdx.x < Components) {
      T total = 0;
      for (unsigned w = 0; w < warps; ++w) total += warp_sums[w][threadIdx.x];
      static_cast<T*>(args.piece_sums)[(2 * std::uint64_t{blockIdx.x} + which) * Components + threadIdx.x] = total;
    }
    __syncthreads();
  }
}

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
__global__ void __launch_bounds__(edge_threads)
    sum_lists_of_nodes(const __grid_constant__ list_arguments args, bool is_aligned, const F function) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * edge_threads + threadIdx.x;
  const std::uint64_t listed = thread / args.lanes;
  const std::uint64_t lane = thread % args.lanes;
  const std::uint64_t node = min(listed, args.nodes - 1);
  const std::uint64_t begin = args.begins[node];
  const std::uint64_t end = args.begins[node + 1];
  T sum[Components] = {};
  if (args.piece_sums != nullptr && end - begin >= long_list) {
    const std::uint64_t first_piece = begin / piece_entries;
    for (std::uint64_t piece = first_piece + lane; piece <= (end - 1) / piece_entries; piece += args.lanes) {
      const unsigned which = piece == first_piece && begin % piece_entries != 0 ? 1 : 0;
      const T* const part = static_cast<const T*>(args.piece_sums) + (2 * piece + which) * Components;
#pragma unroll
      for (std::uint32_t c = 0; c < Components; ++c) sum[c] += part[c];
    }
  } else {
    T own[ValueComponents];
    load_value(args.views.values, node, is_aligned, own);
#pragma unroll 2
    for (std::uint64_t at = begin + lane; at < end; at += args.lanes)
      add_entry(args, at, is_aligned, own, function, sum);
  }
  for (unsigned step = args.lanes / 2; step > 0; step /= 2) {
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) sum[c] += __shfl_down_sync(~0U, sum[c], step);
  }
  if (lane != 0 || listed >= args.nodes) return;
  T* const result = static_cast<T*>(args.views.result) + node * Components;
#pragma unroll
  for (std::uint32_t c = 0; c < Components; ++c) result[c] = args.adds_to_result ? result[c] + sum[c] : sum[c];
}

}  // namespace sheaf::edge_kernels
