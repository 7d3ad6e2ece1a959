#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/he2007.hpp"
#include "plan/variant.hpp"
#include "primitives/movement.hpp"

// What the multi-pass variants share (He et al. 2007, section 3.4, Fig. 5): the far side is cut into regions, and pass
// i scans the index for those entries that name a record of region i, so that the cache holds what a pass reaches.
namespace sheaf::primitives {

/// What run gets from plan, in planned::parameters.
enum multipass_parameter : std::size_t {
  multipass_passes,    ///< regions of the far side
  multipass_segments,  ///< segments of index and near side, each with all its passes before the next begins (Fig. 10)
};

/// A run of places cut into equal parts, the first of them one larger where it does not divide. Any number of parts:
/// the last are empty where there are fewer places.
struct equal_parts {
  std::uint64_t least = 0;   ///< places of a part
  std::uint64_t larger = 0;  ///< parts with one more

  constexpr equal_parts(std::uint64_t places, std::uint64_t parts) : least(places / parts), larger(places % parts) {}

  constexpr std::uint64_t begin(std::uint64_t part) const { return least * part + (part < larger ? part : larger); }
  constexpr std::uint64_t count(std::uint64_t part) const { return least + (part < larger ? 1 : 0); }
};

/// Passes or segments that run shall make: what is in the plan, at least one.
inline std::uint32_t rounds_of(const plan::planned& plan, multipass_parameter which) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(plan.parameters[which], 1, std::uint64_t{1} << 30));
}

/// Records that good indices can name: regions are cut from these. Every index below it is good, and with bounds::check
/// every other one bad, so one comparison with a region's bounds is all that a pass needs.
inline std::uint64_t reachable_records(const movement& m) noexcept {
  switch (m.index) {
    case index_type::u32: return std::min(m.indexed_count, std::uint64_t{1} << 32);
    case index_type::i32: return std::min(m.indexed_count, std::uint64_t{1} << 31);
    case index_type::i64: return std::min(m.indexed_count, std::uint64_t{1} << 63);
    default: return m.indexed_count;
  }
}

/// The movement as the paper's model sees it.
inline plan::he2007::sizes sizes_of(const movement& m) noexcept {
  return {m.count, m.indexed_count, m.record_bytes, m.index_bytes()};
}

/// Bytes of the near side that `passes` passes move in all. A pass finds its records spread over the near side, each
/// with probability 1 / passes, and moves the sectors that hold one.
inline std::uint64_t sequential_bytes_moved(const movement& m, std::uint64_t passes,
                                            std::uint64_t sector_bytes) noexcept {
  const double share = 1 / static_cast<double>(passes);
  double missed = 1;
  for (std::uint64_t b = 0; b < sector_bytes; b += std::max<std::uint64_t>(1, m.sequential_stride_bytes))
    missed *= 1 - share;
  return static_cast<std::uint64_t>(static_cast<double>(m.sequential_bytes()) * static_cast<double>(passes) *
                                    (1 - missed));
}

}  // namespace sheaf::primitives
