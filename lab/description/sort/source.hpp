#pragma once

#include <sheaf/sort.hpp>

#include "lab/description/split/source.hpp"
#include "lab/inputs/structured.hpp"
#include "lab/inputs/variate.hpp"

// Keys and rows of sorts are functions of their position, so that an answer is checked without a second sort. The rank
// of a key, its place in the order of all keys of its type, is drawn first. The bytes of the key follow from the rank.
// A row holds its key, unless keys are in an array of their own, then its row number, then words that are functions of
// the number.
namespace sheaf::jobs {

/// A rank, or the bytes of a key with the first byte in the lowest bits.
__extension__ using key_word128 = unsigned __int128;

/// Parameters of the functions that give the keys and rows of an array.
struct sort_source {
  key_distribution distribution = key_distribution::uniform;
  key_type type = key_type::unsigned_integer;
  std::uint32_t key_bytes = 4;  ///< 1 to 16
  std::uint32_t first_bit = 0;  ///< lowest bit that decides; the bits that do not decide are random
  std::uint32_t bits = 32;
  std::uint64_t record_bytes = 0;
  bool keys_in_rows = false;
  std::uint64_t count = 0;
  std::uint64_t seed = 1;

  SHEAF_HOST_DEVICE std::uint64_t number_at() const { return keys_in_rows ? key_bytes : 0; }
  SHEAF_HOST_DEVICE std::uint64_t number_bytes() const {
    const std::uint64_t bytes_left = record_bytes - number_at();
    return bytes_left < 8 ? bytes_left : 8;
  }
  /// Whether a row is wide enough for its whole number, which then tells it from all other rows.
  SHEAF_HOST_DEVICE bool holds_whole_number() const {
    return number_bytes() == 8 || (count - 1) >> (8 * number_bytes()) == 0;
  }
};

SHEAF_HOST_DEVICE inline key_word128 low_ones(std::uint32_t bits) {
  return bits >= 128 ? ~key_word128{0} : (key_word128{1} << bits) - 1;
}

/// Number of finite floats above 0; as many lie below. Keys are never -0 or NaN, which peers order differently.
SHEAF_HOST_DEVICE inline std::uint64_t float_steps(std::uint32_t key_bytes) {
  return key_bytes == 4 ? 0x7f7fffffU : 0x7fefffffffffffffU;
}

SHEAF_HOST_DEVICE inline key_word128 last_rank(const sort_source& s) {
  return s.type == key_type::floating ? key_word128{2 * float_steps(s.key_bytes)} : low_ones(s.bits);
}

/// A uniform rank from 0 to `last`, from 64 random bits.
SHEAF_HOST_DEVICE inline key_word128 random_rank(key_word128 last, std::uint64_t draw) {
  const std::uint64_t low = inputs::mix(draw + 0x5017);
  if ((last & (last + 1)) != 0) return (key_word128{low} * (static_cast<std::uint64_t>(last) + 1)) >> 64;  // floats
  return ((key_word128{draw} << 64) | low) & last;
}

/// The rank of item i where `count` items are evenly spaced over all ranks.
SHEAF_HOST_DEVICE inline key_word128 evenly_spaced_rank(key_word128 last, std::uint64_t i, std::uint64_t count) {
  return last >= count ? last / count * i : (last + 1) * i / count;
}

SHEAF_HOST_DEVICE inline key_word128 reversed_bytes(key_word128 word, std::uint32_t bytes) {
  key_word128 out = 0;
  for (std::uint32_t b = 0; b < bytes; ++b) {
    out = out << 8 | (word & 0xff);
    word >>= 8;
  }
  return out;
}

/// The bytes of the key of this rank. The bits that do not decide are taken from `noise`.
SHEAF_HOST_DEVICE inline key_word128 key_of_rank(const sort_source& source, key_word128 rank, std::uint64_t noise) {
  const key_word128 sign = key_word128{1} << (8 * source.key_bytes - 1);
  switch (source.type) {
    case key_type::unsigned_integer: {
      const key_word128 beside = low_ones(8 * source.key_bytes) & ~(low_ones(source.bits) << source.first_bit);
      return (rank << source.first_bit) | (noise & beside);
    }
    case key_type::signed_integer: return rank ^ sign;
    case key_type::floating: {
      const key_word128 zero = float_steps(source.key_bytes);
      return rank >= zero ? rank - zero : sign | (zero - rank);
    }
    case key_type::bytes: return reversed_bytes(rank, source.key_bytes);
  }
  return 0;
}

/// The rank of a key, from its bytes: the inverse of key_of_rank.
SHEAF_HOST_DEVICE inline key_word128 rank_of_key(const sort_source& source, key_word128 key) {
  const key_word128 sign = key_word128{1} << (8 * source.key_bytes - 1);
  switch (source.type) {
    case key_type::unsigned_integer: return (key >> source.first_bit) & low_ones(source.bits);
    case key_type::signed_integer: return key ^ sign;
    case key_type::floating: {
      const key_word128 zero = float_steps(source.key_bytes);
      return (key & sign) == 0 ? zero + key : zero - (key ^ sign);
    }
    case key_type::bytes: return reversed_bytes(key, source.key_bytes);
  }
  return 0;
}

/// The rank of key i of a distribution of numbers.
SHEAF_HOST_DEVICE inline key_word128 rank_of_number(const sort_source& source, std::uint64_t i) {
  const inputs::variate_source variates{source.distribution, source.count, source.seed};
  if (source.type == key_type::floating)
    return rank_of_key(source, inputs::float_variate(variates, i, source.key_bytes));
  const bool is_half = source.type == key_type::signed_integer && !inputs::has_negative(source.distribution);
  const std::uint32_t bits = is_half ? source.bits - 1 : source.bits;
  const key_word128 first = is_half ? key_word128{1} << bits : 0;
  if (bits <= 64) return first + inputs::whole_variate(variates, i, bits);
  const key_word128 low = inputs::mix(source.seed + inputs::mix(i));
  return first + (key_word128{inputs::whole_variate(variates, i, 64)} << (bits - 64) | (low & low_ones(bits - 64)));
}

/// The rank of a key made of parts, of which a narrow key has the highest bits. Numbers with a sign are not below 0.
SHEAF_HOST_DEVICE inline key_word128 structured_rank(const sort_source& source, std::uint64_t draw, std::uint64_t i) {
  const std::uint64_t word = inputs::structured_word(source.distribution, draw, i);
  if (source.type == key_type::floating) {
    const std::uint64_t zero = float_steps(source.key_bytes);
    return zero + (key_word128{word} * zero >> 63);
  }
  const key_word128 sign = source.type == key_type::signed_integer ? key_word128{1} << (source.bits - 1) : 0;
  if (source.bits <= 64) return sign | word >> (64 - source.bits);
  const std::uint64_t low = inputs::mix(source.seed + inputs::mix(i));
  return sign | key_word128{word} << (source.bits - 64) | (low & low_ones(source.bits - 64));
}

/// The rank of key i.
SHEAF_HOST_DEVICE inline key_word128 rank_of(const sort_source& source, std::uint64_t i) {
  const key_word128 last = last_rank(source);
  const std::uint64_t draw = inputs::mix(source.seed * 0x2545f4914f6cdd1dU + i);
  switch (source.distribution) {
    case key_distribution::uniform: return random_rank(last, draw);
    case key_distribution::equal: return last / 2;
    case key_distribution::two: return draw >> 63 != 0 ? last : 0;
    case key_distribution::sorted: return evenly_spaced_rank(last, i, source.count);
    case key_distribution::reverse: return evenly_spaced_rank(last, source.count - 1 - i, source.count);
    case key_distribution::zipf: {
      const key_word128 most = low_ones(40);
      const auto categories = static_cast<std::uint64_t>(last < most ? last : most) + 1;
      const inputs::pattern wanted{inputs::pattern_kind::zipf, 0, source.seed};
      return last / (categories - 1) * inputs::pattern_entry(wanted, i, categories);
    }
    case key_distribution::few:
    case key_distribution::distinct100:
    case key_distribution::distinct10007:
      return random_rank(last, inputs::mix(draw % primitives::distinct_keys(source.distribution)));
    case key_distribution::nested: return random_rank(last, draw) >> static_cast<int>(inputs::mix(draw) % source.bits);
    case key_distribution::narrowed:
      return random_rank(last, draw) & random_rank(last, inputs::mix(draw)) & random_rank(last, inputs::mix(draw + 1));
    case key_distribution::normal:
    case key_distribution::lognormal:
    case key_distribution::exponential:
    case key_distribution::pareto:
    case key_distribution::timestamps:
    case key_distribution::unit: return rank_of_number(source, i);
    case key_distribution::sphere:
    case key_distribution::cities:
    case key_distribution::geohash:
    case key_distribution::quadtree:
    case key_distribution::octree:
    case key_distribution::urls:
    case key_distribution::versions:
    case key_distribution::counters: return structured_rank(source, draw, i);
  }
  return 0;
}

/// The bytes of key i.
SHEAF_HOST_DEVICE inline key_word128 sort_key_bytes(const sort_source& s, std::uint64_t i) {
  return key_of_rank(s, rank_of(s, i), inputs::mix(i + s.seed));
}

/// Eight bytes lie in a row from first_byte on. Returns their part in word number `word` of the row, shifted into
/// place.
SHEAF_HOST_DEVICE inline std::uint64_t shifted_into_word(std::uint64_t bytes, std::uint64_t first_byte,
                                                         std::uint64_t word) {
  const std::int64_t distance = static_cast<std::int64_t>(first_byte) - static_cast<std::int64_t>(8 * word);
  if (distance >= 8 || distance <= -8) return 0;
  return distance >= 0 ? bytes << (8 * distance) : bytes >> (-8 * distance);
}

/// Word number `word` of row i, eight bytes. Bytes past the end of the row are arbitrary.
SHEAF_HOST_DEVICE inline std::uint64_t sort_row_word(const sort_source& source, std::uint64_t i, std::uint64_t word) {
  std::uint64_t value = 0;
  const std::uint64_t first = source.number_at();
  if (source.keys_in_rows && 8 * word < first) {
    const key_word128 key = sort_key_bytes(source, i);
    value = static_cast<std::uint64_t>(word == 0 ? key : key >> 64);
  }
  const std::uint64_t end = first + source.number_bytes();
  if (8 * word < end)
    value |= shifted_into_word(low_bits(i, static_cast<std::uint32_t>(8 * source.number_bytes())), first, word);
  if (8 * word + 8 <= end) return value;
  const std::uint64_t beyond = inputs::mix(inputs::mix(i + source.seed) + word);
  return 8 * word >= end ? beyond : value | beyond << (8 * (end - 8 * word));
}

}  // namespace sheaf::jobs
