#pragma once

#include "lab/inputs/pattern_function.hpp"

// Keys that are made of parts, as users make them: codes of points, paths in trees, text, versions, counters. Their
// digits nest unevenly: which values of a digit occur depends on the digits above it, at every level. All is integer
// arithmetic, so that host and device make the same bits. Every word is below 2^63, as are numbers of users that have a
// sign.
namespace sheaf::inputs {

using primitives::key_distribution;

/// The largest number whose square is not above `square`.
SHEAF_HOST_DEVICE inline std::uint64_t square_root(std::uint64_t square) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    if ((root | bit) * (root | bit) <= square) root |= bit;
  }
  return root;
}

/// Moves bit i of 21 bits to bit 3 * i.
SHEAF_HOST_DEVICE inline std::uint64_t every_third_bit(std::uint64_t x) {
  x &= 0x1fffff;
  x = (x | x << 32) & 0x001f00000000ffffU;
  x = (x | x << 16) & 0x001f0000ff0000ffU;
  x = (x | x << 8) & 0x100f00f00f00f00fU;
  x = (x | x << 4) & 0x10c30c30c30c30c3U;
  return (x | x << 2) & 0x1249249249249249U;
}

/// Moves bit i of 32 bits to bit 2 * i.
SHEAF_HOST_DEVICE inline std::uint64_t every_second_bit(std::uint64_t x) {
  x &= 0xffffffffU;
  x = (x | x << 16) & 0x0000ffff0000ffffU;
  x = (x | x << 8) & 0x00ff00ff00ff00ffU;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fU;
  x = (x | x << 2) & 0x3333333333333333U;
  return (x | x << 1) & 0x5555555555555555U;
}

/// The Morton code, of three times 21 bits, of a random point on the sphere that touches the sides of a cube. The point
/// is a random one of a ball, moved outwards.
SHEAF_HOST_DEVICE inline std::uint64_t sphere_code(std::uint64_t draw) {
  constexpr std::int64_t radius = std::int64_t{1} << 20;
  std::int64_t at[3];
  std::uint64_t square = 0;
  do {
    draw = mix(draw);
    square = 0;
    for (int axis = 0; axis < 3; ++axis) {
      at[axis] = static_cast<std::int64_t>(draw >> (21 * axis) & 0x1fffff) - radius;
      square += static_cast<std::uint64_t>(at[axis] * at[axis]);
    }
  } while (square == 0 || square > std::uint64_t{1} << 40);
  const auto distance = static_cast<std::int64_t>(square_root(square << 20));  // 10 bits behind the point
  std::uint64_t code = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t outwards = radius + at[axis] * (radius << 10) / distance;
    code |= every_third_bit(static_cast<std::uint64_t>(outwards < 2 * radius ? outwards : 2 * radius - 1)) << axis;
  }
  return code;
}

/// The Morton code, of twice 31 bits, of a point near one of 4096 cities in the plane. Sizes of cities and how far they
/// reach vary over three and two magnitudes.
SHEAF_HOST_DEVICE inline std::uint64_t city_code(std::uint64_t draw) {
  constexpr std::uint64_t last = (std::uint64_t{1} << 31) - 1;
  const std::uint64_t other = mix(draw);
  const std::uint64_t city = mix((draw & 0xfff) >> (draw >> 12) % 12);
  const std::uint64_t reach = std::uint64_t{1} << (7 + city % 8);
  std::uint64_t code = 0;
  for (int axis = 0; axis < 2; ++axis) {
    const std::uint64_t of_axis = mix(other + static_cast<std::uint64_t>(axis));
    std::int64_t sum = -2 * 65536;  // of four numbers of 16 bits: nearly normal, with mean 0 and deviation 37837
    for (int part = 0; part < 4; ++part) sum += static_cast<std::int64_t>(of_axis >> (16 * part) & 0xffff);
    const auto center = static_cast<std::int64_t>(mix(city + static_cast<std::uint64_t>(axis)) & last);
    const std::int64_t place = center + sum * static_cast<std::int64_t>(reach) / 16;
    const std::uint64_t kept = place < 0 ? 0 : static_cast<std::uint64_t>(place);
    code |= every_second_bit(kept < last ? kept : last) << axis;
  }
  return code;
}

/// Eight characters of a geohash: five bits of a Morton code each.
SHEAF_HOST_DEVICE inline std::uint64_t geohash_text(std::uint64_t code) {
  constexpr char alphabet[] = "0123456789bcdefghjkmnpqrstuvwxyz";
  std::uint64_t text = 0;
  for (int i = 0; i < 8; ++i) text = text << 8 | static_cast<unsigned char>(alphabet[code >> (57 - 5 * i) & 31]);
  return text;
}

/// A path from the root of a tree whose nodes have 2^bits children, to a depth of `levels`. Three children of a node
/// have five eighths, a quarter and an eighth of what lies below it; which ones these are, its own path says. So points
/// lie in clusters of clusters.
SHEAF_HOST_DEVICE inline std::uint64_t clustered_path(std::uint64_t draw, std::uint32_t bits, std::uint32_t levels) {
  std::uint64_t path = 1;
  std::uint64_t left = draw;
  for (std::uint32_t level = 0; level < levels; ++level) {
    if (level % 20 == 0) left = mix(draw + level);
    const std::uint64_t of_node = mix(path);
    const std::uint32_t child = (left & 7) < 5 ? 0 : (left & 7) < 7 ? 1 : 2;
    left >>= 3;
    path = path << bits | (of_node >> (8 * child) & ((1U << bits) - 1));
  }
  return path & ~(std::uint64_t{1} << (bits * levels));
}

/// The first eight characters of a host's name: half of them begin with "www.", many with another prefix. Letters occur
/// about as often as in English.
SHEAF_HOST_DEVICE inline std::uint64_t host_text(std::uint64_t draw) {
  constexpr char letters[] = "aaaaabbcccddeeeeeeffgghhiiiiijklllmmmnnnnooooopppqrrrrssssttttuv";
  constexpr char prefixes[16][5] = {"www.", "www.", "www.", "www.", "www.", "www.", "www.", "www.",
                                    "api.", "api.", "cdn.", "m.",   "",     "",     "",     ""};
  const char* const prefix = prefixes[draw & 15];
  std::uint64_t left = mix(draw);
  std::uint64_t text = 0;
  bool is_behind = false;
  for (int i = 0; i < 8; ++i) {
    is_behind = is_behind || prefix[i] == 0;
    const char character = is_behind ? letters[left & 63] : prefix[i];
    if (is_behind) left >>= 6;
    text = text << 8 | static_cast<unsigned char>(character);
  }
  return text;
}

/// A version of four numbers, such as 3.17.0.204, in 16 bits each: numbers of different magnitudes, of which many are
/// small.
SHEAF_HOST_DEVICE inline std::uint64_t version_number(std::uint64_t draw) {
  const std::uint64_t magnitudes = mix(draw);
  std::uint64_t version = 0;
  for (int part = 0; part < 4; ++part) {
    const std::uint64_t number = (draw >> (16 * part) & 0x7fff) >> (4 + (magnitudes >> (8 * part) & 0xff) % 12);
    version = version << 16 | number;
  }
  return version;
}

/// The bits of a counter and those of the number of one of 64 counters, in turn.
SHEAF_HOST_DEVICE inline std::uint64_t counter_code(std::uint64_t i) {
  return every_second_bit(i / 64 & 0x7fffffff) << 1 | every_second_bit(i % 64);
}

/// Key i of one of the distributions from `sphere` to `counters`; `draw` is random.
SHEAF_HOST_DEVICE inline std::uint64_t structured_word(key_distribution distribution, std::uint64_t draw,
                                                       std::uint64_t i) {
  switch (distribution) {
    case key_distribution::sphere: return sphere_code(draw);
    case key_distribution::cities: return city_code(draw);
    case key_distribution::geohash: return geohash_text(city_code(draw));
    case key_distribution::quadtree: return clustered_path(draw, 2, 31);
    case key_distribution::octree: return clustered_path(draw, 3, 20);
    case key_distribution::urls: return host_text(draw);
    case key_distribution::versions: return version_number(draw);
    default: return counter_code(i);
  }
}

}  // namespace sheaf::inputs
