#pragma once

#include "cuda/sort/msd/group/sort.cuh"

// The kernels that finish a sort: blocks draw groups, sort them in shared memory and write them to the output. The
// kernel of the method `bins` leaves groups with hot bins, bins of many words, to the kernel of the method `merge`.
namespace sheaf::cuda {

template <int Limbs, payload_mode Payload, finish_method Method>
constexpr int finish_blocks_per_multiprocessor = Method == finish_method::merge&& Payload == payload_mode::values_8 ? 1
                                                 : Limbs > 2 || carries_values(Payload) ||
                                                         (Limbs > 1 && Method == finish_method::merge)
                                                     ? 2
                                                     : 3;

/// Calls body(index) for the indices below `group_total` that the block draws from the counter `next_group`.
template <class Body>
__device__ __forceinline__ void draw_groups(std::uint32_t& drawn_group, std::uint32_t* next_group,
                                            std::uint32_t group_total, Body body) {
  __syncthreads();
  if (threadIdx.x == 0) drawn_group = atomicAdd(next_group, 1U);
  __syncthreads();
  while (drawn_group < group_total) {
    const std::uint32_t own = drawn_group;
    std::uint32_t next = 0;
    if (threadIdx.x == 0) next = atomicAdd(next_group, 1U);  // now, so that no thread waits for it
    body(own);
    __syncthreads();
    if (threadIdx.x == 0) drawn_group = next;
    __syncthreads();
  }
}

/// Finishes groups. The method `merge` takes those that the method `bins` left to it; without that method, all.
template <int Limbs, payload_mode Payload, finish_method Method>
__global__ void __launch_bounds__(finish_threads, finish_blocks_per_multiprocessor<Limbs, Payload, Method>)
    finish_groups(const __grid_constant__ msd_arguments a) {
  wait_for_kernel_before();
  extern __shared__ __align__(16) unsigned char dynamic[];
  finish_shared& shared = *reinterpret_cast<finish_shared*>(dynamic);
  group_sort<Limbs, Payload, Method> sort(a, shared, dynamic + sizeof(finish_shared));
  if (is_one_group(a)) {
    sort.run({0, a.count | msd_group::bins_by_range_flag});
    return;
  }
  msd_counters* const counters = a.tables.counters;
  if constexpr (Method == finish_method::merge) {
    draw_groups(shared.drawn_group, &counters->next_hot_group, counters->hot_group_total,
                [&](std::uint32_t index) { sort.run(a.tables.hot_groups[index], true); });
  }
  draw_groups(shared.drawn_group, &counters->next_group, counters->group_total, [&](std::uint32_t index) {
    const msd_group group = a.tables.groups[index];
    if (!sort.run(group) && threadIdx.x == 0) {
      a.tables.hot_groups[atomicAdd(&counters->hot_group_total, 1U)] = group;
    }
  });
}

}  // namespace sheaf::cuda
