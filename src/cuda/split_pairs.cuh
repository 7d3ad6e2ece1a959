#pragma once

#include "cuda/block/category.cuh"
#include "cuda/launch.cuh"
#include "cuda/words.cuh"

// Splits with keys apart that take several passes move pairs of category and payload, which are words that hold their
// own category.
namespace sheaf::cuda {

/// 8 bytes for payloads of 4, 16 for payloads of 8: the category comes first.
template <class Pair>
__device__ __forceinline__ std::uint32_t pair_category(const Pair& pair) {
  return pair.x;
}

constexpr int pairs_per_thread = 4;

/// What becomes of a record in pairs.
struct pair_arguments {
  const std::byte* in;  ///< payloads; null: record numbers
  std::byte* out;
  std::uint64_t count;
  std::uint32_t categories;
  std::uint32_t scatters;  ///< out gets the places that records (the payloads) go to
};

/// pair[i] = {category, payload of record i}; a bad category becomes `categories`, after all others.
template <class Pair>
__global__ void __launch_bounds__(block_threads)
    make_pairs(const __grid_constant__ key_arguments key, const __grid_constant__ pair_arguments a, Pair* pair) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * pairs_per_thread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < pairs_per_thread; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= a.count) continue;
    std::uint64_t category = category_at(key, i);
    if (category >= key.categories) {
      report_bad_index(key.guard, i, static_cast<std::uint32_t>(category));
      category = key.categories;
    }
    Pair made{};
    made.x = static_cast<std::uint32_t>(category);
    if constexpr (sizeof(Pair) == 8) {
      made.y =
          a.in == nullptr ? static_cast<std::uint32_t>(i) : load_word<std::uint32_t>(a.in + i * sizeof(std::uint32_t));
    } else {
      const uint2 payload = a.in == nullptr ? uint2{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32)}
                                            : load_word<uint2>(a.in + i * sizeof(uint2));
      made.z = payload.x;
      made.w = payload.y;
    }
    pair[i] = made;
  }
}

/// The way back from pairs in order: out[i] = payload, or out[payload] = i. Pairs of bad categories are left out.
template <class Pair>
__global__ void __launch_bounds__(block_threads)
    take_payloads(const __grid_constant__ pair_arguments a, const Pair* pair) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * pairs_per_thread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < pairs_per_thread; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= a.count) continue;
    const Pair from = __ldcs(pair + i);
    if (pair_category(from) >= a.categories && a.categories != 0) continue;
    if constexpr (sizeof(Pair) == 8) {
      if (a.scatters != 0) {
        store_word(a.out + std::uint64_t{from.y} * sizeof(std::uint32_t), static_cast<std::uint32_t>(i));
      } else {
        store_word(a.out + i * sizeof(std::uint32_t), from.y);
      }
    } else {
      if (a.scatters != 0) {
        const std::uint64_t to = std::uint64_t{from.w} << 32 | from.z;
        store_word(a.out + to * sizeof(uint2),
                   uint2{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32)});
      } else {
        store_word(a.out + i * sizeof(uint2), uint2{from.z, from.w});
      }
    }
  }
}

/// offsets[c] = the first of `count` words in order whose category is not below c, for c up to `categories`.
template <class Word>
__global__ void __launch_bounds__(block_threads) find_offsets(const Word* words, std::uint64_t count, word_field field,
                                                              std::uint64_t categories, std::uint64_t* offsets) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
  for (std::uint64_t c = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; c <= categories; c += step) {
    std::uint64_t begin = 0;
    std::uint64_t end = count;
    while (begin < end) {
      const std::uint64_t middle = begin + (end - begin) / 2;
      if (category_of(__ldg(words + middle), field) < c) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    offsets[c] = begin;
  }
}

}  // namespace sheaf::cuda
