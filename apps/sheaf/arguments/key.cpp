#include "apps/sheaf/arguments/key.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/arrays/fields.hpp"
#include "apps/sheaf/sort/columns.hpp"
#include "core/printable.hpp"
#include "lab/description/keys.hpp"

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

CLI::Option* add_key(CLI::App& subcommand, std::string& key, bit_order& order) {
  CLI::Option* option =
      subcommand
          .add_option_function<std::string>(
              "--key",
              [&key](const std::string& text) {
                if (jobs::is_key_place(text)) static_cast<void>(parse_bit_field(text));
                key = text;
              },
              "The bits that are a record's category: BITS of them, 1 to 32, from bit OFFSET of the record on; or a "
              "field of whole numbers, or BITS of it from its bit FIRST on")
          ->type_name("OFFSET:BITS|NAME[:FIRST:BITS]");
  add_bit_order(subcommand, order);
  return option;
}

bit_field bits_of_key(const std::string& key, bit_order order, const io::record_file& file) {
  const std::string names = io::field_names(file.type());
  if (jobs::is_key_place(key) || names.empty()) {
    bit_field bits = parse_bit_field(key);
    bits.order = order;
    return bits;
  }
  std::optional<io::npy_field> field = jobs::field_of_rows(file, key);
  std::optional<bit_field> part;
  if (!field) {
    const std::size_t last = key.rfind(':');
    const std::size_t first = last == key.npos || last == 0 ? key.npos : key.rfind(':', last - 1);
    if (first != key.npos) {
      field = jobs::field_of_rows(file, key.substr(0, first));
      if (field) part = parse_bit_field(key.substr(first + 1));
    }
  }
  if (!field) {
    throw error(error_code::bad_argument,
                fmt::format("--key: '{}' is neither OFFSET:BITS nor a field of {}, whose fields are {}",
                            core::printable(key), file.path(), names));
  }
  const io::npy_type& type = field->type;
  if (field->count != 1 || std::string_view("biu").find(type.kind) == std::string_view::npos) {
    throw error(
        error_code::bad_input,
        fmt::format("{}: --key: field {} is {}{}; a category is a whole number, and OFFSET:BITS takes other bits",
                    file.path(), core::printable(field->name),
                    field->count == 1 ? "" : fmt::format("{} times ", field->count), core::printable(type.descr)));
  }
  const std::uint64_t width = 8 * type.item_bytes;
  const bit_field of_number = part.value_or(bit_field{0, static_cast<std::uint32_t>(width)});
  if (of_number.first > width || of_number.count > width - of_number.first) {
    throw error(error_code::bad_argument,
                fmt::format("--key: '{}': {} bits from bit {} on reach past the {} bits of {}", core::printable(key),
                            of_number.count, of_number.first, width, core::printable(field->name)));
  }
  if (!part && width > 32) {
    throw error(error_code::bad_argument,
                fmt::format("--key: field {0} has {1} bits; {0}:FIRST:BITS takes 1 to 32 of them",
                            core::printable(field->name), width));
  }
  if (order == bit_order::from_left) {
    throw error(error_code::bad_argument, fmt::format("--from-left is for --key OFFSET:BITS; the bits of field {} are "
                                                      "counted from the lowest",
                                                      core::printable(field->name)));
  }
  const bool reversed = type.order == '>';
  const std::uint64_t first = reversed ? width - of_number.first - of_number.count : of_number.first;
  return {8 * field->offset + first, of_number.count, reversed ? bit_order::from_left : order};
}

}  // namespace sheaf::cli
