#pragma once

#include "primitives/sort/contract.hpp"

// Encoders turn the rows of a call into the words that the passes move, and words back into rows, a block at a time. So
// the passes are written once for all ways that keys and values lie in memory.
namespace sheaf::cpu {

/// Words in a block.
constexpr std::uint64_t block_words = 512;

/// A source of words for a pass: an encoder, or an array that holds words.
template <class Word>
class word_reader {
 public:
  /// Words [first, first + count): written to `buffer`, or where they lie if they are in memory already. `buffer` has
  /// space for count words.
  virtual const Word* read(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept = 0;
  /// Like read(), but only the key bits of the words are valid.
  virtual const Word* read_keys(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept {
    return read(first, count, buffer);
  }

 protected:
  ~word_reader() = default;
};

/// Encodes rows as words, and writes the rows that words stand for. As a reader it gives the words of the first round.
template <class Word>
class word_encoder : public word_reader<Word> {
 public:
  const Word* read(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    encode(first, count, 0, buffer);
    return buffer;
  }
  /// Encodes rows [first, first + count) with the key bits of a round.
  virtual void encode(std::uint64_t first, std::uint64_t count, std::uint32_t round, Word* to) const noexcept = 0;
  /// Replaces the key bits in `count` words by those of another round.
  virtual void encode_round(Word*, std::uint64_t /*count*/, std::uint32_t /*round*/) const noexcept {}
  /// Writes the rows of `words` to [first, first + count) of the outputs. The words may lie in the outputs themselves.
  virtual void write_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept = 0;

 protected:
  ~word_encoder() = default;
};

/// Calls body(first, count) for the blocks of [begin, end).
template <class Body>
void for_each_word_block(std::uint64_t begin, std::uint64_t end, Body body) {
  for (std::uint64_t i = begin; i < end; i += block_words) body(i, std::min(block_words, end - i));
}

/// Calls body with an unsigned number of a width of 1, 2, 4 or 8 bytes.
template <class Body>
void with_unsigned_of(std::uint64_t bytes, Body body) {
  switch (bytes) {
    case 1: return body(std::uint8_t{});
    case 2: return body(std::uint16_t{});
    case 4: return body(std::uint32_t{});
    default: return body(std::uint64_t{});
  }
}

/// Writes numbers to entries [first, first + count) of the index that a sort returns.
template <class NumberOf>
void write_numbers(const primitives::sort_problem& p, const primitives::sort_buffers& b, std::uint64_t first,
                   std::uint64_t count, NumberOf number_of) {
  with_unsigned_of(bytes(p.index), [&](auto number) {
    using entry = decltype(number);
    entry* const to = static_cast<entry*>(b.index.data) + first;
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<entry>(number_of(i));
  });
}

}  // namespace sheaf::cpu
