#pragma once

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
};

/// Value i: -7 to 7 for floats, any number for integers.
SHEAF_HOST_DEVICE inline std::int64_t value_of(const reduce_source& s, std::uint64_t i) {
  const std::uint64_t draw = inputs::mix(i + 0x5eed);
  return is_float(s.type) ? static_cast<std::int64_t>(draw % 15) - 7 : static_cast<std::int64_t>(draw);
}

/// What a slot holds before the call.
SHEAF_HOST_DEVICE inline std::int64_t value_before(const reduce_source&, std::uint64_t slot) {
  return static_cast<std::int64_t>(slot % 5);
}

/// The factor of a slot in the checksum. It is odd, so that one wrong slot always changes a sum modulo 2^32 or 2^64.
SHEAF_HOST_DEVICE inline std::uint64_t slot_weight(std::uint64_t slot) { return inputs::mix(slot) | 1; }

using fill_values = fill_whole_values<reduce_source, value_of>;
using fill_slots = fill_whole_values<reduce_source, value_before>;

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
    std::int64_t whole = 0;
    if (is_float(source.type) && !is_whole(float_at(values, source.type, slot), whole)) return {1, 0};
    const std::uint64_t found =
        is_float(source.type) ? static_cast<std::uint64_t>(whole) : number_at(values, bytes(source.type), slot);
    return {0, (found - static_cast<std::uint64_t>(value_before(source, slot))) * slot_weight(slot)};
  }
};

}  // namespace sheaf::jobs
