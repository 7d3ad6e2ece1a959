#pragma once

#include <cstdint>
#include <type_traits>

// The words that a sort moves: numbers of 4 to 16 bytes. The bits from key_low up to key_high (word_sort) are the
// encoded key; a row number in the word counts as the lowest bits of the key. The other bits are the rest of the row,
// or 0. Digits are extracted here, and words are compared.
//
// Limbs are selected by unrolled conditional moves, because an array that is indexed by a run-time number would lie in
// local memory instead of registers.
namespace sheaf::cuda {

/// A little-endian number of 32 * Limbs bits; limb[0] holds the lowest.
template <int Limbs>
struct alignas(Limbs == 3 ? 4 : Limbs * 4) sort_word {
  static constexpr int limbs = Limbs;
  static constexpr std::uint32_t bits = 32 * Limbs;
  std::uint32_t limb[Limbs];
};

/// The greatest word.
template <int Limbs>
__device__ __forceinline__ sort_word<Limbs> word_of_ones() {
  sort_word<Limbs> word;
#pragma unroll
  for (int i = 0; i < Limbs; ++i) word.limb[i] = ~0U;
  return word;
}

/// Returns `number` such that the compiler cannot know that it did. What was computed from `number` earlier is then
/// computed again from the result, instead of occupying registers, or spilled memory, in between.
__device__ __forceinline__ std::uint32_t opaque(std::uint32_t number) {
  asm volatile("" : "+r"(number));
  return number;
}

/// A digit of up to 32 bits at any bit of a word; digit_at makes those of up to 31.
struct digit_field {
  std::uint32_t limb;   ///< index of the limb that holds the digit's lowest bit
  std::uint32_t shift;  ///< position of the digit's lowest bit in that limb
  std::uint32_t mask;   ///< ones in as many low bits as the digit has
};

__device__ __forceinline__ digit_field digit_at(std::uint32_t shift, std::uint32_t bits) {
  return {shift / 32, shift % 32, (1U << bits) - 1};
}

template <int Limbs>
__device__ __forceinline__ std::uint32_t digit_of(const sort_word<Limbs>& word, const digit_field& field) {
  std::uint32_t digit = __funnelshift_r(word.limb[Limbs - 1], 0, field.shift);
#pragma unroll
  for (int i = Limbs - 2; i >= 0; --i) {
    const std::uint32_t candidate = __funnelshift_r(word.limb[i], word.limb[i + 1], field.shift);
    digit = field.limb == static_cast<std::uint32_t>(i) ? candidate : digit;
  }
  return digit & field.mask;
}

/// A digit that is one byte of a word.
struct byte_field {
  std::uint32_t selector;  ///< selector of __byte_perm for the byte in its pair of limbs
  bool is_upper;           ///< the byte lies in limbs 2 and 3, else in limbs 0 and 1
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

/// Loads a word that is not read again soon (evict-first) from an array of words.
template <int Limbs>
__device__ __forceinline__ sort_word<Limbs> load_word_streaming(const sort_word<Limbs>* from) {
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

/// A mask of the bits from `low` up to `high` of a word.
template <int Limbs>
struct key_mask {
  std::uint32_t limb[Limbs];

  __host__ __device__ explicit key_mask(std::uint32_t low, std::uint32_t high = 32 * Limbs) {
    for (std::uint32_t i = 0; i < Limbs; ++i) limb[i] = ones_from(low, i) & ~ones_from(high, i);
  }

 private:
  static __host__ __device__ std::uint32_t ones_from(std::uint32_t bit, std::uint32_t i) {
    return bit >= 32 * (i + 1) ? 0 : bit <= 32 * i ? ~0U : ~0U << (bit - 32 * i);
  }
};

enum class word_order { less, equal, greater };

/// Compares two words by the bits of the mask.
template <int Limbs>
__device__ __forceinline__ word_order compare_words(const sort_word<Limbs>& a, const sort_word<Limbs>& b,
                                                    const key_mask<Limbs>& mask) {
  bool less = false;
  bool equal = true;
#pragma unroll
  for (int i = Limbs - 1; i >= 0; --i) {
    const std::uint32_t limb_a = a.limb[i] & mask.limb[i];
    const std::uint32_t limb_b = b.limb[i] & mask.limb[i];
    less = less || (equal && limb_a < limb_b);
    equal = equal && limb_a == limb_b;
  }
  return less ? word_order::less : equal ? word_order::equal : word_order::greater;
}

/// Limbs `low` and low + 1 as one number; a limb past the last is 0.
template <int Limbs>
__device__ __forceinline__ std::uint64_t pair_of(const sort_word<Limbs>& word, int low) {
  const std::uint64_t high = low + 1 < Limbs ? word.limb[low + 1 < Limbs ? low + 1 : 0] : 0;
  return high << 32 | word.limb[low];
}

/// Position of the highest bit that is set, plus 1; 0 if no bit is set.
template <int Limbs>
__device__ __forceinline__ std::uint32_t bit_length(const std::uint32_t (&limb)[Limbs]) {
  std::uint32_t length = 0;
#pragma unroll
  for (int i = 0; i < Limbs; ++i) {
    if (limb[i] != 0) length = 32 * i + 32 - __clz(static_cast<int>(limb[i]));
  }
  return length;
}

/// Position of the lowest bit that is set; the number must not be 0.
template <int Limbs>
__device__ __forceinline__ std::uint32_t lowest_bit(const std::uint32_t (&limb)[Limbs]) {
  std::uint32_t lowest = 0;
#pragma unroll
  for (int i = Limbs - 1; i >= 0; --i) {
    if (limb[i] != 0) lowest = 32 * i + __ffs(static_cast<int>(limb[i])) - 1;
  }
  return lowest;
}

/// Calls `body` with the number of limbs, 1 to 4, as a constant.
template <class Body>
auto with_limbs(std::uint32_t limbs, Body body) {
  switch (limbs) {
    case 1: return body(std::integral_constant<int, 1>{});
    case 2: return body(std::integral_constant<int, 2>{});
    case 3: return body(std::integral_constant<int, 3>{});
    default: return body(std::integral_constant<int, 4>{});
  }
}

}  // namespace sheaf::cuda
