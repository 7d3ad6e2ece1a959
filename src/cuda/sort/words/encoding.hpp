#pragma once

#include "cuda/sort/words/word_sort.hpp"
#include "primitives/sort.hpp"

// In what shape the rows of a sort are sorted on the device.
namespace sheaf::cuda {

/// What the lowest limbs of a word are.
enum class word_payload {
  none,        ///< rows are their own keys
  values,      ///< the rest of the row and the values
  separate,    ///< none: values of 4 or 8 bytes move in an array of their own, or the numbers of rows do
  row_number,  ///< the row's number: it makes equal keys differ in order, and what is wide is gathered by it
};

/// Words that stand for the rows. Keys of more bits than a word has beside the number are sorted in rounds, the lowest
/// bits first.
struct word_encoding {
  static constexpr std::uint32_t most_number_bits = 96;  ///< of a key beside a row's number

  std::uint32_t limbs = 0;  ///< of 4 bytes; 0: there is no such form
  word_payload payload = word_payload::none;
  bool is_plain = false;     ///< rows are words as they lie
  bool is_numbered = false;  ///< the limb below the key is the row's number: equal keys differ, and no pass need keep
                             ///< an order
  std::uint32_t key_bits = 0;
  std::uint32_t first_bit = 0;  ///< of the key in a plain word
  std::uint32_t rounds = 1;
  bool sorts_numbers = false;  ///< the result is an order of rows

  std::uint64_t word_bytes() const { return limbs * std::uint64_t{4}; }
  /// Values come along, and rows of equal keys keep their order.
  bool ordered() const { return payload == word_payload::values || payload == word_payload::separate; }
  /// The lowest bit that is sorted by.
  std::uint32_t key_low() const { return payload == word_payload::values ? limbs * 32 - key_bits : first_bit; }
};

word_encoding encoding_of(const primitives::sort_problem& p);
/// For sorts from the lowest digit up, of words of one limb, whose order is kept in any case; limbs is another number
/// where there is none.
word_encoding onesweep_encoding_of(const primitives::sort_problem& p);

/// A single field that is a number of whole limbs, by all of its bits: its limbs of the word are copied. Else keys are
/// read byte by byte.
bool has_simple_key(const primitives::sort_problem& p);

struct word_route {
  word_source from;
  word_target to;
};
/// For rows whose key is simple.
word_route route_of(const primitives::sort_problem& p, const word_encoding& form, const primitives::sort_buffers& b);

/// Queues the making of words of rows.
void make_words(const context& ctx, const char* what, const primitives::sort_problem& p, const word_encoding& form,
                const word_route& route, void* words);
/// The same of a round's bits of keys that are read byte by byte: of row order[i], or i without an order, which is also
/// the number that the word ends in.
void make_round_words(const context& ctx, const char* what, const primitives::sort_problem& p,
                      const primitives::sort_buffers& b, std::uint32_t low, std::uint32_t bits, std::uint32_t limbs,
                      const std::uint32_t* order, void* words);
/// The same as keys of 32 bits by themselves, with numbers of rows of 4 or 8 bytes.
void make_round_keys(const context& ctx, const char* what, const primitives::sort_problem& p,
                     const primitives::sort_buffers& b, std::uint32_t low, std::uint32_t bits, const void* order,
                     std::uint32_t order_bytes, std::uint32_t* keys);
/// to[i] = order[place[i]], in entries of 4 or 8 bytes.
void follow_order(const context& ctx, const char* what, const std::uint32_t* order, const std::uint32_t* place,
                  std::uint64_t count, void* to, std::uint64_t to_bytes);

/// Queues the gathers of rows and values that an order of rows asks for.
void gather_by_order(const context& ctx, const primitives::sort_problem& p, const primitives::sort_buffers& b,
                     index_span order);

}  // namespace sheaf::cuda
