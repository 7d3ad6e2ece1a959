#pragma once

#include "cuda/sort_msd.hpp"
#include "cuda/sort_word.cuh"

namespace sheaf::cuda {

/// Turns the number that a key became back into the key.
template <int Parts>
__device__ __forceinline__ void restore_key(sort_word<Parts>& word, const word_target& to) {
  const bool is_negative_float = to.is_floating && ((word.part[Parts - 1] >> 31 != 0) == to.descending);
  const bool flips_all = to.descending != is_negative_float;
#pragma unroll
  for (int i = 0; i < Parts; ++i) word.part[i] ^= flips_all ? to.key_mask[i] : 0;
  if (to.is_signed || (to.is_floating && !is_negative_float)) word.part[Parts - 1] ^= 1U << 31;
}

/// Writes word `place` of the order.
template <int Parts>
__device__ __forceinline__ void store_word(const word_target& to, std::uint32_t place, sort_word<Parts> word) {
  if (to.words != nullptr) {
    static_cast<sort_word<Parts>*>(to.words)[place] = word;
    return;
  }
  restore_key(word, to);
#pragma unroll
  for (int i = 0; i < Parts; ++i) {
    if (to.parts[i].data == nullptr) continue;
    *reinterpret_cast<std::uint32_t*>(to.parts[i].data + place * to.parts[i].stride) = word.part[i];
  }
}

}  // namespace sheaf::cuda
