#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/error.hpp>
#include <sheaf/sort.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "primitives/sort/contract.hpp"
#include "support/cases/sort.hpp"
#include "support/placed.hpp"

namespace sheaf::tests {

/// A case's memory before and after, with the reference's answer.
struct sort_trial {
  sort_case c;
  image in;
  std::vector<image> columns;
  image out_before, out_after;
  std::vector<image> columns_before, columns_after;
  image index_before, index_after;

  explicit sort_trial(const sort_case& from) : c(from) {
    make_inputs();
    make_answers();
  }

  bool writes_rows() const { return c.call == sort_call::records || c.call == sort_call::pairs; }
  bool writes_index() const { return c.call == sort_call::gather_index; }

  /// Calls what the case calls, on memory of the context.
  void call(const context& ctx, const_records rows, records out, const std::vector<sort_column>& values,
            index_output index, const sort_options& options) const {
    switch (c.call) {
      case sort_call::records: return sort_records(ctx, rows, c.key(), out, options);
      case sort_call::pairs: return sort_pairs(ctx, rows, c.key(), out, values, options);
      case sort_call::pairs_without_keys: return sort_pairs(ctx, rows, c.key(), {}, values, options);
      case sort_call::gather_index: return sort_gather_index(ctx, rows, c.key(), index, options);
    }
  }

 private:
  // The bytes of a field from the one that weighs most to the one that weighs least.
  static std::byte& byte_by_weight(std::byte* row, const key_field& f, std::uint32_t k) {
    return row[f.offset + (f.type == key_type::bytes ? k : f.bytes - 1 - k)];
  }

  static void set_number(std::byte* row, const key_field& f, std::uint64_t number) {
    for (std::uint32_t k = 0; k < f.bytes; ++k) {
      const std::uint32_t low = f.bytes - 1 - k;
      byte_by_weight(row, f, k) = low < 8 ? static_cast<std::byte>(number >> (8 * low)) : std::byte{0};
    }
  }

  // One of `patterns` contents, the same for all rows that are given the same one.
  static void set_pattern(std::byte* row, const key_field& f, std::uint64_t pattern) {
    for (std::uint32_t k = 0; k < f.bytes; ++k) {
      byte_by_weight(row, f, k) = static_cast<std::byte>(inputs::mix(pattern * 64 + k / 2) >> (8 * (k % 2)));
    }
  }

  static void set_special(std::byte* row, const key_field& f, std::uint64_t any) {
    const std::uint32_t mantissa = f.bytes == 2 ? 10 : f.bytes == 4 ? 23 : 52;
    const std::uint32_t width = std::min(f.bytes, 8U) * 8;
    const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    const std::uint64_t infinity = f.type == key_type::floating ? (sign - 1) >> mantissa << mantissa : sign - 2;
    const std::uint64_t numbers[] = {
        0, 1, 2, infinity, infinity + 1, infinity - 1, sign - 1, any & all & 3, sign >> 1, infinity | (infinity >> 1)};
    set_number(row, f, numbers[any % 10] | ((any >> 8 & 1) != 0 ? sign : 0));
  }

  void set_key(std::uint64_t i) {
    const std::uint64_t any = inputs::mix(i + 4711);
    std::uint64_t at = 0;  // bytes of the key before this field
    for (const key_field& f : c.fields) {
      std::byte* const row = in.record(i);
      switch (c.keys_are) {
        case key_spread::uniform:
        case key_spread::sorted:
        case key_spread::reversed: break;  // as filled
        case key_spread::equal: set_pattern(row, f, 1); break;
        case key_spread::two: set_pattern(row, f, any % 3 == 0 ? 2 : 1); break;
        case key_spread::few: set_pattern(row, f, any % 10); break;
        case key_spread::zipf:
          set_number(row, f,
                     inputs::pattern_entry({inputs::pattern_kind::zipf}, i, std::max<std::uint64_t>(2, c.count)));
          break;
        case key_spread::huge:
          if (any % 16 != 0) set_pattern(row, f, 1);
          break;
        case key_spread::nested:
          for (std::uint32_t k = 0; k < f.bytes; ++k) {
            if (at + k < static_cast<std::uint64_t>(std::countl_zero(any | 1)) * 2 % 33) {
              byte_by_weight(row, f, k) = std::byte{0};
            }
          }
          break;
        case key_spread::heavy:
          if (any % 8 < 5) {
            set_pattern(row, f, any % 8 == 4 ? any / 8 % 40 : any % 8 % 2);
          } else if (any % 2 == 0) {
            for (std::uint32_t k = 0; k + 2 < f.bytes; ++k) byte_by_weight(row, f, k) = std::byte{0xff};
          }
          break;
        case key_spread::special: set_special(row, f, inputs::mix(any + at)); break;
      }
      at += f.bytes;
    }
  }

  void make_inputs() {
    const sort_layout& l = c.layout;
    in = filled(c.count, c.row_bytes, c.row_bytes + l.in_padding, l.in_misalignment, 5);
    for (std::uint64_t i = 0; i < c.count; ++i) set_key(i);
    if (c.keys_are == key_spread::sorted || c.keys_are == key_spread::reversed) put_in_order();
    for (std::size_t k = 0; k < c.column_bytes.size(); ++k) {
      const std::uint64_t width = c.column_bytes[k];
      // Every other column has gaps.
      const std::uint64_t gap_in = k % 2 == 1 ? l.in_padding + 1 : l.in_padding;
      const std::uint64_t gap_out = k % 2 == 1 ? l.out_padding + 2 : l.out_padding;
      columns.push_back(filled(c.count, width, width + gap_in, l.in_misalignment, 50 + k));
      columns_before.push_back(poisoned(c.count, width, width + gap_out, l.out_misalignment));
    }
    out_before = poisoned(writes_rows() ? c.count : 0, c.row_bytes, c.row_bytes + l.out_padding, l.out_misalignment);
    const std::uint64_t entry = bytes(c.index);
    index_before = poisoned(writes_index() ? c.count : 0, entry, entry);
  }

  // The order by the definition in primitives/sort_key.hpp.
  std::vector<std::uint64_t> order() const {
    primitives::key_layout layout;
    for (const key_field& f : c.fields) {
      layout.fields[layout.field_count++] = f;
      layout.bits += primitives::bits_of(f);
    }
    // Most keys are short, and sorted faster as one number.
    if (layout.bits <= 64) return order_by([&](std::uint64_t i) { return key_of(i, layout).word[0]; });
    return order_by([&](std::uint64_t i) { return key_of(i, layout); });
  }

  primitives::key_number key_of(std::uint64_t i, const primitives::key_layout& layout) const {
    return primitives::key_of(in.record(i), layout);
  }

  template <class KeyOfRow>
  std::vector<std::uint64_t> order_by(KeyOfRow key_of_row) const {
    std::vector<std::pair<decltype(key_of_row(0)), std::uint64_t>> rows(c.count);
    for (std::uint64_t i = 0; i < c.count; ++i) rows[i] = {key_of_row(i), i};
    std::sort(rows.begin(), rows.end());  // rows of equal keys by their number
    std::vector<std::uint64_t> all(c.count);
    for (std::uint64_t i = 0; i < c.count; ++i) all[i] = rows[i].second;
    return all;
  }

  void put_in_order() {
    std::vector<std::uint64_t> from = order();
    if (c.keys_are == key_spread::reversed) std::reverse(from.begin(), from.end());
    const image before = in;
    for (std::uint64_t i = 0; i < c.count; ++i) std::memcpy(in.record(i), before.record(from[i]), c.row_bytes);
  }

  void make_answers() {
    out_after = out_before;
    columns_after = columns_before;
    index_after = index_before;
    const std::vector<std::uint64_t> from = order();
    for (std::uint64_t to = 0; to < c.count; ++to) {
      if (writes_rows()) std::memcpy(out_after.record(to), in.record(from[to]), c.row_bytes);
      if (writes_index()) set_entry(index_after, to, from[to]);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        std::memcpy(columns_after[k].record(to), columns[k].record(from[to]), columns[k].record_bytes);
      }
    }
  }
};

/// Runs the variant and compares all memory, what lies around and between the rows too; false if it does not take the
/// problem.
inline bool run_and_expect(const context& ctx, const sort_trial& t, std::string_view variant) {
  const placed in(ctx, t.in);
  const placed out(ctx, t.out_before);
  const placed index(ctx, t.index_before);
  std::vector<placed> columns_in, columns_out;
  columns_in.reserve(t.columns.size());
  columns_out.reserve(t.columns.size());
  std::vector<sort_column> values;
  for (std::size_t k = 0; k < t.columns.size(); ++k) {
    columns_in.emplace_back(ctx, t.columns[k]);
    columns_out.emplace_back(ctx, t.columns_before[k]);
    values.push_back({columns_in[k].view(), columns_out[k].view()});
  }
  try {
    t.call(ctx, in.view(), out.view(), values, {index.view().data, t.index_before.count, t.c.index}, {variant});
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return false;
  }
  EXPECT_NO_THROW(ctx.wait());
  expect_bytes(in.download(), t.in, "in");
  expect_bytes(out.download(), t.out_after, "out");
  expect_bytes(index.download(), t.index_after, "the index");
  for (std::size_t k = 0; k < t.columns.size(); ++k) {
    expect_bytes(columns_in[k].download(), t.columns[k], "values");
    expect_bytes(columns_out[k].download(), t.columns_after[k], "values in order");
  }
  return true;
}

/// Every variant, and "" for the planner's choice.
inline std::vector<std::string> sort_variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::sort_variants()) names.emplace_back(v.name);
  return names;
}

}  // namespace sheaf::tests
