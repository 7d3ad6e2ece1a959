#pragma once

#include <sheaf/cuda/detail/edge_contribution.cuh>

// Sums over the list of edges of each node, in a fixed order and without atomics (cuda.two_pass, cuda.bucketed and
// cuda.by_node). Of lists of entries, lanes take the entries of a list in turn, and a tree adds their sums. Of lists in
// rows, a lane takes a list. Long lists are cut at fixed places of the array of entries: a block sums each piece, and
// the lanes of the node add the pieces.
namespace sheaf::edge_kernels {

/// @tparam WeightsInRows  weights lie in the order of the entries, not of the edges
template <bool WeightsInRows, class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
__device__ __forceinline__ void add_entry(const list_arguments& args, std::uint64_t at, bool is_aligned,
                                          const T (&own)[ValueComponents], const F& f, T (&sum)[Components]) {
  uint2 entry;
  if constexpr (WeightsInRows) {
    entry.x = __ldcs(args.others + at);
    entry.y = static_cast<std::uint32_t>(at);
  } else if (args.entries != nullptr) {
    entry = __ldcs(reinterpret_cast<const uint2*>(args.entries) + at);
  } else {
    entry.x = __ldcs(args.others + at);
    entry.y = args.views.weights == nullptr ? 0 : __ldcs(args.edges + at);
  }
  T other[ValueComponents];
  load_value(args.views.values, entry.x & ~second_end, is_aligned, other);
  add_contribution(f, own, other, (entry.x & second_end) != 0, weights_of<T>(args.views, entry.y), sum);
}

__device__ __forceinline__ std::uint64_t list_begin(const list_arguments& a, std::uint64_t node) {
  return a.begins[node] & ~whole_lists;
}

/// The node whose list has an entry.
__device__ __forceinline__ std::uint64_t node_of_entry(const list_arguments& a, std::uint64_t entry) {
  std::uint64_t low = 0;  // the last node whose list begins at the entry or before it
  for (std::uint64_t high = a.nodes - 1; low < high;) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (list_begin(a, middle) <= entry) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Sums of long lists in a piece. It has parts of two at most, because a long list is no shorter than a piece: sum 0 is
/// that of the list which has the piece's first entry, sum 1 that of a list which begins behind it.
template <class T, std::uint32_t ValueComponents, std::uint32_t Components, bool WeightsInRows, class F>
__global__ void __launch_bounds__(edge_threads)
    sum_pieces_of_lists(const __grid_constant__ list_arguments args, bool is_aligned, const F function) {
  constexpr unsigned warps = edge_threads / 32;
  __shared__ std::uint64_t nodes_at_edges[2];
  __shared__ T warp_sums[warps][Components];
  if (args.longest != nullptr && *args.longest < long_list) return;
  const std::uint64_t count = list_begin(args, args.nodes);
  for (std::uint64_t piece = blockIdx.x; piece * piece_entries < count; piece += gridDim.x) {
    const std::uint64_t begin = piece * piece_entries;
    const std::uint64_t end = min(begin + piece_entries, count);
    __syncthreads();
    if (threadIdx.x < 2) nodes_at_edges[threadIdx.x] = node_of_entry(args, threadIdx.x == 0 ? begin : end - 1);
    __syncthreads();
    for (unsigned which = 0; which < 2; ++which) {
      const std::uint64_t node = nodes_at_edges[which];
      if (which == 1 && node == nodes_at_edges[0]) break;
      const std::uint64_t first = list_begin(args, node);
      const std::uint64_t last = list_begin(args, node + 1);
      if (last - first < long_list) continue;
      T own[ValueComponents];
      load_value(args.views.values, node, is_aligned, own);
      T sum[Components] = {};
      for (std::uint64_t at = max(begin, first) + threadIdx.x; at < min(end, last); at += edge_threads) {
        add_entry<WeightsInRows>(args, at, is_aligned, own, function, sum);
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
        static_cast<T*>(args.piece_sums)[(2 * piece + which) * Components + threadIdx.x] = total;
      }
      __syncthreads();
    }
  }
}

/// Adds to `sum` what the lane finds of a list that `lanes` lanes share: its entries in turn, or its pieces.
template <bool WeightsInRows, class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
__device__ __forceinline__ void add_list(const list_arguments& args, std::uint64_t node, std::uint64_t begin,
                                         std::uint64_t end, std::uint64_t lane, std::uint32_t lanes, bool is_aligned,
                                         const F& function, T (&sum)[Components]) {
  if (args.piece_sums != nullptr && end - begin >= long_list) {
    const std::uint64_t first_piece = begin / piece_entries;
    for (std::uint64_t piece = first_piece + lane; piece <= (end - 1) / piece_entries; piece += lanes) {
      const unsigned which = piece == first_piece && begin % piece_entries != 0 ? 1 : 0;
      const T* const part = static_cast<const T*>(args.piece_sums) + (2 * piece + which) * Components;
#pragma unroll
      for (std::uint32_t c = 0; c < Components; ++c) sum[c] += part[c];
    }
    return;
  }
  T own[ValueComponents];
  load_value(args.views.values, node, is_aligned, own);
#pragma unroll 2
  for (std::uint64_t at = begin + lane; at < end; at += lanes)
    add_entry<WeightsInRows>(args, at, is_aligned, own, function, sum);
}

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
__global__ void __launch_bounds__(edge_threads)
    sum_lists_of_nodes(const __grid_constant__ list_arguments args, bool is_aligned, const F function) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * edge_threads + threadIdx.x;
  const std::uint64_t listed = thread / args.lanes;
  const std::uint64_t lane = thread % args.lanes;
  const std::uint64_t node = min(listed, args.nodes - 1);
  T sum[Components] = {};
  add_list<false, T, ValueComponents>(args, node, list_begin(args, node), list_begin(args, node + 1), lane, args.lanes,
                                      is_aligned, function, sum);
  for (unsigned step = args.lanes / 2; step > 0; step /= 2) {
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) sum[c] += __shfl_down_sync(~0U, sum[c], step);
  }
  if (lane != 0 || listed >= args.nodes) return;
  T* const result = static_cast<T*>(args.views.result) + node * Components;
#pragma unroll
  for (std::uint32_t c = 0; c < Components; ++c) result[c] = args.adds_to_result ? result[c] + sum[c] : sum[c];
}

/// Entries of a list whose values a lane of sum_rows_of_nodes reads before it adds the first: as many as registers
/// allow, and half of the 14 edges that nodes of tetrahedra have.
template <class T, std::uint32_t ValueComponents>
constexpr std::uint32_t rows_in_flight = [] {
  constexpr std::uint32_t most = 24 * 4 / (ValueComponents * sizeof(T));
  return most < 1 ? 1 : most > 7 ? 7 : most;
}();

/// A warp sums the lists of a slice, which are in rows; or, one after another, whole lists. Fewer registers and more
/// warps are slower: f32 of three components 0.16 ms with 57, 0.27 with 40, 0.42 with 32 (H200, 2.9 x 10^7 edges).
template <class T, std::uint32_t ValueComponents, std::uint32_t Components, bool WeightsInRows, class F>
__global__ void __launch_bounds__(edge_threads)
    sum_rows_of_nodes(const __grid_constant__ list_arguments args, bool is_aligned, const F function) {
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * edge_threads + threadIdx.x;
  const unsigned lane = threadIdx.x % slice_nodes;
  if (thread - lane >= args.nodes) return;
  const std::uint64_t node = min(thread, args.nodes - 1);
  const std::uint64_t begin = list_begin(args, node);
  const std::uint64_t end = thread < args.nodes ? list_begin(args, node + 1) : begin;
  T sum[Components] = {};
  if ((args.begins[thread - lane] & whole_lists) != 0) {
    for (unsigned n = 0; n < slice_nodes && thread - lane + n < args.nodes; ++n) {
      T part[Components] = {};
      add_list<WeightsInRows, T, ValueComponents>(args, thread - lane + n, __shfl_sync(~0U, begin, n),
                                                  __shfl_sync(~0U, end, n), lane, slice_nodes, is_aligned, function,
                                                  part);
#pragma unroll
      for (std::uint32_t c = 0; c < Components; ++c) {
#pragma unroll
        for (int step = 16; step > 0; step /= 2) part[c] += __shfl_xor_sync(~0U, part[c], step);
        if (lane == n) sum[c] = part[c];
      }
    }
  } else {
    constexpr std::uint32_t in_flight = rows_in_flight<T, ValueComponents>;
    const auto length = static_cast<unsigned>(end - begin);
    const unsigned rows = __reduce_max_sync(~0U, length);
    std::uint64_t row_begin = __shfl_sync(~0U, begin, 0);
    T own[ValueComponents];
    load_value(args.views.values, node, is_aligned, own);
    for (unsigned row = 0; row < rows; row += in_flight) {
      std::uint32_t other[in_flight];
      std::uint32_t edge[in_flight];
#pragma unroll
      for (std::uint32_t k = 0; k < in_flight; ++k) {
        const bool has_entry = row + k < length;
        const unsigned having = __ballot_sync(~0U, has_entry);
        const std::uint64_t at = row_begin + __popc(having & ((1U << lane) - 1));
        other[k] = has_entry ? __ldcs(args.others + at) : static_cast<std::uint32_t>(node);
        if constexpr (WeightsInRows) {
          edge[k] = static_cast<std::uint32_t>(at);  // where its weights lie
        } else {
          edge[k] = has_entry && args.views.weights != nullptr ? __ldcs(args.edges + at) : 0;
        }
        row_begin += __popc(having);
      }
      T value[in_flight][ValueComponents];
#pragma unroll
      for (std::uint32_t k = 0; k < in_flight; ++k)
        load_value(args.views.values, other[k] & ~second_end, is_aligned, value[k]);
#pragma unroll
      for (std::uint32_t k = 0; k < in_flight; ++k) {
        if (row + k >= length) continue;
        add_contribution(function, own, value[k], (other[k] & second_end) != 0, weights_of<T>(args.views, edge[k]),
                         sum);
      }
    }
  }
  if (thread >= args.nodes) return;
  T* const result = static_cast<T*>(args.views.result) + node * Components;
#pragma unroll
  for (std::uint32_t c = 0; c < Components; ++c) result[c] = sum[c];
}

}  // namespace sheaf::edge_kernels
