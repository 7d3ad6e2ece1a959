#include "cpu/sort/key_reader.hpp"

#include <algorithm>

namespace sheaf::cpu {

key_reader::key_reader(const primitives::key_layout& key, std::uint32_t from, std::uint32_t bits) noexcept {
  std::uint32_t field_from = 0;
  for (std::uint32_t i = 0; i < key.field_count; ++i) {
    add_field(key.fields[i], field_from, from, from + bits);
    field_from += primitives::bits_of(key.fields[i]);
  }
}

// Adds the pieces of a field that lie in bits [from, to) of the key, one for each 8 bytes of the field's number.
// `from`, `to` and field_from, where the field begins, are counted from the key's highest bit.
void key_reader::add_field(const key_field& field, std::uint32_t field_from, std::uint32_t from,
                           std::uint32_t to) noexcept {
  const std::uint32_t last =
      field.first_bit + primitives::bits_of(field);  // one past the highest bit of the key in the field
  for (std::uint32_t number_byte = (field.bytes - 1) / 8 * 8 + 8; number_byte > 0;) {
    number_byte -= 8;
    const std::uint32_t bytes = std::min<std::uint32_t>(8, field.bytes - number_byte);
    // [low, high): first the bits of the field's number that lie in this piece, then only those in [from, to) of the
    // key.
    std::uint32_t low = std::max(field.first_bit, number_byte * 8);
    std::uint32_t high = std::min(last, (number_byte + bytes) * 8);
    if (low >= high) continue;
    const std::uint32_t key_end = field_from + (last - low);
    const std::uint32_t key_begin = field_from + (last - high);
    if (key_end <= from || key_begin >= to) continue;
    if (key_begin < from) high -= from - key_begin;
    if (key_end > to) low += key_end - to;
    piece& part = pieces_[count_++];
    part.bytes = bytes;
    part.bits = high - low;
    part.mask = low_bits<std::uint64_t>(part.bits);
    part.offset = field.offset + (field.type == key_type::bytes ? field.bytes - number_byte - bytes : number_byte);
    part.order = ordered_word<std::uint64_t>(field, 0, bytes, number_byte + bytes == field.bytes);
    const std::uint32_t field_low = ordered_word<std::uint64_t>::field_low(field, 0, bytes);
    part.shift = field_low + low - number_byte * 8;
  }
}

}  // namespace sheaf::cpu
