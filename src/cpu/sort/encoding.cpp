#include "cpu/sort/encoding.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

bool is_word(std::uint64_t bytes, std::uint64_t most) noexcept { return std::has_single_bit(bytes) && bytes <= most; }

// Whether the output of an array can hold words: same width, no gaps, aligned.
bool holds_words(const sorted_array& a, std::uint64_t word_bytes) noexcept {
  return a.record_bytes == word_bytes && a.out_stride_bytes == word_bytes && a.access_bytes >= word_bytes;
}

word_encoding row_encoding(const sort_problem& problem) noexcept {
  const key_field& field = problem.key.fields[0];
  word_encoding encoding;
  encoding.content = word_content::row;
  encoding.word_bytes = static_cast<std::uint32_t>(problem.rows.record_bytes);
  const auto offset = static_cast<std::uint32_t>(field.offset);
  encoding.lowest_key_bit =
      field.first_bit + 8 * (field.type == key_type::bytes ? encoding.word_bytes - offset - field.bytes : offset);
  encoding.key_bits = problem.key.bits;
  encoding.out_holds_words = holds_words(problem.rows, encoding.word_bytes);
  return encoding;
}

word_encoding payload_encoding(const sort_problem& problem, const sorted_array& payload) noexcept {
  word_encoding encoding;
  encoding.content = word_content::key_and_payload;
  encoding.payload_is_row = problem.column_count == 0;
  encoding.key_bytes = problem.key.bits <= 32 ? 4 : 8;
  encoding.payload_bytes = payload.record_bytes <= 4 ? 4 : 8;
  encoding.word_bytes = encoding.key_bytes + encoding.payload_bytes == 8 ? 8 : 16;
  encoding.lowest_key_bit = 8 * encoding.payload_bytes;
  encoding.key_bits = problem.key.bits;
  encoding.out_holds_words = !encoding.payload_is_row && problem.writes_rows &&
                             holds_words(problem.rows, encoding.key_bytes) &&
                             holds_words(problem.columns[0], encoding.payload_bytes);
  return encoding;
}

}  // namespace

bool key_is_row(const sort_problem& p) noexcept {
  return p.key.field_count == 1 && p.key.fields[0].bytes == p.rows.record_bytes &&
         p.key.bits == 8 * p.rows.record_bytes;
}

bool words_hold_rows(const sort_problem& p, const word_encoding& encoding) noexcept {
  return encoding.rounds == 1 && key_is_row(p) && is_word(p.rows.record_bytes, 8);
}

word_encoding index_encoding_of(const sort_problem& problem) noexcept {
  word_encoding encoding;
  encoding.content = word_content::key_and_index;
  encoding.lowest_key_bit = std::max(1U, static_cast<std::uint32_t>(std::bit_width(problem.count - 1)));
  encoding.word_bytes = problem.key.bits + encoding.lowest_key_bit <= 64 ? 8 : 16;
  encoding.key_bits = std::min(problem.key.bits, 8 * encoding.word_bytes - encoding.lowest_key_bit);
  encoding.rounds = (problem.key.bits + encoding.key_bits - 1) / encoding.key_bits;
  return encoding;
}

word_encoding encoding_of(const sort_problem& problem) noexcept {
  if (problem.product == sort_product::gather_index || problem.count == 0) return index_encoding_of(problem);
  if (problem.column_count == 0 && problem.key.field_count == 1 && is_word(problem.rows.record_bytes, 16))
    return row_encoding(problem);
  if (problem.key.bits > 64) return index_encoding_of(problem);
  if (problem.column_count == 0 && is_word(problem.rows.record_bytes, 8))
    return payload_encoding(problem, problem.rows);
  const bool row_is_known = !problem.writes_rows || (key_is_row(problem) && is_word(problem.rows.record_bytes, 8));
  if (problem.column_count == 1 && row_is_known && is_word(problem.columns[0].record_bytes, 8)) {
    return payload_encoding(problem, problem.columns[0]);
  }
  return index_encoding_of(problem);
}

}  // namespace sheaf::cpu
