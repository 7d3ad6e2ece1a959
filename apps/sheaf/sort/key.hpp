#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sheaf/sort.hpp>

#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/sort/row_order.hpp"
#include "lab/description/keys.hpp"

// Reads the keys and sizes among the arguments of sort.
namespace sheaf::jobs {

using primitives::key_of_texts;
using primitives::layout_of;
using primitives::parse_key_field;
using primitives::text_of;

/// The order of a file's records: by the key of the texts, or without any that of the numbers, dates or strings of a
/// one-dimensional array. @throws error(bad_argument) for texts that are no key of the records, error(bad_input) for
/// arrays that need such texts.
row_order order_of_file(const io::record_file& file, std::uint64_t record_bytes, std::span<const std::string> texts,
                        bool descending);

/// "65536", "512M", "1.5 GiB", "100mb": K, M, G and T, also with iB, are powers of 1024, with B of 1000. A fraction is
/// rounded down to bytes. @throws error(bad_argument) naming the text
std::uint64_t parse_byte_size(std::string_view text);

}  // namespace sheaf::jobs
