#pragma once

#include <cstdint>

#include <sheaf/scatter_reduce.hpp>

#include "bench/harness/items.hpp"
#include "inputs/pattern_function.hpp"

// What over_items() runs to fill the arrays of a scatter_reduce and to check its answer. Values of floats are small
// whole numbers of either sign: their sums are exact in any order, as long as none leaves 2^24.
namespace sheaf::bench {

/// What slots and values are functions of.
struct reduce_source {
  value_type type = value_type::f32;
  inputs::pattern pattern;
  std::uint64_t slots = 0;

  SHEAF_HOST_DEVICE bool is_float() const { return type == value_type::f32 || type == value_type::f64; }
};

/// -7 to 7 for floats, any number for integers.
SHEAF_HOST_DEVICE inline std::int64_t value_of(const reduce_source& s, std::uint64_t i) {
  const std::uint64_t draw = inputs::mix(i + 0x5eed);
  return s.is_float() ? static_cast<std::int64_t>(draw % 15) - 7 : static_cast<std::int64_t>(draw);
}

/// What a slot holds before.
SHEAF_HOST_DEVICE inline std::int64_t value_before(std::uint64_t slot) { return static_cast<std::int64_t>(slot % 5); }

/// Odd, so that one wrong slot always shows in a sum modulo 2^32 or 2^64.
SHEAF_HOST_DEVICE inline std::uint64_t slot_weight(std::uint64_t slot) { return inputs::mix(slot) | 1; }

SHEAF_HOST_DEVICE inline void store_value(void* values, value_type type, std::uint64_t i, std::int64_t value) {
  switch (type) {
    case value_type::f32: static_cast<float*>(values)[i] = static_cast<float>(value); break;
    case value_type::f64: static_cast<double*>(values)[i] = static_cast<double>(value); break;
    case value_type::i32:
    case value_type::u32: static_cast<std::uint32_t*>(values)[i] = static_cast<std::uint32_t>(value); break;
    case value_type::i64:
    case value_type::u64: static_cast<std::uint64_t*>(values)[i] = static_cast<std::uint64_t>(value); break;
  }
}

struct fill_values {
  reduce_source source;
  void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    store_value(values, source.type, i, value_of(source, i));
    return {};
  }
};

struct fill_slots {
  reduce_source source;
  void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t slot) const {
    store_value(values, source.type, slot, value_before(slot));
    return {};
  }
};

/// What value i adds to the weighted sum of all slots.
struct weigh_values {
  reduce_source source;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t slot = inputs::pattern_entry(source.pattern, i, source.slots);
    return {0, static_cast<std::uint64_t>(value_of(source, i)) * slot_weight(slot)};
  }
};

/// What has been added to a slot, weighted; a float that is no whole number is a mismatch.
struct weigh_slots {
  reduce_source source;
  const void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t slot) const {
    std::uint64_t now = 0;
    if (source.is_float()) {
      const double value = source.type == value_type::f32 ? static_cast<const float*>(values)[slot]
                                                          : static_cast<const double*>(values)[slot];
      if (!(value > -0x1p62 && value < 0x1p62)) return {1, 0};
      const auto whole = static_cast<std::int64_t>(value);
      if (static_cast<double>(whole) != value) return {1, 0};
      now = static_cast<std::uint64_t>(whole);
    } else {
      now = bytes(source.type) == 4 ? static_cast<const std::uint32_t*>(values)[slot]
                                    : static_cast<const std::uint64_t*>(values)[slot];
    }
    return {0, (now - static_cast<std::uint64_t>(value_before(slot))) * slot_weight(slot)};
  }
};

}  // namespace sheaf::bench
