#pragma once

#include <cstdint>
#include <string_view>

#include "inputs/pattern_function.hpp"

// Keys and records of splits as functions of their position, so that an answer is checked without a second copy, on the
// host or on the device. A record has its key in its lowest bits, or none where keys are apart, and behind the key its
// number as far as the rest of that word holds it; further words are functions of the word with the number.
namespace sheaf::bench {

enum class key_shape : std::uint8_t {
  uniform,
  equal,    ///< one category for all
  two,      ///< the first or the last category, at random
  sorted,   ///< ascending
  zipf,     ///< few categories often, many rarely
  reverse,  ///< descending
  few,      ///< 1000 different ones
  nested,   ///< from 0 to all of the key's highest bits 0, as often each: a bucket that stays large, digit after digit
};

/// "uniform"
std::string_view name(key_shape shape) noexcept;
/// @throws error(bad_argument)
key_shape parse_key_shape(std::string_view text);

/// What all keys and records of an array are functions of.
struct split_source {
  key_shape shape = key_shape::uniform;
  std::uint32_t bits = 8;       ///< of the key; over 64 for uniform keys in their record alone
  std::uint64_t key_bytes = 0;  ///< of keys apart; 0: in the record
  std::uint64_t record_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t seed = 1;

  SHEAF_HOST_DEVICE std::uint32_t bits_in_record() const { return key_bytes == 0 ? bits : 0; }
  /// The word of a record that its number is in.
  SHEAF_HOST_DEVICE std::uint64_t number_word() const { return bits_in_record() / 64; }
  /// The lowest bit of the number there.
  SHEAF_HOST_DEVICE std::uint32_t number_bit() const { return bits_in_record() % 64; }
  /// Bits that are left to the number.
  SHEAF_HOST_DEVICE std::uint32_t number_room() const {
    const std::uint64_t behind_key = 8 * record_bytes - bits_in_record();
    const std::uint64_t in_word = 64 - number_bit();
    return static_cast<std::uint32_t>(behind_key < in_word ? behind_key : in_word);
  }
  /// Low bits of the number that find no room: order is then checked as far as the rest of it tells.
  SHEAF_HOST_DEVICE std::uint32_t number_bits_dropped() const {
    std::uint32_t needed = 0;
    while (needed < 64 && (count - 1) >> needed != 0) ++needed;
    return needed > number_room() ? needed - number_room() : 0;
  }
};

SHEAF_HOST_DEVICE inline std::uint64_t low_bits(std::uint64_t word, std::uint32_t bits) {
  return bits >= 64 ? word : word & ((std::uint64_t{1} << bits) - 1);
}

/// Key i's bits from 64 * word on.
SHEAF_HOST_DEVICE inline std::uint64_t key_word(const split_source& s, std::uint64_t i, std::uint64_t word) {
  const auto bits = static_cast<std::uint32_t>(s.bits - 64 * word < 64 ? s.bits - 64 * word : 64);
  const std::uint64_t last = low_bits(~std::uint64_t{0}, bits);
  const std::uint64_t draw = inputs::mix(inputs::mix(s.seed * 0x2545f4914f6cdd1dU + i) + word);
  switch (s.shape) {
    case key_shape::uniform: return draw & last;
    case key_shape::equal: return last / 2;
    case key_shape::two: return draw >> 63 != 0 ? last : 0;
    case key_shape::sorted:
    case key_shape::reverse: {
      const std::uint64_t place = s.shape == key_shape::sorted ? i : s.count - 1 - i;
      if (bits > 32) return place;
      return place * (last + 1) / s.count;  // place is below 2^32 wherever these bits are many
    }
    case key_shape::zipf: {
      const std::uint64_t categories = bits < 40 ? last + 1 : std::uint64_t{1} << 40;
      return inputs::pattern_entry({inputs::pattern_kind::zipf, 0, s.seed}, i, categories);
    }
    case key_shape::few: return inputs::mix(draw % 1000) & last;
    case key_shape::nested: return (draw & last) >> inputs::mix(draw) % bits;
  }
  return 0;
}

/// The category of record i of a key of at most 64 bits.
SHEAF_HOST_DEVICE inline std::uint64_t category_of(const split_source& s, std::uint64_t i) { return key_word(s, i, 0); }

/// Key i where keys are apart: the category, and anything above it.
SHEAF_HOST_DEVICE inline std::uint64_t apart_key(const split_source& s, std::uint64_t i) {
  const std::uint64_t category = category_of(s, i);
  return s.bits >= 64 ? category : category | inputs::mix(category + i) << s.bits;
}

/// Record i's number as far as there is room for it.
SHEAF_HOST_DEVICE inline std::uint64_t held_number(const split_source& s, std::uint64_t i) {
  return s.number_room() == 0 ? 0 : i >> s.number_bits_dropped();
}

/// Eight bytes of record i at once.
SHEAF_HOST_DEVICE inline std::uint64_t split_record_word(const split_source& s, std::uint64_t i, std::uint64_t word) {
  if (word < s.number_word()) return key_word(s, i, word);
  const std::uint32_t at = s.number_bit();
  const std::uint64_t with_number = (at == 0 ? 0 : key_word(s, i, s.number_word())) | held_number(s, i) << at;
  return word == s.number_word() ? with_number : inputs::mix(with_number + word);
}

}  // namespace sheaf::bench
