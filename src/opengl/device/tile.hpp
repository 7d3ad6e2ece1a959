#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::opengl {

/// Records [first, first + count) of an array, row by row in a rectangle of texels. Rows are a power of two long, so
/// that shaders find a record by shift and mask. The last row may have less.
struct tile {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint32_t width_bits = 0;
  std::uint32_t height = 0;

  std::uint32_t width() const noexcept { return std::uint32_t{1} << width_bits; }
};

/// The tiles of an array, in order, none of whose sides is longer than `edge`, at least 1. All but the last are full.
std::vector<tile> tiles_of(std::uint64_t count, std::uint32_t edge);

}  // namespace sheaf::opengl
