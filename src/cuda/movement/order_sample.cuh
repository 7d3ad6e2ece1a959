#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/device/launch.cuh"
#include "primitives/movement.hpp"

// Whether an index list jumps about, told from a sample of it by the kernel that needs to know: the host does not wait,
// and no other kernel runs before. Block 0 looks and tells those that come later; every block looking for itself would
// cost a list in order 20 to 50 %, a kernel that looks 2 to 4 us.
namespace sheaf::cuda {

/// What is sampled, and where the verdict goes.
struct order_sample {
  std::uint64_t second_window;       ///< position of the second set's window; the first's is 0
  std::uint64_t sequential_records;  ///< records of the far side that count as close: they share the cache
  unsigned long long* verdict;       ///< twice the call's number, plus one if the list is scattered
  std::uint64_t call;
};

constexpr int sample_block = 256;
constexpr std::uint64_t sample_window = std::uint64_t{1} << 15;

inline order_sample sample_of(const context& ctx, const primitives::movement& p, const order_verdict& verdict) {
  const std::uint64_t close = ctx.profile().cache_bytes / 4 / std::max<std::uint64_t>(1, p.indexed_stride_bytes);
  const std::uint64_t places = p.count - std::min(p.count, sample_window);
  return {places / 3 * 2, std::max<std::uint64_t>(1, close), verdict.place, verdict.call};
}

// Place of sample t in its window: scattered, and no two the same. Even spacing would keep step with streams.
__device__ __forceinline__ std::uint32_t sample_place(std::uint32_t t) {
  constexpr std::uint32_t mask = sample_window - 1;
  std::uint32_t x = t * 0x6a5bU & mask;
  x ^= x >> 7;
  x = x * 0x4c9dU & mask;
  return x ^ x >> 8;
}

// Two sets of samples, one a thread each, from windows of neighbouring entries. A set tells of order if its samples lie
// close together (lists in order, strided, clustered), or if several share a group of 16 records though they are far
// apart in general, which makes streams that advance side by side: of 256 samples, 5 pairs or more do with up to 4096
// streams; at random over 2^22 records one pair in eight sets. Both sets must look scattered. Called by all threads of
// a block of sample_block.
template <class Index>
__device__ __forceinline__ bool looks_scattered(const Index* index, const order_sample& s) {
  constexpr std::uint32_t slots = 1024;
  constexpr int least_pairs = 3;
  constexpr int least_close = sample_block * 7 / 8;
  __shared__ unsigned long long table[slots];  // the last sample of a slot: its group and thread
  const std::uint32_t t = threadIdx.x;
  const std::uint32_t place = sample_place(t);
  const Index values[2] = {index[place], index[s.second_window + place]};
  const Index middle[2] = {index[sample_window / 2], index[s.second_window + sample_window / 2]};
  bool scattered = true;
#pragma unroll
  for (int set = 0; set < 2; ++set) {
    const auto group = static_cast<std::uint32_t>(values[set] >> 4);
    const std::uint32_t slot = group * 0x9e3779b9U >> 22;
    const unsigned long long mine = static_cast<unsigned long long>(group) << 32 | t;
    atomicExch(&table[slot], mine);
    const Index apart = values[set] > middle[set] ? values[set] - middle[set] : middle[set] - values[set];
    const int close = __syncthreads_count(apart < s.sequential_records);
    const unsigned long long last = table[slot];
    const int pairs = __syncthreads_count(last != mine && last >> 32 == group);
    scattered = scattered && close < least_close && pairs < least_pairs;
  }
  return scattered;
}

// What a block that needs the verdict does: reads it, or comes to the same one itself. Nobody waits for anybody. A
// captured call that runs again finds the verdict of its first run and keeps it. Called by all threads of a block; one
// word a block, from one of many copies, because thousands of blocks ask for it in a few microseconds.
template <class Index>
__device__ __forceinline__ bool is_scattered(const Index* index, const order_sample& s) {
  bool says = false;
  if (threadIdx.x < 2) {  // thread 0 says that it is there, thread 1 that it says scattered
    // Past L1, which would go on showing the line as it was before.
    const unsigned long long verdict = *static_cast<volatile unsigned long long*>(
        s.verdict + blockIdx.x % order_verdict::copies * order_verdict::copy_words);
    says = verdict >> 1 == s.call && (threadIdx.x == 0 || (verdict & 1) != 0);
  }
  const int said = __syncthreads_count(says);
  return said == 0 ? looks_scattered(index, s) : said == 2;
}

// Block 0's part, before anything else.
template <class Index>
__device__ __forceinline__ void give_verdict(const Index* index, const order_sample& s) {
  const bool scattered = is_scattered(index, s);
  if (threadIdx.x < order_verdict::copies) {
    *static_cast<volatile unsigned long long*>(s.verdict + threadIdx.x * order_verdict::copy_words) =
        s.call << 1 | (scattered ? 1 : 0);
  }
}

/// The verdict for kernels that come after the one that gave it.
__device__ __forceinline__ bool was_scattered(const order_sample& s) {
  return *static_cast<volatile unsigned long long*>(s.verdict + blockIdx.x % order_verdict::copies *
                                                                    order_verdict::copy_words) == (s.call << 1 | 1);
}

}  // namespace sheaf::cuda
