#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sheaf/sort.hpp>

#include "io/record_file.hpp"
#include "primitives/sort_key.hpp"

// What sort's arguments say of keys and sizes.
namespace sheaf::jobs {

/// "0:10", "8:4:f", "8:4:f:desc": OFFSET:BYTES[:TYPE][:asc|desc] with TYPE u, i, f or bytes. Fields that do not say how
/// they run do so as `descending` says. @throws error(bad_argument)
key_field parse_key_field(std::string_view text, bool descending);

/// The key that such texts say, the first deciding. @throws error(bad_argument) for one that is no field, lies outside
/// a record or makes the key too long; `rows` is what the message calls the records.
sort_key key_of_texts(std::span<const std::string> texts, std::uint64_t record_bytes, bool descending,
                      std::string_view rows = "records");

/// The field as parse_key_field reads it: "8:4:f:desc".
std::string text_of(const key_field& field);

/// The key of a file's records: what the texts say, else the numbers or strings of an array of one dimension.
/// @throws error(bad_argument) for keys that are none or lie outside a record, error(bad_input) for arrays that need
/// to be told what to sort by.
sort_key key_of_file(const io::record_file& file, std::uint64_t record_bytes, std::span<const std::string> texts,
                     bool descending);

/// A checked key as the rows' numbers are made from it.
primitives::key_layout layout_of(const sort_key& key);

/// "65536", "512M", "1G": K, M, G and T are powers of 1024. @throws error(bad_argument)
std::uint64_t parse_byte_size(std::string_view text);

}  // namespace sheaf::jobs
