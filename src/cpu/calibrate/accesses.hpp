#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/cache_hints.hpp"

// The random accesses that a machine profile is made of: the inner loops of gather_range and scatter_range, with the
// near side in the first cache, since a plan prices it apart.
namespace sheaf::cpu {

/// The finaliser of MurmurHash3 for 64 bits.
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

/// Uniform random places of `records`, from a list of random bits that is streamed like an index. Every pass through
/// the list, and every run, turns other bits of it: caches larger than what one pass touches do not learn the places.
struct random_places {
  const std::uint32_t* bits;
  std::uint64_t list_mask;  ///< entries of the list, a power of two, less one
  std::uint64_t records;    ///< below 2^32
  std::uint64_t run;

  /// Calls body(place, count) for stretches of [begin, end) that lie in one pass; place(i) for i in [0, count).
  template <class Body>
  void for_each_pass(std::uint64_t begin, std::uint64_t end, Body body) const {
    for (std::uint64_t first = begin; first < end;) {
      const std::uint64_t at = first & list_mask;
      const std::uint64_t count = std::min(end - first, list_mask + 1 - at);
      const auto turned = static_cast<std::uint32_t>(mixed(run << 32 ^ first / (list_mask + 1)));
      const std::uint32_t* const list = bits + at;
      const std::uint64_t range = records;
      body([=](std::uint64_t i) { return std::uint64_t{list[i] ^ turned} * range >> 32; }, count);
      first += count;
    }
  }
};

struct probed_table {
  std::byte* first;
  bool asks_ahead;
  bool streams;  ///< whole lines are written past the cache
};

constexpr std::uint64_t stage_bytes = 4096;

/// Calls move(i, record of the stage, record of the table) for all of a pass, asking ahead as gather and scatter do.
template <class Layout, class Place, class Move>
void for_each_record(Layout layout, Place place, std::uint64_t count, const probed_table& table, std::byte* stage,
                     Move move) {
  const std::uint64_t stage_mask = stage_bytes / layout.record_bytes - 1;
  const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
  std::byte* const first = table.first;
  std::uint64_t i = 0;
  if (table.asks_ahead && count > distance) {
    for (; i < count - distance; ++i) {
      prefetch(first, layout.far(place(i + distance)), layout.record_bytes);
      move(stage + layout.near(i & stage_mask), first + layout.far(place(i)));
    }
  }
  for (; i < count; ++i) move(stage + layout.near(i & stage_mask), first + layout.far(place(i)));
  asm volatile("" : : "r"(stage), "r"(first) : "memory");  // somebody reads what was moved
}

template <class Layout>
void read_at_random(Layout layout, const random_places& places, const probed_table& table, std::uint64_t begin,
                    std::uint64_t end) {
  alignas(line_bytes) std::byte stage[stage_bytes];
  places.for_each_pass(begin, end, [&](auto place, std::uint64_t count) {
    for_each_record(layout, place, count, table, stage,
                    [&](std::byte* near, const std::byte* far) { layout.copy(near, far); });
  });
}

template <class Layout>
void write_at_random(Layout layout, const random_places& places, const probed_table& table, std::uint64_t begin,
                     std::uint64_t end) {
  alignas(line_bytes) std::byte stage[stage_bytes] = {};
  const bool streams = table.streams && are_whole_lines(table.first, layout.record_bytes, layout.far(1));
  places.for_each_pass(begin, end, [&](auto place, std::uint64_t count) {
    if (streams) {
      const probed_table unasked{table.first, false, true};  // lines that are not read first
      for_each_record(layout, place, count, unasked, stage,
                      [&](std::byte* near, std::byte* far) { stream_lines(far, near, layout.record_bytes); });
    } else {
      for_each_record(layout, place, count, table, stage,
                      [&](std::byte* near, std::byte* far) { layout.copy(far, near); });
    }
  });
  if (streams) finish_streaming();
}

template <class Word>
void add_at_random(const random_places& places, const probed_table& table, std::uint64_t begin, std::uint64_t end) {
  alignas(line_bytes) std::byte stage[stage_bytes];
  places.for_each_pass(begin, end, [&](auto place, std::uint64_t count) {
    for_each_record(dense_layout<sizeof(Word)>{}, place, count, table, stage, [](std::byte*, std::byte* far) {
      std::atomic_ref(*reinterpret_cast<Word*>(far)).fetch_add(1, std::memory_order_relaxed);
    });
  });
}

}  // namespace sheaf::cpu
