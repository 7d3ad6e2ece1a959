#pragma once

#include "cuda/sort/msd/tables.cuh"

// What a few words tell of all: whether a sort from the highest digit down would meet many keys that are neither rare
// nor among the most frequent ones, or many that share their highest bits.
namespace sheaf::cuda {

constexpr std::uint32_t skew_samples = 2048;

struct skew_shared {
  static constexpr std::uint32_t slots = 4 * skew_samples;
  std::uint32_t key[skew_samples];
  std::uint32_t slot[slots];  ///< the number of a sample + 1; then how many samples have one prefix
};

/// Of keys of 4 bytes, key(i) for i below `count`. All threads of a block, level_threads, call it and get the answer.
template <class Key>
__device__ bool is_skewed(skew_shared& s, std::uint32_t count, Key key) {
  constexpr std::uint32_t least_again = skew_samples / 32;     // of random keys none come again
  constexpr std::uint32_t most_again = skew_samples / 20 * 9;  // few keys are all there is: these are set apart
  constexpr std::uint32_t prefix_bits = 16;
  constexpr std::uint32_t many = 8;  // samples of one prefix; in random ones there are none
  constexpr std::uint32_t least_crowded = skew_samples / 4;
  constexpr std::uint32_t slots = skew_shared::slots;
  const auto slot_of = [](std::uint32_t number) { return number * 0x9e3779b1U >> (32 - 13); };
  static_assert(slots == 1 << 13);
  for (std::uint32_t i = threadIdx.x; i < slots; i += level_threads) s.slot[i] = 0;
  for (std::uint32_t i = threadIdx.x; i < skew_samples; i += level_threads) {
    s.key[i] = key(static_cast<std::uint32_t>(std::uint64_t{count} * i / skew_samples));
  }
  __syncthreads();
  std::uint32_t again = 0;
  for (std::uint32_t i = threadIdx.x; i < skew_samples; i += level_threads) {
    const std::uint32_t mine = s.key[i];
    for (std::uint32_t at = slot_of(mine);; at = (at + 1) % slots) {
      const std::uint32_t before = atomicCAS(&s.slot[at], 0U, i + 1);
      if (before == 0) break;
      if (s.key[before - 1] == mine) {
        ++again;
        break;
      }
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < slots; i += level_threads) s.slot[i] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < skew_samples; i += level_threads)
    atomicAdd(&s.slot[slot_of(s.key[i] >> prefix_bits)], 1U);
  __syncthreads();
  std::uint32_t crowded = 0;
  for (std::uint32_t i = threadIdx.x; i < skew_samples; i += level_threads)
    crowded += s.slot[slot_of(s.key[i] >> prefix_bits)] >= many ? 1 : 0;
  __syncthreads();
  if (threadIdx.x < 2) s.key[threadIdx.x] = 0;
  __syncthreads();
  again = __reduce_add_sync(~0U, again);
  crowded = __reduce_add_sync(~0U, crowded);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&s.key[0], again);
    atomicAdd(&s.key[1], crowded);
  }
  __syncthreads();
  return (s.key[0] >= least_again || s.key[1] >= least_crowded) && s.key[0] < most_again;
}

}  // namespace sheaf::cuda
