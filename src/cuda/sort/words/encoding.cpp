#include "cuda/sort/words/encoding.hpp"

namespace sheaf::cuda {
namespace {

using primitives::key_layout;
using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;
using primitives::sorted_array;

constexpr std::uint32_t limb_bytes = 4;

bool has_whole_limbs(const sorted_array& a) { return a.word_bytes >= limb_bytes; }

// Bytes of a row and its values that are not the key.
std::uint64_t payload_bytes(const sort_problem& p) {
  std::uint64_t bytes = p.writes_rows ? p.rows.record_bytes - p.key.fields[0].bytes : 0;
  for (std::uint32_t c = 0; c < p.column_count; ++c) bytes += p.columns[c].record_bytes;
  return bytes;
}

bool values_are_whole_limbs(const sort_problem& p) {
  for (std::uint32_t c = 0; c < p.column_count; ++c) {
    if (!has_whole_limbs(p.columns[c])) return false;
  }
  return true;
}

// The key is the whole row, and rows can be loaded and stored as words.
bool rows_are_words(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  const std::uint32_t alignment = f.bytes == 12 ? 4 : f.bytes;
  return f.bytes == p.rows.record_bytes && p.rows.in_stride_bytes == f.bytes &&
         (p.rows.out_stride_bytes == f.bytes || !p.writes_rows) && p.rows.word_bytes >= alignment;
}

bool is_as_stored(const key_field& f) { return f.type == key_type::unsigned_integer && !f.descending; }

bool is_word_of_4_or_8(std::uint64_t bytes) { return bytes == 4 || bytes == 8; }

// There is one array of values, which are adjacent words of 4, 8 or 16 bytes, at most most_bytes.
bool has_one_value_array(const sort_problem& p, std::uint64_t most_bytes) {
  const sorted_array& values = p.columns[0];
  const bool is_word =
      values.record_bytes <= most_bytes && (is_word_of_4_or_8(values.record_bytes) || values.record_bytes == 16);
  return p.product == sort_product::records && p.column_count == 1 && is_word &&
         values.word_bytes >= values.record_bytes && values.in_stride_bytes == values.record_bytes &&
         values.out_stride_bytes == values.record_bytes;
}

// Rows are unsigned keys of 4 or 8 bytes, sorted by some of their bits where they lie. The bits of an 8-byte key have
// to be whole bytes.
bool rows_are_keys_in_place(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  if (p.key.field_count != 1 || !is_as_stored(f) || !is_word_of_4_or_8(f.bytes) || !rows_are_words(p)) return false;
  return f.bytes == 4 || (f.first_bit % 8 == 0 && p.key.bits % 8 == 0);
}

// Keys of 4 or 8 bytes as words; values or row numbers lie in an array of their own.
word_encoding separate_encoding(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  word_encoding encoding;
  encoding.limbs = f.bytes / limb_bytes;
  encoding.payload = word_payload::separate;
  encoding.rows_are_words = rows_are_words(p) && is_as_stored(f);
  encoding.key_bits = p.key.bits;
  encoding.first_bit = f.first_bit;
  return encoding;
}

// Keys of whole limbs above the rest of the row and the values.
word_encoding in_word_encoding(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  word_encoding encoding;
  encoding.limbs = static_cast<std::uint32_t>((f.bytes + payload_bytes(p)) / limb_bytes);
  encoding.payload = payload_bytes(p) > 0 ? word_payload::in_word : word_payload::none;
  encoding.rows_are_words = encoding.payload == word_payload::none && rows_are_words(p) && is_as_stored(f);
  encoding.key_bits = p.key.bits;
  return encoding;
}

// Up to most_round_bits of the key above the row number.
word_encoding row_number_encoding(const sort_problem& p) {
  word_encoding encoding;
  encoding.sorts_row_numbers = true;
  encoding.payload = word_payload::row_number;
  encoding.rounds = (p.key.bits + word_encoding::most_round_bits - 1) / word_encoding::most_round_bits;
  encoding.key_bits = encoding.rounds > 1 ? word_encoding::most_round_bits : p.key.bits;
  encoding.limbs = 1 + (encoding.key_bits + 31) / 32;
  return encoding;
}

// The bits of each limb that belong to a key of key_limbs limbs, which are the highest of the word.
std::array<std::uint32_t, 4> key_mask_of(std::uint32_t limbs, std::uint32_t key_limbs) {
  std::array<std::uint32_t, 4> mask{};
  for (std::uint32_t i = limbs - key_limbs; i < limbs; ++i) mask[i] = ~0U;
  return mask;
}

// Calls body(in, in_stride, out, out_stride) for each limb of the payload, from the lowest limb of the word on.
template <class Body>
void for_each_value_limb(const sort_problem& p, const sort_buffers& b, Body body) {
  for (std::uint32_t c = 0; c < p.column_count; ++c) {
    const sort_column& column = b.columns[c];
    for (std::uint64_t offset = 0; offset < p.columns[c].record_bytes; offset += limb_bytes) {
      body(column.in.data + offset, column.in.stride_bytes, column.out.data + offset, column.out.stride_bytes);
    }
  }
  if (!p.writes_rows) return;
  const key_field& f = p.key.fields[0];
  for (std::uint64_t offset = 0; offset < p.rows.record_bytes; offset += limb_bytes) {
    if (offset >= f.offset && offset < f.offset + f.bytes) continue;
    body(b.in.data + offset, b.in.stride_bytes, b.out.data + offset, b.out.stride_bytes);
  }
}

// The sign bit of signed keys is flipped, because negative numbers would compare above the others otherwise. Floats are
// sign and magnitude, so the other bits of negative ones are flipped, too. A descending order flips all bits once more.
key_transform key_transform_of(const key_field& f, const std::array<std::uint32_t, 4>& mask, std::uint32_t limbs) {
  constexpr std::uint32_t highest_bit = 1U << 31;
  const bool is_signed = f.type == key_type::signed_integer || f.type == key_type::floating;
  key_transform transform;
  transform.mask = mask;
  for (const bool is_negative : {false, true}) {
    std::array<std::uint32_t, 4>& flipped_bits = transform.flipped_bits[is_negative ? 1 : 0];
    const bool is_negative_float = is_negative && f.type == key_type::floating;
    const bool flips_all = f.descending != is_negative_float;
    if (flips_all) flipped_bits = mask;
    const bool flips_sign = is_signed && !is_negative_float;
    if (flips_sign) flipped_bits[limbs - 1] ^= highest_bit;
  }
  transform.flips_highest_bit = (transform.flipped_bits[0][limbs - 1] & highest_bit) != 0;
  return transform;
}

}  // namespace

bool key_is_whole_limbs(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  return p.key.field_count == 1 && f.type != key_type::bytes && f.first_bit == 0 && p.key.bits == f.bytes * 8 &&
         f.bytes % limb_bytes == 0 && f.bytes <= 16 && f.offset % limb_bytes == 0 && has_whole_limbs(p.rows) &&
         p.rows.record_bytes % limb_bytes == 0;
}

word_encoding encoding_of(const sort_problem& p) {
  const bool has_limb_key = key_is_whole_limbs(p);
  const std::uint32_t key_bytes = p.key.fields[0].bytes;
  const bool is_key_alone = key_bytes == p.rows.record_bytes && is_word_of_4_or_8(key_bytes);
  if (has_one_value_array(p, 8) && ((has_limb_key && is_key_alone) || rows_are_keys_in_place(p))) {
    return separate_encoding(p);
  }
  if (p.product == sort_product::records && has_limb_key && values_are_whole_limbs(p) &&
      key_bytes + payload_bytes(p) <= 16) {
    return in_word_encoding(p);
  }
  if (has_limb_key && is_word_of_4_or_8(key_bytes)) {
    word_encoding encoding = separate_encoding(p);
    encoding.sorts_row_numbers = true;
    return encoding;
  }
  return row_number_encoding(p);
}

word_encoding onesweep_encoding_of(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  const bool has_bits = rows_are_keys_in_place(p);
  const bool is_key = is_word_of_4_or_8(f.bytes) && p.rows.record_bytes == f.bytes && key_is_whole_limbs(p);
  const bool is_alone = p.product == sort_product::records && p.column_count == 0 && p.writes_rows;
  word_encoding encoding;
  encoding.limbs = f.bytes / limb_bytes;
  encoding.key_bits = p.key.bits;
  encoding.first_bit = f.first_bit;
  encoding.rows_are_words = rows_are_words(p) && is_as_stored(f);
  if (has_bits && is_alone) return encoding;
  encoding.payload = word_payload::separate;
  if ((has_bits || is_key) && has_one_value_array(p, f.bytes == limb_bytes ? 16 : 8)) return encoding;
  return encoding_of(p);
}

bool keys_are_aligned(const sort_problem& p, const word_encoding& encoding) {
  return encoding.limbs == 1 || (p.rows.word_bytes >= 8 && p.key.fields[0].offset % 8 == 0);
}

word_mapping mapping_of(const sort_problem& p, const word_encoding& encoding, const sort_buffers& b) {
  word_mapping mapping;
  const key_field& f = p.key.fields[0];
  const std::uint32_t key_limbs = f.bytes / limb_bytes;
  for (std::uint32_t i = 0; i < key_limbs; ++i) {
    const std::uint32_t limb = encoding.limbs - key_limbs + i;
    mapping.source.limbs[limb] = {b.in.data + f.offset + i * limb_bytes, b.in.stride_bytes};
    if (!encoding.sorts_row_numbers && p.writes_rows) {
      mapping.target.limbs[limb] = {b.out.data + f.offset + i * limb_bytes, b.out.stride_bytes};
    }
  }
  mapping.target.transform = key_transform_of(f, key_mask_of(encoding.limbs, key_limbs), encoding.limbs);
  if (encoding.payload == word_payload::row_number) mapping.source.row_number_limb = encoding.limbs - key_limbs - 1;
  if (encoding.payload != word_payload::in_word) return mapping;
  std::uint32_t payload_limb = 0;
  for_each_value_limb(p, b, [&](const std::byte* in, std::uint64_t in_stride, std::byte* out, std::uint64_t stride) {
    mapping.source.limbs[payload_limb] = {in, in_stride};
    mapping.target.limbs[payload_limb++] = {out, stride};
  });
  return mapping;
}

}  // namespace sheaf::cuda
