#pragma once

#include "primitives/movement/problem.hpp"

namespace sheaf::cpu {

// Over outputs of many small pages, address translation is the limit: every random access is a TLB miss, whose page
// walk reads page tables that are themselves out of cache. Page order takes the accesses of a tile one group of
// neighbouring pages after another, so that the walks of a group hit the cache.

/// Entries of a tile: pairs of index and position, 8 bytes each, that fill half of a second-level cache of 2 MB. Tiles
/// of 2^16 entries are 8 % slower, of 2^18 20 %.
constexpr std::uint64_t tile_entries = std::uint64_t{1} << 17;
/// Bytes of a page group: 512 pages of 4 KB. Half as many bytes are 1 % slower, twice as many 3 %.
constexpr std::uint64_t page_group_bytes = std::uint64_t{2} << 20;
/// Most page groups: of more, each would get too few entries of a tile for its page walks to be shared.
constexpr std::uint64_t most_page_groups = 2048;

/// log2 of the number of records in a page group.
inline std::uint32_t page_group_shift(const primitives::movement& m) noexcept {
  std::uint32_t shift = static_cast<std::uint32_t>(
                            std::bit_width(std::max<std::uint64_t>(1, page_group_bytes / m.indexed_stride_bytes))) -
                        1;
  while ((m.indexed_count - 1) >> shift >= most_page_groups) ++shift;
  return shift;
}

/// An entry of a tile: an index and its position in the tile.
struct tile_entry {
  std::uint32_t index;
  std::uint32_t position;
};

/// Orders tiles by page group, for one thread, in scratch of page_order::bytes().
class page_order {
 public:
  page_order(const primitives::movement& m, std::byte* scratch)
      : shift_(page_group_shift(m)),
        entries_(reinterpret_cast<tile_entry*>(scratch)),
        starts_(reinterpret_cast<std::uint32_t*>(scratch + tile_entries * sizeof(tile_entry)), most_page_groups) {}

  static constexpr std::uint64_t bytes() noexcept {
    return tile_entries * sizeof(tile_entry) + most_page_groups * sizeof(std::uint32_t);
  }

  /// The entries of a tile grouped by page group (stable counting sort). Every index must be in range.
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

/// Why a movement cannot go in page order, or null.
inline const char* why_not_in_page_order(const primitives::movement& m) noexcept {
  if (m.indexed_count > std::uint64_t{1} << 32) return "a tile's entries hold indices of 32 bits";
  return nullptr;
}

}  // namespace sheaf::cpu
