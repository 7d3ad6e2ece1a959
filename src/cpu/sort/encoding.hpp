#pragma once

#include <cstdint>

#include "cpu/sort/words.hpp"
#include "primitives/sort.hpp"

namespace sheaf::cpu {

/// What the words of a sort hold beside the key.
enum class sort_moves : std::uint8_t {
  rows,     ///< a row of one word, whose bits are the key
  payload,  ///< the key's number, and one value or row of up to 8 bytes; each in an array of its own
  index,    ///< the first bits of the key's number, and the row's number below them
};

/// Words of 128 bits have 64 or more for the key.
constexpr std::uint32_t most_rounds = sort_key::most_bits / 64;

/// How a sort is put into words.
struct sort_shape {
  sort_moves moves = sort_moves::index;
  std::uint32_t word_bytes = 0;     ///< 1, 2, 4, 8 or 16
  std::uint32_t key_low = 0;        ///< first bit of a word that it compares by
  std::uint32_t key_bits = 0;       ///< how many
  std::uint32_t rounds = 1;         ///< how often words are made anew to tell apart rows whose bits so far are equal
  std::uint32_t key_bytes = 0;      ///< in memory, of payload: 4 or 8
  std::uint32_t payload_bytes = 0;  ///< 4 or 8
  bool payload_is_row = false;      ///< else column 0
  bool out_holds_words = false;     ///< whether the output can hold words, before rows are written there

  /// Bytes that a word takes in memory.
  std::uint64_t stored_bytes() const noexcept {
    return moves == sort_moves::payload ? key_bytes + payload_bytes : word_bytes;
  }
};

sort_shape shape_of(const primitives::sort_problem& p) noexcept;

/// Whether the key is all of a row: then the number says the row.
bool key_is_row(const primitives::sort_problem& p) noexcept;

}  // namespace sheaf::cpu
