#include "lab/description/keys.hpp"

#include "core/printable.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf::primitives {
namespace {

using core::printable;

constexpr std::uint32_t most_field_bytes = 32;

constexpr enum_name<key_type> type_words[] = {{"u", key_type::unsigned_integer},
                                              {"i", key_type::signed_integer},
                                              {"f", key_type::floating},
                                              {"bytes", key_type::bytes}};

std::optional<key_type> type_of(std::string_view text) {
  for (const enum_name<key_type>& n : type_words) {
    if (n.text == text) return n.value;
  }
  return std::nullopt;
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

}  // namespace

key_field parse_key_field(std::string_view text, bool descending) {
  key_field field;
  field.type = key_type::bytes;
  field.descending = descending;
  std::vector<std::string_view> parts = parts_of(text);
  const bool says_direction = parts.size() > 2 && (parts.back() == "asc" || parts.back() == "desc");
  if (says_direction) {
    field.descending = parts.back() == "desc";
    parts.pop_back();
  }
  const auto type = parts.size() == 3 ? type_of(parts[2]) : field.type;
  const auto offset = parse_number(parts[0]);
  const auto bytes = parts.size() < 2 ? std::nullopt : parse_number<std::uint32_t>(parts[1]);
  if (parts.size() > 3 || !type || !offset || !bytes) {
    refuse("--key: '{}' is not OFFSET:BYTES[:TYPE][:asc|desc], two whole numbers and a TYPE of u, i, f or bytes",
           printable(text));
  }
  field.offset = *offset;
  field.bytes = *bytes;
  field.type = *type;
  const bool is_float = field.type == key_type::floating;
  const bool fits = is_float ? field.bytes == 2 || field.bytes == 4 || field.bytes == 8
                             : field.bytes >= 1 && field.bytes <= most_field_bytes;
  if (!fits) {
    refuse("--key: '{}' is {} bytes wide, not {}", printable(text), field.bytes,
           is_float ? "2, 4 or 8 as floats are" : "1 to 32");
  }
  return field;
}

std::string text_of(const key_field& field) {
  return fmt::format("{}:{}:{}{}", field.offset, field.bytes, text_of(field.type, type_words),
                     field.descending ? ":desc" : "");
}

key_layout layout_of(const sort_key& key) {
  key_layout layout;
  for (std::size_t i = 0; i < key.count; ++i) {
    layout.fields[layout.field_count++] = key.fields[i];
    layout.bits += bits_of(key.fields[i]);
  }
  return layout;
}

sort_key key_of_texts(std::span<const std::string> texts, std::uint64_t row_bytes, bool descending,
                      std::string_view rows) {
  if (texts.size() > sort_key::most_fields) refuse("--key is given {} times, more than 8", texts.size());
  sort_key key{};
  for (const std::string& text : texts) {
    const key_field f = parse_key_field(text, descending);
    if (f.offset > row_bytes || f.bytes > row_bytes - f.offset) {
      refuse("--key: '{}' reaches past the end of {} of {} bytes", printable(text), rows, row_bytes);
    }
    key.fields[key.count++] = f;
  }
  const std::uint32_t bits = layout_of(key).bits;
  if (bits > sort_key::most_bits) refuse("keys of {} bytes together, more than 32", bits / 8);
  return key;
}

void read_written_index(const name_part& type, problem_spec& p) {
  if (p.record_bytes != 4 && p.record_bytes != 8) type.refuse("allowed: entries of an index have 4 or 8 bytes");
  p.index = p.record_bytes == 4 ? index_type::u32 : index_type::u64;
}

bit_field parse_bit_field(std::string_view text) {
  const auto colon = text.find(':');
  const auto first = parse_number(text.substr(0, colon));
  const auto count = colon == text.npos ? std::nullopt : parse_number<std::uint32_t>(text.substr(colon + 1));
  if (!first || !count) refuse("--bits: '{}' is not FIRST:COUNT, two whole numbers", printable(text));
  return {*first, *count};
}

}  // namespace sheaf::primitives
