#pragma once

#include "plan/he2007.hpp"
#include "primitives/index_reader.hpp"
#include "primitives/movement/problem.hpp"

// Multi-pass gather and scatter (He et al. 2007, section 3.4, Fig. 5), for both backends. The indexed side is cut into
// regions. Pass i scans the index list and moves the records of region i alone, so that the cache holds the region.
namespace sheaf::primitives {

/// What the plan of a multi-pass variant decides for run. Both are at least 1.
struct multipass_decision {
  std::uint32_t passes = 1;    ///< number of passes, and of regions of the indexed side
  std::uint32_t segments = 1;  ///< segments of index and sequential side; a segment has all passes before the next one
                               ///< begins (Fig. 10)

  void tell(plan::told& to) const { to.add("passes", passes).add("segments", segments); }
};

/// A range of items cut into parts of equal size. If the number of items is not a multiple of the number of parts, the
/// first parts have one item more. If there are fewer items than parts, the last parts are empty.
struct equal_parts {
  std::uint64_t least = 0;   ///< items of a part, without the one that some have more
  std::uint64_t larger = 0;  ///< number of parts with one item more

  constexpr equal_parts(std::uint64_t items, std::uint64_t parts) : least(items / parts), larger(items % parts) {}

  constexpr std::uint64_t begin(std::uint64_t part) const { return least * part + (part < larger ? part : larger); }
  constexpr std::uint64_t count(std::uint64_t part) const { return least + (part < larger ? 1 : 0); }
};

/// Number of records of the indexed side that the index type can name; regions are cut from these. An index below it is
/// good. With bounds::check an index from it on is bad, so a pass compares an index with its region's bounds alone.
inline std::uint64_t reachable_records(const movement& m) noexcept { return namable(m.index, m.indexed_count); }

/// The sizes that the paper's cost model takes.
inline plan::he2007::sizes sizes_of(const movement& m) noexcept {
  return {m.count, m.indexed_count, m.record_bytes, m.index_bytes()};
}

/// Bytes of the sequential side that `passes` passes move in all. A record of the sequential side belongs to a pass
/// with probability 1 / passes, and the pass moves every sector that holds such a record.
inline std::uint64_t sequential_bytes_moved(const movement& movement, std::uint64_t passes,
                                            std::uint64_t sector_bytes) noexcept {
  const double share = 1 / static_cast<double>(passes);
  double missed = 1;
  for (std::uint64_t b = 0; b < sector_bytes; b += std::max<std::uint64_t>(1, movement.sequential_stride_bytes))
    missed *= 1 - share;
  return static_cast<std::uint64_t>(static_cast<double>(movement.sequential_bytes()) * static_cast<double>(passes) *
                                    (1 - missed));
}

}  // namespace sheaf::primitives
