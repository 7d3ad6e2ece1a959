#pragma once

#include <sheaf/cuda/detail/edge_atomics.cuh>
#include <sheaf/cuda/detail/edge_lists.cuh>
#include <sheaf/cuda/detail/edge_tiles.cuh>

// Queues the kernels of one type of values, numbers of components and one function.
namespace sheaf::edge_kernels {

template <class... Parameters, class... Arguments>
cudaError_t launch_blocks(cudaStream_t stream, std::uint64_t blocks, std::size_t shared_bytes,
                          void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (blocks == 0) return cudaSuccess;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(static_cast<unsigned>(blocks));
  configuration.blockDim = dim3(edge_threads);
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = stream;
  return cudaLaunchKernelEx(&configuration, kernel, arguments...);
}

constexpr std::uint64_t blocks_of(std::uint64_t threads) { return (threads + edge_threads - 1) / edge_threads; }

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
struct edge_launches {
  static const F& function(const void* f) { return *static_cast<const F*>(f); }
  static bool has_weights_in_rows(const list_arguments& a) {
    return a.views.weights != nullptr && a.entries == nullptr && a.edges == nullptr;
  }

  static cudaError_t add_by_atomics(cudaStream_t stream, const void* f, const atomic_arguments& a) {
    const auto kernel = a.edges.is_wide ? add_edges_by_atomics<T, ValueComponents, Components, std::uint64_t, F>
                                        : add_edges_by_atomics<T, ValueComponents, Components, std::uint32_t, F>;
    return launch_blocks(stream, blocks_of(a.edges.count), 0, kernel, a, is_aligned_array(a.views.values),
                         is_aligned_array(a.sums), function(f));
  }

  static cudaError_t sum_pieces(cudaStream_t stream, const void* f, const list_arguments& a) {
    constexpr std::uint64_t most_blocks = 4096;  // they take pieces in turn
    const std::uint64_t pieces = (a.count + piece_entries - 1) / piece_entries;
    const auto kernel = has_weights_in_rows(a) ? sum_pieces_of_lists<T, ValueComponents, Components, true, F>
                                               : sum_pieces_of_lists<T, ValueComponents, Components, false, F>;
    return launch_blocks(stream, pieces < most_blocks ? pieces : most_blocks, 0, kernel, a,
                         is_aligned_array(a.views.values), function(f));
  }

  static cudaError_t sum_lists(cudaStream_t stream, const void* f, const list_arguments& a) {
    return launch_blocks(stream, blocks_of(a.nodes * a.lanes), 0, sum_lists_of_nodes<T, ValueComponents, Components, F>,
                         a, is_aligned_array(a.views.values), function(f));
  }

  static cudaError_t sum_rows(cudaStream_t stream, const void* f, const list_arguments& a) {
    const auto kernel = has_weights_in_rows(a) ? sum_rows_of_nodes<T, ValueComponents, Components, true, F>
                                               : sum_rows_of_nodes<T, ValueComponents, Components, false, F>;
    return launch_blocks(stream, blocks_of(a.nodes), 0, kernel, a, is_aligned_array(a.views.values), function(f));
  }

  static cudaError_t sum_tiles(cudaStream_t stream, const void* function_object, const tile_arguments& args) {
    int device = 0;
    int most_bytes = 0;
    cudaError_t result = cudaGetDevice(&device);
    if (result == cudaSuccess) {
      result = cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    if (result != cudaSuccess) return result;
    constexpr std::size_t stage_bytes = sum_stage_bytes<T, Components>;
    const std::size_t bytes = stage_bytes + args.most_nodes * (ValueComponents * sizeof(T));
    const std::uint64_t tiles = (args.nodes + args.tile_nodes - 1) / args.tile_nodes;
    const bool is_aligned = is_aligned_array(args.views.values);
    if (bytes > static_cast<std::size_t>(most_bytes)) {
      return launch_blocks(stream, tiles, stage_bytes,
                           sum_tiles_of_nodes<T, ValueComponents, Components, false, true, F>, args, is_aligned,
                           function(function_object));
    }
    const auto kernel = args.views.weights == nullptr
                            ? sum_tiles_of_nodes<T, ValueComponents, Components, true, false, F>
                            : sum_tiles_of_nodes<T, ValueComponents, Components, true, true, F>;
    // The limit belongs to the kernel, which other threads may launch for other meshes: always all that there is.
    result = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  most_bytes);
    if (result != cudaSuccess) return result;
    return launch_blocks(stream, tiles, bytes, kernel, args, is_aligned, function(function_object));
  }
};

/// The function as the library takes it. It refers to `f`.
template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
detail::device_edge_function device_function(const F& f) {
  using launches = edge_launches<T, ValueComponents, Components, F>;
  return {
      &f, launches::add_by_atomics, launches::sum_pieces, launches::sum_lists, launches::sum_rows, launches::sum_tiles};
}

}  // namespace sheaf::edge_kernels
