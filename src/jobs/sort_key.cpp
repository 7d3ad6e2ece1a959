#include "jobs/sort_key.hpp"

#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "io/python_literal.hpp"
#include "primitives/entries/words.hpp"

namespace sheaf::jobs {
namespace {

constexpr std::uint32_t most_field_bytes = 32;

[[noreturn]] void refuse(const std::string& what) { throw error(error_code::bad_argument, what); }

[[noreturn]] void refuse_file(const io::record_file& file, const std::string& what) {
  throw error(error_code::bad_input, fmt::format("{}: {}", file.path(), what));
}

// Characters of a string are numbers of 4 bytes. Big-endian ones compare as their bytes do, and shorter strings end in
// zeros.
sort_key key_of_characters(std::uint32_t width, bool big_endian) {
  if (big_endian) return key_field{0, width, key_type::bytes};
  constexpr std::uint32_t character_bytes = 4;
  sort_key key{};
  for (std::uint32_t at = 0; at < width; at += character_bytes) {
    key.fields[key.count++] = {at, character_bytes, key_type::unsigned_integer};
  }
  return key;
}

// The order of records that are one value of the file's numpy type each.
row_order order_of_type(const io::record_file& file) {
  const io::npy_type& type = file.type();
  const std::string shown = io::printable(type.descr);
  const auto width = static_cast<std::uint32_t>(type.item_bytes);
  const bool big_endian = type.order == '>';
  switch (type.kind) {
    case 'b': return key_field{0, width, key_type::unsigned_integer};
    case 'u': return key_field{0, width, big_endian ? key_type::bytes : key_type::unsigned_integer};
    case 'i':
    case 'f':
      if (big_endian) {
        refuse_file(file, fmt::format("descr is {}, big-endian; of those only unsigned integers are sorted: save it as "
                                      "little-endian",
                                      shown));
      }
      if (type.kind == 'i') return key_field{0, width, key_type::signed_integer};
      if (width <= 8) return key_field{0, width, key_type::floating};
      break;
    case 'm':
    case 'M':
      return {key_field{0, width, key_type::signed_integer},
              big_endian ? time_rows::big_endian : time_rows::little_endian};
    case 'S':
      if (type.item_bytes <= most_field_bytes) return key_field{0, width, key_type::bytes};
      refuse_file(file,
                  fmt::format("descr is {}, strings of more than 32 bytes; --key 0:32 sorts by the first 32", shown));
    case 'U':
      if (type.item_bytes <= most_field_bytes) return key_of_characters(width, big_endian);
      refuse_file(
          file, fmt::format("descr is {}, strings of more than 8 characters; --key says what bytes to sort by", shown));
    default: break;
  }
  refuse_file(file,
              fmt::format("descr is {}, which has no order that sort knows; --key says what bytes to sort by", shown));
}

}  // namespace

row_order order_of_file(const io::record_file& file, std::uint64_t record_bytes, std::span<const std::string> texts,
                        bool descending) {
  if (!texts.empty()) return key_of_texts(texts, record_bytes, descending);
  if (!file.is_npy()) refuse("raw records need --key OFFSET:BYTES[:TYPE]");
  if (file.shape().size() != 1) {
    refuse_file(file,
                fmt::format("shape is {}: --key says which bytes of a row to sort by", io::shape_text(file.shape())));
  }
  row_order order = order_of_type(file);
  for (std::size_t i = 0; i < order.key.count; ++i) order.key.fields[i].descending = descending;
  return order;
}

std::uint64_t parse_byte_size(std::string_view text) {
  constexpr std::string_view units = "KMGT";
  std::string_view digits = text;
  unsigned shift = 0;
  if (!digits.empty()) {
    const auto unit = units.find(digits.back());
    if (unit != units.npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      digits.remove_suffix(1);
    }
  }
  const std::optional<std::uint64_t> number = primitives::parse_number(digits);
  if (!number || *number > (~std::uint64_t{0} >> shift)) {
    refuse(fmt::format("'{}' is not a number of bytes such as 1000000, 512M or 4G", io::printable(text)));
  }
  return *number << shift;
}

}  // namespace sheaf::jobs
