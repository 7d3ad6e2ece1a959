#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "primitives/sort_key.hpp"

// What a sort moves: words of 1 to 16 bytes that hold the number of a key, or its first bits, in some of their bits,
// and in others what goes along with it.
namespace sheaf::cpu {

__extension__ using word128 = unsigned __int128;

template <class Word>
constexpr std::uint32_t bits_in = sizeof(Word) * 8;

/// The lowest `bits` bits set; bits is at most the word's.
template <class Word>
constexpr Word low_bits(std::uint32_t bits) noexcept {
  return bits == 0 ? Word{0} : static_cast<Word>(static_cast<Word>(~Word{0}) >> (bits_in<Word> - bits));
}

template <class Word>
constexpr Word bits_at(std::uint32_t low, std::uint32_t bits) noexcept {
  return static_cast<Word>(low_bits<Word>(bits) << low);
}

/// Of the highest bit that is set, plus 1; 0 for 0.
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

/// The lowest bit that is set in a word that is not 0.
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

/// Calls body with the stride, as a constant where things lie side by side: then loops work on several at once.
template <std::uint64_t Width, class Body>
void with_stride(std::uint64_t stride_bytes, Body body) {
  if (stride_bytes == Width) return body(std::integral_constant<std::uint64_t, Width>{});
  body(stride_bytes);
}

/// Bytes that hold one field as a number whose field ascends with the order of the field, and back.
template <class Word>
struct ordered_word {
  bool swaps = false;      ///< bytes that compare from the first on
  std::uint32_t sign = 0;  ///< bit that says which mask
  Word flips[2] = {};      ///< where the sign bit is clear, where it is set
  Word flips_back[2] = {};

  ordered_word() = default;
  /// A field of `bytes` bytes at `offset` of sizeof(Word).
  ordered_word(const key_field& f, std::uint32_t offset, std::uint32_t bytes, bool has_sign) noexcept
      : swaps(f.type == key_type::bytes) {
    const std::uint32_t low = field_low(f, offset, bytes);
    const Word field = bits_at<Word>(low, bytes * 8);
    const Word all = f.descending ? field : Word{0};
    sign = low + bytes * 8 - 1;
    const auto sign_flip = static_cast<Word>(Word{1} << sign);
    flips[0] = flips[1] = all;
    if (has_sign && f.type != key_type::unsigned_integer && f.type != key_type::bytes) {
      flips[0] = static_cast<Word>(sign_flip ^ all);
      flips[1] = f.type == key_type::floating ? static_cast<Word>(field ^ all) : flips[0];
    }
    const bool moves = (flips[1] & sign_flip) != 0;
    flips_back[0] = flips[moves ? 1 : 0];
    flips_back[1] = flips[moves ? 0 : 1];
  }

  /// Where the field's number begins in the word's.
  static std::uint32_t field_low(const key_field& f, std::uint32_t offset, std::uint32_t bytes) noexcept {
    return 8 * (f.type == key_type::bytes ? static_cast<std::uint32_t>(sizeof(Word)) - offset - bytes : offset);
  }

  bool changes_nothing() const noexcept { return (!swaps || sizeof(Word) == 1) && flips[0] == 0 && flips[1] == 0; }
  Word number(Word word) const noexcept {
    if (swaps) word = with_bytes_swapped(word);
    return flipped(word, flips);
  }
  Word back(Word number) const noexcept {
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
