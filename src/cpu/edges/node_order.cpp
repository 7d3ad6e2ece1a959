#include "cpu/edges/node_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/cpu_state.hpp"
#include "cpu/edges/ends.hpp"
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
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::uint64_t n = 0; n < nodes; ++n) {
      const double at = coordinates[n * dimensions + d];
      if (!std::isfinite(at)) continue;
      low = std::min(low, at);
      high = std::max(high, at);
    }
    if (low > high) continue;
    found.low[d] = low;
    // Halves, because a difference of the largest numbers is no number.
    found.longest_side = std::max(found.longest_side, high / 2 - low / 2);
  }
  return found;
}

template <class T>
void make_keys(std::uint64_t threads, const T* coordinates, std::uint64_t nodes, std::uint32_t dimensions,
               std::uint64_t* keys) {
  const box b = box_of(coordinates, nodes, dimensions);
  const std::uint32_t bits = key_bits / dimensions;
  const auto cells = static_cast<double>(std::uint64_t{1} << bits);
  // Groups of 8 bits are spread by a table.
  std::uint64_t spread_byte[256];
  for (std::uint64_t byte = 0; byte < 256; ++byte) spread_byte[byte] = spread(byte, dimensions, 8);
  for_each_part(threads, [&](std::uint64_t part) {
    for (std::uint64_t n = part_begin(nodes, threads, part); n < part_begin(nodes, threads, part + 1); ++n) {
      std::uint64_t key = 0;
      for (std::uint32_t d = 0; d < dimensions; ++d) {
        const double at = coordinates[n * dimensions + d];
        const double share = b.longest_side > 0 ? (at / 2 - b.low[d] / 2) / b.longest_side : 0;
        const double cell = std::isfinite(share) ? std::clamp(share * cells, 0.0, cells - 1) : 0;
        const auto number = static_cast<std::uint64_t>(cell);
        for (std::uint32_t byte = 0; byte * 8 < bits; ++byte) {
          key |= spread_byte[number >> (8 * byte) & 255] << (8 * byte * dimensions + d);
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

/// The nodes beside each node.
struct adjacency {
  buffer begins;
  buffer neighbours;

  const std::uint32_t* begin(std::uint64_t node) const {
    return neighbours.as<std::uint32_t>() + begins.as<std::uint64_t>()[node];
  }
  const std::uint32_t* end(std::uint64_t node) const { return begin(node + 1); }
};

template <class End>
adjacency neighbours_of(const context& ctx, const primitives::edge_sum_problem& p, const end_arrays<End>& ends) {
  adjacency made{edge_memory(ctx, "offsets of the nodes' neighbours", (p.nodes + 2) * 8),
                 edge_memory(ctx, "neighbours of the nodes", 2 * p.edges * 4)};
  // Counts are two places on, so that the places where neighbours are put end up as the offsets.
  auto* const counts = made.begins.as<std::uint64_t>();
  auto* const neighbours = made.neighbours.as<std::uint32_t>();
  std::fill_n(counts, p.nodes + 2, std::uint64_t{0});
  for (std::uint64_t e = 0; e < p.edges; ++e) {
    ++counts[ends.from(e) + std::uint64_t{2}];
    ++counts[ends.to(e) + std::uint64_t{2}];
  }
  for (std::uint64_t n = 2; n < p.nodes + 2; ++n) counts[n] += counts[n - 1];
  for (std::uint64_t e = 0; e < p.edges; ++e) {
    const std::uint64_t a = ends.from(e);
    const std::uint64_t b = ends.to(e);
    neighbours[counts[a + 1]++] = static_cast<std::uint32_t>(b);
    neighbours[counts[b + 1]++] = static_cast<std::uint32_t>(a);
  }
  return made;
}

/// Grows parts of a graph.
class grower {
 public:
  grower(const context& ctx, const adjacency& graph, std::uint64_t nodes, std::uint32_t* order)
      : graph_(graph),
        nodes_(nodes),
        order_(order),
        mark_memory_(edge_memory(ctx, "marks of the nodes", nodes)),
        front_memory_(edge_memory(ctx, "nodes beside those in order", nodes * 4)),
        marks_(mark_memory_.as<std::uint8_t>()),
        front_(front_memory_.as<std::uint32_t>()) {
    std::fill_n(marks_, nodes, std::uint8_t{unseen});
  }

  void grow(std::uint64_t part_nodes) {
    while (done_ < nodes_) grow_part(std::min(done_ + part_nodes, nodes_));
  }

 private:
  enum mark : std::uint8_t { unseen, on_front, in_part };

  /// A node that no part has: the one that has been on the front of the parts for the longest time, or the lowest.
  std::uint32_t seed() {
    while (front_begin_ < front_end_) {
      const std::uint32_t node = front_[front_begin_++];
      if (marks_[node] != in_part) return node;
    }
    while (marks_[lowest_] == in_part) ++lowest_;
    return static_cast<std::uint32_t>(lowest_);
  }

  // The order itself is the queue of a part. What a full part no longer takes joins the front.
  void grow_part(std::uint64_t end) {
    std::uint64_t queued = done_;
    for (std::uint64_t visited = done_; visited < end; ++visited) {
      if (visited == queued) put(queued, seed());
      const std::uint32_t node = order_[visited];
      for (const std::uint32_t* other = graph_.begin(node); other != graph_.end(node); ++other) {
        if (marks_[*other] == in_part) continue;
        if (queued < end) {
          put(queued, *other);
        } else if (marks_[*other] == unseen) {
          marks_[*other] = on_front;
          front_[front_end_++] = *other;
        }
      }
    }
    done_ = end;
  }

  void put(std::uint64_t& queued, std::uint32_t node) {
    marks_[node] = in_part;
    order_[queued++] = node;
  }

  const adjacency& graph_;
  std::uint64_t nodes_;
  std::uint32_t* order_;
  buffer mark_memory_;
  buffer front_memory_;
  std::uint8_t* marks_;
  std::uint32_t* front_;
  std::uint64_t front_begin_ = 0;
  std::uint64_t front_end_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t lowest_ = 0;
};

}  // namespace

void order_by_place(const context& ctx, const primitives::prepare_edge_sum_problem& p, const void* coordinates,
                    std::uint32_t* order) {
  const std::uint64_t nodes = p.sum.nodes;
  const buffer keys = edge_memory(ctx, "keys of the nodes", 2 * nodes * 8);
  const buffer other_order = edge_memory(ctx, "numbers of the nodes", nodes * 4);
  auto* key = keys.as<std::uint64_t>();
  const std::uint64_t threads = parts_worth(nodes * 64, static_cast<std::uint64_t>(core::cpu(ctx).threads));
  if (p.coordinate == value_type::f64) {
    make_keys(threads, static_cast<const double*>(coordinates), nodes, p.dimensions, key);
  } else {
    make_keys(threads, static_cast<const float*>(coordinates), nodes, p.dimensions, key);
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

void order_by_edges(const context& ctx, const primitives::edge_sum_problem& p, const edge_view& edges,
                    std::uint64_t part_nodes, std::uint32_t* order) {
  const adjacency graph = with_ends(p, edges, [&](const auto& ends) { return neighbours_of(ctx, p, ends); });
  grower(ctx, graph, p.nodes, order).grow(part_nodes);
}

}  // namespace sheaf::cpu
