#pragma once

#include <sheaf/cuda/detail/edge_contribution.cuh>

// A run of cuda.tiles: a block for each tile brings the values of its own nodes and of its halo into shared memory; a
// thread then sums the list of a node in the order of the edges.
namespace sheaf::edge_kernels {

constexpr unsigned tile_warps = edge_threads / 32;

/// Shared memory in which the warps of a block turn 32 sums into consecutive words.
template <class T, std::uint32_t Components>
constexpr std::uint32_t sum_stage_bytes = edge_threads* Components * sizeof(T);

/// A value in shared memory, which is as wide as its alignment allows.
template <class T, std::uint32_t Components>
__device__ __forceinline__ void load_shared(const T* from, T (&to)[Components]) {
  load_words<value_word<T, Components>>(from, to, [](const auto* at) { return *at; });
}

/// How the kernel of a function is compiled. Few and small values are read several at a time, which takes registers,
/// and hides what shared memory takes to answer; larger ones leave the registers to more warps.
template <class T, std::uint32_t ValueComponents, std::uint32_t Components>
struct tile_form {
  static constexpr bool reads_ahead = ValueComponents * sizeof(T) <= 16 && sizeof(T) == 4;
  static constexpr std::uint32_t words = (2 * ValueComponents + Components) * sizeof(T) / 4;
  static constexpr unsigned blocks_of_a_multiprocessor = words <= 32 ? 4 : 2;
};

/// Brings the values of a tile's own nodes and of its halo into shared memory.
template <bool ByNodes, class T, std::uint32_t ValueComponents>
__device__ __forceinline__ void stage_values(const T* values, const std::uint32_t* ids, std::uint32_t nodes,
                                             T* staged) {
  if constexpr (ByNodes) {
    constexpr std::uint32_t nodes_in_flight = 4;
    for (std::uint32_t base = threadIdx.x; base < nodes; base += edge_threads * nodes_in_flight) {
      std::uint64_t id[nodes_in_flight];
      T value[nodes_in_flight][ValueComponents];
#pragma unroll
      for (std::uint32_t k = 0; k < nodes_in_flight; ++k) {
        const std::uint32_t node = base + k * edge_threads;
        id[k] = __ldg(ids + min(node, nodes - 1));
      }
#pragma unroll
      for (std::uint32_t k = 0; k < nodes_in_flight; ++k) {
#pragma unroll
        for (std::uint32_t c = 0; c < ValueComponents; ++c) {
          value[k][c] = __ldg(values + id[k] * ValueComponents + c);
        }
      }
#pragma unroll
      for (std::uint32_t k = 0; k < nodes_in_flight; ++k) {
        const std::uint32_t node = base + k * edge_threads;
        if (node >= nodes) continue;
#pragma unroll
        for (std::uint32_t c = 0; c < ValueComponents; ++c) staged[node * ValueComponents + c] = value[k][c];
      }
    }
  } else {
    // A thread for each component, so that neighbouring threads read neighbouring words.
#pragma unroll 4
    for (std::uint32_t w = threadIdx.x; w < nodes * ValueComponents; w += edge_threads) {
      const std::uint64_t id = __ldg(ids + w / ValueComponents);
      staged[w] = __ldg(values + id * ValueComponents + w % ValueComponents);
    }
  }
}

/// How sum_tiles_of_nodes reads a tile. IsStaged: values come from shared memory; else, where they are too many for it,
/// from the caller's array. Without HasWeights the views have none.
template <class T, std::uint32_t ValueComponents, bool IsStaged, bool HasWeights>
struct tile_reader {
  static constexpr std::uint32_t rows_in_flight = 4;
  static constexpr std::uint32_t entries_in_flight = 2 * rows_in_flight;

  const tile_arguments& args;
  const std::uint32_t* ids;  ///< of the tile's nodes
  const T* staged;
  bool is_aligned;
  std::uint32_t pairs[rows_in_flight];
  std::uint32_t edges[entries_in_flight];

  __device__ __forceinline__ tile_reader(const tile_arguments& arguments, const std::uint32_t* tile_ids,
                                         const T* values, bool are_aligned)
      : args(arguments), ids(tile_ids), staged(values), is_aligned(are_aligned) {}

  __device__ __forceinline__ void load(std::uint32_t local, T (&to)[ValueComponents]) const {
    if constexpr (IsStaged) {
      load_shared(staged + local * ValueComponents, to);
    } else {
      load_value(args.views.values, __ldg(ids + local), is_aligned, to);
    }
  }

  /// Loads args node's entries from `row` on, of `rows` whose first is at `first`, and their edges where there are
  /// weights.
  __device__ __forceinline__ void load_rows(std::uint64_t first, std::uint32_t row, std::uint32_t rows) {
#pragma unroll
    for (std::uint32_t k = 0; k < rows_in_flight; ++k) {
      pairs[k] = ~0U;
      if (row + k < rows) pairs[k] = __ldcs(args.entries + first + std::uint64_t{row + k} * slice_nodes);
      edges[2 * k] = edges[2 * k + 1] = 0;
    }
    if constexpr (HasWeights) {
#pragma unroll
      for (std::uint32_t k = 0; k < rows_in_flight; ++k) {
        if (args.views.weights == nullptr || row + k >= rows) continue;
        const uint2 two = __ldcs(args.edges + first + std::uint64_t{row + k} * slice_nodes);
        edges[2 * k] = two.x;
        edges[2 * k + 1] = two.y;
      }
    }
  }
  /// Entry i of those loaded.
  __device__ __forceinline__ std::uint32_t entry(std::uint32_t i) const {
    return pairs[i / 2] >> (16 * (i % 2)) & 0xffffU;
  }
  __device__ __forceinline__ const T* weights(std::uint32_t i) const {
    if constexpr (HasWeights) return weights_of<T>(args.views, edges[i]);
    return nullptr;
  }

  /// Adds what the loaded entries contribute at the node with number `local`.
  template <bool ReadsAhead, std::uint32_t Components, class F>
  __device__ __forceinline__ void add_entries(const F& function, std::uint32_t local, const T (&own)[ValueComponents],
                                              T (&sum)[Components]) const {
    if constexpr (ReadsAhead) {
      T other[entries_in_flight][ValueComponents];
#pragma unroll
      for (std::uint32_t i = 0; i < entries_in_flight; ++i) {
        load(entry(i) == no_local_entry ? local : entry(i) & ~local_second_end, other[i]);
      }
#pragma unroll
      for (std::uint32_t i = 0; i < entries_in_flight; ++i) {
        if (entry(i) == no_local_entry) continue;
        add_contribution(function, own, other[i], (entry(i) & local_second_end) != 0, weights(i), sum);
      }
    } else {
#pragma unroll
      for (std::uint32_t i = 0; i < entries_in_flight; ++i) {
        if (entry(i) == no_local_entry) continue;
        T other[ValueComponents];
        load(entry(i) & ~local_second_end, other);
        add_contribution(function, own, other, (entry(i) & local_second_end) != 0, weights(i), sum);
      }
    }
  }
};

/// Writes the sums of a slice's nodes, of which the warp's lanes have one each, with number `id`. They go through
/// `stage`, so that neighbouring lanes write neighbouring words.
template <class T, std::uint32_t Components>
__device__ __forceinline__ void store_slice(const T (&sum)[Components], std::uint32_t id, std::uint32_t nodes, T* stage,
                                            T* result) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (std::uint32_t c = 0; c < Components; ++c) stage[lane * Components + c] = sum[c];
  __syncwarp();
#pragma unroll
  for (std::uint32_t c = 0; c < Components; ++c) {
    const std::uint32_t word = c * 32 + lane;
    const std::uint32_t node = word / Components;
    const std::uint64_t to = __shfl_sync(~0U, id, static_cast<int>(node));
    if (node < nodes) result[to * Components + word % Components] = stage[word];
  }
  __syncwarp();
}

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, bool IsStaged, bool HasWeights, class F>
__global__ void __launch_bounds__(edge_threads, (tile_form<T, ValueComponents, Components>::blocks_of_a_multiprocessor))
    sum_tiles_of_nodes(const __grid_constant__ tile_arguments args, bool is_aligned, const F function) {
  extern __shared__ __align__(16) unsigned char tile_memory[];
  constexpr bool reads_ahead = IsStaged && tile_form<T, ValueComponents, Components>::reads_ahead;
  const std::uint64_t tile = blockIdx.x;
  const auto own_nodes =
      static_cast<std::uint32_t>(min(std::uint64_t{args.tile_nodes}, args.nodes - tile * args.tile_nodes));
  const std::uint32_t* const ids = args.ids + args.id_begins[tile];
  T* const staged = reinterpret_cast<T*>(tile_memory + sum_stage_bytes<T, Components>);
  if constexpr (IsStaged) {
    const auto nodes = static_cast<std::uint32_t>(args.id_begins[tile + 1] - args.id_begins[tile]);
    stage_values<reads_ahead, T, ValueComponents>(static_cast<const T*>(args.views.values), ids, nodes, staged);
    __syncthreads();
  }
  tile_reader<T, ValueComponents, IsStaged, HasWeights> reader(args, ids, staged, is_aligned);
  const unsigned warp = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  T* const stage = reinterpret_cast<T*>(tile_memory) + warp * (32 * Components);
  const std::uint64_t* const slice_begins = args.slice_begins + tile * (args.tile_nodes / slice_nodes);
  for (std::uint32_t slice = warp; slice * slice_nodes < own_nodes; slice += tile_warps) {
    const std::uint32_t local = min(slice * slice_nodes + lane, own_nodes - 1);
    const std::uint32_t id = __ldg(ids + local);
    T own[ValueComponents];
    reader.load(local, own);
    T sum[Components] = {};
    const std::uint64_t first_row = slice_begins[slice];
    const auto rows = static_cast<std::uint32_t>(slice_begins[slice + 1] - first_row);
    const std::uint64_t first = first_row * slice_nodes + lane;
    for (std::uint32_t row = 0; row < rows; row += reader.rows_in_flight) {
      reader.load_rows(first, row, rows);
      reader.template add_entries<reads_ahead>(function, local, own, sum);
    }
    store_slice(sum, id, own_nodes - slice * slice_nodes, stage, static_cast<T*>(args.views.result));
  }
}

}  // namespace sheaf::edge_kernels
