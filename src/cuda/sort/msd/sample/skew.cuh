#pragma once

#include "cuda/sort/msd/sample/bins.cuh"

// A sample of keys of 4 bytes that says whether an MSD sort would be slow for the copies among them, or for highest
// bits that many of them share.
namespace sheaf::cuda {

constexpr std::uint32_t skew_samples = 2048;

/// The sample in shared memory, with a hash table of its keys and then of their prefixes.
struct skew_sample {
  static constexpr std::uint32_t slots = 4 * skew_samples;
  std::uint32_t key[skew_samples];
  std::uint32_t slot[slots];  ///< index + 1 of a sample; later the number of samples whose prefix is hashed to it
  std::uint32_t copies_of[skew_samples];  ///< of a sample in the table: later samples with its key
};

/// What it says.
struct skew {
  std::uint32_t copies;           ///< samples whose key an earlier one has
  std::uint32_t most_of_a_key;    ///< copies of the most frequent key
  std::uint32_t in_hot_prefixes;  ///< samples whose highest bits a sixty-fourth of the sample has

  static constexpr std::uint32_t most_copies = skew_samples / 20 * 9;  ///< with more, few keys are all

  /// Many keys are neither rare nor among the few most frequent ones, or share their highest bits.
  __device__ bool is_skewed() const {
    constexpr std::uint32_t least_copies = skew_samples / 32;  // random keys have none
    constexpr std::uint32_t least_in_hot_prefixes = skew_samples / 8;
    return (copies >= least_copies || in_hot_prefixes >= least_in_hot_prefixes) && copies < most_copies;
  }
  /// A key has more than a sixty-fourth of all, but few keys are not all, as by Zipf's distribution.
  __device__ bool has_hot_key() const { return most_of_a_key >= skew_samples / 64 && copies < most_copies; }
};

/// Samples `count` keys of 4 bytes, key(i). All pass_threads threads of a block call this and get the answer.
template <class Key>
__device__ skew sample_skew(skew_sample& s, std::uint32_t count, Key key) {
  constexpr std::uint32_t prefix_bits = 16;
  // The bins of the first pass spread what prefixes share, unless one prefix has a sixty-fourth of all keys.
  constexpr std::uint32_t hot_prefix_samples = skew_samples / 64;
  constexpr std::uint32_t slots = skew_sample::slots;
  const auto slot_of = [](std::uint32_t number) { return number * 0x9e3779b1U >> (32 - 13); };
  static_assert(slots == 1 << 13);
  for (std::uint32_t i = threadIdx.x; i < slots; i += pass_threads) s.slot[i] = 0;
  for (std::uint32_t i = threadIdx.x; i < skew_samples; i += pass_threads) {
    s.key[i] = key(sampled_position(i, skew_samples, count));
    s.copies_of[i] = 0;
  }
  __syncthreads();
  std::uint32_t copies = 0;
  for (std::uint32_t i = threadIdx.x; i < skew_samples; i += pass_threads) {
    const std::uint32_t own = s.key[i];
    for (std::uint32_t slot = slot_of(own);; slot = (slot + 1) % slots) {
      const std::uint32_t holder = atomicCAS(&s.slot[slot], 0U, i + 1);
      if (holder == 0) break;
      if (s.key[holder - 1] == own) {
        ++copies;
        atomicAdd(&s.copies_of[holder - 1], 1U);
        break;
      }
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < slots; i += pass_threads) s.slot[i] = 0;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < skew_samples; i += pass_threads)
    atomicAdd(&s.slot[slot_of(s.key[i] >> prefix_bits)], 1U);
  __syncthreads();
  std::uint32_t in_hot_prefixes = 0;
  std::uint32_t most_of_a_key = 0;
  for (std::uint32_t i = threadIdx.x; i < skew_samples; i += pass_threads) {
    in_hot_prefixes += s.slot[slot_of(s.key[i] >> prefix_bits)] >= hot_prefix_samples ? 1 : 0;
    most_of_a_key = max(most_of_a_key, s.copies_of[i]);
  }
  __syncthreads();
  std::uint32_t* const totals = s.key;
  if (threadIdx.x < 3) totals[threadIdx.x] = 0;
  __syncthreads();
  copies = __reduce_add_sync(~0U, copies);
  most_of_a_key = __reduce_max_sync(~0U, most_of_a_key);
  in_hot_prefixes = __reduce_add_sync(~0U, in_hot_prefixes);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&totals[0], copies);
    atomicMax(&totals[1], most_of_a_key);
    atomicAdd(&totals[2], in_hot_prefixes);
  }
  __syncthreads();
  return {totals[0], totals[1], totals[2]};
}

}  // namespace sheaf::cuda
