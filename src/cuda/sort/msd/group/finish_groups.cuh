#pragma once

#include "cuda/sort/msd/group/sort.cuh"

// The kernels that finish a sort: blocks draw groups, sort them in shared memory and write them to the output. The
// kernel of the method `bins` leaves groups with hot bins to the kernel of the method `hot_bins`. One kernel for both
// methods spilled 90 to 600 bytes of registers in every group.
namespace sheaf::cuda {

template <int Limbs, payload_mode Payload, finish_method Method>
constexpr int finish_blocks_per_multiprocessor = Limbs > 2 || carries_values(Payload) ||
                                                         (Limbs > 1 && Method == finish_method::hot_bins)
                                                     ? 2
                                                     : 3;

/// True where so many of the groups drawn so far have hot bins that the rest is better left to the second kernel.
__device__ __forceinline__ bool leaves_rest_to_second(std::uint32_t hot_groups, std::uint32_t drawn_groups) {
  return hot_groups >= 32 && hot_groups > drawn_groups / 4;
}

/// Calls body(index) for the indices below `group_total` that the block draws from the counter `next_group`. If
/// hot_group_total is not null, it draws no more once leaves_rest_to_second.
template <class Body>
__device__ __forceinline__ void draw_groups(std::uint32_t& drawn_group, std::uint32_t* next_group,
                                            std::uint32_t group_total, const std::uint32_t* hot_group_total,
                                            Body body) {
  constexpr std::uint32_t none = ~0U;
  __syncthreads();
  if (threadIdx.x == 0) drawn_group = atomicAdd(next_group, 1U);
  __syncthreads();
  std::uint32_t hot_groups_seen = 0;
  while (drawn_group < group_total) {
    const std::uint32_t own = drawn_group;
    std::uint32_t next = none;
    if (threadIdx.x == 0) {  // before the group is sorted, so that no thread waits for the atomic
      if (!leaves_rest_to_second(hot_groups_seen, own)) next = atomicAdd(next_group, 1U);
      if (hot_group_total != nullptr) hot_groups_seen = __ldcg(hot_group_total);
    }
    body(own);
    __syncthreads();
    if (threadIdx.x == 0) drawn_group = next;
    __syncthreads();
  }
}

/// Finishes groups. The method `hot_bins` takes the groups that the method `bins` left to it, then those that the
/// method `bins` did not draw.
template <int Limbs, payload_mode Payload, finish_method Method>
__global__ void __launch_bounds__(finish_threads, finish_blocks_per_multiprocessor<Limbs, Payload, Method>)
    finish_groups(const __grid_constant__ finish_arguments a) {
  wait_for_kernel_before();
  extern __shared__ __align__(16) unsigned char dynamic[];
  using shared_type = finish_shared<Limbs, Method>;
  shared_type& shared = *reinterpret_cast<shared_type*>(dynamic);
  group_sort<Limbs, Payload, Method> sort(a, shared, dynamic + sizeof(shared_type));
  if (a.only_group_count > 0) {
    sort.run({0, a.only_group_count | msd_group::bins_by_range_flag});
    return;
  }
  msd_counters* const counters = a.tables.counters;
  if constexpr (Method == finish_method::hot_bins) {
    draw_groups(shared.drawn_group, &counters->next_hot_group, counters->hot_group_total, nullptr,
                [&](std::uint32_t index) { sort.run(a.tables.hot_groups[index]); });
  }
  draw_groups(shared.drawn_group, &counters->next_group, counters->group_total,
              Method == finish_method::bins ? &counters->hot_group_total : nullptr, [&](std::uint32_t index) {
                const msd_group group = a.tables.groups[index];
                if (!sort.run(group) && threadIdx.x == 0) {
                  a.tables.hot_groups[atomicAdd(&counters->hot_group_total, 1U)] = group;
                }
              });
}

}  // namespace sheaf::cuda
