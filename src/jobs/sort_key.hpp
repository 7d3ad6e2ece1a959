#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sheaf/sort.hpp>

#include "io/record_file.hpp"
#include "primitives/sort_key.hpp"

// Reads the keys and sizes among the arguments of sort.
namespace sheaf::jobs {

/// "0:10", "8:4:f", "8:4:f:desc": OFFSET:BYTES[:TYPE][:asc|desc] with TYPE u, i, f or bytes. Fields that give
/// no direction take that of `descending`. @throws error(bad_argument)
key_field parse_key_field(std::string_view text, bool descending);

/// The key of such fields, the first one most significant. @throws error(bad_argument) for a text that is no field, a
/// field outside the record, or too long a key; `rows` is what the message calls the records.
sort_key key_of_texts(std::span<const std::string> texts, std::uint64_t record_bytes, bool descending,
                      std::string_view rows = "records");

/// The text that parse_key_field reads as this field: "8:4:f:desc".
std::string text_of(const key_field& field);

/// The key of a file's records: that of the texts, or without any the numbers or strings of a one-dimensional array.
/// @throws error(bad_argument) for texts that are no key of the records, error(bad_input) for arrays that need such
/// texts.
sort_key key_of_file(const io::record_file& file, std::uint64_t record_bytes, std::span<const std::string> texts,
                     bool descending);

/// The layout of a checked key, from which keys are encoded as numbers.
primitives::key_layout layout_of(const sort_key& key);

/// "65536", "512M", "1G": K, M, G and T are powers of 1024. @throws error(bad_argument)
std::uint64_t parse_byte_size(std::string_view text);

}  // namespace sheaf::jobs
