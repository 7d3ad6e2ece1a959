#pragma once

#include "cpu/movement/ranges.hpp"

// Reductions of numbers by one thread in the order of the list.
namespace sheaf::cpu {

/// Digits (core_speed.hpp) that adding a number to its slot takes in cache: 0.5 to 0.6 ns on an EPYC of family 25,
/// whose digit takes 1.3.
constexpr double digits_of_number = 0.4;

/// Digits more for each number where few slots have most: it waits for the one before it in its slot, whose sum is not
/// in the cache yet. That EPYC, values of f32 into 30,000 slots by Zipf's distribution, one thread: 50,000 take 1.7 ns
/// each and 700,000 take 1.2.
inline double digits_of_skew(const primitives::movement& problem) noexcept {
  return problem.pattern.shape == access_pattern::kind::skewed ? 0.6 : 0;
}

/// Seconds, of so many at random, in which the first-level cache is not what accesses wait for: that time is a part of
/// the steps.
inline double past_first_cache(double random_seconds, const primitives::movement& problem, const machine& m) noexcept {
  constexpr std::uint64_t first_cache = 32 << 10;
  return std::max(0.0, random_seconds - m.random_reads(problem.count, problem.record_bytes, first_cache));
}

/// slots[index[i]] = op(slots[index[i]], in[i]) for each i in order. Returns the first entry that names no slot.
template <class T, class Index, class Op>
first_bad reduce_in_order(const Index* index, const T* in, T* slots, std::uint64_t count, std::uint64_t limit,
                          std::uint64_t slot_count, Op op) {
  constexpr std::uint64_t distance = 32;
  const std::uint64_t touched_bytes = std::min(slot_count * sizeof(T), count * line_bytes);
  const bool looks_ahead = touched_bytes > least_prefetched_bytes && count > distance;
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

/// Whether neighbours of a list name neighbours, as blocks from all over it say. One thread then adds at the speed of
/// memory, and owners would share what is soon done.
template <class T, class Index>
bool names_neighbours(const Index* index, std::uint64_t count) {
  constexpr std::uint64_t blocks = 8;
  constexpr std::uint64_t block = block_entries_of(sizeof(T));
  if (count < blocks * block) return false;
  for (std::uint64_t b = 0; b < blocks; ++b) {
    if (!is_close(dense_layout<sizeof(T)>{}, index + (count - block) * b / (blocks - 1), block)) return false;
  }
  return true;
}

}  // namespace sheaf::cpu
