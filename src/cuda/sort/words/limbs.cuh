#pragma once

#include <cstdint>

#include "cuda/device/launch.cuh"

// What a sort moves: words of 4 to 16 bytes whose highest bits are the key as a number, and whose lowest are what comes
// along, values or the number of the row.
namespace sheaf::cuda {

/// A little-endian number of 32 * Limbs bits; limb[0] holds the lowest.
template <int Limbs>
struct alignas(Limbs == 3 ? 4 : Limbs * 4) sort_word {
  static constexpr int limbs = Limbs;
  std::uint32_t limb[Limbs];
};

// What is read off a word is computed from all of its limbs and then chosen: an array that is indexed by what is not
// known before the kernel runs would lie in memory.

/// The same number, of which the compiler does not know that it is: what was computed from it before is computed again
/// instead of lying in registers, or where these spill to, until then.
__device__ __forceinline__ std::uint32_t anew(std::uint32_t number) {
  asm volatile("" : "+r"(number));
  return number;
}

/// Up to 12 bits of a word, from any bit on.
struct digit_field {
  std::uint32_t limb;
  std::uint32_t shift;
  std::uint32_t mask;
};

__device__ __forceinline__ digit_field digit_at(std::uint32_t shift, std::uint32_t bits) {
  return {shift / 32, shift % 32, (1U << bits) - 1};
}

template <int Limbs>
__device__ __forceinline__ std::uint32_t digit_of(const sort_word<Limbs>& word, const digit_field& f) {
  std::uint32_t digit = __funnelshift_r(word.limb[Limbs - 1], 0, f.shift);
#pragma unroll
  for (int i = Limbs - 2; i >= 0; --i) {
    const std::uint32_t from_here = __funnelshift_r(word.limb[i], word.limb[i + 1], f.shift);
    digit = f.limb == static_cast<std::uint32_t>(i) ? from_here : digit;
  }
  return digit & f.mask;
}

/// A digit less the least that there is.
struct range_digit {
  digit_field field;
  std::uint32_t least;
};

template <int Limbs>
__device__ __forceinline__ std::uint32_t digit_of(const sort_word<Limbs>& word, const range_digit& d) {
  return (digit_of(word, d.field) - d.least) & d.field.mask;
}

/// One byte of a word, which is a digit of its key.
struct byte_field {
  std::uint32_t selector;  ///< of __byte_perm, inside a pair of limbs
  bool is_upper;           ///< of the upper pair
};

__device__ __forceinline__ byte_field byte_at(std::uint32_t byte) { return {byte % 8, byte >= 8}; }

template <int Limbs>
__device__ __forceinline__ std::uint32_t digit_of(const sort_word<Limbs>& word, const byte_field& f) {
  std::uint32_t digit = __byte_perm(word.limb[0], word.limb[Limbs > 1 ? 1 : 0], f.selector);
  if constexpr (Limbs > 2) {
    const std::uint32_t upper = __byte_perm(word.limb[2], word.limb[Limbs - 1], f.selector);
    digit = f.is_upper ? upper : digit;
  }
  return digit & 0xff;
}

/// Streamed, of words side by side.
template <int Limbs>
__device__ __forceinline__ sort_word<Limbs> load_word_of(const sort_word<Limbs>* from) {
  sort_word<Limbs> word;
  if constexpr (Limbs == 4) {
    const uint4 v = __ldcs(reinterpret_cast<const uint4*>(from));
    word = {v.x, v.y, v.z, v.w};
  } else if constexpr (Limbs == 2) {
    const uint2 v = __ldcs(reinterpret_cast<const uint2*>(from));
    word = {v.x, v.y};
  } else {
#pragma unroll
    for (int i = 0; i < Limbs; ++i) word.limb[i] = __ldcs(from->limb + i);
  }
  return word;
}

/// Bits from `low` up to `high` of the limbs of a word.
template <int Limbs>
struct key_mask {
  std::uint32_t limb[Limbs];

  __host__ __device__ explicit key_mask(std::uint32_t low, std::uint32_t high = 32 * Limbs) {
    for (std::uint32_t i = 0; i < Limbs; ++i) limb[i] = from(low, i) & ~from(high, i);
  }

 private:
  static __host__ __device__ std::uint32_t from(std::uint32_t bit, std::uint32_t i) {
    return bit >= 32 * (i + 1) ? 0 : bit <= 32 * i ? ~0U : ~0U << (bit - 32 * i);
  }
};

enum class word_order { less, equal, greater };

/// The order of two words by the bits of the mask.
template <int Limbs>
__device__ __forceinline__ word_order compare_words(const sort_word<Limbs>& a, const sort_word<Limbs>& b,
                                                    const key_mask<Limbs>& mask) {
  bool less = false;
  bool equal = true;
#pragma unroll
  for (int i = Limbs - 1; i >= 0; --i) {
    const std::uint32_t of_a = a.limb[i] & mask.limb[i];
    const std::uint32_t of_b = b.limb[i] & mask.limb[i];
    less = less || (equal && of_a < of_b);
    equal = equal && of_a == of_b;
  }
  return less ? word_order::less : equal ? word_order::equal : word_order::greater;
}

/// The two limbs from `low` on as one number; a limb that there is not is 0.
template <int Limbs>
__device__ __forceinline__ std::uint64_t pair_of(const sort_word<Limbs>& word, int low) {
  const std::uint64_t high = low + 1 < Limbs ? word.limb[low + 1 < Limbs ? low + 1 : 0] : 0;
  return high << 32 | word.limb[low];
}

/// Whether a is less than b, as numbers.
template <int Limbs>
__device__ __forceinline__ bool is_less(const sort_word<Limbs>& a, const sort_word<Limbs>& b) {
  if constexpr (Limbs == 1) {
    return a.limb[0] < b.limb[0];
  } else if constexpr (Limbs == 2) {
    return pair_of(a, 0) < pair_of(b, 0);
  } else {
    const std::uint64_t high_of_a = pair_of(a, 2);
    const std::uint64_t high_of_b = pair_of(b, 2);
    return high_of_a < high_of_b || (high_of_a == high_of_b && pair_of(a, 0) < pair_of(b, 0));
  }
}

/// One more than the highest bit that is set; 0 if none is.
template <int Limbs>
__device__ __forceinline__ std::uint32_t bit_length(const std::uint32_t (&limb)[Limbs]) {
  std::uint32_t length = 0;
#pragma unroll
  for (int i = 0; i < Limbs; ++i) {
    if (limb[i] != 0) length = 32 * i + 32 - __clz(static_cast<int>(limb[i]));
  }
  return length;
}

/// The lowest bit that is set, of a number that is not 0.
template <int Limbs>
__device__ __forceinline__ std::uint32_t lowest_bit(const std::uint32_t (&limb)[Limbs]) {
  std::uint32_t lowest = 0;
#pragma unroll
  for (int i = Limbs - 1; i >= 0; --i) {
    if (limb[i] != 0) lowest = 32 * i + __ffs(static_cast<int>(limb[i])) - 1;
  }
  return lowest;
}

}  // namespace sheaf::cuda
