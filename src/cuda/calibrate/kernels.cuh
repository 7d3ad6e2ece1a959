#pragma once

#include <cooperative_groups.h>

#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "plan/microbenchmarks.hpp"

// The kernels that measure a machine profile. Random addresses come from a hash in registers, because reading an index
// list would cost part of the bandwidth that is to be measured.
namespace sheaf::cuda {

/// Accesses that a thread has in flight: enough to hide the latency of memory with half of the threads that fit.
constexpr int accesses_in_flight = 8;
constexpr int words_in_copy = 4;
constexpr std::uint64_t node_bytes = 128;  ///< a node of a pointer chase: one cache line

struct random_accesses {
  std::byte* memory;
  std::uint64_t records;
  std::uint64_t seed;
  std::uint32_t rounds;       ///< rounds of accesses_in_flight accesses that each thread makes
  std::uint32_t words_shift;  ///< log2 of the words of a record
  std::uint32_t* sink;        ///< receives what is read, so that the compiler keeps the reads
};

// The finalizers of MurmurHash3.
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

/// The address of the word with this number. The words of a record are adjacent, and the record lies at a random place.
/// Wide: there are 2^32 records or more.
template <class Word, bool Wide>
__device__ __forceinline__ std::byte* address_of(const random_accesses& accesses, std::uint64_t word) {
  const std::uint64_t number = word >> accesses.words_shift;
  const auto within = static_cast<std::uint32_t>(word) & ((1U << accesses.words_shift) - 1);
  std::uint64_t record;
  if constexpr (Wide) {
    record = __umul64hi(mixed64(number ^ accesses.seed), accesses.records);
  } else {
    record = __umulhi(mixed32(static_cast<std::uint32_t>(number) ^ static_cast<std::uint32_t>(accesses.seed >> 32)),
                      static_cast<std::uint32_t>(accesses.records));
  }
  return accesses.memory + ((record << accesses.words_shift) + within) * sizeof(Word);
}

__device__ __forceinline__ std::uint32_t xor_of_words(std::uint32_t w) { return w; }
__device__ __forceinline__ std::uint32_t xor_of_words(uint2 w) { return w.x ^ w.y; }
__device__ __forceinline__ std::uint32_t xor_of_words(uint4 w) { return w.x ^ w.y ^ w.z ^ w.w; }

__device__ __forceinline__ std::uint64_t global_thread() {
  return std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
}
__device__ __forceinline__ std::uint64_t grid_threads() { return std::uint64_t{gridDim.x} * block_threads; }

template <class Word, bool Wide>
__global__ void __launch_bounds__(block_threads) read_at_random(const __grid_constant__ random_accesses accesses) {
  std::uint64_t word = global_thread();
  std::uint32_t sum = 0;
  for (std::uint32_t round = 0; round < accesses.rounds; ++round) {
    Word loaded[accesses_in_flight];
#pragma unroll
    for (int k = 0; k < accesses_in_flight; ++k, word += grid_threads()) {
      loaded[k] = load_word<Word>(address_of<Word, Wide>(accesses, word));
    }
#pragma unroll
    for (int k = 0; k < accesses_in_flight; ++k) sum ^= xor_of_words(loaded[k]);
  }
  if (sum == 0x5eaf5eafU) *accesses.sink = sum;  // almost never true, which the compiler cannot know
}

template <class Word, bool Wide>
__global__ void __launch_bounds__(block_threads) write_at_random(const __grid_constant__ random_accesses accesses) {
  std::uint64_t word = global_thread();
  Word written{};
  for (std::uint32_t round = 0; round < accesses.rounds; ++round) {
    reinterpret_cast<std::uint32_t&>(written) = static_cast<std::uint32_t>(word);
#pragma unroll
    for (int k = 0; k < accesses_in_flight; ++k, word += grid_threads()) {
      store_word(address_of<Word, Wide>(accesses, word), written);
    }
  }
}

template <class Number, bool Wide>
__global__ void __launch_bounds__(block_threads) add_at_random(const __grid_constant__ random_accesses accesses) {
  std::uint64_t word = global_thread();
  for (std::uint32_t round = 0; round < accesses.rounds; ++round) {
#pragma unroll
    for (int k = 0; k < accesses_in_flight; ++k, word += grid_threads()) {
      atomicAdd(reinterpret_cast<Number*>(address_of<Number, Wide>(accesses, word)), Number{1});
    }
  }
}

/// Fills memory with random bits, which hardware cannot compress.
static __global__ void __launch_bounds__(block_threads) fill_with_random_bits(uint4* memory, std::uint64_t words) {
  for (std::uint64_t w = global_thread(); w < words; w += grid_threads()) {
    const std::uint64_t a = mixed64(2 * w);
    const std::uint64_t b = mixed64(2 * w + 1);
    memory[w] = make_uint4(static_cast<unsigned>(a), static_cast<unsigned>(a >> 32), static_cast<unsigned>(b),
                           static_cast<unsigned>(b >> 32));
  }
}

/// Copies the array repeatedly: block numbers wrap around its end. Loads bypass L1, which a single copy, the case that
/// matters, does not profit from.
static __global__ void __launch_bounds__(block_threads)
    copy_repeatedly(const uint4* from, uint4* to, std::uint64_t words_mask) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * words_in_copy) + threadIdx.x;
  uint4 word[words_in_copy];
#pragma unroll
  for (int k = 0; k < words_in_copy; ++k) word[k] = __ldcg(from + ((first + k * block_threads) & words_mask));
#pragma unroll
  for (int k = 0; k < words_in_copy; ++k) to[(first + k * block_threads) & words_mask] = word[k];
}

/// Writes one cycle of pointers through all lines of the memory.
static __global__ void __launch_bounds__(block_threads) write_cycle(std::byte* memory, std::uint64_t nodes, int bits) {
  const std::uint64_t i = global_thread();
  if (i >= nodes) return;
  *reinterpret_cast<std::byte**>(memory + plan::shuffled(i, bits) * node_bytes) =
      memory + plan::shuffled((i + 1) & (nodes - 1), bits) * node_bytes;
}

__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}

/// Pointer chase by one thread. It starts at the node in result[1] and stores there the node where it stops: a chase
/// that started at one node each time would find its nodes in the cache, however long the cycle. The nanoseconds of
/// `count` steps go to result[0].
static __global__ void chase_pointers(std::uint64_t warm_steps, std::uint64_t count, std::uint64_t* result) {
  auto node = static_cast<unsigned long long>(result[1]);
  const auto step = [&node] { node = __ldg(reinterpret_cast<const unsigned long long*>(node)); };
  for (std::uint64_t i = 0; i < warm_steps; ++i) step();
  result[1] = node;  // the clock is read after the store, which waits for the warm steps
  const std::uint64_t begin = nanoseconds();
  for (std::uint64_t i = 0; i < count; ++i) step();
  result[1] = node;
  result[0] = nanoseconds() - begin;
}

static __global__ void spin(std::uint64_t for_nanoseconds) {
  const std::uint64_t begin = nanoseconds();
  while (nanoseconds() - begin < for_nanoseconds) {
  }
}

static __global__ void do_nothing() {}

static __global__ void __launch_bounds__(block_threads) repeat_grid_barrier(std::uint64_t rounds) {
  const auto grid = cooperative_groups::this_grid();
  for (std::uint64_t i = 0; i < rounds; ++i) grid.sync();
}

}  // namespace sheaf::cuda
