#include "cpu/sort/encoding.hpp"

#include <algorithm>
#include <bit>

namespace sheaf::cpu {
namespace {

using primitives::sort_problem;
using primitives::sort_product;
using primitives::sorted_array;

bool is_word(std::uint64_t bytes, std::uint64_t most) noexcept { return std::has_single_bit(bytes) && bytes <= most; }

// Whether the output of an array can be used as one of words.
bool holds_words(const sorted_array& a, std::uint64_t word_bytes) noexcept {
  return a.record_bytes == word_bytes && a.out_stride_bytes == word_bytes && a.word_bytes >= word_bytes;
}

sort_shape rows_shape(const sort_problem& p) noexcept {
  const key_field& f = p.key.fields[0];
  sort_shape s;
  s.moves = sort_moves::rows;
  s.word_bytes = static_cast<std::uint32_t>(p.rows.record_bytes);
  const auto offset = static_cast<std::uint32_t>(f.offset);
  s.key_low = f.first_bit + 8 * (f.type == key_type::bytes ? s.word_bytes - offset - f.bytes : offset);
  s.key_bits = p.key.bits;
  s.out_holds_words = holds_words(p.rows, s.word_bytes);
  return s;
}

sort_shape payload_shape(const sort_problem& p, const sorted_array& payload) noexcept {
  sort_shape s;
  s.moves = sort_moves::payload;
  s.payload_is_row = p.column_count == 0;
  s.key_bytes = p.key.bits <= 32 ? 4 : 8;
  s.payload_bytes = payload.record_bytes <= 4 ? 4 : 8;
  s.word_bytes = s.key_bytes + s.payload_bytes == 8 ? 8 : 16;
  s.key_low = 8 * s.payload_bytes;
  s.key_bits = p.key.bits;
  s.out_holds_words = !s.payload_is_row && p.writes_rows && holds_words(p.rows, s.key_bytes) &&
                      holds_words(p.columns[0], s.payload_bytes);
  return s;
}

sort_shape index_shape(const sort_problem& p) noexcept {
  sort_shape s;
  s.moves = sort_moves::index;
  s.key_low = std::max(1U, static_cast<std::uint32_t>(std::bit_width(p.count - 1)));
  s.word_bytes = p.key.bits + s.key_low <= 64 ? 8 : 16;
  s.key_bits = std::min(p.key.bits, 8 * s.word_bytes - s.key_low);
  s.rounds = (p.key.bits + s.key_bits - 1) / s.key_bits;
  return s;
}

}  // namespace

bool key_is_row(const sort_problem& p) noexcept {
  return p.key.field_count == 1 && p.key.fields[0].bytes == p.rows.record_bytes &&
         p.key.bits == 8 * p.rows.record_bytes;
}

sort_shape shape_of(const sort_problem& p) noexcept {
  if (p.product == sort_product::gather_index || p.count == 0) return index_shape(p);
  if (p.column_count == 0 && p.key.field_count == 1 && is_word(p.rows.record_bytes, 16)) return rows_shape(p);
  if (p.key.bits > 64) return index_shape(p);
  if (p.column_count == 0 && is_word(p.rows.record_bytes, 8)) return payload_shape(p, p.rows);
  const bool row_is_known = !p.writes_rows || (key_is_row(p) && is_word(p.rows.record_bytes, 8));
  if (p.column_count == 1 && row_is_known && is_word(p.columns[0].record_bytes, 8)) {
    return payload_shape(p, p.columns[0]);
  }
  return index_shape(p);
}

}  // namespace sheaf::cpu
