#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/sort/onesweep/arguments.cuh"

// The first phase of onesweep: histograms of all digits in one reading of the keys.
namespace sheaf::cuda {

template <int Limbs, payload_mode Payload, onesweep_tiles Tiles, bool FromRows>
__device__ void clear_tables(const onesweep_block<Limbs, Payload, Tiles, FromRows>& block) {
  constexpr int threads = onesweep_tuning<Limbs, Payload, Tiles>::threads;
  const onesweep_arguments& a = block.arguments;
  const std::uint32_t first = blockIdx.x * threads + threadIdx.x;
  const std::uint32_t step = gridDim.x * threads;
  for (std::uint32_t i = first; i < block.tiles * radix_bins; i += step) a.tables.tile_states[0][i] = 0;
  for (std::uint32_t i = first; i < most_onesweep_passes<Limbs> * radix_bins; i += step) a.tables.histogram[i] = 0;
  if (first < most_onesweep_passes<Limbs>) a.tables.tile_counters[first] = 0;
}

/// Counts the words of each bin of the first `digits` digits, in shared memory and then in the tables.
template <int Limbs, payload_mode Payload, onesweep_tiles Tiles, bool FromRows>
__device__ void count_digits(const onesweep_block<Limbs, Payload, Tiles, FromRows>& block, std::uint32_t digits) {
  using word = sort_word<Limbs>;
  constexpr int threads = onesweep_tuning<Limbs, Payload, Tiles>::threads;
  const onesweep_arguments& a = block.arguments;
  auto* const counters = reinterpret_cast<std::uint32_t*>(block.staged);
  constexpr std::uint32_t words_per_thread = 8;
  constexpr std::uint32_t tile_words = words_per_thread * threads;
  for (std::uint32_t i = threadIdx.x; i < histogram_copies * histogram_copy_size<Limbs>; i += threads) counters[i] = 0;
  __syncthreads();
  std::uint32_t* const own_copy = counters + threadIdx.x % histogram_copies * histogram_copy_size<Limbs>;
  const onesweep_reader<Limbs, FromRows> input(a, 0, 0);
  const std::uint32_t count = a.count;
  for (std::uint32_t begin = blockIdx.x * tile_words; begin < count; begin += gridDim.x * tile_words) {
    word words[words_per_thread];
    const std::uint32_t first = begin + threadIdx.x;
#pragma unroll
    for (std::uint32_t k = 0; k < words_per_thread; ++k) words[k] = input.load_key(min(first + k * threads, count - 1));
#pragma unroll
    for (std::uint32_t d = 0; d < most_onesweep_passes<Limbs>; ++d) {
      if (d >= digits) continue;
      const onesweep_field<Limbs> field = block.field_of(d);
      std::uint32_t* const histogram = own_copy + d * histogram_stride;
      // Lanes that add 1 to the same counter, and ask for nothing back, are counted by the hardware at once.
#pragma unroll
      for (std::uint32_t k = 0; k < words_per_thread; ++k) {
        if (first + k * threads < count) atomicAdd(&histogram[digit_of(words[k], field)], 1U);
      }
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < digits * radix_bins; i += threads) {
    std::uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < histogram_copies; ++c) {
      sum += counters[c * histogram_copy_size<Limbs> + i / radix_bins * histogram_stride + i % radix_bins];
    }
    if (sum > 0) atomicAdd(a.tables.histogram + i, sum);
  }
  __syncthreads();
}

/// A bit for each digit in which two keys differ: these digits take a pass. Where all keys are equal it is the bit of
/// the lowest digit, because one pass has to move the words to the target.
template <int Limbs, payload_mode Payload, onesweep_tiles Tiles, bool FromRows>
__device__ std::uint32_t differing_digits(const onesweep_block<Limbs, Payload, Tiles, FromRows>& block,
                                          std::uint32_t digits) {
  const onesweep_arguments& a = block.arguments;
  std::uint32_t differing = 0;
  for (std::uint32_t d = 0; d < digits; ++d) {
    const bool has_all_words =
        threadIdx.x < radix_bins && __ldcg(a.tables.histogram + d * radix_bins + threadIdx.x) == a.count;
    if (__syncthreads_or(has_all_words) == 0) differing |= 1U << d;
  }
  return differing == 0 ? 1 : differing;
}

}  // namespace sheaf::cuda
