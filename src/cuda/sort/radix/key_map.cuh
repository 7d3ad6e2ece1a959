#pragma once

#include "cuda/sort/words/limbs.cuh"

// The codes of keys: the bucket numbers of the sample sort, by which its LSD passes put words in order. A code ascends
// with the key, and the codes of a list have about as many words each, but for codes of keys that occur often: where
// keys are skewed, a piecewise linear approximation of their distribution function, of 2048 pieces, makes them so.
// Nothing but time depends on how good the approximation is.
namespace sheaf::cuda {

/// How a key's number is quantized to 24 bits that ascend with it (log-linear quantization). The number's distance from
/// `origin` becomes a float. The quantized key holds the float's exponent, in a window, and the highest bits of its
/// mantissa. So keys of different magnitudes are separated, and those of one magnitude keep their distribution.
struct key_scale {
  bool is_folded;  ///< numbers are distances from the middle of all, on either side, where signed keys have their 0
  std::uint32_t dropped_bits;  ///< how many low bits of the float the quantized key leaves out
  std::uint32_t low_float;     ///< bit pattern of the float from which quantized keys count
  /// Distances (of folded numbers, if is_folded) begin here. Lower numbers have the float 0, which is quantized to 0,
  /// or, if is_folded, to the two middle values.
  std::uint64_t origin;
};

/// What codes of a list are like.
struct code_shape {
  bool is_even;              ///< codes are the highest bits of keys, and there are no pieces
  std::uint32_t codes;       ///< number of codes
  std::uint32_t passes;      ///< that codes take; 0: the sort is by the digits of the key in place of codes
  std::uint32_t digit_bits;  ///< bits of a code that each pass sorts by; the last may have fewer
  std::uint32_t unit_bits;   ///< the map counts codes in units of 2^unit_bits
  key_scale scale;
};

/// The highest 11 bits of a quantized key select a piece of the map, on which codes ascend evenly by the other bits.
struct code_map {
  static constexpr std::uint32_t quantized_bits = 24;
  static constexpr std::uint32_t pieces = 1U << 11;
  static constexpr std::uint32_t bits_in_piece = 13;
  /// Pieces have codes in units, because an entry of the map has 16 bits for their number: 2^20 codes are 2^16 units of
  /// 16.
  static constexpr std::uint32_t most_units = 1U << 16;
  static constexpr __host__ __device__ std::uint32_t unit_bits_of(std::uint32_t codes) {
    return codes > most_units ? 4 : 0;
  }

  /// Of each piece its first code and, in the lower half, how many it has, both in units of 2^unit_bits.
  std::uint32_t codes_of_piece[pieces];
  code_shape shape;
};

/// The highest 64 bits of the key (32 in words of one limb) as a number whose highest bit is the key's.
template <int Limbs>
struct key_numbers {
  using number = std::conditional_t<Limbs == 1, std::uint32_t, std::uint64_t>;
  static constexpr std::uint32_t bits = 8 * sizeof(number);

  std::uint32_t shift;  ///< bits of the word above the key
  number mask;          ///< of the key's bits in the number

  __device__ key_numbers(std::uint32_t key_low, std::uint32_t key_high)
      : shift(32 * Limbs - key_high), mask(~number{0} << (bits - min(bits, key_high - key_low))) {}

  __device__ __forceinline__ number operator()(const sort_word<Limbs>& word) const {
    if constexpr (Limbs == 1) {
      return word.limb[0] << shift & mask;
    } else {
      return pair_of(word, Limbs - 2) << shift & mask;
    }
  }
};

/// The bits of a code that a pass sorts by.
struct code_bits {
  std::uint32_t low;
  std::uint32_t bits;
};
constexpr code_bits whole_code{0, 31};

/// Loads the map of the sort to the block's shared memory: its shape, and its pieces, if it has any. Coders are made
/// from it.
template <class Block>
__device__ __forceinline__ void load_map(const Block& block) {
  const code_map& map = *block.arguments.tables.map;
  __syncthreads();
  if (!map.shape.is_even) {
    for (std::uint32_t i = threadIdx.x; i < code_map::pieces; i += Block::threads) {
      block.codes_of_piece[i] = __ldcg(map.codes_of_piece + i);
    }
  }
  if (threadIdx.x == 0) block.shared.shape = map.shape;
  __syncthreads();
}

/// Reads the codes of evenly spread keys, their highest bits. load_map comes first.
template <int Limbs>
struct leading_bits_coder {
  static constexpr bool is_expensive = false;
  digit_field field;

  template <class Block>
  __device__ __forceinline__ leading_bits_coder(const Block& block, code_bits part) {
    const std::uint32_t bits = 31 - __clz(static_cast<int>(block.shared.shape.codes));
    field = digit_at(block.arguments.key_high - bits + part.low, min(bits - part.low, part.bits));
  }
  __device__ __forceinline__ std::uint32_t operator()(const sort_word<Limbs>& word) const {
    return digit_of(word, field);
  }
};

/// Computes the codes of keys by the pieces of the map. load_map comes first, except in choose_map, which makes the
/// map.
template <int Limbs>
struct piecewise_coder {
  static constexpr bool is_expensive = true;  ///< a code is better kept than computed again
  using number = typename key_numbers<Limbs>::number;
  static constexpr std::uint32_t bits = key_numbers<Limbs>::bits;

  key_numbers<Limbs> number_of;
  key_scale scale;
  std::uint32_t unit_bits;
  const std::uint32_t* codes_of_piece;  ///< those of the map, in shared memory
  std::uint32_t shift;
  std::uint32_t mask;

  template <class Block>
  __device__ __forceinline__ piecewise_coder(const Block& block, code_bits part)
      : number_of(block.arguments.key_low, block.arguments.key_high),
        scale(block.shared.shape.scale),
        unit_bits(block.shared.shape.unit_bits),
        codes_of_piece(block.codes_of_piece),
        shift(part.low),
        mask((1U << part.bits) - 1) {}

  __device__ __forceinline__ std::uint32_t operator()(const sort_word<Limbs>& word) const {
    return code_of(number_of(word)) >> shift & mask;
  }

  __device__ __forceinline__ std::uint32_t code_of(number n) const {
    const std::uint32_t quantized = quantize(n);
    const std::uint32_t entry = codes_of_piece[quantized >> code_map::bits_in_piece];
    const std::uint32_t first = entry >> 16 << unit_bits;
    const std::uint32_t codes = (entry & 0xffff) << unit_bits;
    return first + __umulhi(quantized << (32 - code_map::bits_in_piece), codes);
  }

  __device__ __forceinline__ std::uint32_t quantize(number n) const {
    const std::uint32_t most = (1U << (code_map::quantized_bits - (scale.is_folded ? 1 : 0))) - 1;
    const bool is_upper = n >> (bits - 1) != 0;
    const std::uint32_t float_bits = max(float_of(folded_number(n)), scale.low_float) - scale.low_float;
    const std::uint32_t quantized = min(float_bits >> scale.dropped_bits, most);
    return !scale.is_folded ? quantized : is_upper ? most + 1 + quantized : most - quantized;
  }

  /// The bits of the float of a number, which is folded already if the scale is. They ascend with the number.
  __device__ __forceinline__ std::uint32_t float_of(number folded) const {
    const auto origin = static_cast<number>(scale.origin);
    number distance = folded - min(folded, origin);
    if (distance != ~number{0} && folded >= origin) ++distance;  // the origin's is 1, that of lower numbers stays 0
    if constexpr (Limbs == 1) {
      return static_cast<std::uint32_t>(__float_as_int(__uint2float_rd(distance)));
    } else {
      return static_cast<std::uint32_t>(__float_as_int(__ull2float_rd(distance)));
    }
  }

  /// If the scale is folded, the distance of a number from the middle of all, on its side; else the number.
  __device__ __forceinline__ number folded_number(number n) const {
    constexpr number middle = number{1} << (bits - 1);
    return !scale.is_folded ? n : n >= middle ? n ^ middle : n ^ (middle - 1);
  }
};

}  // namespace sheaf::cuda
