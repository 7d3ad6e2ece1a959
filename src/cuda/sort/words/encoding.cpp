#include "cuda/sort/words/encoding.hpp"

namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr std::uint32_t limb_bytes = 4;

// Rows lie side by side, so that they can be loaded and stored as words.
bool rows_load_as_words(const sort_problem& p) {
  const std::uint64_t bytes = p.rows.record_bytes;
  return p.rows.in_stride_bytes == bytes && (p.rows.out_stride_bytes == bytes || !p.writes_rows) &&
         p.rows.access_bytes >= (bytes == 12 ? 4 : bytes);
}

bool row_is_key(const sort_problem& p) { return p.key.fields[0].bytes == p.rows.record_bytes; }

// Nothing but rows is written.
bool sorts_rows_alone(const sort_problem& p) {
  return p.product == sort_product::records && p.column_count == 0 && p.writes_rows;
}

bool is_as_stored(const key_field& f) { return f.type == key_type::unsigned_integer && !f.descending; }

bool is_word_of_4_or_8(std::uint64_t bytes) { return bytes == 4 || bytes == 8; }

// Rows are ascending unsigned keys of 4 or 8 bytes, sorted where they lie by some or all of their bits. The bits of an
// 8-byte key have to be whole bytes.
bool rows_are_keys_in_place(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  if (p.key.field_count != 1 || !is_as_stored(f) || !is_word_of_4_or_8(f.bytes)) return false;
  if (!row_is_key(p) || !rows_load_as_words(p)) return false;
  return f.bytes == 4 || (f.first_bit % 8 == 0 && p.key.bits % 8 == 0);
}

// Keys of 4 or 8 bytes as words; values or row numbers lie in an array of their own.
word_encoding separate_encoding(const sort_problem& problem) {
  const key_field& field = problem.key.fields[0];
  word_encoding encoding;
  encoding.limbs = field.bytes / limb_bytes;
  encoding.payload = word_payload::separate;
  encoding.rows_are_words = row_is_key(problem) && rows_load_as_words(problem) && is_as_stored(field);
  encoding.key_bits = problem.key.bits;
  encoding.first_bit = field.first_bit;
  return encoding;
}

// Rows as words.
word_encoding row_encoding(const sort_problem& problem) {
  const key_field& field = problem.key.fields[0];
  word_encoding encoding;
  encoding.limbs = static_cast<std::uint32_t>(problem.rows.record_bytes / limb_bytes);
  encoding.rows_are_words = rows_load_as_words(problem) && is_as_stored(field);
  encoding.key_bits = problem.key.bits;
  encoding.first_bit = 8 * static_cast<std::uint32_t>(field.offset) + field.first_bit;
  return encoding;
}

// Row numbers are sorted by a key that is not an aligned number of 4 or 8 bytes with all of its bits.
word_encoding row_number_encoding(const sort_problem& problem) {
  const bool row_number_fits =
      problem.key.bits > word_encoding::round_bits && problem.key.bits <= word_encoding::most_bits_above_row_number;
  word_encoding encoding;
  encoding.yields_order = true;
  encoding.payload = row_number_fits ? word_payload::row_number : word_payload::separate;
  encoding.is_extracted = !row_number_fits || !key_is_whole_limbs(problem);
  encoding.key_bits = row_number_fits ? problem.key.bits : std::min(problem.key.bits, word_encoding::round_bits);
  encoding.rounds = (problem.key.bits - 1) / encoding.key_bits + 1;
  encoding.limbs = (row_number_fits ? 1 : 0) + (encoding.key_bits + 31) / 32;
  return encoding;
}

// The sign bit of signed keys is flipped, because negative numbers would compare above the others otherwise. Floats are
// sign and magnitude, so the other bits of negative ones are flipped, too. A descending order flips all bits once more.
// The key lies in the limbs from key_begin up to key_end of the word.
key_transform key_transform_of(const key_field& field, std::uint32_t key_begin, std::uint32_t key_end) {
  constexpr std::uint32_t highest_bit = 1U << 31;
  const bool is_signed = field.type == key_type::signed_integer || field.type == key_type::floating;
  key_transform transform;
  for (const bool is_negative : {false, true}) {
    std::array<std::uint32_t, 4>& flipped_bits = transform.flipped_bits[is_negative ? 1 : 0];
    const bool is_negative_float = is_negative && field.type == key_type::floating;
    const bool flips_all = field.descending != is_negative_float;
    if (flips_all) std::fill(flipped_bits.begin() + key_begin, flipped_bits.begin() + key_end, ~0U);
    const bool flips_sign = is_signed && !is_negative_float;
    if (flips_sign) flipped_bits[key_end - 1] ^= highest_bit;
  }
  transform.flips_highest_bit = (transform.flipped_bits[0][key_end - 1] & highest_bit) != 0;
  return transform;
}

}  // namespace

bool has_one_value_array(const sort_problem& p, std::uint64_t most_bytes) {
  const sorted_array& values = p.columns[0];
  const bool is_word =
      values.record_bytes <= most_bytes && (is_word_of_4_or_8(values.record_bytes) || values.record_bytes == 16);
  return p.product == sort_product::records && p.column_count == 1 && is_word &&
         values.access_bytes >= values.record_bytes && values.in_stride_bytes == values.record_bytes &&
         values.out_stride_bytes == values.record_bytes;
}

bool key_is_whole_limbs(const sort_problem& problem) {
  const key_field& f = problem.key.fields[0];
  const std::uint32_t aligned_to = f.bytes == 8 ? 8 : limb_bytes;
  return problem.key.field_count == 1 && f.type != key_type::bytes && f.first_bit == 0 &&
         problem.key.bits == f.bytes * 8 && f.bytes % limb_bytes == 0 && f.bytes <= 16 && f.offset % aligned_to == 0 &&
         problem.rows.access_bytes >= aligned_to && problem.rows.record_bytes % limb_bytes == 0;
}

word_encoding encoding_of(const sort_problem& problem) {
  const bool has_limb_key = key_is_whole_limbs(problem);
  const bool has_word_key = is_word_of_4_or_8(problem.key.fields[0].bytes);
  if (has_one_value_array(problem, 8) &&
      ((has_limb_key && has_word_key && row_is_key(problem)) || rows_are_keys_in_place(problem))) {
    return separate_encoding(problem);
  }
  if (has_limb_key && row_is_key(problem) && sorts_rows_alone(problem)) return row_encoding(problem);
  if (has_limb_key && has_word_key) {
    word_encoding encoding = separate_encoding(problem);
    encoding.yields_order = true;
    return encoding;
  }
  return row_number_encoding(problem);
}

word_encoding onesweep_encoding_of(const sort_problem& problem) {
  const std::uint32_t key_bytes = problem.key.fields[0].bytes;
  const bool holds_key =
      key_is_whole_limbs(problem) && key_bytes == 4 && problem.rows.record_bytes == 8 && problem.rows.access_bytes >= 8;
  if (sorts_rows_alone(problem) && (rows_are_keys_in_place(problem) || holds_key)) return row_encoding(problem);
  const bool has_key = rows_are_keys_in_place(problem) ||
                       (row_is_key(problem) && is_word_of_4_or_8(key_bytes) && key_is_whole_limbs(problem));
  if (has_key && has_one_value_array(problem, key_bytes == limb_bytes ? 16 : 8)) return separate_encoding(problem);
  return encoding_of(problem);
}

double extraction_seconds(const sort_problem& p, std::uint32_t rounds, std::uint64_t word_bytes, const machine& m) {
  const double read = static_cast<double>(std::min<std::uint64_t>(p.rows.in_stride_bytes, 64));
  const double moved = static_cast<double>(p.count) * (read + static_cast<double>(word_bytes));
  return m.step_seconds + moved / m.copy_bytes_per_second +
         (rounds - 1) * m.random_reads(p.count, p.rows.record_bytes, p.count * p.rows.in_stride_bytes);
}

void set_rows_and_target(const sort_problem& problem, const word_encoding& encoding, const sort_buffers& buffers,
                         word_sort& sort) {
  const key_field& field = problem.key.fields[0];
  const bool word_is_row = encoding.payload == word_payload::none;
  const std::uint32_t key_limbs = field.bytes / limb_bytes;
  const std::uint32_t first_of_key =
      word_is_row ? static_cast<std::uint32_t>(field.offset) / limb_bytes : encoding.limbs - key_limbs;
  sort.transform = key_transform_of(field, first_of_key, first_of_key + key_limbs);
  sort.transform.key_is_lower_limb = encoding.limbs == 2 && first_of_key + key_limbs == 1;
  // Limbs of the row, or of the key alone.
  const std::uint64_t begin = word_is_row ? 0 : field.offset;
  sort.rows = {buffers.in.data + begin, buffers.in.stride_bytes, encoding.payload == word_payload::row_number};
  if (!encoding.yields_order && problem.writes_rows) {
    sort.target.data = buffers.out.data + begin;
    sort.target.stride = buffers.out.stride_bytes;
  }
}

}  // namespace sheaf::cuda
