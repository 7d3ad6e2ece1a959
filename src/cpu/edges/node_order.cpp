#include <limits>

#include "core/cpu_state.hpp"
#include "cpu/edges/tile_build.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using primitives::edge_memory;

constexpr std::uint32_t key_bits = 48;

/// The bits of a number, `apart` places from each other.
std::uint64_t spread(std::uint64_t number, std::uint32_t apart, std::uint32_t bits) {
  std::uint64_t spread_bits = 0;
  for (std::uint32_t bit = 0; bit < bits; ++bit) spread_bits |= (number >> bit & 1) << (bit * apart);
  return spread_bits;
}

/// The box of all finite coordinates.
struct box {
  double low[3] = {0, 0, 0};
  double longest_side = 0;
};

template <class T>
box box_of(const T* coordinates, std::uint64_t nodes, std::uint32_t dimensions) {
  box found;
  for (std::uint32_t dimension = 0; dimension < dimensions; ++dimension) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::uint64_t n = 0; n < nodes; ++n) {
      const double at = coordinates[n * dimensions + dimension];
      if (!std::isfinite(at)) continue;
      low = std::min(low, at);
      high = std::max(high, at);
    }
    if (low > high) continue;
    found.low[dimension] = low;
    // Halves, because the difference of the largest numbers would be infinite.
    found.longest_side = std::max(found.longest_side, high / 2 - low / 2);
  }
  return found;
}

template <class T>
void make_keys(std::uint64_t threads, const T* coordinates, std::uint64_t nodes, std::uint32_t dimensions,
               std::uint64_t* keys) {
  const box box = box_of(coordinates, nodes, dimensions);
  const std::uint32_t bits = key_bits / dimensions;
  const auto cells = static_cast<double>(std::uint64_t{1} << bits);
  // Groups of 8 bits are spread by a table.
  std::uint64_t spread_byte[256];
  for (std::uint64_t byte = 0; byte < 256; ++byte) spread_byte[byte] = spread(byte, dimensions, 8);
  for_each_range(nodes, threads, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t n = begin; n < end; ++n) {
      std::uint64_t key = 0;
      for (std::uint32_t dimension = 0; dimension < dimensions; ++dimension) {
        const double at = coordinates[n * dimensions + dimension];
        const double share = box.longest_side > 0 ? (at / 2 - box.low[dimension] / 2) / box.longest_side : 0;
        const double cell = std::isfinite(share) ? std::clamp(share * cells, 0.0, cells - 1) : 0;
        const auto number = static_cast<std::uint64_t>(cell);
        for (std::uint32_t byte = 0; byte * 8 < bits; ++byte) {
          key |= spread_byte[number >> (8 * byte) & 255] << (8 * byte * dimensions + dimension);
        }
      }
      keys[n] = key;
    }
  });
}

/// One pass of a radix sort of keys and their nodes.
void sort_by_digit(const std::uint64_t* keys, const std::uint32_t* nodes, std::uint64_t count, std::uint32_t shift,
                   std::uint64_t* keys_to, std::uint32_t* nodes_to) {
  constexpr std::uint32_t digits = 1 << 12;
  std::uint64_t next[digits] = {};
  for (std::uint64_t i = 0; i < count; ++i) ++next[keys[i] >> shift & (digits - 1)];
  std::uint64_t sum = 0;
  for (std::uint64_t& at : next) sum += std::exchange(at, sum);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t to = next[keys[i] >> shift & (digits - 1)]++;
    keys_to[to] = keys[i];
    nodes_to[to] = nodes[i];
  }
}

}  // namespace

void order_by_place(const context& ctx, const primitives::prepare_edge_sum_problem& problem, const void* coordinates,
                    std::uint32_t* order) {
  const std::uint64_t nodes = problem.sum.nodes;
  const buffer keys = edge_memory(ctx, "keys of the nodes", 2 * nodes * 8);
  const buffer other_order = edge_memory(ctx, "numbers of the nodes", nodes * 4);
  auto* key = keys.as<std::uint64_t>();
  const std::uint64_t threads = parts_worth(nodes * 64, static_cast<std::uint64_t>(core::cpu(ctx).threads));
  if (problem.coordinate == value_type::f64) {
    make_keys(threads, static_cast<const double*>(coordinates), nodes, problem.dimensions, key);
  } else {
    make_keys(threads, static_cast<const float*>(coordinates), nodes, problem.dimensions, key);
  }
  auto* key_to = key + nodes;
  std::uint32_t* number = order;
  auto* number_to = other_order.as<std::uint32_t>();
  for (std::uint64_t n = 0; n < nodes; ++n) number[n] = static_cast<std::uint32_t>(n);
  // Four passes, an even number, so that the last one writes to `order`.
  for (std::uint32_t shift = 0; shift < key_bits; shift += 12) {
    sort_by_digit(key, number, nodes, shift, key_to, number_to);
    std::swap(key, key_to);
    std::swap(number, number_to);
  }
}

}  // namespace sheaf::cpu
