#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "primitives/movement.hpp"

// How the far side of a clustered movement is cut: windows of a power of two of records, numbered by the index's top
// bits.
namespace sheaf::cuda {

constexpr std::uint32_t most_clusters = 512;  ///< that a block sorts a tile into
constexpr std::uint32_t cluster_threads = 512;
constexpr std::uint32_t cluster_items = 16;
constexpr std::uint32_t cluster_tile = cluster_threads * cluster_items;

constexpr std::uint32_t bits_for(std::uint64_t numbers) {
  std::uint32_t bits = 0;
  while (bits < 63 && (std::uint64_t{1} << bits) < numbers) ++bits;
  return bits;
}

/// Places that a cluster gets, of `clusters` equal parts of a far side: what a list at random fills, and room for its
/// spread. What does not fit is no error: it moves at once, one record after another.
inline std::uint64_t cluster_capacity(std::uint64_t count, std::uint64_t indexed_count, std::uint64_t window) {
  const double share =
      std::min(1.0, static_cast<double>(window) / static_cast<double>(std::max<std::uint64_t>(1, indexed_count)));
  const double expected = static_cast<double>(count) * share;
  const double room = expected + expected / 64 + 6 * std::sqrt(expected) + 64;
  return (std::min(count, static_cast<std::uint64_t>(room)) + 31) / 32 * 32;
}

}  // namespace sheaf::cuda
