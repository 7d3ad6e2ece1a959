#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "example.hpp"
#include "for_each.hpp"

// Particles of a simulation in a uniform grid, in 2 and 3 dimensions (Patidar and Narayanan 2009, section 5.2). A split
// by the number of the cell brings the particles of each cell together, as records of 16 or 32 bytes, and its offsets
// say where cells begin. The interactions of a particle, which are those with others within a radius of a cell's width,
// are then found in the 3 x 3 or 3 x 3 x 3 cells around it.
namespace {

// Coordinates are multiples of 2^-24 from 0 to below 1. So their differences, squares and sums of squares are exact in
// doubles, and every device sees the same interactions.
constexpr std::uint32_t units = 1 << 24;

template <std::uint32_t Dimensions>
struct particle;

template <>
struct particle<2> {
  std::array<float, 2> at;
  std::uint32_t mass;
  std::uint32_t number;
  friend bool operator==(const particle&, const particle&) = default;
};
static_assert(sizeof(particle<2>) == 16);

template <>
struct particle<3> {
  std::array<float, 3> at;
  std::array<float, 3> velocity;
  std::uint32_t mass;
  std::uint32_t number;
  friend bool operator==(const particle&, const particle&) = default;
};
static_assert(sizeof(particle<3>) == 32);

/// `side` cells along each axis. Cells that are neighbours along x have numbers that are.
template <std::uint32_t Dimensions>
struct grid {
  std::uint32_t side;

  EXAMPLE_HOST_DEVICE std::uint32_t along(float coordinate) const {
    return static_cast<std::uint32_t>(static_cast<double>(coordinate) * side);
  }
  EXAMPLE_HOST_DEVICE std::uint32_t cell_of(const particle<Dimensions>& p) const {
    std::uint32_t cell = 0;
    for (std::size_t axis = Dimensions; axis-- > 0;) cell = cell * side + along(p.at[axis]);
    return cell;
  }
  std::uint64_t cells() const {
    return Dimensions == 2 ? std::uint64_t{side} * side : std::uint64_t{side} * side * side;
  }
  /// The largest whole number of units up to a cell's width.
  std::uint32_t radius() const { return units / side; }
};

template <std::uint32_t Dimensions>
struct find_cell {
  const particle<Dimensions>* particles;
  grid<Dimensions> shape;
  std::uint32_t* cell;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const { cell[i] = shape.cell_of(particles[i]); }
};

/// The other particles within the radius of one: how many, and their mass.
struct interactions {
  std::uint32_t count, mass;
  friend bool operator==(const interactions&, const interactions&) = default;
};

/// The interactions of each of the particles in the order of their cells.
template <std::uint32_t Dimensions>
struct interact {
  const particle<Dimensions>* particles;
  const std::uint64_t* begins;
  grid<Dimensions> shape;
  double squared_radius;
  interactions* result;

  EXAMPLE_HOST_DEVICE bool are_near(const particle<Dimensions>& a, const particle<Dimensions>& b) const {
    double squared_distance = 0;
    for (std::size_t axis = 0; axis < Dimensions; ++axis) {
      const double difference = static_cast<double>(a.at[axis]) - static_cast<double>(b.at[axis]);
      squared_distance += difference * difference;
    }
    return squared_distance <= squared_radius;
  }

  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const {
    const particle<Dimensions> own = particles[i];
    std::array<std::uint32_t, 3> from{}, to{};  // in 2 dimensions z stays 0
    for (std::size_t axis = 0; axis < Dimensions; ++axis) {
      const std::uint32_t cell = shape.along(own.at[axis]);
      from[axis] = cell == 0 ? 0 : cell - 1;
      to[axis] = cell + 1 == shape.side ? cell : cell + 1;
    }
    interactions sum{0, 0};
    for (std::uint32_t z = from[2]; z <= to[2]; ++z) {
      for (std::uint32_t y = from[1]; y <= to[1]; ++y) {
        // The particles of up to three cells along x lie side by side.
        const std::uint64_t row = (std::uint64_t{z} * shape.side + y) * shape.side;
        for (std::uint64_t other = begins[row + from[0]]; other < begins[row + to[0] + 1]; ++other) {
          if (other == i || !are_near(own, particles[other])) continue;
          ++sum.count;
          sum.mass += particles[other].mass;
        }
      }
    }
    result[i] = sum;
  }
};

/// Particles anywhere, or nine of ten of them in a cluster around one of 24 centers, densest in its middle.
template <std::uint32_t Dimensions>
std::vector<particle<Dimensions>> cloud(std::uint64_t count, bool is_clustered) {
  constexpr std::uint32_t cluster_width = units / (Dimensions == 2 ? 8 : 4);
  std::mt19937 random(2009);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  std::array<std::array<std::uint32_t, Dimensions>, 24> centers;
  for (auto& center : centers) {
    for (std::uint32_t& c : center) c = cluster_width / 2 + below(units - cluster_width);
  }
  std::vector<particle<Dimensions>> particles(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    particle<Dimensions>& p = particles[i];
    const bool is_anywhere = !is_clustered || i % 10 == 0;
    const auto& center = centers[below(24)];
    for (std::size_t axis = 0; axis < Dimensions; ++axis) {
      std::uint32_t place = below(units);
      if (!is_anywhere) {
        place = center[axis] - cluster_width / 2;
        for (int part = 0; part < 3; ++part) place += below(cluster_width / 3);
      }
      p.at[axis] = static_cast<float>(place) / static_cast<float>(units);
    }
    if constexpr (Dimensions == 3) {
      for (float& v : p.velocity) v = static_cast<float>(below(2001)) - 1000;
    }
    p.mass = 1 + below(100);
    p.number = static_cast<std::uint32_t>(i);
  }
  return particles;
}

/// The particles in the order of their cells, where each cell begins, and what each particle interacts with.
template <std::uint32_t Dimensions>
struct answer {
  std::vector<particle<Dimensions>> binned;
  std::vector<std::uint64_t> begins;
  std::vector<interactions> found;
};

/// Every particle is in its cell, whole, and behind those of the cell that stood before it.
template <std::uint32_t Dimensions>
bool is_binned(const std::vector<particle<Dimensions>>& particles, const grid<Dimensions>& grid,
               const answer<Dimensions>& a) {
  if (a.begins.front() != 0 || a.begins.back() != particles.size()) return example::fails("a cell is missing");
  std::vector<bool> seen(particles.size());
  for (std::size_t cell = 0; cell < grid.cells(); ++cell) {
    if (a.begins[cell] > a.begins[cell + 1]) return example::fails("a cell ends before it begins");
    for (std::uint64_t i = a.begins[cell]; i < a.begins[cell + 1]; ++i) {
      const particle<Dimensions>& p = a.binned[i];
      if (p.number >= particles.size() || seen[p.number]) return example::fails("the particles are not there once");
      seen[p.number] = true;
      if (!(p == particles[p.number])) return example::fails("a particle is not whole");
      if (grid.cell_of(p) != cell) return example::fails("a particle is in a cell where it does not belong");
      if (i > a.begins[cell] && a.binned[i - 1].number >= p.number) return example::fails("a cell is not in order");
    }
  }
  return true;
}

/// Some particles against all others, in whole units.
template <std::uint32_t Dimensions>
bool equals_direct_search(const std::vector<particle<Dimensions>>& particles, const grid<Dimensions>& grid,
                          const answer<Dimensions>& a) {
  const auto in_units = [](float coordinate) {
    return static_cast<std::int64_t>(coordinate * static_cast<float>(units));
  };
  const std::int64_t radius = grid.radius();
  std::mt19937 random(52);
  for (int sample = 0; sample < 100; ++sample) {
    const std::uint64_t place = random() % particles.size();
    const particle<Dimensions>& own = a.binned[place];
    interactions expected{0, 0};
    for (const particle<Dimensions>& other : particles) {
      std::int64_t squared_distance = 0;
      for (std::size_t axis = 0; axis < Dimensions; ++axis) {
        const std::int64_t difference = in_units(own.at[axis]) - in_units(other.at[axis]);
        squared_distance += difference * difference;
      }
      if (other.number == own.number || squared_distance > radius * radius) continue;
      ++expected.count;
      expected.mass += other.mass;
    }
    if (!(a.found[place] == expected)) return example::fails("a particle has other interactions than a direct search");
  }
  return true;
}

template <std::uint32_t Dimensions>
bool run(const sheaf::context& ctx, std::uint64_t count, bool is_clustered) {
  const std::vector<particle<Dimensions>> particles = cloud<Dimensions>(count, is_clustered);
  // About two particles a cell.
  const grid<Dimensions> grid{static_cast<std::uint32_t>(
      std::max(1.0, std::pow(static_cast<double>(count) / 2, 1.0 / static_cast<double>(Dimensions))))};
  const example::array there(ctx, particles);
  const example::array<std::uint32_t> cell(ctx, count);
  const example::array<particle<Dimensions>> binned(ctx, count);
  const example::array<std::uint64_t> begins(ctx, grid.cells() + 1);
  const double bin_time = example::seconds_of_second(ctx, [&] {
    example::for_each(ctx, count, find_cell<Dimensions>{there.data(), grid, cell.data()});
    sheaf::split(ctx, there, sheaf::split_key::category(cell, grid.cells()), binned, begins);
  });
  const example::array<interactions> result(ctx, count);
  const double radius = static_cast<double>(grid.radius()) / units;
  const double search_time = example::seconds_of_second(ctx, [&] {
    example::for_each(ctx, count,
                      interact<Dimensions>{binned.data(), begins.data(), grid, radius * radius, result.data()});
  });

  const answer<Dimensions> a{binned.on_host(ctx), begins.on_host(ctx), result.on_host(ctx)};
  std::uint64_t fullest = 0, pairs = 0;
  for (std::size_t c = 0; c < grid.cells(); ++c) fullest = std::max(fullest, a.begins[c + 1] - a.begins[c]);
  for (const interactions& i : a.found) pairs += i.count;
  std::printf("%u %-10s %10" PRIu64 " %9" PRIu64 " %12" PRIu64 " %9.2f %9.2f\n", Dimensions,
              is_clustered ? "clustered" : "uniform", grid.cells(), fullest, pairs, bin_time * 1e3, search_time * 1e3);
  return is_binned(particles, grid, a) && equals_direct_search(particles, grid, a);
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "PARTICLES", 1 << 20, 1, 1 << 26);
  const sheaf::context& ctx = given.ctx;
  std::printf("%" PRIu64 " particles on %s\n", given.size, std::string(sheaf::name(ctx.backend())).c_str());
  std::printf("%-12s %10s %9s %12s %9s %9s\n", "dimensions", "cells", "fullest", "interactions", "bin ms", "search ms");
  bool right = run<2>(ctx, given.size, false);
  right &= run<2>(ctx, given.size, true);
  right &= run<3>(ctx, given.size, false);
  right &= run<3>(ctx, given.size, true);
  return example::exit_code(right);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
} catch (const std::bad_alloc&) {
  std::fprintf(stderr, "particle_grid: out of memory\n");
  return 1;
}
