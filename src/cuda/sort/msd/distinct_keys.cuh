#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/group.cuh"

// A counting sort of a group whose words are keys alone and differ in 16 bits at most, however many are equal. A bit
// set marks the keys that occur. A key's number among the distinct ones is the count of bits before its own, and the
// words of each number are counted.
namespace sheaf::cuda {

/// Most low bits in which the keys of such a group differ.
constexpr int distinct_key_bits = 16;

/// Stages the group's words in order. The array of bins must be zero before.
template <payload_mode Payload, finish_method Method>
__device__ __forceinline__ void sort_by_distinct_keys(const staged_group<1, Payload, Method>& group,
                                                      const sort_word<1> (&words)[finish_items]) {
  static_assert(!is_stable(Payload));
  constexpr int items = finish_items;
  constexpr int bit_words = (1 << distinct_key_bits) / 32;
  constexpr int bit_words_per_thread = bit_words / finish_threads;
  constexpr int pairs_per_thread = 5;  // pairs of counts of 16 bits
  static_assert(2 * bit_words <= finish_bins && 2 * pairs_per_thread * finish_threads >= group_words);
  finish_shared<1, Method>& s = *group.shared;
  std::uint32_t* const bits = s.bins;
  std::uint32_t* const bits_before = s.bins + bit_words;
  std::uint32_t* const counts = s.runs;
  const auto low = [&](int k) { return words[k].limb[0] & ((1U << distinct_key_bits) - 1); };
#pragma unroll
  for (int i = 0; i < pairs_per_thread; ++i) counts[i * finish_threads + threadIdx.x] = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (group.position(k) < group.count) atomicOr(&bits[low(k) / 32], 1U << low(k) % 32);
  }
  __syncthreads();
  std::uint32_t set[bit_words_per_thread];
#pragma unroll
  for (int i = 0; i < bit_words_per_thread; ++i) set[i] = __popc(bits[threadIdx.x * bit_words_per_thread + i]);
  scan_bins<bit_words, finish_threads>(set, s.warp_sums);
#pragma unroll
  for (int i = 0; i < bit_words_per_thread; ++i) bits_before[threadIdx.x * bit_words_per_thread + i] = set[i];
  __syncthreads();
  packed_numbers<items> number;  // of the word's key among the distinct keys
  packed_numbers<items> rank;    // of the word among its equals
#pragma unroll
  for (int k = 0; k < items; ++k) {
    std::uint32_t n = 0;
    std::uint32_t r = 0;
    if (group.position(k) < group.count) {
      const std::uint32_t lower = (1U << low(k) % 32) - 1;
      n = bits_before[low(k) / 32] + __popc(bits[low(k) / 32] & lower);
      r = atomicAdd(&counts[n / 2], 1U << n % 2 * 16) >> n % 2 * 16 & 0xffff;
    }
    number.set(k, n);
    rank.set(k, r);
  }
  __syncthreads();
  std::uint32_t pairs[pairs_per_thread];
  std::uint32_t before[1] = {};
#pragma unroll
  for (int i = 0; i < pairs_per_thread; ++i) {
    pairs[i] = counts[threadIdx.x * pairs_per_thread + i];
    before[0] += (pairs[i] & 0xffff) + (pairs[i] >> 16);
  }
  scan_bins<finish_threads, finish_threads>(before, s.warp_sums);
#pragma unroll
  for (int i = 0; i < pairs_per_thread; ++i) {
    const std::uint32_t second = before[0] + (pairs[i] & 0xffff);
    counts[threadIdx.x * pairs_per_thread + i] = before[0] | second << 16;
    before[0] = second + (pairs[i] >> 16);
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    if (group.position(k) >= group.count) continue;
    const std::uint32_t n = number.get(k);
    group.staged[(counts[n / 2] >> n % 2 * 16 & 0xffff) + rank.get(k)] = words[k];
  }
}

}  // namespace sheaf::cuda
