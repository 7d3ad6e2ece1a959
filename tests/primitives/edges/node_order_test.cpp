// Orders that are grown along the edges: every node once, each part breadth-first, neighbours together.
#include "primitives/edges/node_order.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "support/trials/edge.hpp"

namespace sheaf::tests::primitives_edges_node_order_test {
namespace {

using numbers = std::vector<std::uint32_t>;

numbers order_of(const edge_images& images, std::uint64_t part_nodes) {
  const context host = context::cpu(1);
  const placed_edges e(host, images);
  primitives::edge_sum_problem p;
  p.edges = images.edges;
  p.nodes = images.nodes;
  p.index = images.layout.index;
  p.stride = images.layout.in_pairs ? 2 : 1;
  std::vector<std::uint64_t> scratch(graph::order_scratch_bytes(p) / sizeof(std::uint64_t) + 1, 0x5a5a5a5a5a5a5a5a);
  numbers order(images.nodes, 0xffffffff);
  graph::grow_order(p, e.edges(), part_nodes, reinterpret_cast<std::byte*>(scratch.data()), order.data());
  return order;
}

numbers order_of(const edge_graph& g, std::uint64_t part_nodes) { return order_of(edge_images(g, {}), part_nodes); }

std::vector<numbers> neighbours_of(const edge_graph& g) {
  std::vector<numbers> all(g.nodes);
  for (const auto& [i, j] : g.edges) {
    all[i].push_back(static_cast<std::uint32_t>(j));
    all[j].push_back(static_cast<std::uint32_t>(i));
  }
  return all;
}

/// Nodes of the part [begin, end) of an order come in the order in which neighbours that come before them in it do. One
/// that has none begins the part anew, because all neighbours of those before it have places.
void expect_breadth_first(const std::vector<numbers>& neighbours, const numbers& order, const numbers& place,
                          std::uint64_t begin, std::uint64_t end) {
  std::uint64_t last_parent = begin;
  for (std::uint64_t k = begin + 1; k < end; ++k) {
    std::uint64_t parent = k;
    for (const std::uint32_t other : neighbours[order[k]]) {
      if (place[other] >= begin) parent = std::min<std::uint64_t>(parent, place[other]);
    }
    if (parent == k) {
      for (std::uint64_t before = begin; before < k; ++before) {
        for (const std::uint32_t other : neighbours[order[before]]) ASSERT_LT(place[other], k) << "place " << k;
      }
      last_parent = k;
    } else {
      ASSERT_GE(parent, last_parent) << "place " << k;
      last_parent = parent;
    }
  }
}

TEST(NodeOrder, HasEveryNodeOnceInPartsThatAreGrownBreadthFirst) {
  for (const edge_graph& g : every_graph()) {
    const std::vector<numbers> neighbours = neighbours_of(g);
    for (const std::uint64_t part_nodes : {1, 7, 256, 1'000'000}) {
      SCOPED_TRACE(fmt::format("{}, parts of {} nodes", g.name, part_nodes));
      const numbers order = order_of(g, part_nodes);
      numbers sorted = order;
      std::sort(sorted.begin(), sorted.end());
      numbers all(g.nodes);
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(sorted, all);
      numbers place(g.nodes);
      for (std::uint64_t k = 0; k < g.nodes; ++k) place[order[k]] = static_cast<std::uint32_t>(k);
      for (std::uint64_t begin = 0; begin < g.nodes; begin += part_nodes) {
        expect_breadth_first(neighbours, order, place, begin, std::min(begin + part_nodes, g.nodes));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(NodeOrder, KeepsNeighboursInOnePart) {
  constexpr std::uint64_t part_nodes = 512;
  const edge_graph g = box_graph(24, true);
  const numbers order = order_of(g, part_nodes);
  numbers place(g.nodes);
  for (std::uint64_t k = 0; k < g.nodes; ++k) place[order[k]] = static_cast<std::uint32_t>(k);
  const auto in_one_part = [&](auto place_of) {
    return std::count_if(g.edges.begin(), g.edges.end(), [&](const auto& e) {
      return place_of(e.first) / part_nodes == place_of(e.second) / part_nodes;
    });
  };
  const auto edges = static_cast<std::ptrdiff_t>(g.edges.size());
  EXPECT_GT(in_one_part([&](std::uint64_t n) { return place[n]; }), edges * 6 / 10);
  EXPECT_LT(in_one_part([](std::uint64_t n) { return n; }), edges / 10) << "the box has lain in order before";
}

TEST(NodeOrder, IsTheSameForEveryLayout) {
  const edge_graph g = box_graph(13, true);
  const numbers expected = order_of(g, 100);
  for (const index_type index : {index_type::u32, index_type::i32, index_type::u64, index_type::i64}) {
    for (const bool in_pairs : {false, true}) {
      EXPECT_EQ(order_of(edge_images(g, {.index = index, .in_pairs = in_pairs}), 100), expected)
          << static_cast<int>(index) << ' ' << in_pairs;
    }
  }
}

TEST(NodeOrder, PassesOverEdgesThatHaveBadEnds) {
  edge_graph g = box_graph(9, true);
  const numbers expected = order_of(g, 50);
  for (const index_type index : {index_type::i32, index_type::u64}) {
    g.edges.insert(g.edges.begin() + 5, {{3, g.nodes}, {g.nodes + 70'000, 4}});
    edge_images images(g, {.index = index});
    images.set_end(6, 0, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(order_of(images, 50), expected);
    g.edges.erase(g.edges.begin() + 5, g.edges.begin() + 7);
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_edges_node_order_test
