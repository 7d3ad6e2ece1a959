#include "cli/key.hpp"

#include <string>

#include <sheaf/error.hpp>

#include "primitives/entries/key_text.hpp"

namespace sheaf::cli {
bit_field parse_bit_field(const std::string& text) {
  try {
    return primitives::parse_bit_field(text);
  } catch (const error& e) {
    throw CLI::ValidationError(e.what());
  }
}

void add_bit_order(CLI::App& subcommand, bit_order& order) {
  subcommand.add_flag_callback(
      "--from-left", [&order] { order = bit_order::from_left; },
      "Bit 0 is the highest of byte 0, as in the paper; without it the lowest, as in a little-endian number");
}

CLI::Option* add_key(CLI::App& subcommand, std::optional<bit_field>& bits, bit_order& order) {
  CLI::Option* key =
      subcommand
          .add_option_function<std::string>(
              "--key", [&bits](const std::string& text) { bits = parse_bit_field(text); },
              "The bits that are a record's category: BITS of them, 1 to 32, from bit OFFSET of the record on")
          ->type_name("OFFSET:BITS");
  add_bit_order(subcommand, order);
  return key;
}

}  // namespace sheaf::cli
