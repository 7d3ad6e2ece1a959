#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <sheaf/split.hpp>

namespace sheaf::cli {

/// Reads "5:11": OFFSET:BITS, the bits that are the category of a record. @throws CLI::ValidationError
bit_field parse_bit_field(const std::string& text);

/// Adds --from-left, the direction in which bits are counted.
void add_bit_order(CLI::App& subcommand, bit_order& order);
/// Adds --key OFFSET:BITS and --from-left. Returns the option --key.
CLI::Option* add_key(CLI::App& subcommand, std::optional<bit_field>& bits, bit_order& order);

}  // namespace sheaf::cli
