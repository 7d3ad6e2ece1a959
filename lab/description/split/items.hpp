#pragma once

#include "lab/description/items.hpp"
#include "lab/description/split/source.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill the arrays of a split and check its answers.
namespace sheaf::jobs {

/// Word number `word` of a record, eight bytes, or fewer at its end. The record has to reach into that word.
SHEAF_HOST_DEVICE inline std::uint64_t load_word(const std::byte* record, std::uint64_t record_bytes,
                                                 std::uint64_t word) {
  const std::uint64_t bytes_left = record_bytes - 8 * word;
  std::uint64_t value = 0;
  if (bytes_left >= 8) {  // a loop of constant length, which compilers turn into one load
    for (std::uint64_t b = 0; b < 8; ++b) {
      value |= std::uint64_t{static_cast<unsigned char>(record[8 * word + b])} << (8 * b);
    }
    return value;
  }
  for (std::uint64_t b = 0; b < bytes_left; ++b) {
    value |= std::uint64_t{static_cast<unsigned char>(record[8 * word + b])} << (8 * b);
  }
  return value;
}

SHEAF_HOST_DEVICE inline void store_word(std::byte* record, std::uint64_t record_bytes, std::uint64_t word,
                                         std::uint64_t value) {
  const std::uint64_t bytes_left = record_bytes - 8 * word;
  if (bytes_left >= 8) {
    for (std::uint64_t b = 0; b < 8; ++b) record[8 * word + b] = static_cast<std::byte>(value >> (8 * b));
    return;
  }
  for (std::uint64_t b = 0; b < bytes_left; ++b) record[8 * word + b] = static_cast<std::byte>(value >> (8 * b));
}

/// The bits of word number `word` that belong to a record of this width; the others are 0.
SHEAF_HOST_DEVICE inline std::uint64_t within(std::uint64_t record_bytes, std::uint64_t word, std::uint64_t value) {
  const std::uint64_t bytes_left = record_bytes > 8 * word ? record_bytes - 8 * word : 0;
  return low_bits(value, static_cast<std::uint32_t>(bytes_left < 8 ? 8 * bytes_left : 64));
}

/// Fills records of a source, of which WordOf says each word.
template <class Source, std::uint64_t (*WordOf)(const Source&, std::uint64_t, std::uint64_t)>
struct fill_words {
  Source source;
  std::byte* records;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    for (std::uint64_t word = 0; 8 * word < source.record_bytes; ++word) {
      store_word(records + i * source.record_bytes, source.record_bytes, word, WordOf(source, i, word));
    }
    return {};
  }
};

using fill_split_records = fill_words<split_source, split_record_word>;

struct fill_split_keys {
  split_source source;
  std::byte* keys;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    for (std::uint64_t word = 0; 8 * word < source.key_bytes; ++word) {
      store_word(keys + i * source.key_bytes, source.key_bytes, word, separate_key_word(source, i, word));
    }
    return {};
  }
};

/// Checks the offsets of categories from position i of the output, given the categories of positions i and i - 1.
struct offset_check {
  const std::uint64_t* offsets;  ///< first position of each category, and the count; null where they are not checked
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

/// Checks that record i of the output is a record of the input and that its category is not below that of record i - 1.
/// The checksums of output and input records cancel out in the sum if the output is a permutation of the input.
struct check_split_records {
  split_source source;
  const std::byte* records;
  bool stable;
  offset_check offsets;

  SHEAF_HOST_DEVICE std::uint64_t word(std::uint64_t i, std::uint64_t w) const {
    return load_word(records + i * source.record_bytes, source.record_bytes, w);
  }
  SHEAF_HOST_DEVICE std::uint64_t number(std::uint64_t i) const {
    return source.number_bits_held() == 0 ? 0 : word(i, source.number_word()) >> source.number_bit();
  }
  /// Bits 64 * w to 64 * w + 63 of the key. A key in an array of its own follows from the record's number.
  SHEAF_HOST_DEVICE std::uint64_t key(std::uint64_t i, std::uint64_t w) const {
    if (source.key_bytes != 0) return key_word(source, number(i), w);
    return w < source.number_word() ? word(i, w) : low_bits(word(i, w), source.number_bit());
  }
  /// Negative, 0 or positive, as the key of position i is below, equal to or above the key of position j.
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
    const bool whole_number = source.number_bits_held() != 0 && source.number_bits_dropped() == 0;
    if (whole_number && n >= source.count) return false;
    bool same = true;
    for (std::uint64_t word_index = 0; 8 * word_index < source.record_bytes; ++word_index) {
      // If the record holds only the high bits of its number, only the words behind them can be checked.
      if (!whole_number && word_index <= source.number_word()) continue;
      const std::uint64_t expected = whole_number ? split_record_word(source, n, word_index)
                                                  : inputs::mix(word(i, source.number_word()) + word_index);
      same = same && word(i, word_index) == within(source.record_bytes, word_index, expected);
    }
    return same;
  }
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    tally tally;
    tally.mismatches += is_of_the_input(i) ? 0 : 1;
    if (i > 0) {
      const int order = compared(i - 1, i);
      const bool in_turn = !stable || source.number_bits_held() == 0 ||
                           (source.number_bits_dropped() == 0 ? number(i - 1) < number(i) : number(i - 1) <= number(i));
      if (order > 0 || (order == 0 && !in_turn)) ++tally.mismatches;
    }
    tally.mismatches += offsets.mismatches(i, i == 0 ? 0 : key(i - 1, 0), key(i, 0));
    for (std::uint64_t w = 0; w <= source.number_word() && 8 * w < source.record_bytes; ++w) {
      const std::uint64_t went_in = within(source.record_bytes, w, split_record_word(source, i, w));
      tally.sum += inputs::mix(word(i, w) + w) - inputs::mix(went_in + w);
    }
    return tally;
  }
};

SHEAF_HOST_DEVICE inline std::uint64_t load_index(const std::byte* index, std::uint64_t index_bytes, std::uint64_t i) {
  return load_word(index + i * index_bytes, index_bytes, 0);
}

/// Checks entry i of a gather index: categories ascend, and record numbers ascend within a category. The order is
/// strict, which also proves that the index is a permutation.
struct check_gather_index {
  split_source source;
  const std::byte* index;
  std::uint64_t index_bytes;
  offset_check offsets;

  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    tally tally;
    const std::uint64_t number = load_index(index, index_bytes, i);
    if (number >= source.count) return {1, 0};
    const std::uint64_t category = category_of(source, number);
    std::uint64_t before = 0;
    if (i > 0) {
      const std::uint64_t previous = load_index(index, index_bytes, i - 1);
      if (previous >= source.count) return {1, 0};
      before = category_of(source, previous);
      const int order = compared_keys(source, previous, number);
      if (order > 0 || (order == 0 && previous >= number)) ++tally.mismatches;
    }
    tally.mismatches += offsets.mismatches(i, before, category);
    return tally;
  }
};

/// Inverts a scatter index into a gather index. `gather` must hold no number below count before, so that an entry that
/// the scatter index does not name is found out.
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

/// Sets every byte to 0xff.
struct fill_ones {
  std::byte* bytes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    bytes[i] = std::byte{0xff};
    return {};
  }
};

// Function objects for over_items() that fill the arrays of a multi_split and check its answer. Every record has as
// many memberships as any other, or one more.

struct membership_source {
  split_source categories;  ///< the category of membership e is that of record e of a split
  std::uint64_t entries = 0;
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t seed = 1;  ///< of the records' bytes

  SHEAF_HOST_DEVICE std::uint64_t first_of(std::uint64_t record) const {
    if (records == 0) return 0;
    const std::uint64_t longer = entries % records;
    return record * (entries / records) + (record < longer ? record : longer);
  }
  SHEAF_HOST_DEVICE std::uint64_t record_of(std::uint64_t entry) const {
    const std::uint64_t length = entries / records;
    const std::uint64_t in_longer = entries % records * (length + 1);
    return entry < in_longer ? entry / (length + 1) : entries % records + (entry - in_longer) / length;
  }
  SHEAF_HOST_DEVICE static std::uint64_t weight(std::uint64_t category, std::uint64_t record) {
    return inputs::mix(inputs::mix(category) + record);
  }
};

struct fill_first {
  membership_source source;
  std::uint64_t* first;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t record) const {
    first[record] = source.first_of(record);
    return {};
  }
};

struct fill_categories {
  membership_source source;
  std::uint32_t* categories;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    categories[entry] = static_cast<std::uint32_t>(category_of(source.categories, entry));
    return {};
  }
};

/// Checks that categories begin where the one before ends, the first at 0 and the last before `count`.
struct check_ascending_offsets {
  const std::uint64_t* offsets;
  std::uint64_t categories;
  std::uint64_t count;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t c) const {
    std::uint64_t wrong = offsets[c] > offsets[c + 1];
    if (c == 0) wrong += offsets[0] != 0;
    if (c + 1 == categories) wrong += offsets[categories] != count;
    return {wrong, 0};
  }
};

/// Checks that record i of the output is the one that sources[i] names and that the numbers of a category ascend. The
/// checksums of pairs of category and record cancel out in the sum if the output has the memberships of the input.
struct check_members {
  membership_source source;
  const std::byte* records;
  const std::byte* sources;
  std::uint64_t source_bytes;
  const std::uint64_t* offsets;  ///< ascending from 0 to the number of entries
  std::uint64_t categories;

  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t number = load_index(sources, source_bytes, i);
    if (number >= source.records) return {1, 0};
    tally tally;
    for (std::uint64_t w = 0; 8 * w < source.record_bytes; ++w) {
      const std::uint64_t found = load_word(records + i * source.record_bytes, source.record_bytes, w);
      tally.mismatches += found != within(source.record_bytes, w, inputs::record_word(source.seed, number, w));
    }
    const std::uint64_t category = part_at(offsets, categories, i);
    if (i > offsets[category]) tally.mismatches += load_index(sources, source_bytes, i - 1) > number;
    tally.sum = membership_source::weight(category, number) -
                membership_source::weight(jobs::category_of(source.categories, i), source.record_of(i));
    return tally;
  }
};

}  // namespace sheaf::jobs
