#pragma once

#include <cooperative_groups.h>

#include "cuda/sort/msd/pass/bucket_offsets.cuh"
#include "cuda/sort/msd/pass/chunk_offsets.cuh"
#include "cuda/sort/msd/pass/count_digits.cuh"
#include "cuda/sort/msd/pass/scatter_tiles.cuh"
#include "cuda/sort/msd/sample/verdict.cuh"

// The kernels of the MSD passes. The phases of the first passes of a long list are kernels of their own. One
// cooperative kernel runs all passes that are left, and ends at once where there are none.
namespace sheaf::cuda {

/// The policy of all passes but the first, and of the kernel before the first.
template <int Limbs, payload_mode Payload>
using next_pass_policy = msd_pass_policy<Limbs, Payload, false, false>;

/// Lays out a block's dynamic shared memory: msd_pass_shared, the entries of sampled bins if there are any, the tile.
template <class Policy>
__device__ __forceinline__ pass_context<Policy> context_of(const msd_arguments& a, std::uint32_t pass_number) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  return {a, *reinterpret_cast<msd_pass_shared*>(dynamic), dynamic + untiled_shared_bytes<Policy>, pass_number};
}

/// Makes the input the first pass's bucket, and chooses its bins where they are sampled. If `may_leave_to_onesweep` and
/// a sample of the keys says that onesweep is faster, there is no bucket, so that all kernels of this sort end at once,
/// and onesweep sorts.
template <int Limbs, payload_mode Payload>
__global__ void __launch_bounds__(pass_threads)
    prepare_first_pass(const __grid_constant__ msd_arguments a, bool may_leave_to_onesweep) {
  wait_for_kernel_before();
  extern __shared__ __align__(16) unsigned char dynamic[];
  if constexpr (Limbs <= 2) {
    if (a.tables.first_bins != nullptr) {
      auto& sample = *reinterpret_cast<bin_sample*>(dynamic);
      sampled_bins& bins = *a.tables.first_bins;
      sort_word<Limbs> words[bin_sample::keys_each];
#pragma unroll
      for (int k = 0; k < bin_sample::keys_each; ++k) {
        const std::uint32_t i = sampled_position(threadIdx.x * bin_sample::keys_each + k, bin_sample::samples, a.count);
        words[k] = a.rows.data != nullptr ? read_word<Limbs>(a.rows, a.target.transform, i)
                                          : static_cast<const sort_word<Limbs>*>(a.buffers[0])[i];
      }
      choose_bins(sample, bins, a.count, a.key_low, words);
      __syncthreads();
      auto& digits = *reinterpret_cast<digit_sample*>(&sample + 1);
      if (may_leave_to_onesweep && is_faster_by_onesweep<Limbs, Payload>(sample, digits, bins, a.count, words)) {
        if (threadIdx.x == 0) a.tables.counters->is_left_to_onesweep = 1;
        return;
      }
      __syncthreads();
    }
  }
  constexpr std::uint32_t before_pass_0 = 1;  // passes alternate between two sets of tables, by odd and even number
  add_first_bucket(context_of<next_pass_policy<Limbs, Payload>>(a, before_pass_0));
}

template <class Policy>
__global__ void __launch_bounds__(pass_threads, 3)
    count_digits(const __grid_constant__ msd_arguments a, std::uint32_t pass_number) {
  wait_for_kernel_before();
  const auto pass = context_of<Policy>(a, pass_number);
  if (!pass.is_other_kind()) count_digits_of_tiles(pass);
}

template <class Policy>
__global__ void __launch_bounds__(pass_threads)
    scan_digit_counts(const __grid_constant__ msd_arguments a, std::uint32_t pass_number) {
  wait_for_kernel_before();
  scan_counts_of_buckets(context_of<Policy>(a, pass_number));
}

/// Only passes that keep the order of equal keys have this phase.
template <class Policy>
__global__ void __launch_bounds__(pass_threads)
    msd_scan_chunks(const __grid_constant__ msd_arguments a, std::uint32_t pass_number) {
  wait_for_kernel_before();
  scan_counts_of_chunks(context_of<Policy>(a, pass_number));
}

template <class Policy>
__global__ void __launch_bounds__(pass_threads, 2)
    msd_scatter_tiles(const __grid_constant__ msd_arguments a, std::uint32_t pass_number) {
  wait_for_kernel_before();
  const auto pass = context_of<Policy>(a, pass_number);
  if (!pass.is_other_kind()) scatter_words_of_tiles(pass);
}

/// Runs passes from `pass_number` on, as long as there are buckets.
template <int Limbs, payload_mode Payload>
__global__ void __launch_bounds__(pass_threads, 2)
    run_remaining_passes(const __grid_constant__ msd_arguments a, std::uint32_t pass_number) {
  const auto grid = cooperative_groups::this_grid();
  for (;; ++pass_number) {
    const auto pass = context_of<next_pass_policy<Limbs, Payload>>(a, pass_number);
    if (pass.is_over()) return;
    count_digits_of_tiles(pass);
    grid.sync();
    scan_counts_of_buckets(pass);
    grid.sync();
    if constexpr (carries_values(Payload)) {
      scan_counts_of_chunks(pass);
      grid.sync();
    }
    scatter_words_of_tiles(pass);
    grid.sync();
  }
}

}  // namespace sheaf::cuda
