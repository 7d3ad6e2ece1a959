#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "primitives/movement.hpp"

namespace sheaf::cpu {

// Over tables of many small pages, address translation is the limit: each random access walks page tables that are
// themselves out of cache. Taking the accesses of a tile window by window lets the walks of a window hit.

/// Entries of a tile: (index, position) pairs of 8 bytes in half of a 2 MB second cache. 2^16 loses 8 %, 2^18 20 %.
constexpr std::uint64_t tile_entries = std::uint64_t{1} << 17;
/// Bytes of a window: 512 pages of 4 KB. Half of it loses 1 %, twice of it 3 %.
constexpr std::uint64_t window_bytes = std::uint64_t{2} << 20;
/// More windows than this would each get too few entries of a tile to share anything.
constexpr std::uint64_t most_windows = 2048;

/// log2 of the records of a window.
inline std::uint32_t window_shift(const primitives::movement& m) noexcept {
  std::uint32_t shift =
      static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(1, window_bytes / m.indexed_stride_bytes))) - 1;
  while ((m.indexed_count - 1) >> shift >= most_windows) ++shift;
  return shift;
}

/// Whether a tile's accesses fall on so many different pages that ordering them pays: 64 runs of 64 neighbours are
/// looked at, and nearly every one must be on a page of its own. Stops as soon as it is clear that they are not.
template <class Index>
bool is_scattered(const Index* index, std::uint64_t count, std::uint64_t stride_bytes) {
  constexpr std::uint64_t runs = 64;
  constexpr std::uint64_t run_entries = 64;
  constexpr std::uint64_t page_bytes = 4096;
  constexpr int filter_bits = 16;
  if (count < runs * run_entries) return false;
  std::array<std::uint64_t, (1 << filter_bits) / 64> seen{};
  std::uint64_t pages = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const Index* const first = index + count / runs * run;
    for (std::uint64_t i = 0; i < run_entries; ++i) {
      const std::uint64_t hash = (first[i] * stride_bytes / page_bytes * 0x9e3779b97f4a7c15U) >> (64 - filter_bits);
      const std::uint64_t bit = std::uint64_t{1} << (hash % 64);
      pages += (seen[hash / 64] & bit) == 0 ? 1 : 0;
      seen[hash / 64] |= bit;
    }
    if (4 * pages < 3 * (run + 1) * run_entries) return false;
  }
  return true;
}

/// Whether large blocks of memory lie on huge pages without anybody having asked (Linux: always, not madvise).
bool has_huge_pages_unasked();

/// Whether every index of a tile names a record; one comparison at the end, none in the loop.
template <class Index>
bool are_below(const Index* index, std::uint64_t count, std::uint64_t limit) noexcept {
  Index most = 0;
  for (std::uint64_t i = 0; i < count; ++i) most = std::max(most, index[i]);
  return most < limit;
}

/// Index and position of an entry of a tile.
struct tile_entry {
  std::uint32_t index;
  std::uint32_t position;
};

/// One thread's room to order a tile, in scratch of page_order::bytes().
class page_order {
 public:
  page_order(const primitives::movement& m, std::byte* room)
      : shift_(window_shift(m)),
        entries_(reinterpret_cast<tile_entry*>(room)),
        starts_(reinterpret_cast<std::uint32_t*>(room + tile_entries * sizeof(tile_entry)), most_windows) {}

  static constexpr std::uint64_t bytes() noexcept {
    return tile_entries * sizeof(tile_entry) + most_windows * sizeof(std::uint32_t);
  }

  /// The entries of a tile by window, in their own order inside each. Every index is in range.
  template <class Index>
  std::span<const tile_entry> order(const Index* index, std::uint64_t count) noexcept {
    std::fill(starts_.begin(), starts_.end(), 0U);
    for (std::uint64_t i = 0; i < count; ++i) ++starts_[index[i] >> shift_];
    std::uint32_t sum = 0;
    for (std::uint32_t& start : starts_) sum += std::exchange(start, sum);
    for (std::uint64_t i = 0; i < count; ++i) {
      entries_[starts_[index[i] >> shift_]++] = {static_cast<std::uint32_t>(index[i]), static_cast<std::uint32_t>(i)};
    }
    return {entries_, count};
  }

 private:
  std::uint32_t shift_;
  tile_entry* entries_;
  std::span<std::uint32_t> starts_;
};

/// Why a movement cannot be ordered by page, or null.
inline const char* why_not_by_page(const primitives::movement& m) noexcept {
  if (m.backend != backend_kind::cpu) return "works on host memory";
  if (m.indexed_count > std::uint64_t{1} << 32) return "entries of a tile hold 32 bits of index";
  return nullptr;
}

/// Share of the random access time that is left in page order. Ordering costs some 4 ns a record, two passes over a
/// tile in cache; what it saves is the walks: 1.32x to 1.43x a plain gather of 2^26 8-byte records on 4 KB pages, but
/// 0.95x where the kernel gives huge pages unasked. Small arrays are translated without walks, though writes to them
/// wait longer for these (2^24 records: gathers 1.0x, scatters 1.25x); wide records wait for memory more than for
/// walks.
inline double ordered_share(const primitives::movement& m, bool writes) {
  using kind = access_pattern::kind;
  constexpr std::uint64_t large_bytes = std::uint64_t{512} << 20;
  constexpr std::uint64_t least_written_bytes = std::uint64_t{64} << 20;
  constexpr std::uint64_t narrow_bytes = 32;
  const bool scattered = m.pattern.shape == kind::unknown || m.pattern.shape == kind::random;
  if (!scattered || m.count < tile_entries || m.record_bytes > 2 * narrow_bytes || has_huge_pages_unasked()) return 1;
  const bool narrow = m.record_bytes <= narrow_bytes;
  if (m.indexed_bytes() < large_bytes) return writes && narrow && m.indexed_bytes() >= least_written_bytes ? 0.8 : 1;
  return narrow ? 0.55 : 0.85;
}

}  // namespace sheaf::cpu
