#pragma once

#include <sheaf/cuda/detail/edge_contribution.cuh>

// cuda.atomic: a thread for each edge, whose contribution atomics add to the sums of both ends.
namespace sheaf::edge_kernels {

/// Notes an edge that has a bad end. Good edges pay one comparison.
static __device__ __noinline__ void note_bad_edge(unsigned long long* first_bad, unsigned long long edge) {
  if (edge < *static_cast<volatile unsigned long long*>(first_bad)) atomicMin(first_bad, edge);
}

/// Adds by `red`, an atomic that returns nothing, of two or four words at once where the device can.
template <class T, std::uint32_t Components>
__device__ __forceinline__ void add_atomically(void* sums, std::uint64_t node, bool is_aligned,
                                               const T (&term)[Components]) {
  T* const to = static_cast<T*>(sums) + node * Components;
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_global(to));
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (std::is_same_v<T, float> && Components % 4 == 0) {
    if (is_aligned) {
#pragma unroll
      for (std::uint32_t c = 0; c < Components; c += 4) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address + c * sizeof(T)),
                     "f"(term[c]), "f"(term[c + 1]), "f"(term[c + 2]), "f"(term[c + 3])
                     : "memory");
      }
      return;
    }
  } else if constexpr (std::is_same_v<T, float> && Components % 2 == 0) {
    if (is_aligned) {
#pragma unroll
      for (std::uint32_t c = 0; c < Components; c += 2) {
        asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(address + c * sizeof(T)), "f"(term[c]),
                     "f"(term[c + 1])
                     : "memory");
      }
      return;
    }
  }
#endif
#pragma unroll
  for (std::uint32_t c = 0; c < Components; ++c) {
    if constexpr (std::is_same_v<T, float>) {
      asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(address + c * sizeof(T)), "f"(term[c]) : "memory");
    } else {
      asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(address + c * sizeof(T)), "d"(term[c]) : "memory");
    }
  }
}

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class End, class F>
__global__ void __launch_bounds__(edge_threads)
    add_edges_by_atomics(const __grid_constant__ atomic_arguments args, bool values_are_aligned, bool result_is_aligned,
                         const F function) {
  const std::uint64_t e = std::uint64_t{blockIdx.x} * edge_threads + threadIdx.x;
  if (e >= args.edges.count) return;
  const End i = __ldcs(static_cast<const End*>(args.edges.first) + e * args.edges.stride);
  const End j = __ldcs(static_cast<const End*>(args.edges.second) + e * args.edges.stride);
  if (i >= args.edges.limit || j >= args.edges.limit) return note_bad_edge(args.first_bad, e);
  T first[ValueComponents];
  T second[ValueComponents];
  load_value(args.views.values, i, values_are_aligned, first);
  load_value(args.views.values, j, values_are_aligned, second);
  T contribution[Components];
  function(static_cast<const T*>(first), static_cast<const T*>(second), weights_of<T>(args.views, e), contribution);
  add_atomically(args.views.result, i, result_is_aligned, contribution);
#pragma unroll
  for (std::uint32_t c = 0; c < Components; ++c) contribution[c] = -contribution[c];
  add_atomically(args.views.result, j, result_is_aligned, contribution);
}

}  // namespace sheaf::edge_kernels
