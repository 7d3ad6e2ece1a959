#pragma once

#include "core/host_device.hpp"
#include "cuda/sort/words/word_sort.hpp"
#include "primitives/sort/contract.hpp"

// How the rows of a sort are encoded as words, and the extraction of keys before a sort of words.
namespace sheaf::cuda {

/// What a sort moves with a key.
enum class word_payload {
  none,        ///< nothing: the word is the whole row
  separate,    ///< values of 4 or 8 bytes (onesweep: or 16), or row numbers, in an array of their own
  row_number,  ///< the row number, in the limb below the key: it makes words distinct, and it alone is stored
};

/// Words that stand for the rows of a sort.
struct word_encoding {
  /// Most bits of a key that one round sorts by, where the key takes several: least significant bits first, each round
  /// sorts the order of the round before, as separate values.
  static constexpr std::uint32_t round_bits = 64;
  /// Most bits of a key that is sorted above its row number in one word of 16 bytes.
  static constexpr std::uint32_t most_bits_above_row_number = 96;

  std::uint32_t limbs = 0;  ///< limbs of 4 bytes in a word, 1 to 4
  word_payload payload = word_payload::none;
  bool rows_are_words = false;  ///< rows are loaded as words, and the key needs no transform
  bool is_extracted = false;    ///< bits of the key are read byte by byte and made words by a kernel of its own
  std::uint32_t key_bits = 0;   ///< bits of the key that one round sorts by
  std::uint32_t first_bit = 0;  ///< lowest bit of the key in a word that has neither an extracted key nor a row number
  std::uint32_t rounds = 1;     ///< sorts of words that the whole key takes
  bool yields_order = false;    ///< the sort yields row numbers in order: the result, or what rows are gathered by

  std::uint64_t word_bytes() const { return limbs * std::uint64_t{4}; }
  bool holds_row_number() const { return payload == word_payload::row_number; }
  /// Values or row numbers lie in an array of their own, beside the words.
  bool has_values() const { return payload == word_payload::separate; }
};

/// The encoding that cuda.sample sorts by.
word_encoding encoding_of(const primitives::sort_problem& problem);
/// The encoding that cuda.onesweep sorts by: like encoding_of, and besides, as words, unsigned rows of 4 or 8 bytes
/// alone by some of their bits, rows of 8 bytes alone by a key of 4, and keys of 4 bytes with values of 16.
word_encoding onesweep_encoding_of(const primitives::sort_problem& problem);

/// The key is one number of 4, 8, 12 or 16 bytes that is sorted by all of its bits. It and the rows are aligned to 4
/// bytes, for a number of 8 bytes to 8. So its limbs can be copied into the word. encoding_of still has numbers of 16
/// bytes extracted, unless they are whole rows and these are sorted alone. All other keys are extracted, unless rows
/// are words as they lie (rows_are_words).
bool key_is_whole_limbs(const primitives::sort_problem& problem);

/// Rows are sorted with one array of values, which are adjacent words of 4, 8 or 16 bytes, at most most_bytes.
bool has_one_value_array(const primitives::sort_problem& problem, std::uint64_t most_bytes);

/// For keys of whole limbs: sets the rows that words are read from, the target and the transform of a sort.
void set_rows_and_target(const primitives::sort_problem& problem, const word_encoding& encoding,
                         const primitives::sort_buffers& buffers, word_sort& sort);

/// The lowest bit of an extracted key of `bits` bits in its word. In one limb the key takes the highest bits. In
/// several it takes as many of the highest whole bytes as it needs, and lies at the low end of these.
SHEAF_HOST_DEVICE constexpr std::uint32_t lowest_key_bit(std::uint32_t limbs, std::uint32_t bits) {
  return 32 * limbs - (limbs == 1 ? bits : (bits + 7) / 8 * 8);
}
/// Queues the extraction of `bits` key bits from bit `low` on as words of 1, 2 or 4 limbs, for keys that are read byte
/// by byte. Word i holds these bits of row order[i], or of row i where order is null; in 4 limbs 65 to 96 bits, above
/// the number i in its lowest limb. Entries of order have order_bytes, 4 or, beside 1 and 2 limbs, 8.
void extract_words(const context& ctx, const primitives::sort_problem& problem, const primitives::sort_buffers& buffers,
                   std::uint32_t limbs, std::uint32_t low, std::uint32_t bits, const void* order,
                   std::uint64_t order_bytes, void* words);
/// The seconds that extract_words takes for all rounds of a key together.
double extraction_seconds(const primitives::sort_problem& problem, std::uint32_t rounds, std::uint64_t word_bytes,
                          const machine& machine);

}  // namespace sheaf::cuda
