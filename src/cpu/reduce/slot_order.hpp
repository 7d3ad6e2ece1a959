#pragma once

#include "core/scratch_offsets.hpp"
#include "cpu/movement/index_buckets.hpp"

// The positions of a list ordered by the slot that they name, those of a slot in ascending order: a counting sort of
// two passes, first by bucket of slots (index_buckets), then by slot within each bucket.
namespace sheaf::cpu {

/// What plan decides for run.
struct slot_order_decision {
  bucket_decision buckets;
  bool wide;  ///< positions have 8 bytes, not 4
};

/// Slots, positions and buckets of a list with `movement.count` entries and `movement.indexed_count` slots.
inline slot_order_decision decide_slot_order(const primitives::movement& movement, const machine& machine) {
  constexpr std::uint64_t single_pass_slots = 2048;
  constexpr std::uint64_t bucket_slots = 1024;
  const bool wide = movement.count > std::uint64_t{1} << 32;
  primitives::movement moved = movement;
  moved.sequential_stride_bytes = moved.indexed_stride_bytes = wide ? 8 : 4;
  return {decide_buckets(moved, machine, movement.indexed_count <= single_pass_slots ? 1 : bucket_slots, wide ? 8 : 4),
          wide};
}

/// The order: positions[begins[s]] up to positions[begins[s + 1]] name slot s.
struct slot_order_arrays {
  slot_order_arrays(const primitives::movement& movement, const slot_order_decision& d, core::scratch_arrays& arrays)
      : begins(arrays.take<std::uint64_t>(movement.indexed_count + 1)),
        positions(arrays.take<std::byte>(movement.count * (d.wide ? 8 : 4))) {}

  std::uint64_t* begins;
  std::byte* positions;
};

/// Orders a list in host memory. Returns its first bad index, which is in no slot.
/// @param scratch  of decided.buckets.layout.bytes
first_bad order_by_slot(const primitives::movement& movement, const slot_order_decision& decided, index_span index,
                        const slot_order_arrays& to, std::byte* scratch);

/// Seconds of order_by_slot().
double slot_order_seconds(const primitives::movement& movement, const machine& machine);

}  // namespace sheaf::cpu
