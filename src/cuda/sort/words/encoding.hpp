#pragma once

#include "cuda/sort/words/word_sort.hpp"
#include "primitives/sort.hpp"

// How the rows of a sort are encoded as words, and the passes over rows that stand before and after a sort of words.
namespace sheaf::cuda {

/// What a sort moves with a key.
enum class word_payload {
  none,        ///< nothing: the word is the whole row
  separate,    ///< values of 4 or 8 bytes (onesweep: or 16), or row numbers, in an array of their own
  row_number,  ///< the row number, in the limb below the key: it makes keys distinct, and rows are gathered by it
};

/// Words that stand for the rows of a sort.
struct word_encoding {
  /// Most bits of a key in a word that also holds the row number. Longer keys are sorted in rounds, least significant
  /// bits first, each of which sorts the order of the round before by the next bits.
  static constexpr std::uint32_t most_round_bits = 96;

  std::uint32_t limbs = 0;  ///< limbs of 4 bytes in a word, 1 to 4
  word_payload payload = word_payload::none;
  bool rows_are_words = false;     ///< rows are loaded as words, and the key needs no transform
  std::uint32_t key_bits = 0;      ///< bits of the key that one round sorts by
  std::uint32_t first_bit = 0;     ///< lowest bit of the key in a word that is the row
  std::uint32_t rounds = 1;        ///< sorts of words that the whole key takes
  bool sorts_row_numbers = false;  ///< the sort yields row numbers in order, by which rows and values are gathered

  std::uint64_t word_bytes() const { return limbs * std::uint64_t{4}; }
  bool words_are_keys() const { return payload != word_payload::row_number; }
  /// Words of equal keys have to keep their order.
  bool is_stable() const { return payload == word_payload::separate; }
};

/// The encoding that cuda.msd sorts by.
word_encoding encoding_of(const primitives::sort_problem& p);
/// The encoding that cuda.onesweep sorts by, which is stable in any case; it sorts words of one or two limbs that are
/// keys, alone or with separate values, and rows of two limbs by either.
word_encoding onesweep_encoding_of(const primitives::sort_problem& p);

/// The key is one number of whole limbs and is sorted by all of its bits, so that its limbs are copied into the word.
/// Other keys are read byte by byte.
bool key_is_whole_limbs(const primitives::sort_problem& p);

/// Whether a word that is the key of a row, or the row, can be loaded and stored as one.
bool keys_are_aligned(const primitives::sort_problem& p, const word_encoding& encoding);

/// Where the limbs of words lie in the rows and values of a call.
struct word_mapping {
  word_source source;
  word_target target;
};
/// The mapping of rows whose key_is_whole_limbs.
word_mapping mapping_of(const primitives::sort_problem& p, const word_encoding& encoding,
                        const primitives::sort_buffers& b);

/// Queues the encoding of all rows as words, for keys of whole limbs.
void encode_rows(const context& ctx, const char* operation, const primitives::sort_problem& p,
                 const word_encoding& encoding, const word_mapping& mapping, void* words);
/// Queues the encoding of `bits` key bits from bit `low` on as words, for keys that are read byte by byte. Word i holds
/// these bits of row order[i], or of row i where order is null, above the number i in its lowest limb.
void encode_round_words(const context& ctx, const char* operation, const primitives::sort_problem& p,
                        const primitives::sort_buffers& b, std::uint32_t low, std::uint32_t bits, std::uint32_t limbs,
                        const std::uint32_t* order, void* words);
/// Queues the encoding of up to 32 key bits from bit `low` on: keys[i] holds these bits of row order[i], or of row i
/// where order is null. Entries of order have order_bytes, 4 or 8.
void encode_round_keys(const context& ctx, const char* operation, const primitives::sort_problem& p,
                       const primitives::sort_buffers& b, std::uint32_t low, std::uint32_t bits, const void* order,
                       std::uint32_t order_bytes, std::uint32_t* keys);
/// Queues composed[i] = first[then[i]]: the order that sorting by `first` and then by `then` comes to. Entries of
/// composed have composed_bytes, 4 or 8.
void compose_orders(const context& ctx, const char* operation, const std::uint32_t* first, const std::uint32_t* then,
                    std::uint64_t count, void* composed, std::uint64_t composed_bytes);

}  // namespace sheaf::cuda
