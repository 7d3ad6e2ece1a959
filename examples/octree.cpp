#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "example.hpp"

// An octree of points by their Morton codes, 21 levels of 3 bits each: more than the 9 or 10 that 32-bit sorting allows
// (Patidar and Narayanan 2009, section 5.2). A node of more than one point has a child for each of its eight parts that
// holds points; the tree ends where points are alone, or at level 21.
namespace {

constexpr std::uint32_t deepest = 21;

struct point {
  float x, y, z;
};

/// Points at random on a bumpy sphere inside the unit cube, now and then the same twice.
std::vector<point> surface(std::uint64_t count) {
  std::mt19937 random(2009);
  std::uniform_real_distribution<float> unit(0, 1);
  std::vector<point> points;
  while (points.size() < count) {
    if (points.size() % 4096 == 4095) points.push_back(points.back());
    const float z = 2 * unit(random) - 1, angle = 2 * std::numbers::pi_v<float> * unit(random);
    const float bump = 0.45f + 0.04f * std::sin(5 * angle) * std::cos(7 * z), across = std::sqrt(1 - z * z);
    points.push_back({0.5f + bump * across * std::cos(angle), 0.5f + bump * across * std::sin(angle), 0.5f + bump * z});
  }
  points.resize(count);
  return points;
}

/// The low 21 bits of a number, each followed by two zero bits.
std::uint64_t spread(std::uint64_t value) {
  value = (value | value << 32) & 0x001f00000000ffff;
  value = (value | value << 16) & 0x001f0000ff0000ff;
  value = (value | value << 8) & 0x100f00f00f00f00f;
  value = (value | value << 4) & 0x10c30c30c30c30c3;
  return (value | value << 2) & 0x1249249249249249;
}

std::uint64_t morton_code(const point& p) {
  const auto cell = [](float c) { return spread(static_cast<std::uint64_t>(c * static_cast<float>(1 << deepest))); };
  return cell(p.x) | cell(p.y) << 1 | cell(p.z) << 2;
}

/// The cube of a code on a level, as a number.
std::uint64_t prefix(std::uint64_t code, std::uint32_t level) { return code >> 3 * (deepest - level); }

/// The first level whose nodes keep two codes apart; 22 for equal ones.
std::uint32_t parting_level(std::uint64_t a, std::uint64_t b) {
  return a == b ? deepest + 1 : (static_cast<std::uint32_t>(std::countl_zero(a ^ b)) - 1) / 3 + 1;
}

/// The levels on which each place between sorted points is a bound of nodes, in compressed rows.
struct level_rows {
  std::vector<std::uint64_t> first{0};
  std::vector<std::uint8_t> level;
  void add(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t l = from; l <= to; ++l) level.push_back(static_cast<std::uint8_t>(l));
    first.push_back(level.size());
  }
};

/// Node k of level l holds the sorted points from begin[k] to last[k], k being offset[l] to offset[l + 1] - 1.
struct octree {
  std::vector<std::uint64_t> offset;
  std::vector<std::uint32_t> begin, last;
};

/// What the rows say level by level: one multi-split into the levels.
std::vector<std::uint32_t> by_level(const sheaf::context& ctx, const level_rows& rows,
                                    std::vector<std::uint64_t>& offset) {
  const example::array first(ctx, rows.first);
  const example::array level(ctx, rows.level);
  const example::array<std::uint32_t> points(ctx, rows.level.size());
  const example::array<std::uint64_t> offsets(ctx, deepest + 2);
  sheaf::multi_split_index(ctx, {first, level, deepest + 1}, points, offsets);
  offset = offsets.on_host(ctx);
  return points.on_host(ctx);
}

/// Point i begins nodes from the level that parts it from point i - 1 down to the last on which it has company, and one
/// more, where it is alone; it ends nodes likewise, seen from point i + 1. Levels come from comparing neighbours, on
/// the host: the library moves data, it does not compute with them.
octree build(const sheaf::context& ctx, const std::vector<std::uint64_t>& codes) {
  level_rows begins, ends;
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint32_t after = i + 1 < codes.size() ? parting_level(codes[i], codes[i + 1]) : 0;
    const std::uint32_t down_to = std::min(std::max(before, after), deepest);
    begins.add(before, down_to);
    ends.add(after, down_to);
    before = after;
  }
  octree tree;
  tree.begin = by_level(ctx, begins, tree.offset);
  std::vector<std::uint64_t> offset;
  tree.last = by_level(ctx, ends, offset);
  return tree;
}

/// The tree by definition, from the root down: meets the nodes of each level in order, and checks them off.
struct descent {
  const octree& tree;
  const std::vector<std::uint64_t>& codes;
  std::vector<std::uint64_t> next = tree.offset;

  bool check(std::uint32_t level, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t node = next[level]++;
    if (node >= tree.offset[level + 1] || tree.begin[node] != begin || tree.last[node] + 1 != end) return false;
    if (end - begin == 1 || level == deepest) return true;
    while (begin < end) {
      const std::uint64_t child = prefix(codes[begin], level + 1);
      const auto child_end = std::partition_point(codes.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  codes.begin() + static_cast<std::ptrdiff_t>(end),
                                                  [&](std::uint64_t c) { return prefix(c, level + 1) == child; });
      const auto stop = static_cast<std::uint64_t>(child_end - codes.begin());
      if (!check(level + 1, begin, stop)) return false;
      begin = stop;
    }
    return true;
  }
};

bool is_octree(const octree& tree, const std::vector<std::uint64_t>& codes, const std::vector<point>& points,
               const std::vector<std::uint32_t>& ids) {
  descent from_root{tree, codes};
  if (!from_root.check(0, 0, codes.size())) return example::fails("a node is not where a descent from the root has it");
  for (std::uint32_t level = 0; level <= deepest; ++level) {
    if (from_root.next[level] != tree.offset[level + 1]) return example::fails("there are nodes that no parent has");
  }
  // Some nodes by coordinates alone, against the points as they were made.
  std::mt19937 random(63);
  for (int sample = 0; sample < 32; ++sample) {
    const std::uint64_t node = random() % tree.begin.size();
    const auto level = std::ranges::upper_bound(tree.offset, node) - tree.offset.begin() - 1;
    const auto cells = static_cast<float>(1 << level);
    const point p = points[ids[tree.begin[node]]];
    const auto inside = std::ranges::count_if(points, [&](const point& q) {
      return std::floor(q.x * cells) == std::floor(p.x * cells) && std::floor(q.y * cells) == std::floor(p.y * cells) &&
             std::floor(q.z * cells) == std::floor(p.z * cells);
    });
    if (inside != tree.last[node] + 1 - tree.begin[node])
      return example::fails("a node does not have all points of its cube");
  }
  return true;
}

bool is_sorted_surface(const std::vector<point>& points, const std::vector<point>& sorted,
                       const std::vector<std::uint64_t>& codes, const std::vector<std::uint32_t>& ids) {
  std::vector<bool> seen(points.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && codes[i - 1] > codes[i]) return example::fails("codes are not in order");
    if (ids[i] >= points.size() || seen[ids[i]]) return example::fails("the points are not all there once");
    seen[ids[i]] = true;
    if (morton_code(points[ids[i]]) != codes[i] || morton_code(sorted[i]) != codes[i]) {
      return example::fails("a point is not beside its code");
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "POINTS", 1 << 20, 1, 1 << 26);
  const sheaf::context& ctx = given.ctx;
  const std::uint64_t count = given.size;
  const std::vector<point> points = surface(count);
  std::vector<std::uint64_t> codes(count);
  std::ranges::transform(points, codes.begin(), morton_code);
  std::vector<std::uint32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0u);

  const example::array there(ctx, points);
  const example::array keys(ctx, codes);
  const example::array numbers(ctx, ids);
  const example::array<point> sorted(ctx, count);
  const example::array<std::uint64_t> sorted_keys(ctx, count);
  const example::array<std::uint32_t> sorted_numbers(ctx, count);
  const double sort_time = example::seconds(ctx, [&] {
    sheaf::sort_pairs(ctx, keys, sorted_keys, numbers, sorted_numbers);
    sheaf::gather(ctx, there, sorted_numbers, sorted);
  });
  const std::vector<std::uint64_t> sorted_codes = sorted_keys.on_host(ctx);
  octree tree;
  const double node_time = example::seconds(ctx, [&] { tree = build(ctx, sorted_codes); });

  std::printf("%" PRIu64 " points on %s: sorted in %.1f ms, %zu nodes in %.1f ms\n", count,
              std::string(sheaf::name(ctx.backend())).c_str(), sort_time * 1e3, tree.begin.size(), node_time * 1e3);
  std::printf("%-6s %9s %9s\n", "level", "nodes", "leaves");
  for (std::uint32_t level = 0; level <= deepest && tree.offset[level] < tree.offset[level + 1]; ++level) {
    std::uint64_t leaves = 0;
    for (std::uint64_t node = tree.offset[level]; node < tree.offset[level + 1]; ++node) {
      leaves += level == deepest || tree.begin[node] == tree.last[node];
    }
    std::printf("%-6u %9" PRIu64 " %9" PRIu64 "\n", level, tree.offset[level + 1] - tree.offset[level], leaves);
  }
  const std::vector<std::uint32_t> sorted_ids = sorted_numbers.on_host(ctx);
  const bool right = is_sorted_surface(points, sorted.on_host(ctx), sorted_codes, sorted_ids) &&
                     is_octree(tree, sorted_codes, points, sorted_ids);
  return right ? 0 : 1;
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
