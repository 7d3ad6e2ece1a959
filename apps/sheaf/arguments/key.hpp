#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <sheaf/split.hpp>

#include "apps/sheaf/files/record_file.hpp"

namespace sheaf::cli {

/// Reads "5:11": OFFSET:BITS, the bits that are the category of a record. @throws CLI::ValidationError
bit_field parse_bit_field(const std::string& text);

/// Adds --from-left, the direction in which bits are counted.
void add_bit_order(CLI::App& subcommand, bit_order& order);
/// Adds --key, OFFSET:BITS or a field, and --from-left. Returns the option --key.
CLI::Option* add_key(CLI::App& subcommand, std::string& key, bit_order& order);
/// The bits that a --key says: OFFSET:BITS of a row, or NAME or NAME:FIRST:BITS of a field of whole numbers, whose bit
/// 0 is the lowest of the number, in either order of bytes; with --from-left the highest of its first byte.
/// @throws CLI::ValidationError for what is neither, error(bad_input) for a field without such bits
bit_field bits_of_key(const std::string& key, bit_order order, const io::record_file& file);

}  // namespace sheaf::cli
