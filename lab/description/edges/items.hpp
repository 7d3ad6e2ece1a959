#pragma once

#include <sheaf/edge_sum.hpp>

#include "lab/description/items.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill the arrays of an edge_sum and check its answer. Contributions are whole
// numbers, or quarters, whose sums are exact in any order while they stay small.
namespace sheaf::jobs {

/// Parameters of the functions that give edges, values and weights.
struct edge_source {
  inputs::pattern order;
  std::uint64_t nodes = 0;
  std::uint64_t side = 1;  ///< nodes of an edge of the box
  bool is_mesh = true;     ///< a box of tetrahedra; else a graph whose ends are entries of the pattern
  value_type type = value_type::f32;
  std::uint64_t index_bytes = 4;
  std::uint64_t edges = 0;
  bool is_packed = false;
  std::uint32_t components = 3;
  edge_function function = edge_function::weighted_difference;
  bool has_weights = false;
};

/// End 0 or 1 of edge e. A mesh has seven edges at each node of a box that is cut by Freudenthal's rule: along the
/// three axes, the diagonals of the faces between them, and that of the cube. Its sides are joined, so no node is
/// special.
SHEAF_HOST_DEVICE inline std::uint64_t end_of_edge(const edge_source& source, std::uint64_t e, std::uint32_t end) {
  if (!source.is_mesh) {
    // All entries of a pattern may be one node: then the others are those of a star.
    if (source.order.kind == inputs::pattern_kind::same && end == 0) return e % source.nodes;
    return inputs::pattern_entry(source.order, 2 * e + end, source.nodes);
  }
  std::uint64_t node = e / 7 % source.nodes;
  if (end == 1) {
    const std::uint64_t way = e % 7 + 1;
    node += (way & 1) + (way >> 1 & 1) * source.side + (way >> 2) * source.side * source.side;
  }
  return inputs::pattern_entry(source.order, node % source.nodes, source.nodes);
}

/// Component k of a node's value. Nodes of inverse_square are 0, 1 or 2 apart along one axis.
SHEAF_HOST_DEVICE inline std::int64_t value_of_node(const edge_source& s, std::uint64_t node, std::uint32_t k) {
  if (s.function == edge_function::weighted_difference) {
    return static_cast<std::int64_t>(inputs::mix(node * 8 + k) % 15) - 7;
  }
  return k + 1 == s.components ? static_cast<std::int64_t>(inputs::mix(node) % 3) : std::int64_t{k};
}

SHEAF_HOST_DEVICE inline std::int64_t weight_of_edge(const edge_source& s, std::uint64_t e) {
  return s.has_weights ? static_cast<std::int64_t>(inputs::mix(e + 0xed6e) % 3) + 1 : 1;
}

/// Four times component k of what edge e contributes.
SHEAF_HOST_DEVICE inline std::int64_t contribution_of(const edge_source& source, std::uint64_t e, std::uint64_t first,
                                                      std::uint64_t second, std::uint32_t k) {
  const std::int64_t step = value_of_node(source, second, k) - value_of_node(source, first, k);
  const std::int64_t distance = step < 0 ? -step : step;
  if (source.function == edge_function::weighted_difference || distance < 2)
    return 4 * weight_of_edge(source, e) * step;
  return weight_of_edge(source, e) * (step / 2);  // 4 * 2 / 2^3
}

/// The factor of a component of a node in the checksum. It is odd, so that one wrong number always changes a sum.
SHEAF_HOST_DEVICE inline std::uint64_t result_weight(std::uint64_t node, std::uint32_t k) {
  return inputs::mix(node * 8 + k + 0xfac) | 1;
}

struct fill_edges {
  edge_source source;
  void* ends;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t e) const {
    for (std::uint32_t end = 0; end < 2; ++end) {
      const std::uint64_t at = source.is_packed ? 2 * e + end : e + end * source.edges;
      store_number(ends, source.index_bytes, at, end_of_edge(source, e, end));
    }
    return {};
  }
};

struct fill_node_values {
  edge_source source;
  void* values;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t node) const {
    for (std::uint32_t k = 0; k < source.components; ++k) {
      store_whole(values, source.type, node * source.components + k, value_of_node(source, node, k));
    }
    return {};
  }
};

/// Three coordinates of the node at place n of the box.
struct fill_coordinates {
  edge_source source;
  float* coordinates;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t n) const {
    float* const at = coordinates + 3 * inputs::pattern_entry(source.order, n, source.nodes);
    at[0] = static_cast<float>(n % source.side);
    at[1] = static_cast<float>(n / source.side % source.side);
    const std::uint64_t layer = n / source.side / source.side;
    at[2] = static_cast<float>(layer);
    return {};
  }
};

using fill_edge_weights = fill_whole_values<edge_source, weight_of_edge>;

/// Checksum of the edges: each contribution times the difference of its ends' factors.
struct checksum_edges {
  edge_source source;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t e) const {
    const std::uint64_t first = end_of_edge(source, e, 0);
    const std::uint64_t second = end_of_edge(source, e, 1);
    std::uint64_t sum = 0;
    for (std::uint32_t k = 0; k < source.components; ++k) {
      sum += static_cast<std::uint64_t>(contribution_of(source, e, first, second, k)) *
             (result_weight(first, k) - result_weight(second, k));
    }
    return {0, sum};
  }
};

/// Checksum of the result: each number times its factor. A number that is not a multiple of 1/4 is a mismatch.
struct checksum_nodes {
  edge_source source;
  const void* result;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t node) const {
    tally found;
    for (std::uint32_t k = 0; k < source.components; ++k) {
      std::int64_t quarters = 0;
      if (is_whole(4 * float_at(result, source.type, node * source.components + k), quarters)) {
        found.sum += static_cast<std::uint64_t>(quarters) * result_weight(node, k);
      } else {
        ++found.mismatches;
      }
    }
    return found;
  }
};

}  // namespace sheaf::jobs
