#pragma once

#include "apps/sheaf/files/npy.hpp"
#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/sort/row_order.hpp"
#include "lab/description/keys.hpp"

// Reads the keys and sizes among the arguments of sort; and the columns that arrays are sorted by: numbers, dates and
// strings of their types, and fields of structures by name.
namespace sheaf::jobs {

using primitives::key_of_texts;
using primitives::layout_of;
using primitives::parse_key_field;
using primitives::text_of;

/// Elements of one type in a row.
struct row_part {
  io::npy_field field;
  bool descending = false;
};

/// Whether a --key says where bytes lie, as OFFSET:BYTES does: it begins with digits and a colon. What does not is the
/// name of a field.
bool is_key_place(std::string_view text);

/// The field of that name in the rows of an array of structures; none where it has none.
/// @throws error(bad_input) if a row is several structures
std::optional<io::npy_field> field_of_rows(const io::record_file& file, std::string_view name);

/// The row as a part: a number, date or string.
row_part whole_row(const io::record_file& file, bool descending);
/// The field that a --key names: NAME or NAME:asc or NAME:desc. A field that is called all of that comes first.
/// @throws error(bad_argument) if the array has no such field, with the names that it has
row_part named_field(const io::record_file& file, std::string_view text, bool descending);

/// Appends the columns of a part in order: one for each number, so that several side by side compare one by one, as the
/// fields of a structure do.
/// @throws error(bad_input) for a type without an order
void append_columns(std::vector<order_column>& columns, const io::record_file& file, const row_part& part);

/// The order of a file's records: by the key of the texts, or without any that of the numbers, dates or strings of a
/// one-dimensional array. @throws error(bad_argument) for texts that are not a key of the records, error(bad_input)
/// for arrays that need such texts.
row_order order_of_file(const io::record_file& file, std::uint64_t record_bytes, std::span<const std::string> texts,
                        bool descending);

/// "65536", "512M", "1.5 GiB", "100mb": K, M, G and T, also with iB, are powers of 1024, with B of 1000. A fraction is
/// rounded down to bytes. @throws error(bad_argument) naming the text
std::uint64_t parse_byte_size(std::string_view text);

}  // namespace sheaf::jobs
