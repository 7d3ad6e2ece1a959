#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <sheaf/split.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "support/cases/split.hpp"
#include "support/placed.hpp"

namespace sheaf::tests {

/// The category that a spread gives record i of n.
inline std::uint64_t spread_category(spread s, std::uint64_t i, std::uint64_t n, std::uint64_t categories) {
  const std::uint64_t any = inputs::mix(i + 977);
  switch (s) {
    case spread::uniform: return any % categories;
    case spread::equal: return categories / 2;
    case spread::two: return any % 3 == 0 ? categories - 1 : categories / 3;
    case spread::sorted: return i * categories / n;
    case spread::reversed: return categories - 1 - spread_category(spread::sorted, i, n, categories);
    case spread::zipf: return inputs::pattern_entry({inputs::pattern_kind::zipf}, i, categories);
    case spread::huge: return any % 16 == 0 ? inputs::mix(any) % categories : categories * 2 / 3;
  }
  return 0;
}

/// The byte in which bit k of a field lies, and the bit's number in it from the lowest; k counts from the highest bit
/// of the value.
struct bit_place {
  std::uint64_t byte;
  unsigned from_lowest;
};
inline bit_place place_of_bit(const bit_field& f, std::uint32_t k) {
  if (f.order == bit_order::from_left) return {(f.first + k) / 8, 7 - static_cast<unsigned>((f.first + k) % 8)};
  const std::uint64_t bit = f.first + f.count - 1 - k;
  return {bit / 8, static_cast<unsigned>(bit % 8)};
}

/// The value of the field, bit by bit as split.hpp defines it.
inline std::uint64_t bits_of(const std::byte* record, const bit_field& f) {
  std::uint64_t number = 0;
  for (std::uint32_t k = 0; k < f.count; ++k) {
    const bit_place at = place_of_bit(f, k);
    number = 2 * number + (std::to_integer<unsigned>(record[at.byte]) >> at.from_lowest & 1);
  }
  return number;
}

/// Bit k of the field, counted from the highest, becomes is_set(k).
template <class IsSet>
void set_each_bit(std::byte* record, const bit_field& f, IsSet is_set) {
  for (std::uint32_t k = 0; k < f.count; ++k) {
    const bit_place at = place_of_bit(f, k);
    const auto mask = std::byte{1} << at.from_lowest;
    record[at.byte] = is_set(k) ? record[at.byte] | mask : record[at.byte] & ~mask;
  }
}

inline void set_bits(std::byte* record, const bit_field& f, std::uint64_t number) {
  set_each_bit(record, f, [&](std::uint32_t k) { return (number >> (f.count - 1 - k) & 1) != 0; });
}

/// A field of more than 32 bits gets this number of 20 bits, spread over the whole field, so that its highest and its
/// lowest bits and some between them decide. The other bits are those of every record.
constexpr std::uint64_t spread_numbers = std::uint64_t{1} << 20;
inline void set_wide_bits(std::byte* record, const bit_field& f, std::uint64_t number) {
  std::vector<bool> bits;
  for (std::uint32_t k = 0; k < f.count; ++k) bits.push_back((inputs::mix(f.count + k) & 1) != 0);
  for (std::uint32_t j = 0; j < 20; ++j) bits[j * (f.count - 1) / 19] = (number >> (19 - j) & 1) != 0;
  set_each_bit(record, f, [&](std::uint32_t k) { return bits[k]; });
}

/// The bits of the field as text, the highest first: texts compare as the values do.
inline std::string text_of_bits(const std::byte* record, const bit_field& f) {
  std::string text;
  for (std::uint32_t k = 0; k < f.count; ++k) {
    const bit_place at = place_of_bit(f, k);
    text += (std::to_integer<unsigned>(record[at.byte]) >> at.from_lowest & 1) != 0 ? '1' : '0';
  }
  return text;
}

/// Memory of a case before and after the call. The expected output comes from std::stable_sort of record numbers by
/// category.
struct split_trial {
  split_case c;
  image in;
  image keys;  ///< empty for record_bits
  std::vector<std::uint64_t> category;
  std::vector<std::uint64_t> order;  ///< gather index of the good records
  image out_before, out_after;
  mutable std::optional<image> out_sorted;  ///< out_after with each category sorted; made when first needed
  image gather_before, gather_after;
  image scatter_before, scatter_after;
  image offsets_before, offsets_after;

  explicit split_trial(const split_case& from_case) : c(from_case) {
    make_inputs();
    for (std::uint64_t i = 0; i < c.count; ++i) {
      if (category[i] < c.categories) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint64_t a, std::uint64_t b) { return category[a] < category[b]; });
    make_answers();
  }

  split_key key(const_records placed_keys) const {
    switch (c.from) {
      case split_key::kind::record_bits: return split_key::of_record(c.bits);
      case split_key::kind::key_bits: return split_key::of(placed_keys, c.bits);
      default: return split_key::category(placed_keys, c.categories);
    }
  }

 private:
  void make_inputs() {
    const split_layout& l = c.layout;
    in = filled(c.count, c.record_bytes, c.record_bytes + l.in_padding, l.in_misalignment, 5);
    if (c.has_separate_key()) keys = filled(c.count, c.key_bytes, c.key_bytes + l.key_padding, l.key_misalignment, 6);
    const bool whole = c.from == split_key::kind::category;
    const bit_field field = whole ? bit_field{0, static_cast<std::uint32_t>(8 * c.key_bytes)} : c.bits;
    image& holder = c.has_separate_key() ? keys : in;
    if (field.count > bit_field::most_counted_bits) return make_wide_categories(holder, field);
    const std::uint64_t numbers = std::uint64_t{1} << field.count;
    if (!whole) c.categories = numbers;
    for (std::uint64_t i = 0; i < c.count; ++i) {
      set_bits(holder.record(i), field, spread_category(c.categories_are, i, c.count, std::min(numbers, c.categories)));
    }
    for (const auto& [record, value] : c.bad) set_bits(holder.record(record), field, value);
    for (std::uint64_t i = 0; i < c.count; ++i) category.push_back(bits_of(holder.record(i), field));
  }

  // The categories that there are, numbered in the order of their keys.
  void make_wide_categories(image& holder, const bit_field& field) {
    std::vector<std::string> values;
    for (std::uint64_t i = 0; i < c.count; ++i) {
      set_wide_bits(holder.record(i), field, spread_category(c.categories_are, i, c.count, spread_numbers));
      values.push_back(text_of_bits(holder.record(i), field));
    }
    std::vector<std::string> distinct = values;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    c.categories = distinct.size();
    for (const std::string& value : values) {
      category.push_back(
          static_cast<std::uint64_t>(std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin()));
    }
  }

  void make_answers() {
    const std::uint64_t width = bytes(c.index);
    out_before = poisoned(c.count, c.record_bytes, c.record_bytes + c.layout.out_padding, c.layout.out_misalignment);
    gather_before = scatter_before = poisoned(c.has_separate_key() ? c.count : 0, width, width);
    out_after = out_before;
    gather_after = scatter_after = gather_before;
    for (std::uint64_t to = 0; to < order.size(); ++to) {
      std::memcpy(out_after.record(to), in.record(order[to]), c.record_bytes);
      if (!c.has_separate_key()) continue;
      set_entry(gather_after, to, order[to]);
      set_entry(scatter_after, order[to], to);
    }
    offsets_before = poisoned(c.wants_offsets ? c.categories + 1 : 0, 8, 8);
    offsets_after = offsets_before;
    std::uint64_t to = 0;
    for (std::uint64_t category_number = 0; category_number < offsets_after.count; ++category_number) {
      while (to < order.size() && category[order[to]] < category_number) ++to;
      set_entry(offsets_after, category_number, to);
    }
  }
};

}  // namespace sheaf::tests
