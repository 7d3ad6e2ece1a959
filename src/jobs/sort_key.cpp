#include "jobs/sort_key.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "io/python_literal.hpp"

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

// The bytes of K, KiB (1024) or KB (1000) and so on up to T, in letters of either case; 1 for B or none.
std::optional<std::uint64_t> bytes_of_unit(std::string_view unit) {
  constexpr std::string_view prefixes = "KMGT";
  std::string name(unit);
  for (char& c : name) c = 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (name.empty() || name == "B") return 1;
  const std::size_t power = prefixes.find(name.front());
  const std::string_view ending = std::string_view(name).substr(1);
  if (power == prefixes.npos || !(ending.empty() || ending == "B" || ending == "IB")) return std::nullopt;
  std::uint64_t bytes = 1;
  for (std::size_t i = 0; i <= power; ++i) bytes *= ending == "B" ? 1000 : 1024;
  return bytes;
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
  const auto first_other = [&](std::string_view known, std::size_t from) {
    return std::min(text.find_first_not_of(known, from), text.size());
  };
  constexpr std::string_view digits = "0123456789";
  const std::size_t whole_end = first_other(digits, 0);
  const bool has_point = whole_end < text.size() && text[whole_end] == '.';
  const std::size_t end = has_point ? first_other(digits, whole_end + 1) : whole_end;
  const std::string_view fraction = has_point ? text.substr(whole_end + 1, end - whole_end - 1) : "";
  const std::optional<std::uint64_t> unit = bytes_of_unit(text.substr(first_other(" ", end)));
  if (whole_end == 0 || !unit || (has_point && (fraction.empty() || *unit == 1))) {
    refuse(fmt::format("'{}' is not a number of bytes such as 1000000, 512M, 1.5G or 4GiB", io::printable(text)));
  }
  std::uint64_t bytes = 0;
  bool fits = true;
  for (const char digit : text.substr(0, whole_end)) {
    fits = fits && !__builtin_mul_overflow(bytes, 10, &bytes) && !__builtin_add_overflow(bytes, digit - '0', &bytes);
  }
  fits = fits && !__builtin_mul_overflow(bytes, *unit, &bytes);
  // The fraction of a unit, rounded down, from the last digit on.
  std::uint64_t part = 0;
  for (auto digit = fraction.rbegin(); digit != fraction.rend(); ++digit) {
    part = (static_cast<std::uint64_t>(*digit - '0') * *unit + part) / 10;
  }
  fits = fits && !__builtin_add_overflow(bytes, part, &bytes);
  if (!fits) refuse(fmt::format("'{}' is more bytes than 64 bits can count", io::printable(text)));
  return bytes;
}

}  // namespace sheaf::jobs
