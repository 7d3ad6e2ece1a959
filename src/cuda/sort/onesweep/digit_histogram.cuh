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
  for (std::uint32_t i = threadIdx.x; i < most_onesweep_passes<Limbs> * radix_bins; i += threads) counters[i] = 0;
  __syncthreads();
  // Adds the thread's words from `first` on, of a tile that is full or not: a check of each word takes as many
  // instructions as its counting.
  const auto count_words = [&](std::uint32_t first, auto is_full) {
    const auto is_there = [&](std::uint32_t k) { return is_full || first + k * threads < a.count; };
    word words[words_per_thread];
    read_words<Limbs, FromRows>(a, 0, first, [&](const auto& input) {
#pragma unroll
      for (std::uint32_t k = 0; k < words_per_thread; ++k) {
        if (is_there(k)) words[k] = input.load(k * threads);
      }
    });
#pragma unroll
    for (std::uint32_t d = 0; d < most_onesweep_passes<Limbs>; ++d) {
      if (d >= digits) break;
      const onesweep_field<Limbs> field = block.field_of(d);
      std::uint32_t* const histogram = counters + d * radix_bins;
      // Lanes that add 1 to the same counter, and ask for nothing back, are counted by the hardware at once. So there
      // are no copies of the histogram, over which they would be spread.
#pragma unroll
      for (std::uint32_t k = 0; k < words_per_thread; ++k) {
        if (is_there(k)) atomicAdd(&histogram[digit_of(words[k], field)], 1U);
      }
    }
  };
  for (std::uint32_t begin = blockIdx.x * tile_words; begin < a.count; begin += gridDim.x * tile_words) {
    if (a.count - begin >= tile_words) {
      count_words(begin + threadIdx.x, std::true_type());
    } else {
      count_words(begin + threadIdx.x, std::false_type());
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < digits * radix_bins; i += threads) {
    if (counters[i] > 0) atomicAdd(a.tables.histogram + i, counters[i]);
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
