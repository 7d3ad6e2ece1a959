#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/edge_sum.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "primitives/edges/edge_sum.hpp"
#include "support/contexts.hpp"
#include "support/placed.hpp"

namespace sheaf::tests {

/// A graph by its edges.
struct edge_graph {
  std::string name;
  std::uint64_t nodes = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> edges = {};
};

/// The number of a node of a box of side^3 nodes, which lie in order, or at random.
inline std::uint64_t box_node(std::uint64_t side, bool at_random, std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  const std::uint64_t in_order = (z * side + y) * side + x;
  return at_random ? inputs::permute(in_order, side * side * side, 5) : in_order;
}

/// A box of side^3 nodes, cut into tetrahedra by Freudenthal's rule; its nodes lie in order, or at random.
inline edge_graph box_graph(std::uint64_t side, bool at_random) {
  const std::uint64_t n = side * side * side;
  edge_graph g{fmt::format("box of {} nodes{}", n, at_random ? " at random" : ""), n};
  const auto number = [&](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
    return box_node(side, at_random, x, y, z);
  };
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t x = i % side;
    const std::uint64_t y = i / side % side;
    const std::uint64_t z = i / side / side;
    for (std::uint64_t way = 1; way < 8; ++way) {
      const std::uint64_t to_x = x + (way & 1);
      const std::uint64_t to_y = y + (way >> 1 & 1);
      const std::uint64_t to_z = z + (way >> 2);
      if (std::max({to_x, to_y, to_z}) < side) g.edges.emplace_back(number(x, y, z), number(to_x, to_y, to_z));
    }
  }
  return g;
}

inline edge_graph path_graph(std::uint64_t edges) {
  edge_graph g{fmt::format("path of {} edges", edges), edges + 1};
  for (std::uint64_t e = 0; e < edges; ++e) g.edges.emplace_back(e, e + 1);
  return g;
}

inline edge_graph drawn_graph(std::uint64_t nodes, std::uint64_t edges) {
  edge_graph g{fmt::format("{} edges of {} nodes at random", edges, nodes), nodes};
  for (std::uint64_t e = 0; e < edges; ++e) {
    g.edges.emplace_back(inputs::mix(2 * e) % nodes, inputs::mix(2 * e + 1) % nodes);
  }
  return g;
}

/// Node 0 or 7 with all others; edges leave it and reach it in turn.
inline edge_graph star_graph(std::uint64_t nodes) {
  edge_graph g{fmt::format("star of {} nodes", nodes), nodes};
  for (std::uint64_t n = 0; n < nodes; ++n) {
    if (n == 7) continue;
    g.edges.emplace_back(n % 2 == 0 ? 7 : n, n % 2 == 0 ? n : 7);
  }
  return g;
}

/// Adds edges from one node to `spokes` others, and back, in turn.
inline void add_star(edge_graph& g, std::uint64_t hub, std::uint64_t spokes) {
  g.name += fmt::format(", with a star of {} edges", spokes);
  const std::uint64_t step = g.nodes / (spokes + 1);
  for (std::uint64_t k = 1; k <= spokes; ++k) {
    g.edges.emplace_back(k % 2 == 0 ? hub : k * step, k % 2 == 0 ? k * step : hub);
  }
}

/// Adds edges from nodes to themselves, among the others.
inline void add_loops(edge_graph& g, std::uint64_t loops) {
  g.name += fmt::format(", with {} loops", loops);
  for (std::uint64_t k = 0; k < loops; ++k) {
    const std::uint64_t node = k * (g.nodes / loops);
    g.edges.emplace_back(node, node);
    std::swap(g.edges.back(), g.edges[k * (g.edges.size() / loops)]);
  }
}

/// R-MAT (Chakrabarti et al. 2004): few nodes have most edges. Of the four shares, in per cent, the first is `share`,
/// the last is 5, and the others are equal; with 57 as usual, nodes differ most.
inline edge_graph rmat_graph(std::uint32_t log2_nodes, std::uint64_t edges, std::uint64_t share = 57) {
  edge_graph g{fmt::format("R-MAT of 2^{} nodes, {} per cent", log2_nodes, share), std::uint64_t{1} << log2_nodes};
  const std::uint64_t half = share + (95 - share) / 2;
  for (std::uint64_t e = 0; e < edges; ++e) {
    std::uint64_t ends[2] = {0, 0};
    for (std::uint32_t bit = 0; bit < log2_nodes; ++bit) {
      const std::uint64_t draw = inputs::mix(e * 64 + bit) % 100;
      ends[0] = 2 * ends[0] + (draw >= half ? 1 : 0);
      ends[1] = 2 * ends[1] + (draw >= 95 || (draw >= share && draw < half) ? 1 : 0);
    }
    g.edges.emplace_back(ends[0], ends[1]);
  }
  return g;
}

/// Graphs of every shape that the promises name, and of sizes around those at which loops change.
inline std::vector<edge_graph> every_graph() {
  std::vector<edge_graph> all{{"no nodes", 0}, {"nodes without edges", 5}, {"one node", 1}};
  all.push_back({"loops of one node", 1, {{0, 0}, {0, 0}, {0, 0}}});
  edge_graph loops{"loops among edges", 60};
  for (std::uint64_t e = 0; e < 500; ++e) loops.edges.emplace_back(e % 60, e % 3 == 0 ? e % 60 : e * e % 60);
  all.push_back(loops);
  edge_graph repeated{"edges that repeat", 40};
  for (std::uint64_t e = 0; e < 1000; ++e) repeated.edges.emplace_back(3 + e % 2, 4 + e % 3);
  all.push_back(repeated);
  for (const std::uint64_t edges : {1, 127, 128, 129, 255, 256, 257, 511, 512, 513}) all.push_back(path_graph(edges));
  all.push_back(box_graph(13, false));
  all.push_back(box_graph(17, true));
  all.push_back(drawn_graph(3000, 20'000));
  all.push_back(star_graph(9000));
  all.push_back(rmat_graph(11, 20'000));
  edge_graph apart = box_graph(8, true);
  apart.name = "two boxes, and nodes without edges";
  const std::size_t one_box = apart.edges.size();
  for (std::size_t e = 0; e < one_box; ++e) {
    apart.edges.emplace_back(apart.edges[e].first + 600, apart.edges[e].second + 600);
  }
  apart.nodes = 1200;
  all.push_back(apart);
  return all;
}

/// How a graph lies in memory, and what is summed.
struct edge_layout {
  value_type value = value_type::f64;
  index_type index = index_type::u32;
  bool in_pairs = false;
  bool has_weights = true;
  std::uint32_t components = 3;
  edge_function function = edge_function::weighted_difference;

  std::string description() const {
    return fmt::format("{} x {}, index type {}{}{}, function {}", components, value == value_type::f64 ? "f64" : "f32",
                       static_cast<int>(index), in_pairs ? ", pairs" : "", has_weights ? ", weights" : "",
                       static_cast<int>(function));
  }
};

inline void set_float(image& i, std::uint64_t at, value_type type, double number) {
  if (type == value_type::f64) {
    std::memcpy(i.record(at), &number, 8);
  } else {
    const auto narrow = static_cast<float>(number);
    std::memcpy(i.record(at), &narrow, 4);
  }
}

inline double float_at(const image& i, std::uint64_t at, value_type type) {
  double number = 0;
  if (type == value_type::f64) {
    std::memcpy(&number, i.record(at), 8);
  } else {
    float narrow = 0;
    std::memcpy(&narrow, i.record(at), 4);
    number = narrow;
  }
  return number;
}

/// A number in (-1, 1) that f32 holds.
inline double drawn_float(std::uint64_t seed) {
  return static_cast<float>(static_cast<double>(static_cast<std::int64_t>(inputs::mix(seed))) / 9.3e18);
}

/// Where the nodes of a box are, three numbers of f64 each.
inline image box_coordinates(std::uint64_t side, bool at_random) {
  image at = poisoned(3 * side * side * side, 8, 8, 0, false);
  for (std::uint64_t i = 0; i < side * side * side; ++i) {
    const std::uint64_t place[3] = {i % side, i / side % side, i / side / side};
    const std::uint64_t node = box_node(side, at_random, place[0], place[1], place[2]);
    for (std::uint64_t k = 0; k < 3; ++k) {
      set_float(at, 3 * node + k, value_type::f64, static_cast<double>(place[k]));
    }
  }
  return at;
}

/// The arrays of a graph in host memory.
struct edge_images {
  edge_layout layout;
  std::uint64_t nodes;
  std::uint64_t edges;
  image ends[2];  ///< of pairs: all in the first
  image values;
  image weights;

  edge_images(const edge_graph& g, const edge_layout& l) : layout(l), nodes(g.nodes), edges(g.edges.size()) {
    const std::uint64_t width = bytes(l.index);
    ends[0] = poisoned(l.in_pairs ? 2 * edges : edges, width, width, 0, false);
    ends[1] = poisoned(l.in_pairs ? 0 : edges, width, width, 0, false);
    for (std::uint64_t e = 0; e < edges; ++e) {
      set_end(e, 0, g.edges[e].first);
      set_end(e, 1, g.edges[e].second);
    }
    values = poisoned(nodes * l.components, bytes(l.value), bytes(l.value), 0, false);
    for (std::uint64_t i = 0; i < values.count; ++i) set_float(values, i, l.value, drawn_float(i + 11));
    weights = poisoned(l.has_weights ? edges : 0, bytes(l.value), bytes(l.value), 0, false);
    for (std::uint64_t e = 0; e < weights.count; ++e) set_float(weights, e, l.value, drawn_float(e + 1'000'003));
  }

  void set_end(std::uint64_t edge, std::uint32_t end, std::uint64_t bits) {
    if (layout.in_pairs) {
      set_entry(ends[0], 2 * edge + end, bits);
    } else {
      set_entry(ends[end], edge, bits);
    }
  }
  double value_at(std::uint64_t node, std::uint32_t k) const {
    return float_at(values, node * layout.components + k, layout.value);
  }
  double weight_at(std::uint64_t edge) const { return layout.has_weights ? float_at(weights, edge, layout.value) : 1; }
};

/// The arrays of a graph in the memory of a context.
class placed_edges {
 public:
  placed_edges(const context& ctx, const edge_images& images)
      : images_(&images),
        first_(ctx, images.ends[0]),
        second_(ctx, images.ends[1]),
        values_(ctx, images.values),
        weights_(ctx, images.weights) {}

  edge_view edges() const {
    const index_type type = images_->layout.index;
    if (images_->layout.in_pairs) return edge_view(first_.index(type));
    return edge_view(first_.index(type), second_.index(type));
  }
  const_values values() const { return {values_.view().data, images_->values.count, images_->layout.value}; }
  const_values weights() const { return {weights_.view().data, images_->weights.count, images_->layout.value}; }
  void expect_unchanged() const {
    expect_bytes(first_.download(), images_->ends[0], "first ends");
    expect_bytes(second_.download(), images_->ends[1], "second ends");
    expect_bytes(values_.download(), images_->values, "values");
    expect_bytes(weights_.download(), images_->weights, "weights");
  }

 private:
  const edge_images* images_;
  placed first_;
  placed second_;
  placed values_;
  placed weights_;
};

/// A result with NaN in it and with bytes around it, which sum(values) writes.
template <class Sum>
image result_of(const context& ctx, std::uint64_t numbers, value_type type, Sum sum) {
  image result = poisoned(numbers, bytes(type), bytes(type));
  for (std::uint64_t i = 0; i < numbers; ++i) set_float(result, i, type, std::numeric_limits<double>::quiet_NaN());
  const placed there(ctx, result);
  sum(sheaf::values(there.view().data, numbers, type));
  ctx.wait();
  result.bytes = there.download();
  return result;
}

inline image sum_of(const context& ctx, const placed_edges& e, const edge_images& images,
                    const edge_sum_options& options = {}) {
  const edge_layout& l = images.layout;
  return result_of(ctx, images.nodes * l.components, l.value, [&](values result) {
    edge_sum(ctx, e.edges(), e.values(), e.weights(), result, l.components, l.function, options);
  });
}

/// Sums to more digits than any variant's, and how far rounding may take these from them.
struct expected_sums {
  std::vector<long double> sum;
  std::vector<long double> bound;
};

inline expected_sums expected_of(const edge_graph& g, const edge_images& images) {
  const edge_layout& l = images.layout;
  const std::uint32_t components = l.components;
  expected_sums expected{std::vector<long double>(g.nodes * components),
                         std::vector<long double>(g.nodes * components)};
  std::vector<std::uint64_t> terms(g.nodes, 0);
  for (std::uint64_t e = 0; e < g.edges.size(); ++e) {
    const auto [i, j] = g.edges[e];
    long double square = 0;
    std::vector<long double> step(components);
    for (std::uint32_t k = 0; k < components; ++k) {
      step[k] = static_cast<long double>(images.value_at(j, k)) - static_cast<long double>(images.value_at(i, k));
      square += step[k] * step[k];
    }
    long double factor = images.weight_at(e);
    if (l.function == edge_function::inverse_square) factor = square == 0 ? 0 : factor / (square * std::sqrt(square));
    for (std::uint32_t k = 0; k < components; ++k) {
      expected.sum[i * components + k] += factor * step[k];
      expected.sum[j * components + k] -= factor * step[k];
      expected.bound[i * components + k] += std::abs(factor * step[k]);
      expected.bound[j * components + k] += std::abs(factor * step[k]);
    }
    ++terms[i];
    ++terms[j];
  }
  // A sum of n terms is rounded n times. A difference and a product are rounded once each; a square of the distance
  // once for each component and two more times, and half of that counts thrice; then come a root, two quotients, two
  // products.
  const long double last =
      l.value == value_type::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  for (std::uint64_t n = 0; n < expected.bound.size(); ++n) {
    expected.bound[n] *= last * static_cast<long double>(terms[n / components] + 2 * components + 12);
  }
  return expected;
}

inline void expect_near(const image& found, const expected_sums& expected, value_type type) {
  ASSERT_EQ(found.count, expected.sum.size());
  for (std::uint64_t i = 0; i < found.count; ++i) {
    const long double difference = std::abs(static_cast<long double>(float_at(found, i, type)) - expected.sum[i]);
    ASSERT_TRUE(difference <= expected.bound[i])
        << "number " << i << " is " << float_at(found, i, type) << ", not " << static_cast<double>(expected.sum[i]);
  }
  image around = found;
  const image before = poisoned(found.count, found.record_bytes, found.stride_bytes);
  std::memcpy(around.bytes.data() + around.first, before.bytes.data() + before.first, found.count * found.record_bytes);
  expect_bytes(around.bytes, before, "bytes around the result");
}

/// What one node gets, another gives: the sums of all nodes together are 0 but for rounding.
inline void expect_nothing_left_over(const image& found, const expected_sums& expected, std::uint32_t components,
                                     value_type type) {
  std::vector<long double> sums(components);
  std::vector<long double> bounds(components);
  for (std::uint64_t i = 0; i < found.count; ++i) {
    sums[i % components] += float_at(found, i, type);
    bounds[i % components] += expected.bound[i];
  }
  for (std::uint32_t k = 0; k < components; ++k) EXPECT_LE(std::abs(sums[k]), bounds[k]) << "component " << k;
}

/// The contexts on which there are variants to choose from.
inline std::vector<named_context> edge_contexts() {
  std::vector<named_context> all = every_context();
  std::erase_if(all, [](const named_context& where) {
    const auto variants = primitives::edge_sum_variants();
    return std::none_of(variants.begin(), variants.end(), [&](const auto& v) {
      return v.works_on(where.ctx.backend()) && !v.name.starts_with("reference.");
    });
  });
  return all;
}

}  // namespace sheaf::tests
