#pragma once

#include "cuda/sort/words/limbs.cuh"
#include "cuda/sort/words/word_sort.hpp"

// Words and the rows that they stand for: put together before a sort, taken apart after it.
namespace sheaf::cuda {

/// Turns what key_change says, which makes a number of a key whose highest bit this is.
template <int Limbs>
__device__ __forceinline__ void turn_bits(sort_word<Limbs>& word, const key_change& change, bool highest) {
#pragma unroll
  for (int i = 0; i < Limbs; ++i) word.limb[i] ^= highest ? change.turned[1][i] : change.turned[0][i];
}

template <int Limbs>
__device__ __forceinline__ void make_number(sort_word<Limbs>& word, const key_change& change) {
  turn_bits(word, change, word.limb[Limbs - 1] >> 31 != 0);
}

/// Turns the number that a key became back into the key.
template <int Limbs>
__device__ __forceinline__ void restore_key(sort_word<Limbs>& word, const key_change& change) {
  turn_bits(word, change, (word.limb[Limbs - 1] >> 31 != 0) != change.turns_highest);
}

__device__ __forceinline__ std::uint32_t load_part(const word_source::part_source& from, std::uint64_t row) {
  return from.data == nullptr ? 0 : __ldcs(reinterpret_cast<const std::uint32_t*>(from.data + row * from.stride));
}

/// The word of a row.
template <int Limbs>
__device__ __forceinline__ sort_word<Limbs> read_word(const word_source& from, const key_change& change,
                                                      std::uint32_t row) {
  sort_word<Limbs> word;
#pragma unroll
  for (std::uint32_t i = 0; i < Limbs; ++i) {
    word.limb[i] = i == from.number_part ? row : load_part(from.limbs[i], row);
  }
  make_number(word, change);
  return word;
}

/// The same without what is not key.
template <int Limbs>
__device__ __forceinline__ sort_word<Limbs> read_key(const word_source& from, const key_change& change,
                                                     std::uint32_t row) {
  sort_word<Limbs> word;
#pragma unroll
  for (int i = 0; i < Limbs; ++i) word.limb[i] = change.mask[i] == 0 ? 0 : load_part(from.limbs[i], row);
  make_number(word, change);
  return word;
}

/// Writes word `place` of the order.
template <int Limbs>
__device__ __forceinline__ void store_word(const word_target& to, std::uint32_t place, sort_word<Limbs> word) {
  if (to.words != nullptr) {
    static_cast<sort_word<Limbs>*>(to.words)[place] = word;
    return;
  }
  restore_key(word, to.change);
#pragma unroll
  for (int i = 0; i < Limbs; ++i) {
    if (to.limbs[i].data == nullptr) continue;
    *reinterpret_cast<std::uint32_t*>(to.limbs[i].data + place * to.limbs[i].stride) = word.limb[i];
  }
}

}  // namespace sheaf::cuda
