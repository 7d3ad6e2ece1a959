#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "example.hpp"
#include "for_each.hpp"

// Octrees of points by their Morton codes, of 10 levels in 32 bits, 16 in 48 and 21 in 64: more than the 9 that a GPU's
// sort of 32 bits allowed (Patidar and Narayanan 2009, section 5.2). A node of more than one point has a child for each
// of its eight parts that holds points; the tree ends where points are alone, or at its deepest level.
namespace {

struct point {
  float x, y, z;
  friend bool operator==(const point&, const point&) = default;
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
EXAMPLE_HOST_DEVICE std::uint64_t spread(std::uint64_t value) {
  value = (value | value << 32) & 0x001f00000000ffff;
  value = (value | value << 16) & 0x001f0000ff0000ff;
  value = (value | value << 8) & 0x100f00f00f00f00f;
  value = (value | value << 4) & 0x10c30c30c30c30c3;
  return (value | value << 2) & 0x1249249249249249;
}

/// The cube of a point on the deepest level, as a number of 3 bits a level.
EXAMPLE_HOST_DEVICE std::uint64_t morton_code(const point& p, std::uint32_t deepest) {
  const auto cubes = static_cast<float>(1 << deepest);
  return spread(static_cast<std::uint64_t>(p.x * cubes)) | spread(static_cast<std::uint64_t>(p.y * cubes)) << 1 |
         spread(static_cast<std::uint64_t>(p.z * cubes)) << 2;
}

template <class Code>
struct make_codes {
  const point* points;
  std::uint32_t deepest;
  Code* code;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const {
    code[i] = static_cast<Code>(morton_code(points[i], deepest));
  }
};

/// What neighbours among sorted codes say of a point. It begins nodes from the level that parts it from the point
/// before it down to the last on which it has company, and one more, where it is alone; it ends nodes likewise, seen
/// from the point behind it.
template <class Code>
struct neighbours {
  const Code* codes;
  std::uint64_t count;
  std::uint32_t deepest;

  /// The first level whose nodes keep a point and the one before it apart; deepest + 1 for equal codes.
  EXAMPLE_HOST_DEVICE std::uint32_t before(std::uint64_t i) const {
    if (i == 0 || i == count) return 0;
    std::uint32_t level = deepest + 1;
    for (std::uint64_t differing = codes[i - 1] ^ codes[i]; differing != 0; differing >>= 3) --level;
    return level;
  }
  EXAMPLE_HOST_DEVICE std::uint32_t after(std::uint64_t i) const { return before(i + 1); }
  EXAMPLE_HOST_DEVICE std::uint32_t last(std::uint64_t i) const {
    return std::min(std::max(before(i), after(i)), deepest);
  }
};

/// How many nodes a point begins and ends; 0 behind the last point, where the sums before are those of all.
template <class Code>
struct count_nodes {
  neighbours<Code> of;
  std::uint64_t* begins;
  std::uint64_t* ends;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const {
    begins[i] = i < of.count ? of.last(i) + 1 - of.before(i) : 0;
    ends[i] = i < of.count ? of.last(i) + 1 - of.after(i) : 0;
  }
};

/// The levels of these nodes.
template <class Code>
struct list_levels {
  neighbours<Code> of;
  const std::uint64_t* first_begin;
  const std::uint64_t* first_end;
  std::uint8_t* begins;
  std::uint8_t* ends;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const {
    std::uint8_t* begin = begins + first_begin[i];
    std::uint8_t* end = ends + first_end[i];
    const std::uint32_t last = of.last(i);
    for (std::uint32_t level = of.before(i); level <= last; ++level) *begin++ = static_cast<std::uint8_t>(level);
    for (std::uint32_t level = of.after(i); level <= last; ++level) *end++ = static_cast<std::uint8_t>(level);
  }
};

/// Node k of level l holds the sorted points from begin[k] to last[k], k being offset[l] to offset[l + 1] - 1.
struct octree {
  example::array<std::uint64_t> offset;
  example::array<std::uint32_t> begin, last;
};

/// Counts the nodes that each point begins and ends, lists their levels, and brings them together level by level: one
/// multi-split of the points that begin nodes, one of those that end them.
template <class Code>
octree build(const sheaf::context& ctx, const example::array<Code>& codes, std::uint32_t deepest) {
  const std::uint64_t points = codes.size();
  const neighbours<Code> of{codes.data(), points, deepest};
  const example::array<std::uint64_t> begins(ctx, points + 1), ends(ctx, points + 1);
  example::for_each(ctx, points + 1, count_nodes<Code>{of, begins.data(), ends.data()});
  const example::array<std::uint64_t> first_begin(ctx, points + 1), first_end(ctx, points + 1);
  example::sums_before(ctx, begins, first_begin);
  example::sums_before(ctx, ends, first_end);

  const std::uint64_t nodes = first_begin.on_host(ctx, points);
  const example::array<std::uint8_t> begin_levels(ctx, nodes), end_levels(ctx, nodes);
  example::for_each(
      ctx, points, list_levels<Code>{of, first_begin.data(), first_end.data(), begin_levels.data(), end_levels.data()});
  octree tree{{ctx, deepest + 2}, {ctx, nodes}, {ctx, nodes}};
  sheaf::multi_split_index(ctx, {first_begin.span(), begin_levels, deepest + 1}, tree.begin, tree.offset);
  sheaf::multi_split_index(ctx, {first_end.span(), end_levels, deepest + 1}, tree.last);
  return tree;
}

/// The tree and its points as the host sees them.
struct answer {
  std::uint32_t deepest;
  std::vector<std::uint64_t> offset;
  std::vector<std::uint32_t> begin, last;
  std::vector<std::uint64_t> codes;  // sorted
  std::vector<point> sorted;
  std::vector<std::uint32_t> ids;  // of the sorted points

  /// The cube of a code on a level, as a number.
  std::uint64_t prefix(std::uint64_t code, std::uint32_t level) const { return code >> 3 * (deepest - level); }
};

/// The tree by definition, from the root down: meets the nodes of each level in order, and checks them off.
struct descent {
  const answer& tree;
  std::vector<std::uint64_t> next = tree.offset;

  bool check(std::uint32_t level, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t node = next[level]++;
    if (node >= tree.offset[level + 1] || tree.begin[node] != begin || tree.last[node] + 1 != end) return false;
    if (end - begin == 1 || level == tree.deepest) return true;
    while (begin < end) {
      const std::uint64_t child = tree.prefix(tree.codes[begin], level + 1);
      const auto child_end = std::partition_point(tree.codes.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  tree.codes.begin() + static_cast<std::ptrdiff_t>(end),
                                                  [&](std::uint64_t c) { return tree.prefix(c, level + 1) == child; });
      const auto stop = static_cast<std::uint64_t>(child_end - tree.codes.begin());
      if (!check(level + 1, begin, stop)) return false;
      begin = stop;
    }
    return true;
  }
};

bool is_octree(const answer& tree, const std::vector<point>& points) {
  descent from_root{tree};
  if (!from_root.check(0, 0, points.size()))
    return example::fails("a node is not where a descent from the root has it");
  for (std::uint32_t level = 0; level <= tree.deepest; ++level) {
    if (from_root.next[level] != tree.offset[level + 1]) return example::fails("there are nodes that no parent has");
  }
  // Some nodes by coordinates alone, against the points as they were made.
  std::mt19937 random(63);
  for (int sample = 0; sample < 32; ++sample) {
    const std::uint64_t node = random() % tree.begin.size();
    const auto level = std::ranges::upper_bound(tree.offset, node) - tree.offset.begin() - 1;
    const auto cells = static_cast<float>(1 << level);
    const point p = points[tree.ids[tree.begin[node]]];
    const auto inside = std::ranges::count_if(points, [&](const point& q) {
      return std::floor(q.x * cells) == std::floor(p.x * cells) && std::floor(q.y * cells) == std::floor(p.y * cells) &&
             std::floor(q.z * cells) == std::floor(p.z * cells);
    });
    if (inside != tree.last[node] + 1 - tree.begin[node])
      return example::fails("a node does not have all points of its cube");
  }
  return true;
}

/// Points of equal codes keep their order.
bool is_sorted_surface(const answer& tree, const std::vector<point>& points) {
  std::vector<bool> seen(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::uint32_t id = tree.ids[i];
    if (id >= points.size() || seen[id]) return example::fails("the points are not all there once");
    seen[id] = true;
    if (i > 0 && (tree.codes[i - 1] > tree.codes[i] || (tree.codes[i - 1] == tree.codes[i] && tree.ids[i - 1] > id))) {
      return example::fails("codes are not in order");
    }
    if (morton_code(points[id], tree.deepest) != tree.codes[i] || !(tree.sorted[i] == points[id])) {
      return example::fails("a point is not beside its code");
    }
  }
  return true;
}

void print_levels(const answer& tree) {
  std::printf("%-6s %9s %9s\n", "level", "nodes", "leaves");
  for (std::uint32_t level = 0; level <= tree.deepest && tree.offset[level] < tree.offset[level + 1]; ++level) {
    std::uint64_t leaves = 0;
    for (std::uint64_t node = tree.offset[level]; node < tree.offset[level + 1]; ++node) {
      leaves += level == tree.deepest || tree.begin[node] == tree.last[node];
    }
    std::printf("%-6u %9" PRIu64 " %9" PRIu64 "\n", level, tree.offset[level + 1] - tree.offset[level], leaves);
  }
}

template <class Code>
bool run(const sheaf::context& ctx, const std::vector<point>& points, std::uint32_t deepest, bool prints_levels) {
  const std::uint64_t count = points.size();
  const example::array there(ctx, points);
  const example::array<Code> codes(ctx, count), sorted_codes(ctx, count);
  const example::array<std::uint32_t> numbers(ctx, count), sorted_numbers(ctx, count);
  const example::array<point> sorted(ctx, count);
  const double code_time = example::seconds_of_second(ctx, [&] {
    example::for_each(ctx, count, make_codes<Code>{there.data(), deepest, codes.data()});
    example::for_each(ctx, count, example::number<std::uint32_t>{numbers.data()});
  });
  const double sort_time = example::seconds_of_second(ctx, [&] {
    const sheaf::key_field bits{0, sizeof(Code), sheaf::key_type::unsigned_integer, false, 0, 3 * deepest};
    const sheaf::sort_column column{numbers, sorted_numbers};
    sheaf::sort_pairs(ctx, codes, bits, sorted_codes, std::span(&column, 1));
    sheaf::gather(ctx, there, sorted_numbers, sorted);
  });
  octree tree;
  const double node_time = example::seconds_of_second(ctx, [&] { tree = build(ctx, sorted_codes, deepest); });
  std::printf("%-7u %5u %9.2f %9.2f %9" PRIu64 " %9.2f\n", deepest, 3 * deepest, code_time * 1e3, sort_time * 1e3,
              tree.begin.size(), node_time * 1e3);

  const std::vector<Code> code_copy = sorted_codes.on_host(ctx);
  const answer found{deepest,
                     tree.offset.on_host(ctx),
                     tree.begin.on_host(ctx),
                     tree.last.on_host(ctx),
                     {code_copy.begin(), code_copy.end()},
                     sorted.on_host(ctx),
                     sorted_numbers.on_host(ctx)};
  if (prints_levels) print_levels(found);
  return is_sorted_surface(found, points) && is_octree(found, points);
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "POINTS", 1 << 20, 1, 1 << 26);
  const sheaf::context& ctx = given.ctx;
  const std::vector<point> points = surface(given.size);
  std::printf("%" PRIu64 " points on %s\n", given.size, std::string(sheaf::name(ctx.backend())).c_str());
  std::printf("%-7s %5s %9s %9s %9s %9s\n", "levels", "bits", "codes ms", "sort ms", "nodes", "nodes ms");
  bool right = run<std::uint32_t>(ctx, points, 10, false);
  right &= run<std::uint64_t>(ctx, points, 16, false);
  right &= run<std::uint64_t>(ctx, points, 21, true);
  return example::exit_code(right);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
} catch (const std::bad_alloc&) {
  std::fprintf(stderr, "octree: out of memory\n");
  return 1;
}
