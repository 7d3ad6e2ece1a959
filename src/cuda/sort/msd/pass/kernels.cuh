#pragma once

#include <cooperative_groups.h>

#include "cuda/sort/msd/pass/bucket_offsets.cuh"
#include "cuda/sort/msd/pass/chunk_offsets.cuh"
#include "cuda/sort/msd/pass/count_digits.cuh"
#include "cuda/sort/msd/pass/scatter_tiles.cuh"
#include "cuda/sort/msd/sample/crowded_digits.cuh"
#include "cuda/sort/msd/sample/skew.cuh"

// The kernels of the MSD passes. The phases of the first passes of a long list are kernels of their own. One
// cooperative kernel runs all passes that are left, and ends at once where there are none.
namespace sheaf::cuda {

/// The policy of the passes that run_remaining_passes runs, and of the kernel before the first pass.
template <int Limbs, payload_mode Payload>
using remaining_passes_policy = msd_pass_policy<Limbs, Payload, false, pass_bins::digits_and_heavy_key>;

/// Lays out a block's dynamic shared memory: msd_pass_shared, the entries of sampled bins if there are any, the tile.
template <class Policy>
__device__ __forceinline__ pass_context<Policy> context_of(const msd_pass_arguments& a, std::uint32_t pass_number) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  return {a, *reinterpret_cast<msd_pass_shared*>(dynamic), dynamic + untiled_shared_bytes<Policy>, pass_number};
}

/// Makes the input the first pass's bucket, and chooses its bins where they are sampled. If `may_leave_to_onesweep` and
/// a sample of the keys says that onesweep is faster, there is no bucket, so that all kernels of this sort end at once,
/// and onesweep sorts.
template <int Limbs, payload_mode Payload>
__global__ void __launch_bounds__(pass_threads)
    prepare_first_pass(const __grid_constant__ msd_pass_arguments a, bool may_leave_to_onesweep, bool from_rows) {
  wait_for_kernel_before();
  extern __shared__ __align__(16) unsigned char dynamic[];
  const bool is_judged_by_digits = may_leave_to_onesweep && crowded_digits_decide<Limbs, Payload>(a.count);
  if constexpr (Limbs == 1) {
    auto& sample = *reinterpret_cast<skew_sample*>(dynamic);
    const std::byte* const rows = a.rows.limbs[0].data;
    // Keys are sampled before their encoding. It changes all keys of one sign alike, so that equal keys and equal
    // prefixes stay equal.
    const auto key = [&](std::uint32_t i) {
      return rows != nullptr ? load_limb(a.rows.limbs[0], i) : static_cast<const std::uint32_t*>(a.buffers[0])[i];
    };
    if (may_leave_to_onesweep) {
      const skew found = sample_skew(sample, a.count, key);
      if (is_judged_by_digits ? found.has_hot_key() : found.is_skewed()) {
        if (threadIdx.x == 0) a.tables.counters->is_left_to_onesweep = 1;
        if (threadIdx.x == 0 && a.tables.first_bins != nullptr) a.tables.first_bins->is_uneven = 0;
        return;
      }
    }
    __syncthreads();
  }
  if constexpr (Limbs <= 2) {
    if (a.tables.first_bins != nullptr) {
      const auto word_of = [&](std::uint32_t i) {
        return from_rows ? read_word<Limbs>(a.rows, a.transform, i)
                         : static_cast<const sort_word<Limbs>*>(a.buffers[0])[i];
      };
      auto& sample = *reinterpret_cast<bin_sample*>(dynamic);
      sample_bins<Limbs>(sample, *a.tables.first_bins, a.count, a.key_low, a.key_high, word_of);
      __syncthreads();
      if constexpr (Limbs == 2 || Payload == payload_mode::none) {
        auto& digits = *reinterpret_cast<digit_sample*>(&sample + 1);
        if (is_judged_by_digits &&
            is_faster_by_onesweep<Limbs>(sample, digits, *a.tables.first_bins, a.count, a.key_high, word_of)) {
          if (threadIdx.x == 0) a.tables.counters->is_left_to_onesweep = 1;
          return;
        }
        __syncthreads();
      }
    }
  }
  constexpr std::uint32_t before_pass_0 = 1;  // passes alternate between two sets of tables, by odd and even number
  add_first_bucket(context_of<remaining_passes_policy<Limbs, Payload>>(a, before_pass_0));
}

template <class Policy>
__global__ void __launch_bounds__(pass_threads, 3)
    count_digits(const __grid_constant__ msd_pass_arguments a, std::uint32_t pass_number) {
  wait_for_kernel_before();
  const auto pass = context_of<Policy>(a, pass_number);
  if (!pass.is_other_kind()) count_digits_of_tiles(pass);
}

template <class Policy>
__global__ void __launch_bounds__(pass_threads)
    scan_digit_counts(const __grid_constant__ msd_pass_arguments a, std::uint32_t pass_number) {
  wait_for_kernel_before();
  scan_counts_of_buckets(context_of<Policy>(a, pass_number));
}

/// Only passes that keep the order of equal keys have this phase.
template <class Policy>
__global__ void __launch_bounds__(pass_threads)
    msd_scan_chunks(const __grid_constant__ msd_pass_arguments a, std::uint32_t pass_number) {
  wait_for_kernel_before();
  scan_counts_of_chunks(context_of<Policy>(a, pass_number));
}

template <class Policy>
__global__ void __launch_bounds__(pass_threads, 2)
    msd_scatter_tiles(const __grid_constant__ msd_pass_arguments a, std::uint32_t pass_number) {
  wait_for_kernel_before();
  const auto pass = context_of<Policy>(a, pass_number);
  if (!pass.is_other_kind()) scatter_words_of_tiles(pass);
}

/// Runs passes from `pass_number` on, as long as there are buckets.
template <int Limbs, payload_mode Payload>
__global__ void __launch_bounds__(pass_threads, 2)
    run_remaining_passes(const __grid_constant__ msd_pass_arguments a, std::uint32_t pass_number) {
  const auto grid = cooperative_groups::this_grid();
  for (;; ++pass_number) {
    const auto pass = context_of<remaining_passes_policy<Limbs, Payload>>(a, pass_number);
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
