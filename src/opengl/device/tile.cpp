#include "opengl/device/tile.hpp"

#include <algorithm>
#include <bit>

namespace sheaf::opengl {
namespace {

// Squares waste no more than part of a row, and neighbours in both directions are near in memory.
std::uint32_t width_bits_of(std::uint64_t count, std::uint32_t edge) {
  const auto most = static_cast<std::uint32_t>(std::bit_width(edge) - 1);
  const auto bits = static_cast<std::uint32_t>(std::bit_width(count == 0 ? 0 : count - 1));
  return std::min(most, (bits + 1) / 2);
}

}  // namespace

std::vector<tile> tiles_of(std::uint64_t count, std::uint32_t edge) {
  std::vector<tile> tiles;
  for (std::uint64_t first = 0; first < count;) {
    tile t{.first = first, .width_bits = width_bits_of(count - first, edge)};
    t.count = std::min(count - first, std::uint64_t{edge} << t.width_bits);
    t.height = static_cast<std::uint32_t>((t.count + t.width() - 1) >> t.width_bits);
    tiles.push_back(t);
    first += t.count;
  }
  return tiles;
}

}  // namespace sheaf::opengl
