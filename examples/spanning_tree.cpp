#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "example.hpp"

// Boruvka's minimum spanning forest over lists of 32-bit vertices and 64-bit edges (Patidar and Narayanan 2009, section
// 5.2). In each round every component takes its lightest edge (scatter_reduce), components that are joined become one
// (pointer jumping with gather), and edges that became loops or parallel are dropped (sort, then split). The library
// moves data and does not compute with them, so three loops of a comparison each run on the host, between copy_bytes.
namespace {

using vertex = std::uint32_t;

struct edge {
  vertex from, to;
  std::uint64_t key;  // weight, then the number of the edge: no two are equal, so there is one minimum spanning forest
};

struct graph {
  const char* name;
  vertex vertices;
  std::vector<edge> edges;
  void add(std::uint64_t from, std::uint64_t to, std::uint64_t weight) {
    edges.push_back({static_cast<vertex>(from), static_cast<vertex>(to), weight << 32 | edges.size()});
  }
};

/// A field of every edge: records of its width at the stride of an edge.
sheaf::records field(edge* first, std::uint64_t count, std::size_t offset, std::uint64_t bytes) {
  return {reinterpret_cast<std::byte*>(first) + offset, count, bytes, sizeof(edge)};
}
sheaf::records froms(edge* first, std::uint64_t count) { return field(first, count, offsetof(edge, from), 4); }
sheaf::records tos(edge* first, std::uint64_t count) { return field(first, count, offsetof(edge, to), 4); }

/// The edges between different components, and their fields as lists of their own.
struct edge_list {
  edge_list(const sheaf::context& ctx, const std::vector<edge>& all)
      : edges(ctx, all), from(ctx, all.size()), to(ctx, all.size()), key(ctx, all.size()), count(all.size()) {}
  example::array<edge> edges;
  example::array<vertex> from, to;
  example::array<std::uint64_t> key;
  std::uint64_t count;
};

/// Drops loops and, of edges with the same two ends, sorted as one number, all but the lightest; those that run the
/// other way stay.
void drop_needless(const sheaf::context& ctx, edge_list& list) {
  const example::array<edge> sorted(ctx, list.count);
  const auto edges = list.edges.span().first(list.count);
  sheaf::sort_records(ctx, edges, {{offsetof(edge, from), 8}, {offsetof(edge, key), 8}}, sorted);

  const std::vector<edge> in_order = sorted.on_host(ctx);
  std::vector<std::uint8_t> needless(list.count);
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const edge& e = in_order[i];
    needless[i] = e.from == e.to || (i > 0 && e.from == in_order[i - 1].from && e.to == in_order[i - 1].to);
  }
  const example::array category(ctx, needless);

  const auto key = sheaf::split_key::category(category, 2);
  sheaf::split(ctx, sorted, key, edges);
  sheaf::split(ctx, froms(sorted.data(), list.count), key, list.from.span().first(list.count));
  sheaf::split(ctx, tos(sorted.data(), list.count), key, list.to.span().first(list.count));
  sheaf::split(ctx, field(sorted.data(), list.count, offsetof(edge, key), 8), key, list.key.span().first(list.count));
  list.count = static_cast<std::uint64_t>(std::ranges::count(needless, 0));
}

struct forest {
  std::vector<std::uint32_t> edges;  // their numbers
  vertex trees = 0;
  int rounds = 0;
};

forest minimum_spanning_forest(const sheaf::context& ctx, const graph& graph) {
  // A loop that is heavier than every edge is what a component takes that has no edge left.
  const auto no_edge = static_cast<std::uint32_t>(graph.edges.size());
  const std::uint64_t no_key = std::uint64_t{0xffffffff} << 32 | no_edge;
  std::vector<edge> ends = graph.edges;
  ends.push_back({0, 0, no_key});
  const example::array all(ctx, ends);
  std::vector<vertex> identity(graph.vertices);
  std::iota(identity.begin(), identity.end(), 0u);
  const example::array each(ctx, identity);
  example::array component(ctx, identity), next_component(ctx, identity);  // of each vertex
  edge_list list(ctx, graph.edges);
  forest result{{}, graph.vertices, 0};

  for (drop_needless(ctx, list); list.count > 0; drop_needless(ctx, list)) {
    const vertex components = result.trees;
    const example::array lightest(ctx, std::vector<std::uint64_t>(components, no_key));
    const auto key = list.key.span().first(list.count);
    const auto from = list.from.span().first(list.count), to = list.to.span().first(list.count);
    sheaf::scatter_reduce(ctx, key, from, lightest, sheaf::reduction::min);
    sheaf::scatter_reduce(ctx, key, to, lightest, sheaf::reduction::min);

    // The low half of a key is the number of the edge, and an edge's ends are in two components by now.
    const example::array<std::uint32_t> number(ctx, components);
    const example::array<vertex> end(ctx, components), one(ctx, components), other(ctx, components);
    sheaf::gather(ctx, sheaf::const_records(lightest.data(), components, 4, 8), each.span().first(components), number);
    sheaf::gather(ctx, froms(all.data(), all.size()), number, end);
    sheaf::gather(ctx, component, end, one);
    sheaf::gather(ctx, tos(all.data(), all.size()), number, end);
    sheaf::gather(ctx, component, end, other);

    // A component points to the one across its edge; of two that took the same edge, one is the root of a tree.
    const std::vector<std::uint32_t> taken = number.on_host(ctx);
    const std::vector<vertex> ones = one.on_host(ctx), others = other.on_host(ctx);
    std::vector<vertex> across(components);
    std::vector<std::uint8_t> is_joined(components);
    for (vertex c = 0; c < components; ++c) across[c] = taken[c] == no_edge ? c : ones[c] == c ? others[c] : ones[c];
    for (vertex c = 0; c < components; ++c) {
      if (c < across[c] && across[across[c]] == c) across[c] = c;
      if (across[c] == c) continue;
      is_joined[c] = 1;
      result.edges.push_back(taken[c]);
      --result.trees;
    }

    // Every jump doubles how far a component points, so that all end at roots, which a split then numbers from 0 on.
    example::array root(ctx, across), jumped(ctx, across);
    for (std::uint64_t reach = 1; reach < components; reach *= 2) {
      sheaf::gather(ctx, root, root, jumped);
      std::swap(root, jumped);
    }
    const example::array category(ctx, is_joined);
    const example::array<vertex> root_number(ctx, components), renamed(ctx, components);
    sheaf::split_scatter_index(ctx, sheaf::split_key::category(category, 2), root_number);
    sheaf::gather(ctx, root_number, root, renamed);

    sheaf::gather(ctx, renamed, component, next_component);
    std::swap(component, next_component);
    sheaf::gather(ctx, renamed, from, froms(list.edges.data(), list.count));
    sheaf::gather(ctx, renamed, to, tos(list.edges.data(), list.count));
    ++result.rounds;
  }
  return result;
}

/// The same edges by Kruskal's algorithm: from the lightest up, each taken if it joins two trees.
std::vector<std::uint32_t> kruskal(const graph& g) {
  std::vector<edge> edges = g.edges;
  std::ranges::sort(edges, {}, &edge::key);
  std::vector<vertex> parent(g.vertices);
  std::iota(parent.begin(), parent.end(), 0u);
  const auto find = [&](vertex v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  std::vector<std::uint32_t> taken;
  for (const edge& e : edges) {
    const vertex a = find(e.from), b = find(e.to);
    if (a == b) continue;
    parent[a] = b;
    taken.push_back(static_cast<std::uint32_t>(e.key));
  }
  std::ranges::sort(taken);
  return taken;
}

graph at_random(const char* name, vertex vertices, std::uint64_t edges, std::uint32_t weights) {
  std::mt19937 random(2009);
  graph graph{name, vertices, {}};
  for (std::uint64_t i = 0; i < edges; ++i) {
    const std::uint64_t from = random() % vertices, to = random() % vertices;
    graph.add(from, to, random() % weights);
  }
  return graph;
}

graph square(vertex side) {
  std::mt19937 random(2009);
  graph graph{"grid", side * side, {}};
  for (vertex v = 0; v < side * side; ++v) {
    if (v % side + 1 < side) graph.add(v, v + 1, random() % 16);
    if (v / side + 1 < side) graph.add(v + side, v, random() % 16);
  }
  return graph;
}

bool run(const sheaf::context& ctx, const graph& graph) {
  forest found;
  const double time = example::seconds(ctx, [&] { found = minimum_spanning_forest(ctx, graph); });
  const std::vector<std::uint32_t> expected = kruskal(graph);
  std::ranges::sort(found.edges);
  std::uint64_t weight = 0, expected_weight = 0;
  for (const std::uint32_t e : found.edges) weight += graph.edges[e].key >> 32;
  for (const std::uint32_t e : expected) expected_weight += graph.edges[e].key >> 32;
  std::printf("%-15s %9u %9zu %9u %6d %16" PRIu64 " %9.2f\n", graph.name, graph.vertices, graph.edges.size(),
              found.trees, found.rounds, weight, time * 1e3);
  if (found.edges != expected || weight != expected_weight) {
    return example::fails("the forest is not that of Kruskal's algorithm");
  }
  return found.trees + expected.size() == graph.vertices || example::fails("the trees are miscounted");
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "VERTICES", 1 << 17, 1, 1 << 24);
  const sheaf::context& ctx = given.ctx;
  const auto vertices = static_cast<vertex>(given.size);
  std::printf("on %s\n", std::string(sheaf::name(ctx.backend())).c_str());
  std::printf("%-15s %9s %9s %9s %6s %16s %9s\n", "graph", "vertices", "edges", "trees", "rounds", "weight", "ms");
  bool right = run(ctx, at_random("random", vertices, 4 * given.size, 0xffffffff));
  right &= run(ctx, square(static_cast<vertex>(std::sqrt(static_cast<double>(vertices)))));
  right &= run(ctx, at_random("unconnected", vertices, given.size / 2, 100));
  right &= run(ctx, at_random("parallel edges", 64, given.size, 8));
  right &= run(ctx, at_random("one vertex", 1, 3, 8));
  right &= run(ctx, at_random("no edges", vertices, 0, 1));
  return right ? 0 : 1;
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
