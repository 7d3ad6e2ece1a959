#include "apps/sheaf/sort/row_order.hpp"
#include "primitives/views.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sheaf::jobs {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t time_bytes = 8;
constexpr std::uint32_t character_bytes = 4;
constexpr std::uint32_t character_bits = 21;  // of every code point; 12 of them fit into a key, which has 256 bits
constexpr std::uint32_t key_bytes_limit = sort_key::most_bits / 8;

std::uint32_t packed_bytes(std::uint32_t text_bytes) { return (text_bytes / character_bytes * character_bits + 7) / 8; }

// The column as a field of the key, and whether the rows have to be changed for it.
std::pair<key_field, bool> field_of(const order_column& column) {
  key_field field{column.offset, column.bytes, key_type::bytes, column.descending};
  const bool big_endian = column.big_endian && column.bytes > 1;
  switch (column.type) {
    case column_type::bytes: return {field, false};
    case column_type::unsigned_integer:
      if (!big_endian) field.type = key_type::unsigned_integer;  // big-endian ones compare as their bytes do
      return {field, false};
    case column_type::signed_integer: field.type = key_type::signed_integer; return {field, big_endian};
    case column_type::floating: field.type = key_type::floating; return {field, big_endian};
    case column_type::time: field.type = key_type::signed_integer; return {field, true};
    case column_type::text: field.bytes = packed_bytes(column.bytes); return {field, true};
  }
  return {field, false};
}

bool overlap(const order_column& a, const order_column& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}
bool holds(const order_column& a, const order_column& inner) {
  return a.offset <= inner.offset && inner.offset + inner.bytes <= a.offset + a.bytes;
}

std::string place_of(const order_column& c) { return fmt::format("{}:{}", c.offset, c.bytes); }

// Rows that agree in all columns before this one agree in its bytes, too, so it decides nothing.
bool is_decided(const order_column& c, std::span<const order_column> before) {
  return std::ranges::any_of(before, [&](const order_column& b) { return holds(b, c); });
}

// A change would alter what another column compares.
void require_apart(const order_column& changed, std::span<const order_column> others) {
  for (const order_column& other : others) {
    if (&other == &changed || !overlap(changed, other)) continue;
    primitives::refuse(
        "--key: bytes {} and {} overlap, and one of them is a number in the other byte order, a date or a string of "
        "characters; give each key its own bytes",
        place_of(changed), place_of(other));
  }
}

// Fields of bytes that lie side by side compare as one.
bool extends(key_field& last, const key_field& by) {
  const bool side_by_side = last.offset + last.bytes == by.offset && last.bytes + by.bytes <= key_bytes_limit;
  if (last.type != key_type::bytes || by.type != key_type::bytes || !side_by_side || last.descending != by.descending) {
    return false;
  }
  last.bytes += by.bytes;
  return true;
}

std::uint32_t character_at(const std::byte* text, std::uint32_t i, bool big_endian) {
  std::uint32_t character = 0;
  std::memcpy(&character, text + std::uint64_t{i} * character_bytes, character_bytes);
  return big_endian ? __builtin_bswap32(character) : character;
}

void put_character(std::byte* text, std::uint32_t i, bool big_endian, std::uint32_t character) {
  if (big_endian) character = __builtin_bswap32(character);
  std::memcpy(text + std::uint64_t{i} * character_bytes, &character, character_bytes);
}

// Code points as numbers of 21 bits, the first one's highest bit first: bytes that compare as the characters do, and
// are fewer than theirs. Bits gather in a word, and bytes leave it at its upper end. A byte is never written before the
// character that lies there has been read.
std::optional<bad_character> pack_text(std::byte* text, std::uint32_t characters, bool big_endian) {
  std::uint64_t word = 0;
  std::uint32_t bits = 0;
  std::byte* to = text;
  for (std::uint32_t i = 0; i < characters; ++i) {
    const std::uint32_t character = character_at(text, i, big_endian);
    if (character >> character_bits != 0) return bad_character{0, i, character};
    word = word << character_bits | character;
    bits += character_bits;
    for (; bits >= 8; bits -= 8) *to++ = static_cast<std::byte>(word >> (bits - 8) & 0xff);
  }
  if (bits > 0) *to++ = static_cast<std::byte>(word << (8 - bits) & 0xff);
  std::fill(to, text + std::uint64_t{characters} * character_bytes, std::byte{});
  return std::nullopt;
}

void unpack_text(std::byte* text, std::uint32_t characters, bool big_endian) {
  std::byte packed[key_bytes_limit] = {};
  const std::uint32_t bytes = packed_bytes(characters * character_bytes);
  std::copy_n(text, bytes, packed);
  std::uint64_t word = 0;
  std::uint32_t bits = 0;
  const std::byte* from = packed;
  for (std::uint32_t i = 0; i < characters; ++i) {
    for (; bits < character_bits; bits += 8) word = word << 8 | std::to_integer<std::uint64_t>(*from++);
    bits -= character_bits;
    put_character(text, i, big_endian, static_cast<std::uint32_t>(word >> bits & ((1U << character_bits) - 1)));
  }
}

// Subtracting 1 takes NaT, the lowest number, around to the highest, and leaves the order of the others.
void move_nat(std::byte* number, std::uint64_t by) {
  std::uint64_t time = 0;
  std::memcpy(&time, number, time_bytes);
  time += by;
  std::memcpy(number, &time, time_bytes);
}

std::optional<bad_character> change(std::byte* at, const order_column& c) {
  if (c.type == column_type::text) return pack_text(at, c.bytes / character_bytes, c.big_endian);
  if (c.big_endian) std::reverse(at, at + c.bytes);
  if (c.type == column_type::time) move_nat(at, ~std::uint64_t{0});
  return std::nullopt;
}

void change_back(std::byte* at, const order_column& c) {
  if (c.type == column_type::text) return unpack_text(at, c.bytes / character_bytes, c.big_endian);
  if (c.type == column_type::time) move_nat(at, 1);
  if (c.big_endian) std::reverse(at, at + c.bytes);
}

std::vector<order_column> columns_of(const sort_key& key) {
  constexpr column_type types[] = {column_type::unsigned_integer, column_type::signed_integer, column_type::floating,
                                   column_type::bytes};
  std::vector<order_column> columns;
  for (std::size_t i = 0; i < key.count; ++i) {
    const key_field& f = key.fields[i];
    columns.push_back({f.offset, f.bytes, types[static_cast<std::size_t>(f.type)], false, f.descending});
  }
  return columns;
}

}  // namespace

row_order::row_order(std::vector<order_column> in_order) : columns(std::move(in_order)) {
  std::vector<order_column> deciding;
  for (const order_column& c : columns) {
    if (!is_decided(c, deciding)) deciding.push_back(c);
  }
  std::vector<key_field> fields;
  std::uint64_t bytes = 0;
  for (const order_column& c : deciding) {
    const auto [field, is_changed] = field_of(c);
    bytes += field.bytes;
    if (is_changed) require_apart(c, deciding);
    if (is_changed) changes.push_back(c);
    if (fields.empty() || !extends(fields.back(), field)) fields.push_back(field);
  }
  if (bytes > key_bytes_limit) primitives::refuse("keys of {} bytes together, more than {}", bytes, key_bytes_limit);
  if (fields.size() > sort_key::most_fields) {
    primitives::refuse("keys of {} numbers together, more than {}", fields.size(), sort_key::most_fields);
  }
  for (const key_field& f : fields) key.fields[key.count++] = f;
}

row_order::row_order(const sort_key& of_rows) : columns(columns_of(of_rows)), key(of_rows) {}

std::optional<bad_character> make_sortable(std::byte* rows, std::uint64_t count, std::uint64_t row_bytes,
                                           std::span<const order_column> changes) noexcept {
  if (changes.empty()) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i) {
    for (const order_column& c : changes) {
      if (auto bad = change(rows + i * row_bytes + c.offset, c)) {
        bad->row = i;
        return bad;
      }
    }
  }
  return std::nullopt;
}

void restore(std::byte* rows, std::uint64_t count, std::uint64_t row_bytes,
             std::span<const order_column> changes) noexcept {
  if (changes.empty()) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    for (const order_column& c : changes) change_back(rows + i * row_bytes + c.offset, c);
  }
}

}  // namespace sheaf::jobs
