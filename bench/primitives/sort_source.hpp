#pragma once

#include <cstdint>

#include <sheaf/sort.hpp>

#include "bench/primitives/split_keys.hpp"

// Keys and rows of sorts as functions of their position, so that an answer is checked without a second sort. A key's
// place in the order, its rank, is drawn first; the bytes that say so for the type of the key follow from it. A row has
// its key first, or none where keys are apart, then its number, then words that are functions of the number.
namespace sheaf::bench {

/// A rank, or the bytes of a key, the first in the lowest bits.
__extension__ using key_word128 = unsigned __int128;

/// What all keys and rows of an array are functions of.
struct sort_source {
  key_shape shape = key_shape::uniform;
  key_type type = key_type::unsigned_integer;
  std::uint32_t key_bytes = 4;  ///< 1 to 16
  std::uint32_t first_bit = 0;  ///< of those that decide; any bits beside them are noise
  std::uint32_t bits = 32;
  std::uint64_t record_bytes = 0;
  bool keys_in_rows = false;
  std::uint64_t count = 0;
  std::uint64_t seed = 1;

  SHEAF_HOST_DEVICE std::uint64_t number_at() const { return keys_in_rows ? key_bytes : 0; }
  SHEAF_HOST_DEVICE std::uint64_t number_bytes() const {
    const std::uint64_t left = record_bytes - number_at();
    return left < 8 ? left : 8;
  }
  /// Whether a row holds all of its number.
  SHEAF_HOST_DEVICE bool tells_rows_apart() const {
    return number_bytes() == 8 || (count - 1) >> (8 * number_bytes()) == 0;
  }
};

SHEAF_HOST_DEVICE inline key_word128 low_ones(std::uint32_t bits) {
  return bits >= 128 ? ~key_word128{0} : (key_word128{1} << bits) - 1;
}

/// How far from 0 floats of either sign reach, in steps from one to the next. There is no -0 and no NaN among keys:
/// what peers do with them differs.
SHEAF_HOST_DEVICE inline std::uint64_t float_steps(std::uint32_t key_bytes) {
  return key_bytes == 4 ? 0x7f7fffffU : 0x7fefffffffffffffU;
}

SHEAF_HOST_DEVICE inline key_word128 last_rank(const sort_source& s) {
  return s.type == key_type::floating ? key_word128{2 * float_steps(s.key_bytes)} : low_ones(s.bits);
}

/// Any rank up to the last, from 64 random bits.
SHEAF_HOST_DEVICE inline key_word128 rank_anywhere(key_word128 last, std::uint64_t draw) {
  const std::uint64_t low = inputs::mix(draw + 0x5017);
  if ((last & (last + 1)) != 0) return (key_word128{low} * (static_cast<std::uint64_t>(last) + 1)) >> 64;  // floats
  return ((key_word128{draw} << 64) | low) & last;
}

/// The rank of item i of `count` that lie at even distances.
SHEAF_HOST_DEVICE inline key_word128 rank_in_turn(key_word128 last, std::uint64_t i, std::uint64_t count) {
  return last >= count ? last / count * i : (last + 1) * i / count;
}

constexpr std::uint64_t few_distinct = 1000;

/// Where key i stands in the order of all keys that its type can have.
SHEAF_HOST_DEVICE inline key_word128 rank_of(const sort_source& s, std::uint64_t i) {
  const key_word128 last = last_rank(s);
  const std::uint64_t draw = inputs::mix(s.seed * 0x2545f4914f6cdd1dU + i);
  switch (s.shape) {
    case key_shape::uniform: return rank_anywhere(last, draw);
    case key_shape::equal: return last / 2;
    case key_shape::two: return draw >> 63 != 0 ? last : 0;
    case key_shape::sorted: return rank_in_turn(last, i, s.count);
    case key_shape::reverse: return rank_in_turn(last, s.count - 1 - i, s.count);
    case key_shape::zipf: {
      const key_word128 most = low_ones(40);
      const auto categories = static_cast<std::uint64_t>(last < most ? last : most) + 1;
      const inputs::pattern wanted{inputs::pattern_kind::zipf, 0, s.seed};
      return last / (categories - 1) * inputs::pattern_entry(wanted, i, categories);
    }
    case key_shape::few: return rank_anywhere(last, inputs::mix(draw % few_distinct));
    case key_shape::nested: return rank_anywhere(last, draw) >> static_cast<int>(inputs::mix(draw) % s.bits);
  }
  return 0;
}

SHEAF_HOST_DEVICE inline key_word128 reversed_bytes(key_word128 word, std::uint32_t bytes) {
  key_word128 out = 0;
  for (std::uint32_t b = 0; b < bytes; ++b) {
    out = out << 8 | (word & 0xff);
    word >>= 8;
  }
  return out;
}

/// The bytes of a key of this rank; noise fills what does not decide.
SHEAF_HOST_DEVICE inline key_word128 key_of_rank(const sort_source& s, key_word128 rank, std::uint64_t noise) {
  const key_word128 sign = key_word128{1} << (8 * s.key_bytes - 1);
  switch (s.type) {
    case key_type::unsigned_integer: {
      const key_word128 beside = low_ones(8 * s.key_bytes) & ~(low_ones(s.bits) << s.first_bit);
      return (rank << s.first_bit) | (noise & beside);
    }
    case key_type::signed_integer: return rank ^ sign;
    case key_type::floating: {
      const key_word128 zero = float_steps(s.key_bytes);
      return rank >= zero ? rank - zero : sign | (zero - rank);
    }
    case key_type::bytes: return reversed_bytes(rank, s.key_bytes);
  }
  return 0;
}

/// The rank that the bytes of a key say.
SHEAF_HOST_DEVICE inline key_word128 rank_of_key(const sort_source& s, key_word128 key) {
  const key_word128 sign = key_word128{1} << (8 * s.key_bytes - 1);
  switch (s.type) {
    case key_type::unsigned_integer: return (key >> s.first_bit) & low_ones(s.bits);
    case key_type::signed_integer: return key ^ sign;
    case key_type::floating: {
      const key_word128 zero = float_steps(s.key_bytes);
      return (key & sign) == 0 ? zero + key : zero - (key ^ sign);
    }
    case key_type::bytes: return reversed_bytes(key, s.key_bytes);
  }
  return 0;
}

/// The bytes of key i.
SHEAF_HOST_DEVICE inline key_word128 sort_key_bytes(const sort_source& s, std::uint64_t i) {
  return key_of_rank(s, rank_of(s, i), inputs::mix(i + s.seed));
}

/// Of eight bytes that lie in a row from byte `at` on, those in the eight from byte 8 * word on.
SHEAF_HOST_DEVICE inline std::uint64_t part_in_word(std::uint64_t bytes, std::uint64_t at, std::uint64_t word) {
  const std::int64_t apart = static_cast<std::int64_t>(at) - static_cast<std::int64_t>(8 * word);
  if (apart >= 8 || apart <= -8) return 0;
  return apart >= 0 ? bytes << (8 * apart) : bytes >> (-8 * apart);
}

/// Eight bytes of row i, from 8 * word on; whatever it says of those behind the row.
SHEAF_HOST_DEVICE inline std::uint64_t sort_row_word(const sort_source& s, std::uint64_t i, std::uint64_t word) {
  std::uint64_t value = 0;
  const std::uint64_t first = s.number_at();
  if (s.keys_in_rows && 8 * word < first) {
    const key_word128 key = sort_key_bytes(s, i);
    value = static_cast<std::uint64_t>(word == 0 ? key : key >> 64);
  }
  const std::uint64_t end = first + s.number_bytes();
  if (8 * word < end) value |= part_in_word(low_bits(i, static_cast<std::uint32_t>(8 * s.number_bytes())), first, word);
  if (8 * word + 8 <= end) return value;
  const std::uint64_t beyond = inputs::mix(inputs::mix(i + s.seed) + word);
  return 8 * word >= end ? beyond : value | beyond << (8 * (end - 8 * word));
}

}  // namespace sheaf::bench
