#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "plan/probe.hpp"

// What a machine profile is measured with. Random places come from a hash in registers: an index list would be read at
// the price that is to be found out.
namespace sheaf::cuda {

/// Loads that a thread has in flight: enough for the latency of memory at half of the threads that fit.
constexpr int accesses_in_flight = 8;
constexpr int words_in_copy = 4;
constexpr std::uint64_t node_bytes = 128;  // a line

struct random_accesses {
  std::byte* memory;
  std::uint64_t records;
  std::uint64_t seed;
  std::uint32_t rounds;
  std::uint32_t words_shift;  ///< log2 of the words of a record
  std::uint32_t* sink;
};

// The finalisers of MurmurHash3.
__device__ __forceinline__ std::uint32_t mixed32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bU;
  x = (x ^ (x >> 13)) * 0xc2b2ae35U;
  return x ^ (x >> 16);
}
__device__ __forceinline__ std::uint64_t mixed64(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

/// Where the word of this number lies: neighbouring words make up a record, records lie anywhere. Wide: 2^32 records or
/// more.
template <class Word, bool Wide>
__device__ __forceinline__ std::byte* place_of(const random_accesses& a, std::uint64_t word) {
  const std::uint64_t number = word >> a.words_shift;
  const auto within = static_cast<std::uint32_t>(word) & ((1U << a.words_shift) - 1);
  std::uint64_t record;
  if constexpr (Wide) {
    record = __umul64hi(mixed64(number ^ a.seed), a.records);
  } else {
    record = __umulhi(mixed32(static_cast<std::uint32_t>(number) ^ static_cast<std::uint32_t>(a.seed >> 32)),
                      static_cast<std::uint32_t>(a.records));
  }
  return a.memory + ((record << a.words_shift) + within) * sizeof(Word);
}

__device__ __forceinline__ std::uint32_t folded(std::uint32_t w) { return w; }
__device__ __forceinline__ std::uint32_t folded(uint2 w) { return w.x ^ w.y; }
__device__ __forceinline__ std::uint32_t folded(uint4 w) { return w.x ^ w.y ^ w.z ^ w.w; }

__device__ __forceinline__ std::uint64_t first_word() {
  return std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
}
__device__ __forceinline__ std::uint64_t all_threads() { return std::uint64_t{gridDim.x} * block_threads; }

template <class Word, bool Wide>
__global__ void __launch_bounds__(block_threads) read_at_random(const __grid_constant__ random_accesses a) {
  std::uint64_t word = first_word();
  std::uint32_t sum = 0;
  for (std::uint32_t round = 0; round < a.rounds; ++round) {
    Word loaded[accesses_in_flight];
#pragma unroll
    for (int k = 0; k < accesses_in_flight; ++k, word += all_threads()) {
      loaded[k] = load_word<Word>(place_of<Word, Wide>(a, word));
    }
#pragma unroll
    for (int k = 0; k < accesses_in_flight; ++k) sum ^= folded(loaded[k]);
  }
  if (sum == 0x5eaf5eafU) *a.sink = sum;  // as good as never, which the compiler does not know
}

template <class Word, bool Wide>
__global__ void __launch_bounds__(block_threads) write_at_random(const __grid_constant__ random_accesses a) {
  std::uint64_t word = first_word();
  Word written{};
  for (std::uint32_t round = 0; round < a.rounds; ++round) {
    reinterpret_cast<std::uint32_t&>(written) = static_cast<std::uint32_t>(word);
#pragma unroll
    for (int k = 0; k < accesses_in_flight; ++k, word += all_threads()) {
      store_word(place_of<Word, Wide>(a, word), written);
    }
  }
}

template <class Number, bool Wide>
__global__ void __launch_bounds__(block_threads) add_at_random(const __grid_constant__ random_accesses a) {
  std::uint64_t word = first_word();
  for (std::uint32_t round = 0; round < a.rounds; ++round) {
#pragma unroll
    for (int k = 0; k < accesses_in_flight; ++k, word += all_threads()) {
      atomicAdd(reinterpret_cast<Number*>(place_of<Number, Wide>(a, word)), Number{1});
    }
  }
}

/// Bits that no memory could save energy or space on.
static __global__ void __launch_bounds__(block_threads) fill_with_noise(uint4* to, std::uint64_t words) {
  for (std::uint64_t w = first_word(); w < words; w += all_threads()) {
    const std::uint64_t a = mixed64(2 * w);
    const std::uint64_t b = mixed64(2 * w + 1);
    to[w] = make_uint4(static_cast<unsigned>(a), static_cast<unsigned>(a >> 32), static_cast<unsigned>(b),
                       static_cast<unsigned>(b >> 32));
  }
}

/// Blocks wrap around the array as often as there are blocks for it; past the first cache, which a single copy, the
/// case that matters, does not profit from.
static __global__ void __launch_bounds__(block_threads)
    copy_over_and_over(const uint4* from, uint4* to, std::uint64_t words_mask) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * words_in_copy) + threadIdx.x;
  uint4 word[words_in_copy];
#pragma unroll
  for (int k = 0; k < words_in_copy; ++k) word[k] = __ldcg(from + ((first + k * block_threads) & words_mask));
#pragma unroll
  for (int k = 0; k < words_in_copy; ++k) to[(first + k * block_threads) & words_mask] = word[k];
}

/// One cycle through all lines of the memory.
static __global__ void __launch_bounds__(block_threads) write_cycle(std::byte* memory, std::uint64_t nodes, int bits) {
  const std::uint64_t i = first_word();
  if (i >= nodes) return;
  *reinterpret_cast<std::byte**>(memory + plan::shuffled(i, bits) * node_bytes) =
      memory + plan::shuffled((i + 1) & (nodes - 1), bits) * node_bytes;
}

__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

/// Follows pointers with one thread from times[1] on, and leaves there where it stopped: going over the same nodes
/// again would find them in the cache, however large the cycle. Leaves the nanoseconds of `count` steps in times[0].
static __global__ void chase_pointers(std::uint64_t warm_steps, std::uint64_t count, std::uint64_t* times) {
  auto at = static_cast<unsigned long long>(times[1]);
  const auto step = [&at] { at = __ldg(reinterpret_cast<const unsigned long long*>(at)); };
  for (std::uint64_t i = 0; i < warm_steps; ++i) step();
  times[1] = at;  // the clock is read once the walk has come here
  const std::uint64_t begin = nanoseconds();
  for (std::uint64_t i = 0; i < count; ++i) step();
  times[1] = at;
  times[0] = nanoseconds() - begin;
}

static __global__ void spin(std::uint64_t for_nanoseconds) {
  const std::uint64_t begin = nanoseconds();
  while (nanoseconds() - begin < for_nanoseconds) {
  }
}

static __global__ void do_nothing() {}

static __global__ void __launch_bounds__(block_threads) meet_over_and_over(std::uint64_t rounds) {
  const auto grid = cooperative_groups::this_grid();
  for (std::uint64_t i = 0; i < rounds; ++i) grid.sync();
}

}  // namespace sheaf::cuda
