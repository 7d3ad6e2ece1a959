#pragma once

#include "cuda/device/index_guard.cuh"
#include "cuda/device/launch.cuh"
#include "cuda/split/passes.hpp"

// Bad keys of a split whose passes cannot leave their records out: they are counted and reported beforehand, sorted
// behind all others, and the end of the output, which their records come to, is put back as it was.
namespace sheaf::cuda {

constexpr std::uint64_t checked_keys_per_thread = 16;
constexpr std::uint64_t most_tail_blocks = 256;  // they end at once where no key is bad

template <class Key>
__global__ void __launch_bounds__(block_threads)
    count_bad(const Key* keys, std::uint64_t count, std::uint64_t categories, const __grid_constant__ index_guard guard,
              unsigned long long* bad) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * checked_keys_per_thread) + threadIdx.x;
  Key key[checked_keys_per_thread];
#pragma unroll
  for (std::uint32_t k = 0; k < checked_keys_per_thread; ++k) {
    key[k] = __ldcs(keys + min(first + k * block_threads, count - 1));
  }
#pragma unroll
  for (std::uint32_t k = 0; k < checked_keys_per_thread; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= count || key[k] < categories) continue;
    report_bad_index(guard, i, std::uint32_t{key[k]});
    atomicAdd(bad, 1ULL);
  }
}

/// Calls body(i) for each of the last *bad of `count` positions.
template <class Body>
__device__ __forceinline__ void for_tail(std::uint64_t count, const unsigned long long* bad, Body body) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t i = count - *bad + std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < count; i += step) {
    body(i);
  }
}

template <class Word>
__global__ void __launch_bounds__(block_threads)
    copy_last(const Word* from, Word* to, std::uint64_t count, const unsigned long long* bad) {
  for_tail(count, bad, [&](std::uint64_t i) { to[i] = from[i]; });
}

template <class Word>
__global__ void __launch_bounds__(block_threads)
    clear_last(Word* to, std::uint64_t count, const unsigned long long* bad) {
  for_tail(count, bad, [&](std::uint64_t i) { to[i] = ~Word{0}; });
}

inline std::uint64_t tail_blocks(std::uint64_t count) {
  return std::min(ceil_div(count, block_threads), most_tail_blocks);
}

/// Queues *bad = the number of keys, words of 1, 2 or 4 bytes side by side, that are not a category; reports the first.
inline void count_bad_keys(const context& ctx, const key_array& keys, std::uint64_t count, unsigned long long* bad) {
  require(cudaMemsetAsync(bad, 0, sizeof *bad, ctx.stream()), ctx);
  const index_guard guard = state_of(ctx).guard(*keys.wording, keys.type, keys.categories);
  const auto count_of = [&](auto key) {
    using Key = decltype(key);
    launch(ctx, count_bad<Key>, ceil_div(count, block_threads * checked_keys_per_thread),
           reinterpret_cast<const Key*>(keys.data), count, keys.categories, guard, bad);
  };
  switch (keys.word_bytes) {
    case 1: return count_of(std::uint8_t{});
    case 2: return count_of(std::uint16_t{});
    default: return count_of(std::uint32_t{});
  }
}

/// Queues to[i] = from[i] for the last *bad of `count` words of 4 or 8 bytes.
inline void copy_tail(const context& ctx, const void* from, void* to, std::uint32_t word_bytes, std::uint64_t count,
                      const unsigned long long* bad) {
  if (word_bytes == 8) {
    return launch(ctx, copy_last<std::uint64_t>, tail_blocks(count), static_cast<const std::uint64_t*>(from),
                  static_cast<std::uint64_t*>(to), count, bad);
  }
  launch(ctx, copy_last<std::uint32_t>, tail_blocks(count), static_cast<const std::uint32_t*>(from),
         static_cast<std::uint32_t*>(to), count, bad);
}

/// Queues to[i] = all ones for the last *bad of `count` words of 4 or 8 bytes.
inline void clear_tail(const context& ctx, void* to, std::uint32_t word_bytes, std::uint64_t count,
                       const unsigned long long* bad) {
  if (word_bytes == 8) {
    return launch(ctx, clear_last<std::uint64_t>, tail_blocks(count), static_cast<std::uint64_t*>(to), count, bad);
  }
  launch(ctx, clear_last<std::uint32_t>, tail_blocks(count), static_cast<std::uint32_t*>(to), count, bad);
}

}  // namespace sheaf::cuda
