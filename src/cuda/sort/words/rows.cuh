#pragma once

#include "cuda/sort/words/limbs.cuh"
#include "cuda/sort/words/word_sort.hpp"

// A sort encodes a row, or the key in it, as a word when it reads the row, and decodes the word when it writes its
// result.
namespace sheaf::cuda {

/// Flips the bits that the transform has for keys of this highest bit.
template <int Limbs>
__device__ __forceinline__ void flip_bits(sort_word<Limbs>& word, const key_transform& transform, bool highest_bit) {
#pragma unroll
  for (int i = 0; i < Limbs; ++i) {
    word.limb[i] ^= highest_bit ? transform.flipped_bits[1][i] : transform.flipped_bits[0][i];
  }
}

/// The highest bit of the key: that of the word, except in a word of two limbs of which the lower one alone is the key.
template <int Limbs>
__device__ __forceinline__ bool highest_key_bit(const sort_word<Limbs>& word, const key_transform& transform) {
  std::uint32_t limb = word.limb[Limbs - 1];
  if constexpr (Limbs == 2) limb = transform.key_is_lower_limb ? word.limb[0] : limb;
  return limb >> 31 != 0;
}

/// Turns the key into a number that ascends as the keys do.
template <int Limbs>
__device__ __forceinline__ void encode_key(sort_word<Limbs>& word, const key_transform& transform) {
  flip_bits(word, transform, highest_key_bit(word, transform));
}

/// Turns the number that encode_key made back into the key.
template <int Limbs>
__device__ __forceinline__ void decode_key(sort_word<Limbs>& word, const key_transform& transform) {
  flip_bits(word, transform, highest_key_bit(word, transform) != transform.flips_highest_bit);
}

/// The word of a row.
template <int Limbs>
__device__ __forceinline__ sort_word<Limbs> read_word(const word_source& from, const key_transform& transform,
                                                      std::uint32_t row) {
  const std::byte* const data = from.data + row * from.stride;
  sort_word<Limbs> word;
  if constexpr (Limbs <= 2) {
    word = load_word_streaming(reinterpret_cast<const sort_word<Limbs>*>(data));
  } else {
    const auto* const limbs = reinterpret_cast<const std::uint32_t*>(data);
    const bool has_row_number = Limbs == 4 && from.appends_row_number;
#pragma unroll
    for (int i = 0; i < Limbs; ++i) {
      word.limb[i] = has_row_number && i == 0 ? row : __ldcs(limbs + i - (has_row_number ? 1 : 0));
    }
  }
  encode_key(word, transform);
  return word;
}

/// Stores the word that is number `place` in the sorted order.
template <int Limbs>
__device__ __forceinline__ void write_word(const word_target& to, const key_transform& transform, std::uint32_t place,
                                           sort_word<Limbs> word) {
  if (to.words != nullptr) {
    static_cast<sort_word<Limbs>*>(to.words)[place] = word;
    return;
  }
  if (to.data == nullptr) return;
  decode_key(word, transform);
  std::byte* const data = to.data + place * to.stride;
  if constexpr (Limbs <= 2) {
    *reinterpret_cast<sort_word<Limbs>*>(data) = word;
  } else {
    auto* const limbs = reinterpret_cast<std::uint32_t*>(data);
    limbs[0] = word.limb[0];
    if (Limbs == 4 && to.stores_row_number_only) return;
#pragma unroll
    for (int i = 1; i < Limbs; ++i) limbs[i] = word.limb[i];
  }
}

}  // namespace sheaf::cuda
