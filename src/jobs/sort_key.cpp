#include "jobs/sort_key.hpp"

#include <charconv>
#include <optional>
#include <utility>
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

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size();
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == text.npos) return parts;
    text.remove_prefix(colon + 1);
  }
}

constexpr std::pair<std::string_view, key_type> key_types[] = {{"u", key_type::unsigned_integer},
                                                               {"i", key_type::signed_integer},
                                                               {"f", key_type::floating},
                                                               {"bytes", key_type::bytes}};

std::optional<key_type> type_of(std::string_view text) {
  for (const auto& [name, type] : key_types) {
    if (text == name) return type;
  }
  return std::nullopt;
}

std::string_view name_of(key_type type) {
  for (const auto& [name, named] : key_types) {
    if (type == named) return name;
  }
  return {};
}

// The key field that is a whole record of the file's numpy type.
key_field field_of_type(const io::record_file& file) {
  const io::npy_type& type = file.type();
  const std::string shown = io::printable(type.descr);
  const auto width = static_cast<std::uint32_t>(type.item_bytes);
  const bool big_endian = type.order == '>';
  switch (type.kind) {
    case 'b': return {0, width, key_type::unsigned_integer};
    case 'u': return {0, width, big_endian ? key_type::bytes : key_type::unsigned_integer};
    case 'i':
    case 'f':
      if (big_endian) {
        refuse_file(file, fmt::format("descr is {}, big-endian; of those only unsigned integers are sorted: save it as "
                                      "little-endian",
                                      shown));
      }
      if (type.kind == 'i') return {0, width, key_type::signed_integer};
      if (width <= 8) return {0, width, key_type::floating};
      break;
    case 'S':
      if (type.item_bytes <= most_field_bytes) return {0, width, key_type::bytes};
      refuse_file(file,
                  fmt::format("descr is {}, strings of more than 32 bytes; --key 0:32 sorts by the first 32", shown));
    default: break;
  }
  refuse_file(file,
              fmt::format("descr is {}, which has no order that sort knows; --key says what bytes to sort by", shown));
}

}  // namespace

key_field parse_key_field(std::string_view text, bool descending) {
  key_field f;
  f.type = key_type::bytes;
  f.descending = descending;
  std::vector<std::string_view> parts = parts_of(text);
  const bool says_direction = parts.size() > 2 && (parts.back() == "asc" || parts.back() == "desc");
  if (says_direction) {
    f.descending = parts.back() == "desc";
    parts.pop_back();
  }
  const auto type = parts.size() == 3 ? type_of(parts[2]) : f.type;
  if (parts.size() < 2 || parts.size() > 3 || !type || !read_number(parts[0], f.offset) ||
      !read_number(parts[1], f.bytes)) {
    refuse(fmt::format(
        "--key: '{}' is not OFFSET:BYTES[:TYPE][:asc|desc], two whole numbers and a TYPE of u, i, f or bytes",
        io::printable(text)));
  }
  f.type = *type;
  const bool is_float = f.type == key_type::floating;
  const bool fits =
      is_float ? f.bytes == 2 || f.bytes == 4 || f.bytes == 8 : f.bytes >= 1 && f.bytes <= most_field_bytes;
  if (!fits) {
    refuse(fmt::format("--key: '{}' is {} bytes wide, not {}", io::printable(text), f.bytes,
                       is_float ? "2, 4 or 8 as floats are" : "1 to 32"));
  }
  return f;
}

sort_key key_of_texts(std::span<const std::string> texts, std::uint64_t record_bytes, bool descending,
                      std::string_view rows) {
  if (texts.size() > sort_key::most_fields) refuse(fmt::format("{} times --key, not at most 8", texts.size()));
  sort_key key{};
  for (const std::string& text : texts) {
    const key_field f = parse_key_field(text, descending);
    if (f.offset > record_bytes || f.bytes > record_bytes - f.offset) {
      refuse(
          fmt::format("--key: '{}' reaches past the end of {} of {} bytes", io::printable(text), rows, record_bytes));
    }
    key.fields[key.count++] = f;
  }
  const std::uint32_t bits = layout_of(key).bits;
  if (bits > sort_key::most_bits) refuse(fmt::format("keys of {} bytes together, not at most 32", bits / 8));
  return key;
}

std::string text_of(const key_field& field) {
  return fmt::format("{}:{}:{}{}", field.offset, field.bytes, name_of(field.type), field.descending ? ":desc" : "");
}

sort_key key_of_file(const io::record_file& file, std::uint64_t record_bytes, std::span<const std::string> texts,
                     bool descending) {
  if (!texts.empty()) return key_of_texts(texts, record_bytes, descending);
  if (!file.is_npy()) refuse("raw records need --key OFFSET:BYTES[:TYPE]");
  if (file.shape().size() != 1) {
    refuse_file(file,
                fmt::format("shape is {}: --key says which bytes of a row to sort by", io::shape_text(file.shape())));
  }
  key_field only = field_of_type(file);
  only.descending = descending;
  return only;
}

primitives::key_layout layout_of(const sort_key& key) {
  primitives::key_layout layout;
  for (std::size_t i = 0; i < key.count; ++i) {
    layout.fields[layout.field_count++] = key.fields[i];
    layout.bits += primitives::bits_of(key.fields[i]);
  }
  return layout;
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
  std::uint64_t number = 0;
  if (!read_number(digits, number) || number > (~std::uint64_t{0} >> shift)) {
    refuse(fmt::format("'{}' is not a number of bytes such as 1000000, 512M or 4G", io::printable(text)));
  }
  return number << shift;
}

}  // namespace sheaf::jobs
