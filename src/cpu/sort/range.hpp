#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/sort/pass.hpp"
#include "cpu/threads/parts.hpp"

// The steps of a sort over a range of its words, each done for all parts of the range in parallel.
namespace sheaf::cpu {

struct word_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const noexcept { return end - begin; }
  word_range part(std::uint64_t parts, std::uint64_t number) const noexcept {
    return {begin + part_begin(size(), parts, number), begin + part_begin(size(), parts, number + 1)};
  }
};

/// Scratch of a pass over a range.
template <class Word>
struct pass_scratch {
  std::uint64_t* starts;               ///< entries of the bucket_table
  std::uint64_t* cursors;              ///< the parts' cursors, as many as the table has entries
  std::byte* buffers;                  ///< the parts' write-combining buffers
  range_properties<Word>* properties;  ///< properties of each part's words
};

/// Histograms of a range, one for each part, in tables.starts. Returns the properties of the range's words under the
/// mask.
template <class Word>
range_properties<Word> count_range(const word_reader<Word>& words, word_range range, std::uint64_t parts, Word mask,
                                   pass_digit digit, const pass_scratch<Word>& tables) {
  for_each_part(parts, [&](std::uint64_t part) {
    const word_range part_words = range.part(parts, part);
    std::uint64_t* const counts = tables.starts + part * digit.buckets();
    std::fill_n(counts, digit.buckets(), std::uint64_t{0});
    tables.properties[part] = count_words(words, part_words.begin, part_words.end, mask, digit, counts);
  });
  for (std::uint64_t part = 1; part < parts; ++part) tables.properties[0].add(tables.properties[part]);
  return tables.properties[0];
}

/// Scans the histograms of a range and moves its words, grouped by digit, to the same range of an array. The first row
/// of the table that it returns has the start of each bucket in the range.
template <class Word, class Array>
bucket_table move_range(const word_reader<Word>& words, word_range range, std::uint64_t parts, pass_digit digit,
                        const pass_scratch<Word>& tables, const Array& to, bool streams) {
  const std::uint64_t buckets = digit.buckets();
  const bucket_table starts(tables.starts, parts, buckets);
  starts.scan();
  const Array target = to.from_word(range.begin);
  for_each_part(parts, [&](std::uint64_t part) {
    const word_range part_words = range.part(parts, part);
    const typename Array::writer writer(target, tables.buffers + part * buckets * Array::buffer_bytes_per_bucket,
                                        tables.cursors + part * buckets, starts.row(part), buckets, streams);
    move_words_by_digit(words, part_words.begin, part_words.end, digit, writer);
  });
  return starts;
}

/// Writes the rows of the words of a range, which are in properties.
template <class Word>
void write_range(const word_encoder<Word>& encoder, const word_reader<Word>& words, word_range range,
                 std::uint64_t parts) {
  for_each_part(parts, [&](std::uint64_t part) {
    const word_range part_words = range.part(parts, part);
    for_each_word_block(part_words.begin, part_words.end, [&](std::uint64_t first, std::uint64_t count) {
      Word buffer[block_words];
      encoder.write_rows(first, count, words.read(first, count, buffer));
    });
  });
}

/// Writes the rows of the words of a range from the last word to the first.
template <class Word>
void write_range_reversed(const word_encoder<Word>& encoder, const word_reader<Word>& words, word_range range,
                          std::uint64_t parts) {
  for_each_part(parts, [&](std::uint64_t part) {
    const word_range part_words = range.part(parts, part);
    for_each_word_block(part_words.begin, part_words.end, [&](std::uint64_t first, std::uint64_t count) {
      Word buffer[block_words];
      Word reversed[block_words];
      const Word* const read = words.read(range.begin + range.end - first - count, count, buffer);
      std::reverse_copy(read, read + count, reversed);
      encoder.write_rows(first, count, reversed);
    });
  });
}

/// Writes rows in input order for as long as they are in order; returns false if they are not. For 2^22 keys of 8 bytes
/// that are in order this takes a seventh less process time than counting them first.
template <class Word>
bool write_while_in_order(const word_encoder<Word>& encoder, word_range range, std::uint64_t parts, Word mask,
                          range_properties<Word>* part_properties) {
  for_each_part(parts, [&](std::uint64_t part) {
    const word_range part_words = range.part(parts, part);
    range_properties<Word>& properties = part_properties[part];
    properties = {};
    for_each_word_block(part_words.begin, part_words.end, [&](std::uint64_t first, std::uint64_t count) {
      if (!properties.ascends) return;
      Word buffer[block_words];
      const Word* const words = encoder.read(first, count, buffer);
      const bool is_first = first == part_words.begin;
      if (is_first) properties.first = static_cast<Word>(words[0] & mask);
      properties.ascends =
          (is_first || properties.last <= static_cast<Word>(words[0] & mask)) && ascends_throughout(words, count, mask);
      properties.last = static_cast<Word>(words[count - 1] & mask);
      if (properties.ascends) encoder.write_rows(first, count, words);
    });
  });
  for (std::uint64_t part = 1; part < parts; ++part) part_properties[0].add(part_properties[part]);
  return part_properties[0].ascends;
}

}  // namespace sheaf::cpu
