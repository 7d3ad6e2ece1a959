// Split: bring the records of each category together, in order. Here points go to the four quarters of a square.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

struct point {
  float x, y;
};

int main() {
  const std::vector<point> points{{0.9F, 0.1F}, {0.1F, 0.2F}, {0.7F, 0.8F}, {0.3F, 0.4F}, {0.6F, 0.3F}};
  std::vector<std::uint8_t> quarter(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    quarter[i] = static_cast<std::uint8_t>((points[i].x >= 0.5F ? 1 : 0) + (points[i].y >= 0.5F ? 2 : 0));
  }
  std::vector<point> by_quarter(points.size());
  std::vector<std::uint64_t> begin(5);  // where each quarter begins, and where the last one ends

  const sheaf::context ctx = sheaf::context::cpu();
  sheaf::split(ctx, points, sheaf::split_key::category(quarter, 4), by_quarter, begin);
  ctx.wait();

  for (std::size_t q = 0; q < 4; ++q) {
    std::printf("quarter %d:", static_cast<int>(q));
    for (std::size_t i = begin[q]; i < begin[q + 1]; ++i)
      std::printf(" (%.1f, %.1f)", by_quarter[i].x, by_quarter[i].y);
    std::printf("\n");
  }
}

// Prints:
// quarter 0: (0.1, 0.2) (0.3, 0.4)
// quarter 1: (0.9, 0.1) (0.6, 0.3)
// quarter 2:
// quarter 3: (0.7, 0.8)
