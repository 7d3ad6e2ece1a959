#include "cuda/sort/words/encoding.hpp"

#include "primitives/gather.hpp"

namespace sheaf::cuda {
namespace {

using primitives::key_layout;
using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;
using primitives::sorted_array;

constexpr std::uint32_t part_bytes = 4;

bool is_of_parts(const sorted_array& a) { return a.word_bytes >= part_bytes; }

std::uint64_t value_bytes(const sort_problem& p) {
  std::uint64_t bytes = p.writes_rows ? p.rows.record_bytes - p.key.fields[0].bytes : 0;
  for (std::uint32_t c = 0; c < p.column_count; ++c) bytes += p.columns[c].record_bytes;
  return bytes;
}

bool has_simple_values(const sort_problem& p) {
  for (std::uint32_t c = 0; c < p.column_count; ++c) {
    if (!is_of_parts(p.columns[c])) return false;
  }
  return true;
}

// Rows that words can be loaded from and stored to as they are.
bool is_plain(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  const std::uint32_t alignment = f.bytes == 12 ? 4 : f.bytes;
  return f.bytes == p.rows.record_bytes && p.rows.in_stride_bytes == f.bytes &&
         (p.rows.out_stride_bytes == f.bytes || !p.writes_rows) && p.rows.word_bytes >= alignment;
}

bool is_as_stored(const key_field& f) { return f.type == key_type::unsigned_integer && !f.descending; }

bool is_word_of_4_or_8(std::uint64_t bytes) { return bytes == 4 || bytes == 8; }

// One array of values of 4, 8 or 16 bytes, at most so many, side by side.
bool has_values_apart(const sort_problem& p, std::uint64_t most_bytes) {
  const sorted_array& values = p.columns[0];
  const bool is_word =
      values.record_bytes <= most_bytes && (is_word_of_4_or_8(values.record_bytes) || values.record_bytes == 16);
  return p.product == sort_product::records && p.column_count == 1 && is_word &&
         values.word_bytes >= values.record_bytes && values.in_stride_bytes == values.record_bytes &&
         values.out_stride_bytes == values.record_bytes;
}

// Keys that are whole rows, of 4 or 8 bytes, by some of their bits: those of 8 bytes are split by bytes.
bool has_plain_bits(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  if (p.key.field_count != 1 || !is_as_stored(f) || !is_word_of_4_or_8(f.bytes) || !is_plain(p)) return false;
  return f.bytes == 4 || (f.first_bit % 8 == 0 && p.key.bits % 8 == 0);
}

// The bits of the key itself in each limb, for keys at the top of a word.
std::array<std::uint32_t, 4> key_mask_of(std::uint32_t limbs, std::uint32_t key_parts) {
  std::array<std::uint32_t, 4> mask{};
  for (std::uint32_t i = limbs - key_parts; i < limbs; ++i) mask[i] = ~0U;
  return mask;
}

// Calls body(in, in_stride, out, out_stride) for each limb that comes along with the key, from the lowest on.
template <class Body>
void for_each_value_part(const sort_problem& p, const sort_buffers& b, Body body) {
  for (std::uint32_t c = 0; c < p.column_count; ++c) {
    const sort_column& column = b.columns[c];
    for (std::uint64_t at = 0; at < p.columns[c].record_bytes; at += part_bytes) {
      body(column.in.data + at, column.in.stride_bytes, column.out.data + at, column.out.stride_bytes);
    }
  }
  if (!p.writes_rows) return;
  const key_field& f = p.key.fields[0];
  for (std::uint64_t at = 0; at < p.rows.record_bytes; at += part_bytes) {
    if (at >= f.offset && at < f.offset + f.bytes) continue;
    body(b.in.data + at, b.in.stride_bytes, b.out.data + at, b.out.stride_bytes);
  }
}

}  // namespace

bool has_simple_key(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  return p.key.field_count == 1 && f.type != key_type::bytes && f.first_bit == 0 && p.key.bits == f.bytes * 8 &&
         f.bytes % part_bytes == 0 && f.bytes <= 16 && f.offset % part_bytes == 0 && is_of_parts(p.rows) &&
         p.rows.record_bytes % part_bytes == 0;
}

word_encoding encoding_of(const sort_problem& p) {
  word_encoding form;
  const bool is_simple = has_simple_key(p);
  const std::uint32_t key_bytes = p.key.fields[0].bytes;
  const bool is_key_alone = key_bytes == p.rows.record_bytes && is_word_of_4_or_8(key_bytes);
  if (has_values_apart(p, 8) && ((is_simple && is_key_alone) || has_plain_bits(p))) {
    form.limbs = key_bytes / part_bytes;
    form.payload = word_payload::separate;
    form.is_plain = is_plain(p) && is_as_stored(p.key.fields[0]);
    form.key_bits = p.key.bits;
    form.first_bit = p.key.fields[0].first_bit;
    return form;
  }
  if (p.product == sort_product::records && is_simple && has_simple_values(p) && key_bytes + value_bytes(p) <= 16) {
    form.limbs = static_cast<std::uint32_t>((key_bytes + value_bytes(p)) / part_bytes);
    form.payload = value_bytes(p) > 0 ? word_payload::values : word_payload::none;
    form.is_plain = form.payload == word_payload::none && is_plain(p) && is_as_stored(p.key.fields[0]);
    form.key_bits = p.key.bits;
    return form;
  }
  form.sorts_numbers = true;
  if (is_simple && is_word_of_4_or_8(key_bytes)) {
    form.limbs = key_bytes / part_bytes;
    form.payload = word_payload::separate;
    form.is_plain = is_plain(p) && is_as_stored(p.key.fields[0]);
    form.key_bits = p.key.bits;
    return form;
  }
  form.payload = word_payload::row_number;
  form.rounds = (p.key.bits + word_encoding::most_number_bits - 1) / word_encoding::most_number_bits;
  form.key_bits = form.rounds > 1 ? word_encoding::most_number_bits : p.key.bits;
  form.limbs = 1 + (form.key_bits + 31) / 32;
  return form;
}

word_encoding onesweep_encoding_of(const sort_problem& p) {
  const key_field& f = p.key.fields[0];
  const bool has_bits = f.bytes == part_bytes && has_plain_bits(p);
  const bool is_key = f.bytes == part_bytes && p.rows.record_bytes == part_bytes && has_simple_key(p);
  const bool is_alone = p.product == sort_product::records && p.column_count == 0 && p.writes_rows;
  word_encoding form;
  form.limbs = 1;
  form.key_bits = p.key.bits;
  form.first_bit = f.first_bit;
  form.is_plain = is_plain(p) && is_as_stored(f);
  if (has_bits && is_alone) return form;
  form.payload = word_payload::separate;
  if ((has_bits || is_key) && has_values_apart(p, 16)) return form;
  return encoding_of(p);
}

// Negative floats descend with their other bits; without the change they, like negative integers, come last.
key_change change_of(const key_field& f, const std::array<std::uint32_t, 4>& mask, std::uint32_t limbs) {
  constexpr std::uint32_t highest_bit = 1U << 31;
  const bool is_signed = f.type == key_type::signed_integer || f.type == key_type::floating;
  key_change change;
  change.mask = mask;
  for (const bool negative : {false, true}) {
    std::array<std::uint32_t, 4>& turned = change.turned[negative ? 1 : 0];
    const bool turns_all = f.descending != (negative && f.type == key_type::floating);
    if (turns_all) turned = mask;
    const bool turns_highest = is_signed && !(negative && f.type == key_type::floating);
    if (turns_highest) turned[limbs - 1] ^= highest_bit;
  }
  change.turns_highest = (change.turned[0][limbs - 1] & highest_bit) != 0;
  return change;
}

word_route route_of(const sort_problem& p, const word_encoding& form, const sort_buffers& b) {
  word_route route;
  const key_field& f = p.key.fields[0];
  const std::uint32_t key_parts = f.bytes / part_bytes;
  const bool has_number = form.payload == word_payload::row_number;
  for (std::uint32_t i = 0; i < key_parts; ++i) {
    const std::uint32_t limb = form.limbs - key_parts + i;
    route.from.limbs[limb] = {b.in.data + f.offset + i * part_bytes, b.in.stride_bytes};
    if (!form.sorts_numbers && p.writes_rows) {
      route.to.limbs[limb] = {b.out.data + f.offset + i * part_bytes, b.out.stride_bytes};
    }
  }
  route.to.change = change_of(f, key_mask_of(form.limbs, key_parts), form.limbs);
  if (has_number) route.from.number_part = form.limbs - key_parts - 1;
  if (form.payload != word_payload::values) return route;
  std::uint32_t limb = 0;
  for_each_value_part(p, b, [&](const std::byte* in, std::uint64_t in_stride, std::byte* out, std::uint64_t stride) {
    route.from.limbs[limb] = {in, in_stride};
    route.to.limbs[limb++] = {out, stride};
  });
  return route;
}

void gather_by_order(const context& ctx, const sort_problem& p, const sort_buffers& b, index_span order) {
  const auto gather_rows = [&](const_records in, records out) {
    const primitives::gather_problem problem =
        primitives::describe_gather(ctx, in, order, out, access_pattern::unknown(), bounds::trust);
    primitives::run_gather(ctx, problem, {in, order, out});
  };
  if (p.writes_rows) gather_rows(b.in, b.out);
  for (std::uint32_t c = 0; c < p.column_count; ++c) gather_rows(b.columns[c].in, b.columns[c].out);
}

}  // namespace sheaf::cuda
