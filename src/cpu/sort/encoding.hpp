#pragma once

#include "cpu/sort/words.hpp"
#include "primitives/sort/contract.hpp"

namespace sheaf::cpu {

/// What the words of a sort hold.
enum class word_content : std::uint8_t {
  row,              ///< a row of one word; its key is a field of the word
  key_and_payload,  ///< the key's number and one value or row of up to 8 bytes, which lie in two arrays between passes
  key_and_index,    ///< the leading bits of the key's number and the row's number
};

/// Most rounds of a sort: a word of 128 bits has 64 or more bits for the key.
constexpr std::uint32_t most_rounds = sort_key::most_bits / 64;

/// How the rows of a sort are encoded as words. Keys that are longer than a word has bits for are sorted in rounds:
/// words that are still equal are encoded again with the key's next bits.
struct word_encoding {
  word_content content = word_content::key_and_index;
  std::uint32_t word_bytes = 0;      ///< width of a word: 1, 2, 4, 8 or 16
  std::uint32_t lowest_key_bit = 0;  ///< first bit of a word that belongs to the key
  std::uint32_t key_bits = 0;        ///< number of bits of a word that belong to the key
  std::uint32_t rounds = 1;          ///< number of rounds that cover the key
  std::uint32_t key_bytes = 0;       ///< key_and_payload: width of the key in its array, 4 or 8
  std::uint32_t payload_bytes = 0;   ///< key_and_payload: width of the payload in its array, 4 or 8
  bool payload_is_row = false;       ///< the payload is the row; otherwise it is column 0
  bool out_holds_words = false;      ///< the outputs can hold words until rows are written there

  /// Bytes that a word takes in memory between passes.
  std::uint64_t stored_bytes() const noexcept {
    return content == word_content::key_and_payload ? key_bytes + payload_bytes : word_bytes;
  }
};

word_encoding encoding_of(const primitives::sort_problem& problem) noexcept;
/// With row numbers, whatever the rows hold.
word_encoding index_encoding_of(const primitives::sort_problem& problem) noexcept;

/// Whether the key is the whole row, so that the key's number determines the row.
bool key_is_row(const primitives::sort_problem& problem) noexcept;

/// Whether words of key and row number hold the whole row in their key's bits, so that rows need not be gathered.
bool words_hold_rows(const primitives::sort_problem& problem, const word_encoding& encoding) noexcept;

}  // namespace sheaf::cpu
