#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/harness/items.hpp"
#include "bench/primitives/split_keys.hpp"

// What over_items() runs to fill the arrays of a split and to check its answers.
namespace sheaf::bench {

/// The eight bytes of a record from 8 * word on, as far as it reaches; it reaches there.
SHEAF_HOST_DEVICE inline std::uint64_t load_word(const std::byte* record, std::uint64_t record_bytes,
                                                 std::uint64_t word) {
  const std::uint64_t left = record_bytes - 8 * word;
  std::uint64_t value = 0;
  if (left >= 8) {  // in a loop of its own, which compilers make one access of
    for (std::uint64_t b = 0; b < 8; ++b) {
      value |= std::uint64_t{static_cast<unsigned char>(record[8 * word + b])} << (8 * b);
    }
    return value;
  }
  for (std::uint64_t b = 0; b < left; ++b) {
    value |= std::uint64_t{static_cast<unsigned char>(record[8 * word + b])} << (8 * b);
  }
  return value;
}

SHEAF_HOST_DEVICE inline void store_word(std::byte* record, std::uint64_t record_bytes, std::uint64_t word,
                                         std::uint64_t value) {
  const std::uint64_t left = record_bytes - 8 * word;
  if (left >= 8) {
    for (std::uint64_t b = 0; b < 8; ++b) record[8 * word + b] = static_cast<std::byte>(value >> (8 * b));
    return;
  }
  for (std::uint64_t b = 0; b < left; ++b) record[8 * word + b] = static_cast<std::byte>(value >> (8 * b));
}

/// Bits of a word that lie in a record of so many bytes.
SHEAF_HOST_DEVICE inline std::uint64_t within(std::uint64_t record_bytes, std::uint64_t word, std::uint64_t value) {
  const std::uint64_t left = record_bytes > 8 * word ? record_bytes - 8 * word : 0;
  return low_bits(value, static_cast<std::uint32_t>(left < 8 ? 8 * left : 64));
}

struct fill_split_records {
  split_source source;
  std::byte* records;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    for (std::uint64_t word = 0; 8 * word < source.record_bytes; ++word) {
      store_word(records + i * source.record_bytes, source.record_bytes, word, split_record_word(source, i, word));
    }
    return {};
  }
};

struct fill_split_keys {
  split_source source;
  std::byte* keys;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    store_word(keys + i * source.key_bytes, source.key_bytes, 0, apart_key(source, i));
    return {};
  }
};

/// Offsets that say where categories begin, looked at from position i of the result, whose category is known, as is
/// that of the position before.
struct offset_check {
  const std::uint64_t* offsets;  ///< null: not checked
  std::uint64_t categories;
  std::uint64_t count;

  SHEAF_HOST_DEVICE std::uint64_t mismatches(std::uint64_t i, std::uint64_t before, std::uint64_t category) const {
    if (offsets == nullptr) return 0;
    if (category >= categories || (i > 0 && before > category)) return 1;
    std::uint64_t wrong = 0;
    for (std::uint64_t c = i == 0 ? 0 : before + 1; c <= category; ++c) wrong += offsets[c] != i;
    if (i + 1 < count) return wrong;
    for (std::uint64_t c = category + 1; c <= categories; ++c) wrong += offsets[c] != count;
    return wrong;
  }
};

/// Position i of split records: not before the one ahead of it, and a record of the input. The sums of what came out
/// and of what went in cancel out where no record is missing and none is there twice.
struct check_split_records {
  split_source source;
  const std::byte* records;
  bool stable;
  offset_check offsets;

  SHEAF_HOST_DEVICE std::uint64_t word(std::uint64_t i, std::uint64_t w) const {
    return load_word(records + i * source.record_bytes, source.record_bytes, w);
  }
  SHEAF_HOST_DEVICE std::uint64_t number(std::uint64_t i) const {
    return source.number_room() == 0 ? 0 : word(i, source.number_word()) >> source.number_bit();
  }
  /// The 64 bits of the key from 64 * w on; keys apart are known by their record's number.
  SHEAF_HOST_DEVICE std::uint64_t key(std::uint64_t i, std::uint64_t w) const {
    if (source.key_bytes != 0) return key_word(source, number(i), w);
    return w < source.number_word() ? word(i, w) : low_bits(word(i, w), source.number_bit());
  }
  /// Below, at and above 0: the key of position i against that of position j.
  SHEAF_HOST_DEVICE int compared(std::uint64_t i, std::uint64_t j) const {
    for (std::uint64_t w = (source.bits + 63) / 64; w-- > 0;) {
      const std::uint64_t a = key(i, w);
      const std::uint64_t b = key(j, w);
      if (a != b) return a < b ? -1 : 1;
    }
    return 0;
  }
  SHEAF_HOST_DEVICE bool is_of_the_input(std::uint64_t i) const {
    const std::uint64_t n = number(i);
    const bool whole_number = source.number_room() != 0 && source.number_bits_dropped() == 0;
    if (whole_number && n >= source.count) return false;
    bool same = true;
    for (std::uint64_t w = 0; 8 * w < source.record_bytes; ++w) {
      // Of a number in part, the words behind it still follow from it.
      if (!whole_number && w <= source.number_word()) continue;
      const std::uint64_t expected =
          whole_number ? split_record_word(source, n, w) : inputs::mix(word(i, source.number_word()) + w);
      same = same && word(i, w) == within(source.record_bytes, w, expected);
    }
    return same;
  }
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    tally t;
    t.mismatches += is_of_the_input(i) ? 0 : 1;
    if (i > 0) {
      const int order = compared(i - 1, i);
      const bool in_turn = !stable || source.number_room() == 0 ||
                           (source.number_bits_dropped() == 0 ? number(i - 1) < number(i) : number(i - 1) <= number(i));
      if (order > 0 || (order == 0 && !in_turn)) ++t.mismatches;
    }
    t.mismatches += offsets.mismatches(i, i == 0 ? 0 : key(i - 1, 0), key(i, 0));
    for (std::uint64_t w = 0; w <= source.number_word() && 8 * w < source.record_bytes; ++w) {
      const std::uint64_t went_in = within(source.record_bytes, w, split_record_word(source, i, w));
      t.sum += inputs::mix(word(i, w) + w) - inputs::mix(went_in + w);
    }
    return t;
  }
};

SHEAF_HOST_DEVICE inline std::uint64_t load_index(const std::byte* index, std::uint64_t index_bytes, std::uint64_t i) {
  return load_word(index + i * index_bytes, index_bytes, 0);
}

/// Position i of a gather index: numbers ascend within a category, so that all of them are there once.
struct check_gather_index {
  split_source source;
  const std::byte* index;
  std::uint64_t index_bytes;
  offset_check offsets;

  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    tally t;
    const std::uint64_t number = load_index(index, index_bytes, i);
    if (number >= source.count) return {1, 0};
    const std::uint64_t category = category_of(source, number);
    std::uint64_t before = 0;
    if (i > 0) {
      const std::uint64_t previous = load_index(index, index_bytes, i - 1);
      if (previous >= source.count) return {1, 0};
      before = category_of(source, previous);
      if (before > category || (before == category && previous >= number)) ++t.mismatches;
    }
    t.mismatches += offsets.mismatches(i, before, category);
    return t;
  }
};

/// Makes a gather index of a scatter index. `gather` holds no number below count before: what a scatter index that is
/// no permutation leaves out is found then.
struct invert_index {
  const std::byte* scatter;
  std::byte* gather;
  std::uint64_t index_bytes;
  std::uint64_t count;

  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t place = load_index(scatter, index_bytes, i);
    if (place >= count) return {1, 0};
    store_word(gather + place * index_bytes, index_bytes, 0, i);
    return {};
  }
};

/// Every byte 0xff.
struct fill_ones {
  std::byte* bytes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    bytes[i] = std::byte{0xff};
    return {};
  }
};

}  // namespace sheaf::bench
