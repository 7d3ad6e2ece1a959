#pragma once

#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/cache_hints.hpp"

// The random accesses whose rates a machine profile holds: the inner loops of gather_range and scatter_range. Their
// sequential side stays in the first-level cache, since plans price it separately.
namespace sheaf::cpu {

/// The finaliser of MurmurHash3 for 64 bits.
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

/// Uniform random positions in [0, records), from a list of random bits that is streamed like an index. Every pass
/// through the list, and every run, flips other bits of its entries, so that a cache larger than what one pass touches
/// does not hold the positions of the next.
struct random_positions {
  const std::uint32_t* bits;  ///< the list
  std::uint64_t list_mask;    ///< number of entries of the list, a power of two, less one
  std::uint64_t records;      ///< number of records of the table, below 2^32
  std::uint64_t run;          ///< number of the run

  /// Calls body(position_of, count) for every stretch of accesses [begin, end) that lies in one pass through the list;
  /// position_of(i) is the position of the stretch's i-th access.
  template <class Body>
  void for_each_pass(std::uint64_t begin, std::uint64_t end, Body body) const {
    for (std::uint64_t first = begin; first < end;) {
      const std::uint64_t entry = first & list_mask;
      const std::uint64_t count = std::min(end - first, list_mask + 1 - entry);
      const auto flipped_bits = static_cast<std::uint32_t>(mixed(run << 32 ^ first / (list_mask + 1)));
      const std::uint32_t* const list = bits + entry;
      const std::uint64_t range = records;
      body([=](std::uint64_t i) { return std::uint64_t{list[i] ^ flipped_bits} * range >> 32; }, count);
      first += count;
    }
  }
};

/// The table that is accessed, and how.
struct probed_table {
  std::byte* first;
  bool prefetches;  ///< records are prefetched
  bool streams;     ///< whole lines are written with streaming stores
};

constexpr std::uint64_t stage_bytes = 4096;

/// Calls move(record of the stage, record of the table) for `count` accesses, with the prefetching of gather and
/// scatter.
template <class Layout, class Position, class Move>
void for_each_record(Layout layout, Position position_of, std::uint64_t count, const probed_table& table,
                     std::byte* stage, Move move) {
  const std::uint64_t stage_mask = stage_bytes / layout.record_bytes - 1;
  const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
  std::byte* const first = table.first;
  std::uint64_t i = 0;
  if (table.prefetches && count > distance) {
    for (; i < count - distance; ++i) {
      prefetch(first, layout.indexed_offset(position_of(i + distance)), layout.record_bytes);
      move(stage + layout.sequential_offset(i & stage_mask), first + layout.indexed_offset(position_of(i)));
    }
  }
  for (; i < count; ++i)
    move(stage + layout.sequential_offset(i & stage_mask), first + layout.indexed_offset(position_of(i)));
  asm volatile("" : : "r"(stage), "r"(first) : "memory");  // the compiler must not drop the moves
}

template <class Layout>
void read_at_random(Layout layout, const random_positions& positions, const probed_table& table, std::uint64_t begin,
                    std::uint64_t end) {
  alignas(line_bytes) std::byte stage[stage_bytes];
  positions.for_each_pass(begin, end, [&](auto position_of, std::uint64_t count) {
    for_each_record(layout, position_of, count, table, stage,
                    [&](std::byte* staged, const std::byte* record) { layout.copy(staged, record); });
  });
}

template <class Layout>
void write_at_random(Layout layout, const random_positions& positions, const probed_table& table, std::uint64_t begin,
                     std::uint64_t end) {
  alignas(line_bytes) std::byte stage[stage_bytes] = {};
  const bool streams = table.streams && are_whole_lines(table.first, layout.record_bytes, layout.indexed_offset(1));
  positions.for_each_pass(begin, end, [&](auto position_of, std::uint64_t count) {
    if (streams) {
      const probed_table unread{table.first, false, true};  // streaming stores do not read lines, so none is prefetched
      for_each_record(layout, position_of, count, unread, stage,
                      [&](std::byte* staged, std::byte* record) { stream_lines(record, staged, layout.record_bytes); });
    } else {
      for_each_record(layout, position_of, count, table, stage,
                      [&](std::byte* staged, std::byte* record) { layout.copy(record, staged); });
    }
  });
  if (streams) finish_streaming();
}

template <class Word>
void add_at_random(const random_positions& positions, const probed_table& table, std::uint64_t begin,
                   std::uint64_t end) {
  alignas(line_bytes) std::byte stage[stage_bytes];
  positions.for_each_pass(begin, end, [&](auto position_of, std::uint64_t count) {
    for_each_record(dense_layout<sizeof(Word)>{}, position_of, count, table, stage, [](std::byte*, std::byte* record) {
      std::atomic_ref(*reinterpret_cast<Word*>(record)).fetch_add(1, std::memory_order_relaxed);
    });
  });
}

}  // namespace sheaf::cpu
