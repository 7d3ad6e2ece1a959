#pragma once

#include "cpu/movement/ranges.hpp"

// Reductions of numbers by one thread in the order of the list.
namespace sheaf::cpu {

/// slots[index[i]] = op(slots[index[i]], in[i]) for each i in order. Returns the first entry that names no slot.
template <class T, class Index, class Op>
first_bad reduce_in_order(const Index* index, const T* in, T* slots, std::uint64_t count, std::uint64_t limit,
                          std::uint64_t slot_count, Op op) {
  constexpr std::uint64_t distance = 32;
  const bool looks_ahead = slot_count * sizeof(T) > least_prefetched_bytes && count > distance;
  first_bad bad;
  for_each_checked_block(
      dense_layout<sizeof(T)>{}, index, 0, count, limit, looks_ahead,
      [=](std::uint64_t first, std::uint64_t last, bool is_scattered) {
        for_each_entry<unrolled_records(sizeof(T))>(
            index, first, last, is_scattered ? count - distance : 0, distance,
            reinterpret_cast<const std::byte*>(slots), dense_layout<sizeof(T)>{},
            [=](std::uint64_t i, std::uint64_t k, std::uint64_t entry) { slots[entry] = op(slots[entry], in[i + k]); });
      },
      [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i < last; ++i) {
          if (index[i] < limit) {
            slots[index[i]] = op(slots[index[i]], in[i]);
          } else {
            bad.note(i);
          }
        }
      });
  return bad;
}

}  // namespace sheaf::cpu
