#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/sort/encoder.hpp"
#include "cpu/sort/in_cache.hpp"
#include "cpu/sort/words.hpp"
#include "cpu/threads/cache_hints.hpp"

// The two loops of one radix pass over memory, for one part of the words: histogram and scatter. range.hpp runs them
// for all parts with the scan between them.
namespace sheaf::cpu {

/// The bits of a word that are the digit of a pass.
struct pass_digit {
  std::uint32_t shift = 0;
  std::uint32_t bits = 1;

  std::uint64_t buckets() const noexcept { return std::uint64_t{1} << bits; }
};

/// What is known of a range of words, or of a part of one, under the mask of the key bits.
template <class Word>
struct range_properties {
  Word first = 0;
  Word last = 0;
  Word differing = 0;    ///< bits that are not the same in all words
  bool ascends = true;   ///< no word is below the one before it
  bool descends = true;  ///< every word is below the one before it

  /// Extends this to a range that follows.
  void add(const range_properties& behind) noexcept {
    differing = static_cast<Word>(differing | behind.differing | (first ^ behind.first));
    ascends = ascends && behind.ascends && last <= behind.first;
    descends = descends && behind.descends && last > behind.first;
    last = behind.last;
  }
};

static_assert(sizeof(range_properties<word128>) <= line_bytes);

/// Histogram: adds the digits of words [begin, end) to `counts`. Returns the properties of the words under the mask;
/// there must be at least one word.
template <class Word>
range_properties<Word> count_words(const word_reader<Word>& words, std::uint64_t begin, std::uint64_t end, Word mask,
                                   pass_digit digit, std::uint64_t* counts) noexcept {
  Word buffer[block_words];
  range_properties<Word> properties;
  const digit_reader<Word> bucket(digit.shift, digit.bits);
  for_each_word_block(begin, end, [&](std::uint64_t first, std::uint64_t count) {
    const Word* const block = words.read_keys(first, count, buffer);
    range_properties<Word> block_properties;
    block_properties.first = static_cast<Word>(block[0] & mask);
    block_properties.last = static_cast<Word>(block[count - 1] & mask);
    Word differing = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      differing = static_cast<Word>(differing | (block[i] ^ block[0]));
      ++counts[bucket.of(block[i])];
    }
    block_properties.differing = static_cast<Word>(differing & mask);
    if (properties.ascends) block_properties.ascends = properties_of(block, count, mask).ascends;
    if (properties.descends) block_properties.descends = descends_strictly(block, count, mask);
    if (first == begin) {
      properties = block_properties;
    } else {
      properties.add(block_properties);
    }
  });
  return properties;
}

/// Scatter: moves words [begin, end) to the buckets of their digits by the writer.
template <class Word, class Writer>
void move_words_by_digit(const word_reader<Word>& words, std::uint64_t begin, std::uint64_t end, pass_digit digit,
                         const Writer& array_writer) noexcept {
  Word buffer[block_words];
  const digit_reader<Word> bucket(digit.shift, digit.bits);
  for_each_word_block(begin, end, [&](std::uint64_t first, std::uint64_t count) {
    const Word* const block = words.read(first, count, buffer);
    const Writer writer = array_writer;
    for (std::uint64_t i = 0; i < count; ++i) writer.put(bucket.of(block[i]), block[i]);
  });
  array_writer.finish(digit.buckets());
}

}  // namespace sheaf::cpu
