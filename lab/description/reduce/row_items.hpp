#pragma once

#include <atomic>
#include <cmath>

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
  reduction op = reduction::add;
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

/// Value i of all rows: -7 to 7 with a sign, 0 to 14 without one. Of minima and maxima -125 to 125, or 0 to 250, so
/// that few rows of many have the least and the most. Factors of products are -1 or 1, or 1 or 3, of which the product
/// of any number is exact; of a count each row counts once, whatever it holds.
SHEAF_HOST_DEVICE inline std::int64_t row_value(const combined_rows_source& s, std::uint64_t i) {
  if (s.op == reduction::count) return 1;
  const bool is_unsigned =
      s.in == value_type::u8 || s.in == value_type::u16 || s.in == value_type::u32 || s.in == value_type::u64;
  const std::uint64_t bits = inputs::mix(i + 0x5eed);
  if (s.op == reduction::multiply) return bits % 2 == 0 ? 1 : is_unsigned ? 3 : -1;
  const bool is_extreme = s.op == reduction::min || s.op == reduction::max;
  const std::int64_t most = is_extreme ? 125 : 7;
  const auto draw = static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(2 * most + 1));
  return is_unsigned ? draw : draw - most;
}

/// What value i of out holds before the call.
SHEAF_HOST_DEVICE inline std::int64_t row_value_before(const combined_rows_source& s, std::uint64_t i) {
  if (s.begins_empty) return s.op == reduction::multiply ? 1 : 0;
  return static_cast<std::int64_t>(i % 5) + (s.op == reduction::multiply ? 1 : 0);
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

// Checks of what no checksum shows: minima, maxima, products and means, and results of fewer than 32 bits. Each value
// of out is compared with one that is combined as a whole number of 64 bits.

/// The least and the largest numbers, which stand for what no row has come to.
constexpr std::int64_t no_least = 0x7fff'ffff'ffff'ffff;
constexpr std::int64_t no_most = -no_least - 1;

/// What a value of out is combined from, if nothing comes to it.
SHEAF_HOST_DEVICE inline std::int64_t combined_before(const combined_rows_source& s, std::uint64_t i) {
  if (s.begins_empty && s.op == reduction::min) return no_least;
  if (s.begins_empty && s.op == reduction::max) return no_most;
  return row_value_before(s, i);
}

SHEAF_HOST_DEVICE inline std::int64_t combined_whole(reduction op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case reduction::min: return b < a ? b : a;
    case reduction::max: return b > a ? b : a;
    case reduction::multiply:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    case reduction::subtract: return a - b;
    case reduction::add:
    case reduction::mean:
    case reduction::count: break;
  }
  return a + b;
}

/// Combines a number with one that other threads may change.
SHEAF_HOST_DEVICE inline void combine_whole(reduction op, std::int64_t* to, std::int64_t number) {
#ifdef __CUDA_ARCH__
  auto* const bits = reinterpret_cast<unsigned long long*>(to);
  if (op == reduction::min) {
    atomicMin(reinterpret_cast<long long*>(to), static_cast<long long>(number));
  } else if (op == reduction::max) {
    atomicMax(reinterpret_cast<long long*>(to), static_cast<long long>(number));
  } else if (op != reduction::multiply) {
    atomicAdd(bits, static_cast<unsigned long long>(combined_whole(op, 0, number)));
  } else {
    unsigned long long seen = *bits;
    unsigned long long expected;
    do {
      expected = seen;
      const auto product = combined_whole(op, static_cast<std::int64_t>(expected), number);
      seen = atomicCAS(bits, expected, static_cast<unsigned long long>(product));
    } while (seen != expected);
  }
#else
  const std::atomic_ref<std::int64_t> place(*to);
  std::int64_t seen = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(seen, combined_whole(op, seen, number), std::memory_order_relaxed)) {
  }
#endif
}

/// The wanted number of a float type. @param rows  that a mean divides by
SHEAF_HOST_DEVICE inline double wanted_float(const combined_rows_source& s, std::int64_t whole, std::uint64_t rows) {
  if (whole == no_least || whole == no_most) return whole == no_least ? HUGE_VAL : -HUGE_VAL;
  if (s.op != reduction::mean) {
    return s.out == value_type::f64 ? static_cast<double>(whole) : static_cast<double>(static_cast<float>(whole));
  }
  if (rows == 0) return 0;
  return s.out == value_type::f64 ? static_cast<double>(whole) / static_cast<double>(rows)
                                  : static_cast<double>(static_cast<float>(whole) / static_cast<float>(rows));
}

/// The wanted number of an integer type, in the low bits.
SHEAF_HOST_DEVICE inline std::uint64_t wanted_integer(const combined_rows_source& s, std::int64_t whole,
                                                      std::uint64_t rows) {
  const bool has_sign =
      s.out == value_type::i8 || s.out == value_type::i16 || s.out == value_type::i32 || s.out == value_type::i64;
  const auto ones = ~std::uint64_t{0} >> (64 - 8 * bytes(s.out));
  if (whole == no_least) return has_sign ? ones >> 1 : ones;
  if (whole == no_most) return has_sign ? (ones >> 1) + 1 : 0;
  if (s.op == reduction::mean) whole = rows == 0 ? 0 : whole / static_cast<std::int64_t>(rows);
  return static_cast<std::uint64_t>(whole) & ones;
}

/// Whether value i of out is what these numbers say.
SHEAF_HOST_DEVICE inline bool is_wanted(const combined_rows_source& s, const void* values, std::uint64_t i,
                                        std::int64_t whole, std::uint64_t rows) {
  switch (s.out) {
    case value_type::f16:
      return static_cast<float>(static_cast<const float16*>(values)[i]) ==
             static_cast<float>(float16(static_cast<float>(wanted_float(s, whole, rows))));
    case value_type::bf16:
      return static_cast<float>(static_cast<const bfloat16*>(values)[i]) ==
             static_cast<float>(bfloat16(static_cast<float>(wanted_float(s, whole, rows))));
    case value_type::f32:
    case value_type::f64: return float_at(values, s.out, i) == wanted_float(s, whole, rows);
    case value_type::i8:
    case value_type::u8: return static_cast<const std::uint8_t*>(values)[i] == wanted_integer(s, whole, rows);
    case value_type::i16:
    case value_type::u16: return static_cast<const std::uint16_t*>(values)[i] == wanted_integer(s, whole, rows);
    default: return number_at(values, bytes(s.out), i) == wanted_integer(s, whole, rows);
  }
}

/// What values of out are combined from, and how many rows a mean begins with: what out holds counts as one.
struct begin_combined_rows {
  combined_rows_source source;
  std::int64_t* whole;
  std::uint64_t* rows;  ///< for each row of out
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    whole[i] = combined_before(source, i);
    if (i % source.width == 0) rows[i / source.width] = source.begins_empty ? 0 : 1;
    return {};
  }
};

/// Combines value i of all rows that a scatter_reduce reads.
struct combine_scattered_rows {
  combined_rows_source source;
  std::int64_t* whole;
  std::uint64_t* rows;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t entry = i / source.width;
    const std::uint64_t k = i % source.width;
    const std::uint64_t slot = inputs::pattern_entry(source.pattern, entry, source.indexed);
    combine_whole(source.op, whole + slot * source.width + k, row_value(source, i));
    if (k == 0) combine_whole(reduction::add, reinterpret_cast<std::int64_t*>(rows + slot), 1);
    return {};
  }
};

struct check_scattered_rows {
  combined_rows_source source;
  const std::int64_t* whole;
  const std::uint64_t* rows;
  const void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    return {is_wanted(source, values, i, whole[i], rows[i / source.width]) ? 0U : 1U, 0};
  }
};

/// Combines the entries of a segment of gather_reduce, and compares.
struct check_gathered_rows {
  combined_rows_source source;
  const void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t segment = i / source.width;
    const std::uint64_t k = i % source.width;
    const std::uint64_t begin = segment * source.segment_entries;
    const std::uint64_t past = begin + source.segment_entries;
    const std::uint64_t end = past < source.entries ? past : source.entries;
    std::int64_t whole = combined_before(source, i);
    for (std::uint64_t entry = begin; entry < end; ++entry) {
      const std::uint64_t row = inputs::pattern_entry(source.pattern, entry, source.indexed);
      const std::int64_t number = row_weight(source, entry) * row_value(source, row * source.width + k);
      whole = combined_whole(source.op, whole, number);
    }
    return {is_wanted(source, values, i, whole, end - begin) ? 0U : 1U, 0};
  }
};

}  // namespace sheaf::jobs
