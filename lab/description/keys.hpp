#pragma once

#include <sheaf/split.hpp>

#include "lab/description/row_name.hpp"
#include "primitives/sort/key.hpp"

// Keys of sorts and splits: what a problem says of them, and how options give them.
namespace sheaf::primitives {

/// The part of a problem that sorts and splits share.
struct key_part {
  key_distribution keys = key_distribution::uniform;
  std::uint32_t bits = 8;       ///< bits of the key that decide; a split by more than 96 takes several calls
  std::uint32_t first_bit = 0;  ///< lowest bit of the key that decides
  key_type number = key_type::unsigned_integer;
};

/// Reads "0:10", "8:4:f", "8:4:f:desc": OFFSET:BYTES[:TYPE][:asc|desc] with TYPE u, i, f or bytes. Fields that give
/// no direction take that of `descending`. @throws error(bad_argument)
key_field parse_key_field(std::string_view text, bool descending);
/// The text that parse_key_field reads as this field: "8:4:f:desc".
std::string text_of(const key_field& field);

/// The key of such texts, the first one most significant. @throws error(bad_argument) for a text that is not a field,
/// a field outside the row, or too long a key; `rows` is what the message calls the rows.
sort_key key_of_texts(std::span<const std::string> texts, std::uint64_t row_bytes, bool descending,
                      std::string_view rows = "records");

/// The layout of a checked key, from which keys are encoded as numbers.
key_layout layout_of(const sort_key& key);

/// The type of a written index, by the width of its entries. Refuses another width.
void read_written_index(const name_part& type, problem_spec& problem);

/// Reads "5:11": OFFSET:BITS, the bits that are the category of a record. @throws error(bad_argument)
bit_field parse_bit_field(std::string_view text);

}  // namespace sheaf::primitives
