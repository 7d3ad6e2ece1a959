#include <algorithm>
#include <array>
#include <bit>
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

// Triangles into voxels, as a ray tracer wants them (Patidar and Narayanan 2009, section 5.2), for the paper's grid of
// 128 x 128 x 16 and for 16 million. Every triangle is written to each voxel that its bounding box touches, in two
// ways: by one multi-split of the triangles' voxels in compressed rows, and, as in the paper, by one split of records
// that hold a voxel and a triangle, of 18 + 20 bits for that grid and a million triangles.
namespace {

struct point {
  float x, y, z;
};

/// Corners from 0 to below 1.
struct box {
  std::array<float, 3> low, high;
};

/// Powers of two, so that scaling a coordinate by them and the bounds of a voxel are exact.
struct grid {
  std::array<std::uint32_t, 3> size;
  EXAMPLE_HOST_DEVICE std::uint32_t voxels() const { return size[0] * size[1] * size[2]; }
};

/// A torus with a rough surface, as the bounding boxes of its triangles: rows of quadrilaterals, two triangles each.
std::vector<box> bounding_boxes(std::uint64_t triangles) {
  const auto rows =
      std::max<std::uint64_t>(3, static_cast<std::uint64_t>(std::sqrt(static_cast<double>(triangles) / 5)));
  const std::uint64_t columns = std::max<std::uint64_t>(3, triangles / 2 / rows + 1);
  std::mt19937 random(2009);
  std::uniform_real_distribution<float> roughness(0.97f, 1.0f);
  std::vector<point> points;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      constexpr float turn = 2 * std::numbers::pi_v<float>;
      const float around = turn * static_cast<float>(column) / static_cast<float>(columns);
      const float tube = turn * static_cast<float>(row) / static_cast<float>(rows);
      const float thick = 0.14f * roughness(random);
      const float radius = 0.35f + thick * std::cos(tube);
      points.push_back(
          {0.5f + radius * std::cos(around), 0.5f + radius * std::sin(around), 0.5f + thick * std::sin(tube)});
    }
  }
  const auto corner = [&](std::uint64_t row, std::uint64_t column) {
    return points[row % rows * columns + column % columns];
  };
  std::vector<box> boxes;
  for (std::uint64_t t = 0; t < triangles; ++t) {
    const std::uint64_t row = t / 2 / columns, column = t / 2 % columns;
    const point a = corner(row + t % 2, column + t % 2), b = corner(row + 1, column), c = corner(row, column + 1);
    boxes.push_back({{std::min({a.x, b.x, c.x}), std::min({a.y, b.y, c.y}), std::min({a.z, b.z, c.z})},
                     {std::max({a.x, b.x, c.x}), std::max({a.y, b.y, c.y}), std::max({a.z, b.z, c.z})}});
  }
  return boxes;
}

/// The voxels that a box touches.
struct voxel_range {
  std::array<std::uint32_t, 3> from, to;

  EXAMPLE_HOST_DEVICE voxel_range(const box& b, const grid& grid) : from(), to() {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      from[axis] = static_cast<std::uint32_t>(b.low[axis] * static_cast<float>(grid.size[axis]));
      to[axis] = static_cast<std::uint32_t>(b.high[axis] * static_cast<float>(grid.size[axis]));
    }
  }

  EXAMPLE_HOST_DEVICE std::uint64_t count() const {
    return std::uint64_t{to[0] - from[0] + 1} * (to[1] - from[1] + 1) * (to[2] - from[2] + 1);
  }

  /// Calls visit with the number of each, ascending.
  template <class Visit>
  EXAMPLE_HOST_DEVICE void each(const grid& grid, Visit visit) const {
    for (std::uint32_t z = from[2]; z <= to[2]; ++z) {
      for (std::uint32_t y = from[1]; y <= to[1]; ++y) {
        for (std::uint32_t x = from[0]; x <= to[0]; ++x) visit((z * grid.size[1] + y) * grid.size[0] + x);
      }
    }
  }
};

/// How many voxels a triangle touches; 0 behind the last triangle, where the sums before are those of all.
struct count_voxels {
  const box* boxes;
  grid shape;
  std::uint64_t triangles;
  std::uint64_t* count;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t t) const {
    count[t] = t < triangles ? voxel_range(boxes[t], shape).count() : 0;
  }
};

struct list_voxels {
  const box* boxes;
  grid shape;
  const std::uint64_t* first;
  std::uint32_t* voxel;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t t) const {
    std::uint32_t* next = voxel + first[t];
    voxel_range(boxes[t], shape).each(shape, [&](std::uint32_t number) { *next++ = number; });
  }
};

/// Records of 8 bytes: the triangle's number in the low bits, that of the voxel above it.
struct pack_pairs {
  const box* boxes;
  grid shape;
  const std::uint64_t* first;
  std::uint32_t triangle_bits;
  std::uint64_t* pair;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t t) const {
    std::uint64_t* next = pair + first[t];
    const std::uint32_t shift = triangle_bits;
    voxel_range(boxes[t], shape).each(shape, [&](std::uint64_t number) { *next++ = number << shift | t; });
  }
};

/// The triangles of voxel v are triangle[offset[v]] to triangle[offset[v + 1] - 1], in ascending order.
struct voxel_lists {
  std::vector<std::uint32_t> triangle;
  std::vector<std::uint64_t> offset;
  friend bool operator==(const voxel_lists&, const voxel_lists&) = default;
};

/// By one multi-split of compressed rows.
voxel_lists by_rows(const sheaf::context& ctx, const example::array<box>& boxes, const grid& grid,
                    const example::array<std::uint64_t>& first, std::uint64_t entries, double& time) {
  const example::array<std::uint32_t> voxel(ctx, entries);
  const example::array<std::uint32_t> sources(ctx, entries);
  const example::array<std::uint64_t> offsets(ctx, std::uint64_t{grid.voxels()} + 1);
  time = example::seconds_of_second(ctx, [&] {
    example::for_each(ctx, boxes.size(), list_voxels{boxes.data(), grid, first.data(), voxel.data()});
    sheaf::multi_split_index(ctx, {first.span(), voxel, grid.voxels()}, sources, offsets);
  });
  return {sources.on_host(ctx), offsets.on_host(ctx)};
}

/// By one split of packed records at the bits of the voxel.
voxel_lists by_packed_records(const sheaf::context& ctx, const example::array<box>& boxes, const grid& grid,
                              const example::array<std::uint64_t>& first, std::uint64_t entries,
                              std::uint32_t triangle_bits, double& time) {
  const auto voxel_bits = static_cast<std::uint32_t>(std::countr_zero(grid.voxels()));
  const example::array<std::uint64_t> pairs(ctx, entries);
  const example::array<std::uint64_t> split_pairs(ctx, entries);
  const example::array<std::uint64_t> offsets(ctx, std::uint64_t{grid.voxels()} + 1);
  time = example::seconds_of_second(ctx, [&] {
    example::for_each(ctx, boxes.size(), pack_pairs{boxes.data(), grid, first.data(), triangle_bits, pairs.data()});
    sheaf::split(ctx, pairs, sheaf::split_key::of_record({triangle_bits, voxel_bits}), split_pairs, offsets);
  });
  voxel_lists lists{{}, offsets.on_host(ctx)};
  const std::uint64_t low = (std::uint64_t{1} << triangle_bits) - 1;
  for (const std::uint64_t pair : split_pairs.on_host(ctx)) {
    lists.triangle.push_back(static_cast<std::uint32_t>(pair & low));
  }
  return lists;
}

/// The voxels of each triangle in compressed rows, by a plain loop.
struct rows {
  std::vector<std::uint64_t> first{0};
  std::vector<std::uint32_t> voxel;
};

rows voxels_touched(const std::vector<box>& boxes, const grid& grid) {
  rows of;
  for (const box& b : boxes) {
    std::array<std::uint32_t, 3> from, to;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      from[axis] = static_cast<std::uint32_t>(std::floor(b.low[axis] * static_cast<float>(grid.size[axis])));
      to[axis] = static_cast<std::uint32_t>(std::floor(b.high[axis] * static_cast<float>(grid.size[axis])));
    }
    for (std::uint32_t z = from[2]; z <= to[2]; ++z) {
      for (std::uint32_t y = from[1]; y <= to[1]; ++y) {
        for (std::uint32_t x = from[0]; x <= to[0]; ++x) of.voxel.push_back((z * grid.size[1] + y) * grid.size[0] + x);
      }
    }
    of.first.push_back(of.voxel.size());
  }
  return of;
}

/// All of the answer against a counting sort of the rows.
bool equals_counting_sort(const rows& of, std::uint64_t voxels, const voxel_lists& lists) {
  std::vector<std::uint64_t> next(voxels + 1);
  for (const std::uint32_t v : of.voxel) ++next[v + 1];
  for (std::uint64_t v = 0; v < voxels; ++v) next[v + 1] += next[v];
  if (next != lists.offset) return example::fails("voxels do not hold as many triangles as were counted");
  if (next[voxels] != lists.triangle.size()) return example::fails("there are not as many triangles as were counted");
  for (std::uint64_t t = 0; t + 1 < of.first.size(); ++t) {
    for (std::uint64_t i = of.first[t]; i < of.first[t + 1]; ++i) {
      if (lists.triangle[next[of.voxel[i]]++] != t) return example::fails("a triangle is not where counting puts it");
    }
  }
  return true;
}

/// Some voxels against every triangle: the box of the one overlaps the box of the other, or not.
bool equals_overlaps(const std::vector<box>& boxes, const grid& grid, const voxel_lists& lists) {
  std::mt19937 random(18);
  const std::vector<std::uint64_t>& offset = lists.offset;
  for (int sample = 0; sample < 24; ++sample) {
    // Half of them anywhere, half where some triangle is.
    std::uint64_t voxel = random() % grid.voxels();
    if (sample % 2 == 0) {
      const std::uint64_t place = random() % lists.triangle.size();
      voxel = static_cast<std::uint64_t>(std::upper_bound(offset.begin(), offset.end(), place) - offset.begin()) - 1;
    }
    std::array<float, 3> low, high;
    std::uint64_t rest = voxel;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = static_cast<float>(rest % grid.size[axis]) / static_cast<float>(grid.size[axis]);
      high[axis] = static_cast<float>(rest % grid.size[axis] + 1) / static_cast<float>(grid.size[axis]);
      rest /= grid.size[axis];
    }
    std::vector<std::uint32_t> overlapping;
    for (std::uint32_t t = 0; t < boxes.size(); ++t) {
      const box& b = boxes[t];
      if (b.low[0] < high[0] && b.high[0] >= low[0] && b.low[1] < high[1] && b.high[1] >= low[1] &&
          b.low[2] < high[2] && b.high[2] >= low[2]) {
        overlapping.push_back(t);
      }
    }
    const std::span<const std::uint32_t> held =
        std::span(lists.triangle).subspan(offset[voxel], offset[voxel + 1] - offset[voxel]);
    if (!std::ranges::equal(overlapping, held)) {
      return example::fails("a voxel does not hold the triangles whose boxes overlap it");
    }
  }
  return true;
}

bool build(const sheaf::context& ctx, const std::vector<box>& boxes, const grid& grid) {
  const std::uint64_t triangles = boxes.size();
  const example::array there(ctx, boxes);
  const example::array<std::uint64_t> count(ctx, triangles + 1);
  const example::array<std::uint64_t> first(ctx, triangles + 1);  // entry of each triangle, then how many there are
  const double count_time = example::seconds_of_second(ctx, [&] {
    example::for_each(ctx, triangles + 1, count_voxels{there.data(), grid, triangles, count.data()});
    example::sums_before(ctx, count, first);
  });
  const std::uint64_t entries = first.on_host(ctx, triangles);

  // The paper's 20 bits number a million triangles; more triangles take more bits.
  const auto triangle_bits = std::max(20u, static_cast<std::uint32_t>(std::bit_width(triangles - 1)));
  double rows_time = 0, packed_time = 0;
  const voxel_lists lists = by_rows(ctx, there, grid, first, entries, rows_time);
  const voxel_lists packed = by_packed_records(ctx, there, grid, first, entries, triangle_bits, packed_time);

  std::uint64_t filled = 0;
  for (std::uint64_t v = 0; v < grid.voxels(); ++v) filled += lists.offset[v] < lists.offset[v + 1];
  const std::string name =
      std::to_string(grid.size[0]) + " x " + std::to_string(grid.size[1]) + " x " + std::to_string(grid.size[2]);
  const std::string bits = std::to_string(std::countr_zero(grid.voxels())) + " + " + std::to_string(triangle_bits);
  std::printf("%-15s %9u %9" PRIu64 " %9" PRIu64 " %9.2f %14.2f %9s %9.2f\n", name.c_str(), grid.voxels(), filled,
              entries, count_time * 1e3, rows_time * 1e3, bits.c_str(), packed_time * 1e3);
  if (!(packed == lists)) return example::fails("packed records do not give the lists that the multi-split gives");
  return equals_counting_sort(voxels_touched(boxes, grid), grid.voxels(), lists) && equals_overlaps(boxes, grid, lists);
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "TRIANGLES", 1 << 20, 1, 1 << 26);
  const sheaf::context& ctx = given.ctx;
  const std::uint64_t triangles = given.size;
  const std::vector<box> boxes = bounding_boxes(triangles);
  std::printf("%" PRIu64 " triangles on %s\n", triangles, std::string(sheaf::name(ctx.backend())).c_str());
  std::printf("%-15s %9s %9s %9s %9s %14s %9s %9s\n", "grid", "voxels", "filled", "entries", "count ms",
              "multi-split ms", "bits", "packed ms");
  // 18 bits of voxel and, of a million triangles, 20 bits of number; then 24 bits of voxel.
  const bool right = build(ctx, boxes, {{128, 128, 16}}) && build(ctx, boxes, {{256, 256, 256}});
  return example::exit_code(right);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
} catch (const std::bad_alloc&) {
  std::fprintf(stderr, "voxel_grid: out of memory\n");
  return 1;
}
