#pragma once

#include <sheaf/gather_reduce.hpp>

#include "lab/description/items.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill the arrays of reductions of rows and check their answers. Values are
// small whole numbers of either sign, whose sums are exact in any order.
namespace sheaf::jobs {

/// Parameters of the functions that give rows and what is made of them.
struct combined_rows_source {
  value_type in = value_type::f32;
  value_type out = value_type::f32;
  inputs::pattern pattern;
  std::uint64_t indexed = 0;  ///< rows that the list names
  std::uint64_t width = 1;    ///< values of a row
  std::uint64_t entries = 0;  ///< of the list
  std::uint64_t segment_entries = 1;
  bool begins_empty = false;  ///< out holds nothing before
  bool has_weights = false;
  bool counts = false;  ///< each row counts once, whatever it holds
};

SHEAF_HOST_DEVICE inline bool is_row_float(value_type type) {
  return is_float(type) || type == value_type::f16 || type == value_type::bf16;
}

/// A whole number as value i of an array of any type.
SHEAF_HOST_DEVICE inline void store_row_value(void* to, value_type type, std::uint64_t i, std::int64_t number) {
  switch (type) {
    case value_type::f16: static_cast<float16*>(to)[i] = float16(static_cast<float>(number)); break;
    case value_type::bf16: static_cast<bfloat16*>(to)[i] = bfloat16(static_cast<float>(number)); break;
    case value_type::i8:
    case value_type::u8: static_cast<std::uint8_t*>(to)[i] = static_cast<std::uint8_t>(number); break;
    case value_type::i16:
    case value_type::u16: static_cast<std::uint16_t*>(to)[i] = static_cast<std::uint16_t>(number); break;
    default: store_whole(to, type, i, number);
  }
}

/// Value i of all rows: -7 to 7 with a sign, 0 to 14 without one.
SHEAF_HOST_DEVICE inline std::int64_t row_value(const combined_rows_source& s, std::uint64_t i) {
  if (s.counts) return 1;
  const auto draw = static_cast<std::int64_t>(inputs::mix(i + 0x5eed) % 15);
  const bool is_unsigned =
      s.in == value_type::u8 || s.in == value_type::u16 || s.in == value_type::u32 || s.in == value_type::u64;
  return is_unsigned ? draw : draw - 7;
}

/// What value i of out holds before the call.
SHEAF_HOST_DEVICE inline std::int64_t row_value_before(const combined_rows_source& s, std::uint64_t i) {
  return s.begins_empty ? 0 : static_cast<std::int64_t>(i % 5);
}

SHEAF_HOST_DEVICE inline std::int64_t row_weight(const combined_rows_source& s, std::uint64_t entry) {
  return s.has_weights ? static_cast<std::int64_t>(inputs::mix(entry + 0x3ee) % 3) + 1 : 1;
}

/// The factor of a value of out in the checksum. It is odd, so that one wrong value always changes a sum.
SHEAF_HOST_DEVICE inline std::uint64_t factor_of_value(std::uint64_t i) { return inputs::mix(i + 0xfac) | 1; }

/// Values of rows that lie side by side.
struct fill_rows {
  combined_rows_source source;
  void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    store_row_value(values, source.in, i, row_value(source, i));
    return {};
  }
};

struct fill_rows_before {
  combined_rows_source source;
  void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    store_row_value(values, source.out, i, row_value_before(source, i));
    return {};
  }
};

struct fill_row_weights {
  combined_rows_source source;
  void* weights;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    store_row_value(weights, source.in, entry, row_weight(source, entry));
    return {};
  }
};

struct fill_segment_offsets {
  combined_rows_source source;
  void* offsets;
  std::uint64_t offset_bytes;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t segment) const {
    const std::uint64_t begin = segment * source.segment_entries;
    store_number(offsets, offset_bytes, segment, begin < source.entries ? begin : source.entries);
    return {};
  }
};

/// Checksum of the rows that a scatter_reduce reads: each value times the factor of its place in out.
struct checksum_scattered_rows {
  combined_rows_source source;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    const std::uint64_t slot = inputs::pattern_entry(source.pattern, entry, source.indexed);
    std::uint64_t sum = 0;
    for (std::uint64_t k = 0; k < source.width; ++k) {
      sum += static_cast<std::uint64_t>(row_value(source, entry * source.width + k)) *
             factor_of_value(slot * source.width + k);
    }
    return {0, sum};
  }
};

/// The same of the rows that a gather_reduce reads.
struct checksum_gathered_rows {
  combined_rows_source source;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    const std::uint64_t row = inputs::pattern_entry(source.pattern, entry, source.indexed);
    const std::uint64_t segment = entry / source.segment_entries;
    std::uint64_t sum = 0;
    for (std::uint64_t k = 0; k < source.width; ++k) {
      const std::int64_t value = row_weight(source, entry) * row_value(source, row * source.width + k);
      sum += static_cast<std::uint64_t>(value) * factor_of_value(segment * source.width + k);
    }
    return {0, sum};
  }
};

/// Checksum of out: what was added to each value, times the value's factor. A float that is not whole is a mismatch.
struct checksum_rows_of_out {
  combined_rows_source source;
  const void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    std::int64_t whole = 0;
    if (is_float(source.out) && !is_whole(float_at(values, source.out, i), whole)) return {1, 0};
    const std::uint64_t found =
        is_float(source.out) ? static_cast<std::uint64_t>(whole) : number_at(values, bytes(source.out), i);
    return {0, (found - static_cast<std::uint64_t>(row_value_before(source, i))) * factor_of_value(i)};
  }
};

}  // namespace sheaf::jobs
