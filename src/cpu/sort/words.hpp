#pragma once

#include <cstring>

#include "primitives/sort/key.hpp"

// Words are what a sort moves: 1 to 16 bytes, some bits of which hold a key's number or its leading bits, and the other
// bits what goes along with the key.
namespace sheaf::cpu {

__extension__ using word128 = unsigned __int128;

template <class Word>
constexpr std::uint32_t bits_in = sizeof(Word) * 8;

/// A word with the lowest `bits` bits set; bits is at most the width of the word.
template <class Word>
constexpr Word low_bits(std::uint32_t bits) noexcept {
  return bits == 0 ? Word{0} : static_cast<Word>(static_cast<Word>(~Word{0}) >> (bits_in<Word> - bits));
}

template <class Word>
constexpr Word bits_at(std::uint32_t low, std::uint32_t bits) noexcept {
  return static_cast<Word>(low_bits<Word>(bits) << low);
}

/// Number of the highest bit that is set, plus 1; 0 for a word of 0.
template <class Word>
constexpr std::uint32_t width_of(Word word) noexcept {
  if constexpr (sizeof(Word) == 16) {
    const auto high = static_cast<std::uint64_t>(word >> 64);
    const std::uint32_t low_width = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(word)));
    return high != 0 ? 64 + static_cast<std::uint32_t>(std::bit_width(high)) : low_width;
  } else {
    return static_cast<std::uint32_t>(std::bit_width(word));
  }
}

/// Number of the lowest bit that is set in a word that is not 0.
template <class Word>
constexpr std::uint32_t lowest_bit(Word word) noexcept {
  return width_of(static_cast<Word>(word & static_cast<Word>(~word + 1))) - 1;
}

template <class Word>
constexpr Word with_bytes_swapped(Word word) noexcept {
  if constexpr (sizeof(Word) == 16) {
    const std::uint64_t high = __builtin_bswap64(static_cast<std::uint64_t>(word));
    return word128{high} << 64 | __builtin_bswap64(static_cast<std::uint64_t>(word >> 64));
  } else if constexpr (sizeof(Word) == 8) {
    return __builtin_bswap64(word);
  } else if constexpr (sizeof(Word) == 4) {
    return __builtin_bswap32(word);
  } else if constexpr (sizeof(Word) == 2) {
    return __builtin_bswap16(word);
  } else {
    return word;
  }
}

template <class Word>
Word load_word(const std::byte* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native != std::endian::little) word = with_bytes_swapped(word);
  return word;
}

template <class Word>
void store_word(std::byte* to, Word word) noexcept {
  if constexpr (std::endian::native != std::endian::little) word = with_bytes_swapped(word);
  std::memcpy(to, &word, sizeof word);
}

/// Calls body with the stride, as a compile-time constant if there are no gaps, so that the compiler vectorizes loops.
template <std::uint64_t Width, class Body>
void with_stride(std::uint64_t stride_bytes, Body body) {
  if (stride_bytes == Width) return body(std::integral_constant<std::uint64_t, Width>{});
  body(stride_bytes);
}

/// Order-preserving map between the bytes of a field and an unsigned number: numbers ascend in the order of the field's
/// values. The number occupies the same bits as the field.
template <class Word>
struct ordered_word {
  bool swaps = false;       ///< the first byte is the most significant (key_type::bytes)
  std::uint32_t sign = 0;   ///< number of the sign bit, which selects the mask
  Word flips[2] = {};       ///< bits to flip if the field's sign bit is 0, if it is 1
  Word flips_back[2] = {};  ///< bits to flip back if the number's sign bit is 0, if it is 1

  ordered_word() = default;
  /// The map of a field of `bytes` bytes at `offset` in a word.
  ordered_word(const key_field& key, std::uint32_t offset, std::uint32_t bytes, bool has_sign) noexcept
      : swaps(key.type == key_type::bytes) {
    const std::uint32_t low = field_low(key, offset, bytes);
    const Word field = bits_at<Word>(low, bytes * 8);
    const Word all = key.descending ? field : Word{0};
    sign = low + bytes * 8 - 1;
    const auto sign_flip = static_cast<Word>(Word{1} << sign);
    flips[0] = flips[1] = all;
    if (has_sign && key.type != key_type::unsigned_integer && key.type != key_type::bytes) {
      flips[0] = static_cast<Word>(sign_flip ^ all);
      flips[1] = key.type == key_type::floating ? static_cast<Word>(field ^ all) : flips[0];
    }
    const bool moves = (flips[1] & sign_flip) != 0;
    flips_back[0] = flips[moves ? 1 : 0];
    flips_back[1] = flips[moves ? 0 : 1];
  }

  /// First bit of the field's number in the word.
  static std::uint32_t field_low(const key_field& f, std::uint32_t offset, std::uint32_t bytes) noexcept {
    return 8 * (f.type == key_type::bytes ? static_cast<std::uint32_t>(sizeof(Word)) - offset - bytes : offset);
  }

  bool changes_nothing() const noexcept { return (!swaps || sizeof(Word) == 1) && flips[0] == 0 && flips[1] == 0; }
  Word to_number(Word word) const noexcept {
    if (swaps) word = with_bytes_swapped(word);
    return flipped(word, flips);
  }
  Word from_number(Word number) const noexcept {
    const Word word = flipped(number, flips_back);
    return swaps ? with_bytes_swapped(word) : word;
  }

 private:
  Word flipped(Word word, const Word (&masks)[2]) const noexcept {
    const auto set = static_cast<Word>(Word{0} - static_cast<Word>(static_cast<Word>(word >> sign) & 1));
    return static_cast<Word>(word ^ masks[0] ^ (set & (masks[0] ^ masks[1])));
  }
};

}  // namespace sheaf::cpu
