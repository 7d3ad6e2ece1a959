#pragma once

#include <sheaf/cuda/detail/edge_contribution.cuh>

// cuda.atomic: a thread for each edge, whose contribution atomics add to the sums of both ends.
namespace sheaf::edge_kernels {

/// Notes an edge that has a bad end. Good edges pay one comparison.
static __device__ __noinline__ void note_bad_edge(unsigned long long* first_bad, unsigned long long edge) {
  if (edge < *static_cast<volatile unsigned long long*>(first_bad)) atomicMin(first_bad, edge);
}

/// Adds by `red`, an atomic that returns nothing, of two or four words at once where the device can. Where each sum has
/// a multiple of four words, zeros are added to those that fill it up.
template <class T, std::uint32_t Components>
__device__ __forceinline__ void add_atomically(void* sums, std::uint32_t sum_values, std::uint64_t node,
                                               bool is_aligned, const T (&term)[Components]) {
  T* const to = static_cast<T*>(sums) + node * sum_values;
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_global(to));
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (std::is_same_v<T, float> && Components > 2) {
    if (is_aligned && sum_values % 4 == 0) {
      constexpr auto word = [](const T(&all)[Components], std::uint32_t c) { return c < Components ? all[c] : T{0}; };
#pragma unroll
      for (std::uint32_t c = 0; c < Components; c += 4) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address + c * sizeof(T)),
                     "f"(term[c]), "f"(word(term, c + 1)), "f"(word(term, c + 2)), "f"(word(term, c + 3))
                     : "memory");
      }
      return;
    }
  }
  if constexpr (std::is_same_v<T, float> && Components % 2 == 0) {
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

/// Adds up the contributions of lanes next to each other that have the same node, in the first of them. Meshes list the
/// edges of a node one after the other, so that one atomic does for all of a node's edges in the warp. All lanes call
/// it. Returns whether the lane is the first of its run.
template <class T, std::uint32_t Components>
__device__ __forceinline__ bool sum_runs(std::uint64_t node, T (&sum)[Components]) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t before = __shfl_up_sync(~0U, node, 1);
  const bool is_first = lane == 0 || before != node;
  const unsigned firsts = __ballot_sync(~0U, is_first);
  if (firsts == ~0U) return true;
  const unsigned later = lane == 31 ? 0 : firsts >> (lane + 1);
  const unsigned behind = later == 0 ? 31 - lane : __ffs(static_cast<int>(later)) - 1;  // lanes of the run
  const unsigned most = __reduce_max_sync(~0U, behind);
  for (unsigned step = 1; step <= most; step *= 2) {
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) {
      const T other = __shfl_down_sync(~0U, sum[c], step);
      if (step <= behind) sum[c] += other;
    }
  }
  return is_first;
}

template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class End, class F>
__global__ void __launch_bounds__(edge_threads)
    add_edges_by_atomics(const __grid_constant__ atomic_arguments args, bool values_are_aligned, bool sums_are_aligned,
                         const F function) {
  const std::uint64_t e = std::uint64_t{blockIdx.x} * edge_threads + threadIdx.x;
  std::uint64_t node = ~std::uint64_t{0};
  T contribution[Components] = {};
  if (e < args.edges.count) {
    const End i = __ldcs(static_cast<const End*>(args.edges.first) + e * args.edges.stride);
    const End j = __ldcs(static_cast<const End*>(args.edges.second) + e * args.edges.stride);
    if (i < args.edges.limit && j < args.edges.limit) {
      node = i;
      T first[ValueComponents];
      T second[ValueComponents];
      load_value(args.views.values, i, values_are_aligned, first);
      load_value(args.views.values, j, values_are_aligned, second);
      function(static_cast<const T*>(first), static_cast<const T*>(second), weights_of<T>(args.views, e), contribution);
      T negative[Components];
#pragma unroll
      for (std::uint32_t c = 0; c < Components; ++c) negative[c] = -contribution[c];
      add_atomically(args.sums, args.sum_values, j, sums_are_aligned, negative);
    } else {
      note_bad_edge(args.first_bad, e);
    }
  }
  const bool is_first = sum_runs(node, contribution);
  if (!is_first || node == ~std::uint64_t{0}) return;
  add_atomically(args.sums, args.sum_values, node, sums_are_aligned, contribution);
}

}  // namespace sheaf::edge_kernels
