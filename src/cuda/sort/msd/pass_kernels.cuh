#pragma once

#include <cooperative_groups.h>

#include "cuda/sort/msd/bucket_offsets.cuh"
#include "cuda/sort/msd/pass.cuh"
#include "cuda/sort/msd/skew_sample.cuh"

// The phases of a level as kernels of their own, for the first levels of long lists, and all levels that are left in
// one kernel, which ends at once where there are none.
namespace sheaf::cuda {

/// A phase of a level, sort_level or bucket_places. A block has level_shared in dynamic shared memory, then the tile.
template <class Phase>
__device__ __forceinline__ Phase phase_of(const msd_pass_arguments& a, std::uint32_t turn) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  return {a, *reinterpret_cast<level_shared*>(dynamic), dynamic + sizeof(level_shared), turn};
}

/// Where `looks` says so, the sort has no levels if keys are skewed.
template <int Limbs, payload_mode Payload>
__global__ void __launch_bounds__(level_threads) begin_levels(const __grid_constant__ msd_pass_arguments a, bool looks) {
  if constexpr (Limbs == 1) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    auto& sampled = *reinterpret_cast<skew_shared*>(dynamic);
    const std::byte* const rows = a.rows.limbs[0].data;
    // Bits that are turned for the sort are so in all keys of one sign: equals stay equal, and so do prefixes.
    const auto key = [&](std::uint32_t i) {
      return rows != nullptr ? load_part(a.rows.limbs[0], i) : static_cast<const std::uint32_t*>(a.buffers[0])[i];
    };
    if (looks && is_skewed(sampled, a.count, key)) {
      if (threadIdx.x == 0) a.tables.counters->skewed = 1;
      return;
    }
    __syncthreads();
  }
  phase_of<bucket_places<Limbs, Payload, false, true>>(a, 1).begin_sort();
}

template <int Limbs, payload_mode Payload, bool FromRows, bool Pivots>
__global__ void __launch_bounds__(level_threads, 3)
    count_level(const __grid_constant__ msd_pass_arguments a, std::uint32_t turn) {
  phase_of<sort_level<Limbs, Payload, FromRows, Pivots>>(a, turn).count_tiles();
}

template <int Limbs, payload_mode Payload, bool FromRows, bool Pivots>
__global__ void __launch_bounds__(level_threads)
    begin_buckets(const __grid_constant__ msd_pass_arguments a, std::uint32_t turn) {
  phase_of<bucket_places<Limbs, Payload, FromRows, Pivots>>(a, turn).begin_buckets();
}

template <int Limbs, payload_mode Payload>
__global__ void __launch_bounds__(level_threads)
    begin_chunks_of(const __grid_constant__ msd_pass_arguments a, std::uint32_t turn) {
  phase_of<sort_level<Limbs, Payload, false, false>>(a, turn).begin_chunks();
}

template <int Limbs, payload_mode Payload, bool FromRows, bool Pivots>
__global__ void __launch_bounds__(level_threads, 2)
    move_level(const __grid_constant__ msd_pass_arguments a, std::uint32_t turn) {
  phase_of<sort_level<Limbs, Payload, FromRows, Pivots>>(a, turn).move_tiles();
}

/// Levels from `turn` on, as long as there are buckets.
template <int Limbs, payload_mode Payload>
__global__ void __launch_bounds__(level_threads, 2)
    sort_levels(const __grid_constant__ msd_pass_arguments a, std::uint32_t turn) {
  const auto grid = cooperative_groups::this_grid();
  for (;; ++turn) {
    auto level = phase_of<sort_level<Limbs, Payload, false, true>>(a, turn);
    if (level.is_over()) return;
    level.count_tiles();
    grid.sync();
    phase_of<bucket_places<Limbs, Payload, false, true>>(a, turn).begin_buckets();
    grid.sync();
    if constexpr (keeps_order(Payload)) {
      level.begin_chunks();
      grid.sync();
    }
    level.move_tiles();
    grid.sync();
  }
}

}  // namespace sheaf::cuda
