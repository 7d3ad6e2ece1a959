#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "example.hpp"

// Triangles into voxels, as a ray tracer wants them (Patidar and Narayanan 2009, section 5.2): one multi-split writes
// every triangle to each voxel that its bounding box touches, for the paper's grid of 128 x 128 x 16 and for 16
// million.
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
  std::uint32_t voxels() const { return size[0] * size[1] * size[2]; }
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

/// The voxels of each triangle in compressed rows. This runs on the host: the library moves data, it does not compute
/// with them.
struct rows {
  std::vector<std::uint64_t> first{0};
  std::vector<std::uint32_t> voxel;
};

rows voxels_touched(const std::vector<box>& boxes, const grid& grid) {
  rows of;
  of.first.reserve(boxes.size() + 1);
  of.voxel.reserve(3 * boxes.size());
  for (const box& b : boxes) {
    std::array<std::uint32_t, 3> from, to;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      from[axis] = static_cast<std::uint32_t>(b.low[axis] * static_cast<float>(grid.size[axis]));
      to[axis] = static_cast<std::uint32_t>(b.high[axis] * static_cast<float>(grid.size[axis]));
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
bool equals_counting_sort(const rows& of, std::uint32_t voxels, const std::vector<std::uint32_t>& triangle,
                          const std::vector<std::uint64_t>& offset) {
  std::vector<std::uint64_t> next(std::uint64_t{voxels} + 1);
  for (const std::uint32_t v : of.voxel) ++next[v + 1];
  for (std::uint64_t v = 0; v < voxels; ++v) next[v + 1] += next[v];
  if (next != offset) return example::fails("voxels do not hold as many triangles as were counted");
  for (std::uint64_t t = 0; t + 1 < of.first.size(); ++t) {
    for (std::uint64_t i = of.first[t]; i < of.first[t + 1]; ++i) {
      if (triangle[next[of.voxel[i]]++] != t) return example::fails("a triangle is not where counting puts it");
    }
  }
  return true;
}

/// Some voxels against every triangle: the box of the one overlaps the box of the other, or not.
bool equals_overlaps(const std::vector<box>& boxes, const grid& grid, const std::vector<std::uint32_t>& triangle,
                     const std::vector<std::uint64_t>& offset, std::mt19937& random) {
  for (int sample = 0; sample < 24; ++sample) {
    // Half of them anywhere, half where some triangle is.
    std::uint64_t voxel = random() % grid.voxels();
    if (sample % 2 == 0) {
      const std::uint64_t place = random() % triangle.size();
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
    if (!std::ranges::equal(overlapping, std::span(triangle).subspan(offset[voxel], offset[voxel + 1] - offset[voxel])))
      return example::fails("a voxel does not hold the triangles whose boxes overlap it");
  }
  return true;
}

bool build(const sheaf::context& ctx, const std::vector<box>& boxes, const grid& grid) {
  const rows of = voxels_touched(boxes, grid);
  const example::array first(ctx, of.first);
  const example::array voxel(ctx, of.voxel);
  const example::array<std::uint32_t> sources(ctx, of.voxel.size());
  const example::array<std::uint64_t> offsets(ctx, std::uint64_t{grid.voxels()} + 1);

  // The triangles of voxel v are sources[offsets[v]] to sources[offsets[v + 1] - 1], in ascending order. The first run
  // meets fresh memory, the second does not.
  double time = 0;
  for (int run = 0; run < 2; ++run) {
    time = example::seconds(ctx, [&] {
      sheaf::multi_split_index(ctx, {first, voxel, grid.voxels()}, sources, offsets);
    });
  }

  const std::vector<std::uint32_t> triangle = sources.on_host(ctx);
  const std::vector<std::uint64_t> offset = offsets.on_host(ctx);
  std::uint64_t filled = 0;
  for (std::uint64_t v = 0; v < grid.voxels(); ++v) filled += offset[v] < offset[v + 1];
  const std::string name =
      std::to_string(grid.size[0]) + " x " + std::to_string(grid.size[1]) + " x " + std::to_string(grid.size[2]);
  std::printf("%-15s %9u %9" PRIu64 " %9zu %9.2f %12.1f\n", name.c_str(), grid.voxels(), filled, triangle.size(),
              time * 1e3, static_cast<double>(boxes.size()) / time * 1e-6);
  std::mt19937 random(18);
  return equals_counting_sort(of, grid.voxels(), triangle, offset) &&
         equals_overlaps(boxes, grid, triangle, offset, random);
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "TRIANGLES", 1 << 20, 1, 1 << 26);
  const sheaf::context& ctx = given.ctx;
  const std::uint64_t triangles = given.size;
  const std::vector<box> boxes = bounding_boxes(triangles);
  std::printf("%" PRIu64 " triangles on %s\n", triangles, std::string(sheaf::name(ctx.backend())).c_str());
  std::printf("%-15s %9s %9s %9s %9s %12s\n", "grid", "voxels", "filled", "entries", "ms", "M triangles/s");
  // 18 bits of voxel and, of a million triangles, 20 bits of number; then 24 bits of voxel.
  const bool right = build(ctx, boxes, {{128, 128, 16}}) && build(ctx, boxes, {{256, 256, 256}});
  return right ? 0 : 1;
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
