#include "apps/sheaf/sort/columns.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/arrays/fields.hpp"
#include "apps/sheaf/files/arrays/python_literal.hpp"
#include "lab/description/keys.hpp"

namespace sheaf::jobs {
namespace {

constexpr std::uint64_t most_string_bytes = 32;
constexpr std::uint64_t most_characters = 12;  // of 21 bits, in the 256 of a key
constexpr std::uint64_t bytes_of_character = 4;
constexpr std::size_t most_columns = 64;  // more than any key takes

[[noreturn]] void refuse(const io::record_file& file, const io::npy_type& type, const std::string& why) {
  throw error(error_code::bad_input, fmt::format("{}: descr is {}{}", file.path(), io::printable(type.descr), why));
}

// The place of what is refused, for an option that takes it as bytes.
std::string advice(std::uint64_t offset, std::uint64_t bytes) {
  return fmt::format("--key {}:{} sorts by the first {}", offset, bytes, bytes);
}

order_column column_of(const io::record_file& file, const io::npy_type& type, std::uint64_t offset) {
  order_column c{offset, static_cast<std::uint32_t>(type.item_bytes), column_type::unsigned_integer, type.order == '>'};
  switch (type.kind) {
    case 'b':
    case 'u': return c;
    case 'i': c.type = column_type::signed_integer; return c;
    case 'f':
      c.type = column_type::floating;
      if (type.item_bytes <= 8) return c;
      break;
    case 'm':
    case 'M': c.type = column_type::time; return c;
    case 'S':
      c.type = column_type::bytes;
      if (type.item_bytes <= most_string_bytes) return c;
      refuse(file, type, fmt::format(", strings of more than 32 bytes; {}", advice(offset, most_string_bytes)));
    case 'U':
      c.type = column_type::text;
      if (type.item_bytes <= most_characters * bytes_of_character) return c;
      refuse(file, type, ", strings of more than 12 characters, which no key holds");
    default: break;
  }
  const std::string names = io::field_names(type);
  refuse(file, type,
         names.empty() ? ", which has no order that sort knows; --key says what bytes to sort by"
                       : fmt::format(", a structure; --key names what to sort by, of {}", names));
}

void append(std::vector<order_column>& columns, const io::record_file& file, const io::npy_field& field,
            std::uint64_t base, bool descending) {
  for (std::uint64_t i = 0; i < field.count && field.type.item_bytes > 0; ++i) {
    if (columns.size() > most_columns) {
      throw error(error_code::bad_argument, fmt::format("{}: --key: field {} has more numbers than a key takes",
                                                        file.path(), io::printable(field.name)));
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
  if (std::all_of(row.begin(), row.end(), [](std::uint64_t extent) { return extent == 1; })) return field;
  throw error(error_code::bad_input,
              fmt::format("{}: shape is {}: a row has several fields {}, and only OFFSET:BYTES tells them apart",
                          file.path(), io::shape_text(file.shape()), io::printable(name)));
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
  if (names.empty()) static_cast<void>(primitives::parse_key_field(text, descending));  // throws: it is no place either
  throw error(
      error_code::bad_argument,
      fmt::format("--key: '{}' is neither OFFSET:BYTES[:TYPE][:asc|desc] nor a field of {}, whose fields are {}",
                  io::printable(text), file.path(), names));
}

void append_columns(std::vector<order_column>& columns, const io::record_file& file, const row_part& part) {
  const std::size_t before = columns.size();
  append(columns, file, part.field, 0, part.descending);
  if (columns.size() == before) refuse(file, part.field.type, ", of no bytes, which have no order");
}

}  // namespace sheaf::jobs
