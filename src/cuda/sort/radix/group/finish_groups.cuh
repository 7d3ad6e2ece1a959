#pragma once

#include "cuda/sort/radix/group/sort.cuh"

// The kernels that finish a sort: blocks draw groups, sort them in shared memory and write them to the output. The
// kernel of the method `bins` leaves groups with hot bins (most_words_of_bin) to the kernel of the method
// `bins_then_digits`.
namespace sheaf::cuda {

template <int Limbs, value_width Values, finish_method Method>
constexpr int finish_blocks_per_multiprocessor = Method == finish_method::bins_then_digits&& Values ==
                                                         value_width::values_8
                                                     ? 1
                                                 : Limbs > 2 || carries_values(Values) ||
                                                         (Limbs > 1 && Method == finish_method::bins_then_digits)
                                                     ? 2
                                                     : 3;

/// Finishes groups. After a kernel of the method `bins`, that of `bins_then_digits` takes the groups that were left to
/// it; otherwise a kernel takes all groups.
template <int Limbs, value_width Values, finish_method Method, class CallerSort>
__global__ void __launch_bounds__(finish_threads, finish_blocks_per_multiprocessor<Limbs, Values, Method>)
    finish_groups(const __grid_constant__ radix_arguments args) {
  wait_for_kernel_before();
  extern __shared__ __align__(16) unsigned char dynamic[];
  finish_shared& shared = *reinterpret_cast<finish_shared*>(dynamic);
  radix_counters* const counters = args.tables.counters;
  const bool is_one = is_one_group(args);
  const std::uint32_t buffer = is_one ? 0 : __ldcg(&counters->buffer);
  const auto finish = [&](const word_group& group, bool is_hot) {
    return finish_group<Limbs, Values, Method, CallerSort>(args, buffer, group, is_hot, shared,
                                                           dynamic + sizeof(finish_shared));
  };
  if (is_one) {
    finish({0, args.count}, false);
    return;
  }
  const bool takes_hot = Method == finish_method::bins_then_digits && has_bins_kernel(args);
  const word_group* const groups = takes_hot ? args.tables.hot_groups : args.tables.groups;
  const std::uint32_t total = takes_hot ? counters->hot_group_total : counters->group_total;
  std::uint32_t* const next_group = takes_hot ? &counters->next_hot_group : &counters->next_group;
  if (threadIdx.x == 0) shared.drawn_group = atomicAdd(next_group, 1U);
  __syncthreads();
  while (shared.drawn_group < total) {
    const word_group group = groups[shared.drawn_group];
    std::uint32_t next = 0;
    if (threadIdx.x == 0) next = atomicAdd(next_group, 1U);  // now, so that no thread waits for it
    if (!finish(group, takes_hot) && threadIdx.x == 0) {
      args.tables.hot_groups[atomicAdd(&counters->hot_group_total, 1U)] = group;
    }
    __syncthreads();
    if (threadIdx.x == 0) shared.drawn_group = next;
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
