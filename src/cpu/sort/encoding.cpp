#include "cpu/sort/encoding.hpp"

#include <bit>

namespace sheaf::cpu {

using namespace primitives;

namespace {

bool is_word(std::uint64_t bytes, std::uint64_t most) noexcept { return std::has_single_bit(bytes) && bytes <= most; }

// Whether the output of an array can hold words: same width, no gaps, aligned.
bool holds_words(const sorted_array& a, std::uint64_t word_bytes) noexcept {
  return a.record_bytes == word_bytes && a.out_stride_bytes == word_bytes && a.word_bytes >= word_bytes;
}

word_encoding row_encoding(const sort_problem& p) noexcept {
  const key_field& f = p.key.fields[0];
  word_encoding e;
  e.content = word_content::row;
  e.word_bytes = static_cast<std::uint32_t>(p.rows.record_bytes);
  const auto offset = static_cast<std::uint32_t>(f.offset);
  e.lowest_key_bit = f.first_bit + 8 * (f.type == key_type::bytes ? e.word_bytes - offset - f.bytes : offset);
  e.key_bits = p.key.bits;
  e.out_holds_words = holds_words(p.rows, e.word_bytes);
  return e;
}

word_encoding payload_encoding(const sort_problem& p, const sorted_array& payload) noexcept {
  word_encoding e;
  e.content = word_content::key_and_payload;
  e.payload_is_row = p.column_count == 0;
  e.key_bytes = p.key.bits <= 32 ? 4 : 8;
  e.payload_bytes = payload.record_bytes <= 4 ? 4 : 8;
  e.word_bytes = e.key_bytes + e.payload_bytes == 8 ? 8 : 16;
  e.lowest_key_bit = 8 * e.payload_bytes;
  e.key_bits = p.key.bits;
  e.out_holds_words = !e.payload_is_row && p.writes_rows && holds_words(p.rows, e.key_bytes) &&
                      holds_words(p.columns[0], e.payload_bytes);
  return e;
}

}  // namespace

bool key_is_row(const sort_problem& p) noexcept {
  return p.key.field_count == 1 && p.key.fields[0].bytes == p.rows.record_bytes &&
         p.key.bits == 8 * p.rows.record_bytes;
}

bool words_hold_rows(const sort_problem& p, const word_encoding& encoding) noexcept {
  return encoding.rounds == 1 && key_is_row(p) && is_word(p.rows.record_bytes, 8);
}

word_encoding index_encoding_of(const sort_problem& p) noexcept {
  word_encoding e;
  e.content = word_content::key_and_index;
  e.lowest_key_bit = std::max(1U, static_cast<std::uint32_t>(std::bit_width(p.count - 1)));
  e.word_bytes = p.key.bits + e.lowest_key_bit <= 64 ? 8 : 16;
  e.key_bits = std::min(p.key.bits, 8 * e.word_bytes - e.lowest_key_bit);
  e.rounds = (p.key.bits + e.key_bits - 1) / e.key_bits;
  return e;
}

word_encoding encoding_of(const sort_problem& p) noexcept {
  if (p.product == sort_product::gather_index || p.count == 0) return index_encoding_of(p);
  if (p.column_count == 0 && p.key.field_count == 1 && is_word(p.rows.record_bytes, 16)) return row_encoding(p);
  if (p.key.bits > 64) return index_encoding_of(p);
  if (p.column_count == 0 && is_word(p.rows.record_bytes, 8)) return payload_encoding(p, p.rows);
  const bool row_is_known = !p.writes_rows || (key_is_row(p) && is_word(p.rows.record_bytes, 8));
  if (p.column_count == 1 && row_is_known && is_word(p.columns[0].record_bytes, 8)) {
    return payload_encoding(p, p.columns[0]);
  }
  return index_encoding_of(p);
}

}  // namespace sheaf::cpu
