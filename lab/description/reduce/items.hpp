#pragma once

#include <cstdint>

#include <sheaf/scatter_reduce.hpp>

#include "lab/description/items.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill the arrays of a scatter_reduce and check its answer. Floats are small
// whole numbers of either sign, whose sums are exact in any order while they stay below 2^24.
namespace sheaf::jobs {

/// Parameters of the functions that give slots and values.
struct reduce_source {
  value_type type = value_type::f32;
  inputs::pattern pattern;
  std::uint64_t slots = 0;

  SHEAF_HOST_DEVICE bool is_float() const { return type == value_type::f32 || type == value_type::f64; }
};

/// Value i: -7 to 7 for floats, any number for integers.
SHEAF_HOST_DEVICE inline std::int64_t value_of(const reduce_source& s, std::uint64_t i) {
  const std::uint64_t draw = inputs::mix(i + 0x5eed);
  return s.is_float() ? static_cast<std::int64_t>(draw % 15) - 7 : static_cast<std::int64_t>(draw);
}

/// What a slot holds before the call.
SHEAF_HOST_DEVICE inline std::int64_t value_before(std::uint64_t slot) { return static_cast<std::int64_t>(slot % 5); }

/// The factor of a slot in the checksum. It is odd, so that one wrong slot always changes a sum modulo 2^32 or 2^64.
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

/// Checksum of the input: value i times the factor of its slot.
struct checksum_values {
  reduce_source source;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    const std::uint64_t slot = inputs::pattern_entry(source.pattern, i, source.slots);
    return {0, static_cast<std::uint64_t>(value_of(source, i)) * slot_weight(slot)};
  }
};

/// Checksum of the output: what was added to a slot, times the slot's factor. A float that is not whole is a mismatch.
struct checksum_slots {
  reduce_source source;
  const void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t slot) const {
    std::uint64_t found = 0;
    if (source.is_float()) {
      const double value = source.type == value_type::f32 ? static_cast<const float*>(values)[slot]
                                                          : static_cast<const double*>(values)[slot];
      if (!(value > -0x1p62 && value < 0x1p62)) return {1, 0};
      const auto whole = static_cast<std::int64_t>(value);
      if (static_cast<double>(whole) != value) return {1, 0};
      found = static_cast<std::uint64_t>(whole);
    } else {
      found = bytes(source.type) == 4 ? static_cast<const std::uint32_t*>(values)[slot]
                                      : static_cast<const std::uint64_t*>(values)[slot];
    }
    return {0, (found - static_cast<std::uint64_t>(value_before(slot))) * slot_weight(slot)};
  }
};

}  // namespace sheaf::jobs
