#pragma once

#include "cuda/hash/slots.cuh"
#include "cuda/movement/if_ordered/sample.cuh"

// Decides from a sample of the probes whether some keys are asked for so often that caches hold much of what is read,
// on the device: the host does not wait.
namespace sheaf::cuda {

constexpr unsigned skew_threads = 1024;
constexpr unsigned most_skew_samples = 4 * skew_threads;
/// Where one sample in so many repeats another, probes in their own order are as fast as those that are split by parts.
constexpr unsigned samples_for_a_repeat = 8;

/// A verdict in scratch, for kernels that ask verdict_is_scattered().
constexpr std::uint64_t verdict_bytes = order_verdict::copies * order_verdict::copy_words * sizeof(unsigned long long);
inline order_sample verdict_at(std::byte* scratch) {
  return {.second_window = 0,
          .close_records = 0,
          .verdict_slot = reinterpret_cast<unsigned long long*>(scratch),
          .call_number = 1};
}

/// One block. A sample stands at a random place in each of as many stretches of the probes.
template <class Key>
__global__ void __launch_bounds__(skew_threads)
    judge_skew(const __grid_constant__ key_source keys, std::uint64_t probes, const order_sample verdict) {
  constexpr unsigned log2_slots = 13;
  __shared__ std::uint32_t last[1U << log2_slots];  // hash table of sampled hashes: the one that came to a slot last
  for (unsigned slot = threadIdx.x; slot < 1U << log2_slots; slot += skew_threads) last[slot] = 0;
  unsigned repeats = 0;
  const auto samples = static_cast<unsigned>(min(probes, std::uint64_t{most_skew_samples}));
  const std::uint64_t stretch = probes / samples;
#pragma unroll
  for (unsigned k = 0; k < most_skew_samples / skew_threads; ++k) {
    const unsigned sample = k * skew_threads + threadIdx.x;
    const std::uint64_t within = __umul64hi(primitives::hash_of(std::uint64_t{sample} + 1), stretch);
    const Key hash = primitives::hash_of(load_key<Key>(keys, min(sample * stretch + within, probes - 1)));
    const auto mark = static_cast<std::uint32_t>(hash) | 1;
    __syncthreads();
    const bool repeats_one = sample < samples && atomicExch(&last[mark >> (32 - log2_slots)], mark) == mark;
    repeats += static_cast<unsigned>(__syncthreads_count(repeats_one));
  }
  if (threadIdx.x < order_verdict::copies) {
    verdict.verdict_slot[threadIdx.x * order_verdict::copy_words] =
        verdict.call_number << 1 | (repeats * samples_for_a_repeat < samples ? 1 : 0);
  }
}

}  // namespace sheaf::cuda
