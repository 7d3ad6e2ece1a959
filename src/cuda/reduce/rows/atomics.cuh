#pragma once

#include "cuda/reduce/rows/tiles.cuh"

// Rows added by atomics, in any order.
namespace sheaf::cuda {

/// Adds what a lane has of a row, by vector reductions where the device has them. None returns what was there.
template <class T, int Values>
__device__ __forceinline__ void add_lanes_by_atomics(T* to, const T (&values)[Values]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr bool has_vectors = std::is_same_v<T, float> && Values % 4 == 0;
#else
  constexpr bool has_vectors = false;
#endif
  if constexpr (has_vectors) {
#pragma unroll
    for (int v = 0; v < Values; v += 4) {
      asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to + v), "f"(values[v]),
                   "f"(values[v + 1]), "f"(values[v + 2]), "f"(values[v + 3])
                   : "memory");
    }
  } else {
#pragma unroll
    for (int v = 0; v < Values; ++v) {
      if constexpr (std::is_integral_v<T>) {
        using bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
        atomicAdd(reinterpret_cast<bits*>(to + v), static_cast<bits>(values[v]));
      } else {
        atomicAdd(to + v, values[v]);
      }
    }
  }
}

constexpr int rows_by_atomics = 4;  ///< that a group of lanes has in flight

/// Adds row i of `in` to row index[i] of out, whose type is Sum. A group of lanes takes rows_by_atomics rows, in
/// chunks.
template <class In, class Sum, int Values, int Rows = rows_by_atomics>
__global__ void __launch_bounds__(row_block_threads)
    add_rows_by_atomics(const __grid_constant__ listed_rows in, std::uint64_t entries,
                        const __grid_constant__ reduced_rows out, const __grid_constant__ index_guard guard) {
  const std::uint64_t group = (std::uint64_t{blockIdx.x} * row_block_threads + threadIdx.x) >> out.lanes_log2;
  const std::uint64_t first = (out.chunks == 1 ? group : group / out.chunks) * Rows;
  const auto place = lane_place::of<Values>(out, out.chunks == 1 ? 0 : static_cast<std::uint32_t>(group % out.chunks));
  if (!place.is_active || first >= entries) return;
  std::uint64_t slot[Rows];
  lane_values<In, Values> loaded[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const std::uint64_t i = min(first + r, entries - 1);
    slot[r] = entry_at(in.index, in.has_wide_index, i);
    loaded[r].load_once(in.data + i * in.stride + place.value * sizeof(In));
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (first + r >= entries) continue;
    if (slot[r] >= in.limit) {
      if (place.value == 0) check_entry(in, guard, first + r, slot[r]);
      continue;
    }
    In values[Values];
    loaded[r].get(values);
    Sum sum[Values];
#pragma unroll
    for (int v = 0; v < Values; ++v) {
      sum[v] = as_sum<Sum>(values[v]);
      if (out.op == reduction::subtract) sum[v] = primitives::operand<reduction::subtract>(sum[v]);
    }
    add_lanes_by_atomics(reinterpret_cast<Sum*>(out.data + slot[r] * out.stride) + place.value, sum);
    if (place.value == 0 && out.counts != nullptr) {
      if (out.has_wide_counts) {
        atomicAdd(static_cast<unsigned long long*>(out.counts) + slot[r], 1ULL);
      } else {
        atomicAdd(static_cast<unsigned*>(out.counts) + slot[r], 1U);
      }
    }
  }
}

}  // namespace sheaf::cuda
