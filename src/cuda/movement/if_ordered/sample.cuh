#pragma once

#include "cuda/device/launch.cuh"
#include "primitives/movement/problem.hpp"

// Decides whether an index list is ordered or scattered from a sample of it, inside the kernel that needs to know: the
// host does not wait, and no other kernel runs before. Block 0 takes the sample and publishes the verdict for the
// blocks after it. If every block took a sample, a list in order would cost 20 to 50 % more; a sampling kernel of its
// own would cost 2 to 4 us.
namespace sheaf::cuda {

/// Where the sample is taken and where its verdict goes. Trivial, so that kernels take it by value.
struct order_sample {
  std::uint64_t second_window;       ///< position of the second sample set's window; the first window begins at 0
  std::uint64_t close_records;       ///< records closer than this on the indexed side share the cache
  unsigned long long* verdict_slot;  ///< first copy of the verdict: twice the call's number, plus one if scattered
  std::uint64_t call_number;
};

constexpr int sample_threads = 256;
constexpr std::uint64_t sample_window = std::uint64_t{1} << 15;

inline order_sample order_sample_of(const context& ctx, const primitives::movement& problem, bool writes,
                                    const order_verdict& verdict) {
  std::uint64_t close = ctx.profile().cache_bytes / 4 / std::max<std::uint64_t>(1, problem.indexed_stride_bytes);
  // Words that are written far apart, though in order, leave the cache as parts of sectors: 2^28 of 4 bytes with a
  // stride of 128 take 16.7 ms in place and 3.9 by buckets.
  constexpr std::uint64_t close_windows = 2;  // to either side: a record in four, or more
  constexpr std::uint64_t sector = 32;
  if (writes && problem.record_bytes < sector) close = std::min(close, close_windows * sample_window);
  const std::uint64_t last_window = problem.count - std::min(problem.count, sample_window);
  return {last_window / 3 * 2, std::max<std::uint64_t>(1, close), verdict.slot, verdict.call_number};
}

/// Whether a list may be sampled; else it is moved as if ordered.
inline bool can_sample(const primitives::movement& p, const order_verdict& verdict) {
  return verdict.slot != nullptr && p.count >= sample_window;
}

// Position of sample t in its window: a bijective hash of t, because evenly spaced samples would fall into step with
// periodic lists.
__device__ __forceinline__ std::uint32_t sample_position(std::uint32_t t) {
  constexpr std::uint32_t mask = sample_window - 1;
  std::uint32_t x = t * 0x6a5bU & mask;
  x ^= x >> 7;
  x = x * 0x4c9dU & mask;
  return x ^ x >> 8;
}

// Takes the sample and judges it: two sets of two indices for each thread, each set from a window of neighbouring
// entries. A set shows order in two cases. Its indices may lie close together, as in lists in order and clustered ones.
// Or several may share a group of 8 records although they are far apart in general: the list then advances in several
// streams side by side. Of 512 samples, some 31 fall into a group that another one has fallen into where the window
// fills its groups, which up to 4096 streams do; at random over 2^22 records, one set in four has such a sample. Where
// the window fills a quarter of its groups, as several strided streams may, 8 do. The list is scattered if both sets
// are. All threads of a block of sample_threads call it.
//
// Blocks that sample the same list must come to the same verdict, or records stay where they are. So nothing here
// depends on the order in which threads reach the table: each slot keeps the smallest group that came to it, and
// samples of that group beyond the first are the repeats.
template <class Index>
__device__ __forceinline__ bool sample_is_scattered(const Index* index, const order_sample& sample) {
  constexpr std::uint32_t slots = 2048;
  constexpr std::uint32_t samples = 2 * sample_threads;
  constexpr int least_repeats = 14;
  constexpr int least_close = samples * 7 / 8;
  constexpr std::uint32_t no_group = ~0U;
  __shared__ std::uint32_t table[slots];     // hash table of groups
  __shared__ std::uint32_t groups[samples];  // of each sample, for the thread that took it
  const auto slot_of = [](std::uint32_t group) { return group * 0x9e3779b9U >> 21; };
  bool scattered = true;
  // Loops stay loops, because the kernels around need their registers for records on their way.
#pragma unroll 1
  for (int set = 0; set < 2; ++set) {
    const Index* const window = index + (set == 0 ? 0 : sample.second_window);
#pragma unroll 1
    for (std::uint32_t slot = threadIdx.x; slot < slots; slot += sample_threads) table[slot] = no_group;
    int repeats = 0;
    int close = 0;
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < samples; i += sample_threads) {
      const Index value = window[sample_position(i)];
      const Index middle = window[sample_window / 2];
      close += __syncthreads_count((value > middle ? value - middle : middle - value) < sample.close_records);
      const auto group = static_cast<std::uint32_t>(value >> 3);
      groups[i] = group;
      atomicMin(&table[slot_of(group)], group);
    }
    __syncthreads();
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < samples; i += sample_threads) {
      repeats += __syncthreads_count(table[slot_of(groups[i])] == groups[i]);
    }
#pragma unroll 1
    for (std::uint32_t slot = threadIdx.x; slot < slots; slot += sample_threads) {
      repeats -= __syncthreads_count(table[slot] != no_group);
    }
    scattered = scattered && close < least_close && repeats < least_repeats;
  }
  return scattered;
}

// The verdict for a block that runs beside block 0: reads it, or takes the sample if it is not published yet. No block
// waits, and all come to the same verdict, because the list does not change. A captured call that runs again finds the
// verdict of its first run and keeps it. All threads of the block call it. Each block reads one of many copies, because
// thousands of blocks read within a few microseconds.
template <class Index>
__device__ __forceinline__ bool order_is_scattered(const Index* index, const order_sample& sample) {
  bool answer = false;
  if (threadIdx.x < 2) {  // thread 0 answers whether the verdict is published, thread 1 whether it is "scattered"
    // A volatile load bypasses L1, which would keep returning the line as it was before the verdict.
    const unsigned long long verdict = *static_cast<volatile unsigned long long*>(
        sample.verdict_slot + blockIdx.x % order_verdict::copies * order_verdict::copy_words);
    answer = verdict >> 1 == sample.call_number && (threadIdx.x == 0 || (verdict & 1) != 0);
  }
  const int answers = __syncthreads_count(answer);
  return answers == 0 ? sample_is_scattered(index, sample) : answers == 2;
}

// Takes the sample and publishes the verdict. Block 0 calls it before anything else.
template <class Index>
__device__ __forceinline__ void publish_verdict(const Index* index, const order_sample& s) {
  const bool scattered = order_is_scattered(index, s);
  if (threadIdx.x < order_verdict::copies) {
    *static_cast<volatile unsigned long long*>(s.verdict_slot + threadIdx.x * order_verdict::copy_words) =
        s.call_number << 1 | (scattered ? 1 : 0);
  }
}

/// The verdict for a kernel that is queued after the one that published it.
__device__ __forceinline__ bool verdict_is_scattered(const order_sample& s) {
  return *static_cast<volatile unsigned long long*>(s.verdict_slot +
                                                    blockIdx.x % order_verdict::copies * order_verdict::copy_words) ==
         (s.call_number << 1 | 1);
}

}  // namespace sheaf::cuda
