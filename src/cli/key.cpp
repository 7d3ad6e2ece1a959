#include "cli/key.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace sheaf::cli {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size();
}

}  // namespace

bit_field parse_bit_field(const std::string& text) {
  bit_field bits;
  const auto colon = text.find(':');
  const std::string_view all = text;
  if (colon == text.npos || !read_number(all.substr(0, colon), bits.first) ||
      !read_number(all.substr(colon + 1), bits.count)) {
    throw CLI::ValidationError("--key", fmt::format("'{}' is not OFFSET:BITS, two whole numbers", text));
  }
  return bits;
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
