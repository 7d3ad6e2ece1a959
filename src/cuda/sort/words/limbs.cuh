#pragma once

#include <cstdint>

#include "cuda/device/launch.cuh"

// What a sort moves: words of 4 to 16 bytes whose highest bits are the key as a number, and whose lowest are what comes
// along, values or the number of the row.
namespace sheaf::cuda {

/// A little-endian number of 32 * Parts bits; part[0] holds the lowest.
template <int Parts>
struct alignas(Parts == 3 ? 4 : Parts * 4) sort_word {
  static constexpr int parts = Parts;
  std::uint32_t part[Parts];
};

// What is read off a word is computed from all of its parts and then chosen: an array that is indexed by what is not
// known before the kernel runs would lie in memory.

/// The same number, of which the compiler does not know that it is: what was computed from it before is computed again
/// instead of lying in registers, or where these spill to, until then.
__device__ __forceinline__ std::uint32_t anew(std::uint32_t number) {
  asm volatile("" : "+r"(number));
  return number;
}

/// Up to 12 bits of a word, from any bit on.
struct digit_field {
  std::uint32_t part;
  std::uint32_t shift;
  std::uint32_t mask;
};

__device__ __forceinline__ digit_field digit_at(std::uint32_t shift, std::uint32_t bits) {
  return {shift / 32, shift % 32, (1U << bits) - 1};
}

template <int Parts>
__device__ __forceinline__ std::uint32_t digit_of(const sort_word<Parts>& word, const digit_field& f) {
  std::uint32_t digit = __funnelshift_r(word.part[Parts - 1], 0, f.shift);
#pragma unroll
  for (int i = Parts - 2; i >= 0; --i) {
    const std::uint32_t from_here = __funnelshift_r(word.part[i], word.part[i + 1], f.shift);
    digit = f.part == static_cast<std::uint32_t>(i) ? from_here : digit;
  }
  return digit & f.mask;
}

/// A digit less the least that there is.
struct range_digit {
  digit_field field;
  std::uint32_t least;
};

template <int Parts>
__device__ __forceinline__ std::uint32_t digit_of(const sort_word<Parts>& word, const range_digit& d) {
  return (digit_of(word, d.field) - d.least) & d.field.mask;
}

/// One byte of a word, which is a digit of its key.
struct byte_field {
  std::uint32_t selector;  ///< of __byte_perm, inside a pair of parts
  bool is_upper;           ///< of the upper pair
};

__device__ __forceinline__ byte_field byte_at(std::uint32_t byte) { return {byte % 8, byte >= 8}; }

template <int Parts>
__device__ __forceinline__ std::uint32_t digit_of(const sort_word<Parts>& word, const byte_field& f) {
  std::uint32_t digit = __byte_perm(word.part[0], word.part[Parts > 1 ? 1 : 0], f.selector);
  if constexpr (Parts > 2) {
    const std::uint32_t upper = __byte_perm(word.part[2], word.part[Parts - 1], f.selector);
    digit = f.is_upper ? upper : digit;
  }
  return digit & 0xff;
}

/// Streamed, of words side by side.
template <int Parts>
__device__ __forceinline__ sort_word<Parts> load_word_of(const sort_word<Parts>* from) {
  sort_word<Parts> word;
  if constexpr (Parts == 4) {
    const uint4 v = __ldcs(reinterpret_cast<const uint4*>(from));
    word = {v.x, v.y, v.z, v.w};
  } else if constexpr (Parts == 2) {
    const uint2 v = __ldcs(reinterpret_cast<const uint2*>(from));
    word = {v.x, v.y};
  } else {
#pragma unroll
    for (int i = 0; i < Parts; ++i) word.part[i] = __ldcs(from->part + i);
  }
  return word;
}

/// Bits from `low` up to `high` of the parts of a word.
template <int Parts>
struct key_mask {
  std::uint32_t part[Parts];

  __host__ __device__ explicit key_mask(std::uint32_t low, std::uint32_t high = 32 * Parts) {
    for (std::uint32_t i = 0; i < Parts; ++i) part[i] = from(low, i) & ~from(high, i);
  }

 private:
  static __host__ __device__ std::uint32_t from(std::uint32_t bit, std::uint32_t i) {
    return bit >= 32 * (i + 1) ? 0 : bit <= 32 * i ? ~0U : ~0U << (bit - 32 * i);
  }
};

enum class word_order { less, equal, greater };

/// The order of two words by the bits of the mask.
template <int Parts>
__device__ __forceinline__ word_order compare_words(const sort_word<Parts>& a, const sort_word<Parts>& b,
                                                    const key_mask<Parts>& mask) {
  bool less = false;
  bool equal = true;
#pragma unroll
  for (int i = Parts - 1; i >= 0; --i) {
    const std::uint32_t of_a = a.part[i] & mask.part[i];
    const std::uint32_t of_b = b.part[i] & mask.part[i];
    less = less || (equal && of_a < of_b);
    equal = equal && of_a == of_b;
  }
  return less ? word_order::less : equal ? word_order::equal : word_order::greater;
}

/// The two parts from `low` on as one number; a part that there is not is 0.
template <int Parts>
__device__ __forceinline__ std::uint64_t pair_of(const sort_word<Parts>& word, int low) {
  const std::uint64_t high = low + 1 < Parts ? word.part[low + 1 < Parts ? low + 1 : 0] : 0;
  return high << 32 | word.part[low];
}

/// Whether a is less than b, as numbers.
template <int Parts>
__device__ __forceinline__ bool is_less(const sort_word<Parts>& a, const sort_word<Parts>& b) {
  if constexpr (Parts == 1) {
    return a.part[0] < b.part[0];
  } else if constexpr (Parts == 2) {
    return pair_of(a, 0) < pair_of(b, 0);
  } else {
    const std::uint64_t high_of_a = pair_of(a, 2);
    const std::uint64_t high_of_b = pair_of(b, 2);
    return high_of_a < high_of_b || (high_of_a == high_of_b && pair_of(a, 0) < pair_of(b, 0));
  }
}

/// One more than the highest bit that is set; 0 if none is.
template <int Parts>
__device__ __forceinline__ std::uint32_t bit_length(const std::uint32_t (&part)[Parts]) {
  std::uint32_t length = 0;
#pragma unroll
  for (int i = 0; i < Parts; ++i) {
    if (part[i] != 0) length = 32 * i + 32 - __clz(static_cast<int>(part[i]));
  }
  return length;
}

/// The lowest bit that is set, of a number that is not 0.
template <int Parts>
__device__ __forceinline__ std::uint32_t lowest_bit(const std::uint32_t (&part)[Parts]) {
  std::uint32_t lowest = 0;
#pragma unroll
  for (int i = Parts - 1; i >= 0; --i) {
    if (part[i] != 0) lowest = 32 * i + __ffs(static_cast<int>(part[i])) - 1;
  }
  return lowest;
}

}  // namespace sheaf::cuda
