#pragma once

#include "lab/inputs/pattern_function.hpp"
#include "lab/inputs/structured.hpp"
#include "lab/inputs/variate.hpp"

// Keys and records of splits are functions of their position, so that an answer is checked without a second copy, on
// host and device. A record holds its key in its lowest bits, unless keys are in an array of their own. The rest of
// that word holds the record number, or its high bits where it does not fit. The words behind are functions of the word
// with the number.
namespace sheaf::jobs {

using primitives::key_distribution;

/// Parameters of the functions that give the keys and records of an array.
struct split_source {
  key_distribution distribution = key_distribution::uniform;
  std::uint32_t bits = 8;       ///< bits of the key; if they are more than 64, each word of 64 is drawn by itself
  std::uint64_t key_bytes = 0;  ///< bytes of a key in an array of its own; 0 where the record holds it
  std::uint64_t record_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t seed = 1;

  SHEAF_HOST_DEVICE std::uint32_t bits_in_record() const { return key_bytes == 0 ? bits : 0; }
  /// The word of a record that holds its number.
  SHEAF_HOST_DEVICE std::uint64_t number_word() const { return bits_in_record() / 64; }
  /// The lowest bit of the number in that word.
  SHEAF_HOST_DEVICE std::uint32_t number_bit() const { return bits_in_record() % 64; }
  /// Bits of a record that its number may take.
  SHEAF_HOST_DEVICE std::uint32_t number_bits_held() const {
    const std::uint64_t behind_key = 8 * record_bytes - bits_in_record();
    const std::uint64_t in_word = 64 - number_bit();
    return static_cast<std::uint32_t>(behind_key < in_word ? behind_key : in_word);
  }
  /// Low bits of the number that the record does not hold; the order of records is checked by the other bits alone.
  SHEAF_HOST_DEVICE std::uint32_t number_bits_dropped() const {
    std::uint32_t needed = 0;
    while (needed < 64 && (count - 1) >> needed != 0) ++needed;
    return needed > number_bits_held() ? needed - number_bits_held() : 0;
  }
};

SHEAF_HOST_DEVICE inline std::uint64_t low_bits(std::uint64_t word, std::uint32_t bits) {
  return bits >= 64 ? word : word & ((std::uint64_t{1} << bits) - 1);
}

/// Bits 64 * word to 64 * word + 63 of key i.
SHEAF_HOST_DEVICE inline std::uint64_t key_word(const split_source& source, std::uint64_t i, std::uint64_t word) {
  const auto bits = static_cast<std::uint32_t>(source.bits - 64 * word < 64 ? source.bits - 64 * word : 64);
  const std::uint64_t last = low_bits(~std::uint64_t{0}, bits);
  const std::uint64_t draw = inputs::mix(inputs::mix(source.seed * 0x2545f4914f6cdd1dU + i) + word);
  switch (source.distribution) {
    case key_distribution::uniform: return draw & last;
    case key_distribution::equal: return last / 2;
    case key_distribution::two: return draw >> 63 != 0 ? last : 0;
    case key_distribution::sorted:
    case key_distribution::reverse: {
      const std::uint64_t place = source.distribution == key_distribution::sorted ? i : source.count - 1 - i;
      if (bits > 32) return place;
      return place * (last + 1) / source.count;  // does not overflow: place is below 2^32 where there are many bits
    }
    case key_distribution::zipf: {
      const std::uint64_t categories = bits < 40 ? last + 1 : std::uint64_t{1} << 40;
      return inputs::pattern_entry({inputs::pattern_kind::zipf, 0, source.seed}, i, categories);
    }
    case key_distribution::few:
    case key_distribution::distinct100:
    case key_distribution::distinct10007:
      return inputs::mix(draw % primitives::distinct_keys(source.distribution)) & last;
    case key_distribution::nested: return (draw & last) >> inputs::mix(draw) % bits;
    case key_distribution::narrowed: return draw & inputs::mix(draw) & inputs::mix(draw + 1) & last;
    case key_distribution::normal:
    case key_distribution::lognormal:
    case key_distribution::exponential:
    case key_distribution::pareto:
    case key_distribution::timestamps:
    case key_distribution::unit:
      return inputs::whole_variate({source.distribution, source.count, source.seed + word}, i, bits);
    case key_distribution::sphere:
    case key_distribution::cities:
    case key_distribution::geohash:
    case key_distribution::quadtree:
    case key_distribution::octree:
    case key_distribution::urls:
    case key_distribution::versions:
    case key_distribution::counters: return inputs::structured_word(source.distribution, draw, i) >> (64 - bits);
  }
  return 0;
}

/// The category of record i, for keys of at most 64 bits.
SHEAF_HOST_DEVICE inline std::uint64_t category_of(const split_source& s, std::uint64_t i) { return key_word(s, i, 0); }

/// Negative, 0 or positive, as key i is below, equal to or above key j.
SHEAF_HOST_DEVICE inline int compared_keys(const split_source& s, std::uint64_t i, std::uint64_t j) {
  for (std::uint64_t w = (s.bits + 63) / 64; w-- > 0;) {
    const std::uint64_t a = key_word(s, i, w);
    const std::uint64_t b = key_word(s, j, w);
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

/// Word number `word` of key i of an array of keys: the category in the low bits of the key, random bits above.
SHEAF_HOST_DEVICE inline std::uint64_t separate_key_word(const split_source& s, std::uint64_t i, std::uint64_t word) {
  if (64 * word >= s.bits) return inputs::mix(key_word(s, i, 0) + i + word);
  const std::uint64_t part = key_word(s, i, word);
  const std::uint64_t bits_of_part = s.bits - 64 * word;
  return bits_of_part >= 64 ? part : part | inputs::mix(part + i) << bits_of_part;
}

/// The bits of record i's number that the record holds.
SHEAF_HOST_DEVICE inline std::uint64_t held_number(const split_source& s, std::uint64_t i) {
  return s.number_bits_held() == 0 ? 0 : i >> s.number_bits_dropped();
}

/// Word number `word` of record i, eight bytes.
SHEAF_HOST_DEVICE inline std::uint64_t split_record_word(const split_source& source, std::uint64_t i,
                                                         std::uint64_t word) {
  if (word < source.number_word()) return key_word(source, i, word);
  const std::uint32_t first_bit = source.number_bit();
  const std::uint64_t with_number =
      (first_bit == 0 ? 0 : key_word(source, i, source.number_word())) | held_number(source, i) << first_bit;
  return word == source.number_word() ? with_number : inputs::mix(with_number + word);
}

}  // namespace sheaf::jobs
