#include "apps/sheaf/sort/key.hpp"

#include <algorithm>

#include "apps/sheaf/files/arrays/fields.hpp"
#include "apps/sheaf/files/arrays/python_literal.hpp"
#include "apps/sheaf/files/failure.hpp"

namespace sheaf::jobs {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw error(error_code::bad_argument, what); }

[[noreturn]] void refuse_file(const io::record_file& file, const std::string& what) {
  io::fail(file.path(), "{}", what);
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

constexpr std::uint64_t most_string_bytes = 32;
constexpr std::uint64_t most_characters = 12;  // of 21 bits, in the 256 of a key
constexpr std::uint64_t bytes_of_character = 4;
constexpr std::size_t most_columns = 64;  // more than any key takes

[[noreturn]] void refuse_type(const io::record_file& file, const io::npy_type& type, const std::string& why) {
  io::fail(file.path(), "descr is {}{}", io::printable(type.descr), why);
}

// The place of what is refused, for an option that takes it as bytes.
std::string advice(std::uint64_t offset, std::uint64_t bytes) {
  return fmt::format("--key {}:{} sorts by the first {}", offset, bytes, bytes);
}

order_column column_of(const io::record_file& file, const io::npy_type& type, std::uint64_t offset) {
  order_column column{offset, static_cast<std::uint32_t>(type.item_bytes), column_type::unsigned_integer,
                      type.order == '>'};
  switch (type.kind) {
    case 'b':
    case 'u': return column;
    case 'i': column.type = column_type::signed_integer; return column;
    case 'f':
      column.type = column_type::floating;
      if (type.item_bytes <= 8) return column;
      break;
    case 'm':
    case 'M': column.type = column_type::time; return column;
    case 'S':
      column.type = column_type::bytes;
      if (type.item_bytes <= most_string_bytes) return column;
      refuse_type(file, type, fmt::format(", strings of more than 32 bytes; {}", advice(offset, most_string_bytes)));
    case 'U':
      column.type = column_type::text;
      if (type.item_bytes <= most_characters * bytes_of_character) return column;
      refuse_type(file, type, ", strings of more than 12 characters, which no key holds");
    default: break;
  }
  const std::string names = io::field_names(type);
  refuse_type(file, type,
              names.empty() ? ", which has no order that sort knows; --key says what bytes to sort by"
                            : fmt::format(", a structure; --key names what to sort by: any of {}", names));
}

void append(std::vector<order_column>& columns, const io::record_file& file, const io::npy_field& field,
            std::uint64_t base, bool descending) {
  for (std::uint64_t i = 0; i < field.count && field.type.item_bytes > 0; ++i) {
    if (columns.size() > most_columns) {
      io::throw_error(error_code::bad_argument, "{}: --key: field {} has more numbers than a key takes", file.path(),
                      io::printable(field.name));
    }
    const std::uint64_t offset = base + field.offset + i * field.type.item_bytes;
    if (field.type.fields.empty()) {
      columns.push_back(column_of(file, field.type, offset));
      columns.back().descending = descending;
    }
    for (const io::npy_field& inner : field.type.fields) {
      if (!inner.name.empty()) append(columns, file, inner, offset, descending);
    }
  }
}

}  // namespace

bool is_key_place(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  return end != 0 && end != text.npos && text[end] == ':';
}

std::optional<io::npy_field> field_of_rows(const io::record_file& file, std::string_view name) {
  auto field = io::find_field(file.type(), name);
  if (!field) return field;
  const auto row = file.shape().empty() ? file.shape() : file.row_shape();
  if (std::ranges::all_of(row, [](std::uint64_t extent) { return extent == 1; })) return field;
  io::fail(file.path(), "shape is {}: a row has several fields {}, and only OFFSET:BYTES tells them apart",
           io::shape_text(file.shape()), io::printable(name));
}

row_part whole_row(const io::record_file& file, bool descending) {
  io::npy_field row;
  row.type = file.type();
  if (!row.type.fields.empty()) static_cast<void>(column_of(file, row.type, 0));  // throws
  return {std::move(row), descending};
}

row_part named_field(const io::record_file& file, std::string_view text, bool descending) {
  if (auto field = field_of_rows(file, text)) return {*std::move(field), descending};
  for (const std::string_view direction : {":asc", ":desc"}) {
    if (!text.ends_with(direction)) continue;
    const std::string_view name = text.substr(0, text.size() - direction.size());
    if (auto field = field_of_rows(file, name)) return {*std::move(field), direction == ":desc"};
  }
  const std::string names = io::field_names(file.type());
  if (names.empty()) static_cast<void>(primitives::parse_key_field(text, descending));  // throws: not a place either
  io::throw_error(error_code::bad_argument,
                  "--key: '{}' is neither OFFSET:BYTES[:TYPE][:asc|desc] nor a field of {}, whose fields are {}",
                  io::printable(text), file.path(), names);
}

void append_columns(std::vector<order_column>& columns, const io::record_file& file, const row_part& part) {
  const std::size_t before = columns.size();
  append(columns, file, part.field, 0, part.descending);
  if (columns.size() == before) refuse_type(file, part.field.type, ", of no bytes, which have no order");
}

row_order order_of_file(const io::record_file& file, std::uint64_t record_bytes, std::span<const std::string> texts,
                        bool descending) {
  if (texts.size() > sort_key::most_fields) refuse(fmt::format("--key is given {} times, more than 8", texts.size()));
  const bool by_places = std::ranges::all_of(texts, is_key_place) || !file.is_npy();
  if (!texts.empty() && by_places) return key_of_texts(texts, record_bytes, descending);
  std::vector<order_column> columns;
  for (const std::string& text : texts) {
    if (is_key_place(text)) {
      const sort_key place = key_of_texts(std::span(&text, 1), record_bytes, descending);
      columns.push_back(row_order(place).columns.front());
    } else {
      append_columns(columns, file, named_field(file, text, descending));
    }
  }
  if (!texts.empty()) return row_order(std::move(columns));
  if (!file.is_npy()) refuse("raw records need --key OFFSET:BYTES[:TYPE]");
  if (file.shape().size() != 1) {
    refuse_file(file,
                fmt::format("shape is {}: --key says which bytes of a row to sort by", io::shape_text(file.shape())));
  }
  append_columns(columns, file, whole_row(file, descending));
  return row_order(std::move(columns));
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
