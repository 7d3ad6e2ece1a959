#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "example.hpp"
#include "for_each.hpp"

// Boruvka's minimum spanning forest over lists of 32-bit and 64-bit numbers (Patidar and Narayanan 2009, section 5.2).
// In each round every component takes its lightest edge (scatter_reduce), components that are joined become one
// (pointer jumping with gather), and edges that became loops or parallel are dropped (sort, then split). Splits of a
// number for each component collect the edges of the forest and number the components of the next round.
namespace {

template <class Vertex>
struct edge {
  Vertex from, to;
  std::uint64_t key;  // weight, then the number of the edge: no two are equal, so there is one minimum spanning forest
};

template <class Vertex>
struct graph {
  const char* name;
  std::uint64_t vertices;
  std::vector<edge<Vertex>> edges;
  void add(std::uint64_t from, std::uint64_t to, std::uint64_t weight) {
    edges.push_back({static_cast<Vertex>(from), static_cast<Vertex>(to), weight << 32 | edges.size()});
  }
};

/// A field of every edge: records of its width at the stride of an edge.
template <class Vertex>
sheaf::records field(edge<Vertex>* first, std::uint64_t count, std::size_t offset, std::uint64_t bytes) {
  return {reinterpret_cast<std::byte*>(first) + offset, count, bytes, sizeof(edge<Vertex>)};
}
template <class Vertex>
sheaf::records froms(edge<Vertex>* first, std::uint64_t count) {
  return field(first, count, offsetof(edge<Vertex>, from), sizeof(Vertex));
}
template <class Vertex>
sheaf::records tos(edge<Vertex>* first, std::uint64_t count) {
  return field(first, count, offsetof(edge<Vertex>, to), sizeof(Vertex));
}
template <class Vertex>
sheaf::records keys(edge<Vertex>* first, std::uint64_t count) {
  return field(first, count, offsetof(edge<Vertex>, key), sizeof(std::uint64_t));
}

/// The edges between different components, and their fields as lists of their own.
template <class Vertex>
struct edge_list {
  edge_list(const sheaf::context& ctx, const std::vector<edge<Vertex>>& all)
      : edges(ctx, all), from(ctx, all.size()), to(ctx, all.size()), key(ctx, all.size()), count(all.size()) {}
  example::array<edge<Vertex>> edges;
  example::array<Vertex> from, to;
  example::array<std::uint64_t> key;
  std::uint64_t count;
};

/// Of sorted edges: 1 for loops and for all but the first of those with the same two ends.
template <class Vertex>
struct mark_needless {
  const edge<Vertex>* edges;
  std::uint8_t* needless;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t i) const {
    const edge<Vertex> e = edges[i];
    needless[i] = e.from == e.to || (i > 0 && e.from == edges[i - 1].from && e.to == edges[i - 1].to);
  }
};

/// Drops loops and, of edges with the same two ends, sorted as one number, all but the lightest; those that run the
/// other way stay.
template <class Vertex>
void drop_needless(const sheaf::context& ctx, edge_list<Vertex>& list) {
  if (list.count == 0) return;
  const std::uint64_t count = list.count;
  const example::array<edge<Vertex>> sorted(ctx, count);
  const auto edges = list.edges.span().first(count);
  const sheaf::sort_key by_ends{{offsetof(edge<Vertex>, from), 2 * sizeof(Vertex)}, {offsetof(edge<Vertex>, key), 8}};
  sheaf::sort_records(ctx, edges, by_ends, sorted);

  const example::array<std::uint8_t> needless(ctx, count);
  example::for_each(ctx, count, mark_needless<Vertex>{sorted.data(), needless.data()});
  const example::array<std::uint64_t> offsets(ctx, 3);
  const auto key = sheaf::split_key::category(needless, 2);
  sheaf::split(ctx, sorted, key, edges, offsets);
  sheaf::split(ctx, froms(sorted.data(), count), key, list.from.span().first(count));
  sheaf::split(ctx, tos(sorted.data(), count), key, list.to.span().first(count));
  sheaf::split(ctx, keys(sorted.data(), count), key, list.key.span().first(count));
  list.count = offsets.on_host(ctx, 1);
}

/// A component points to the one across the edge that it takes, or to itself if it has no edge left.
template <class Vertex>
struct point_across {
  const std::uint32_t* taken;
  const Vertex* one;
  const Vertex* other;
  std::uint32_t no_edge;
  Vertex* across;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t c) const {
    const auto self = static_cast<Vertex>(c);
    across[c] = taken[c] == no_edge ? self : one[c] == self ? other[c] : one[c];
  }
};

/// Of two components that point to each other, because they took the same edge, the first becomes the root of a tree.
/// The others that point to another are joined to it.
template <class Vertex>
struct cut_pairs {
  const Vertex* across;
  Vertex* root;
  std::uint8_t* is_joined;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t c) const {
    const auto self = static_cast<Vertex>(c);
    const bool is_root = across[c] == self || (self < across[c] && across[across[c]] == self);
    root[c] = is_root ? self : across[c];
    is_joined[c] = is_root ? 0 : 1;
  }
};

/// The numbers of the edges of a forest of so many trees are edges[trees] to the last of `edges`.
struct forest {
  example::array<std::uint32_t> edges;
  std::uint64_t trees = 0;
  int rounds = 0;
};

/// A graph as the rounds see it.
template <class Vertex>
struct state {
  // Behind the edges there is a loop, heavier than all of them: what a component takes that has no edge left.
  example::array<edge<Vertex>> all;
  edge_list<Vertex> list;
  example::array<Vertex> component, next_component;  // of each vertex
  std::uint32_t no_edge;                             // the number of this loop
  std::uint64_t no_key;
};

/// The low half of a key is the number of the edge.
struct take_edge {
  const std::uint64_t* key;
  std::uint32_t* taken;
  EXAMPLE_HOST_DEVICE void operator()(std::uint64_t c) const { taken[c] = static_cast<std::uint32_t>(key[c]); }
};

/// The edge that each component takes, and the component that it points to across it.
template <class Vertex>
void take_lightest(const sheaf::context& ctx, const state<Vertex>& at, const example::array<std::uint32_t>& taken,
                   const example::array<Vertex>& across) {
  const std::uint64_t components = taken.size();
  const example::array<std::uint64_t> lightest(ctx, components);
  example::for_each(ctx, components, example::fill<std::uint64_t>{lightest.data(), at.no_key});
  const auto key = at.list.key.span().first(at.list.count);
  sheaf::scatter_reduce(ctx, key, at.list.from.span().first(at.list.count), lightest, sheaf::reduction::min);
  sheaf::scatter_reduce(ctx, key, at.list.to.span().first(at.list.count), lightest, sheaf::reduction::min);

  // An edge's ends are in two components by now.
  example::for_each(ctx, components, take_edge{lightest.data(), taken.data()});
  const example::array<Vertex> end(ctx, components), one(ctx, components), other(ctx, components);
  sheaf::gather(ctx, froms(at.all.data(), at.all.size()), taken, end);
  sheaf::gather(ctx, at.component, end, one);
  sheaf::gather(ctx, tos(at.all.data(), at.all.size()), taken, end);
  sheaf::gather(ctx, at.component, end, other);
  example::for_each(ctx, components,
                    point_across<Vertex>{taken.data(), one.data(), other.data(), at.no_edge, across.data()});
}

/// Every jump doubles how far a component points, so that all end at roots.
template <class Vertex>
void jump_to_roots(const sheaf::context& ctx, example::array<Vertex>& root) {
  example::array<Vertex> jumped(ctx, root.size());
  for (std::uint64_t reach = 1; reach < root.size(); reach *= 2) {
    sheaf::gather(ctx, root, root, jumped);
    std::swap(root, jumped);
  }
}

/// Joins the components of a forest along the edges that they take.
template <class Vertex>
void join(const sheaf::context& ctx, state<Vertex>& at, forest& result) {
  const std::uint64_t components = result.trees;
  const example::array<std::uint32_t> taken(ctx, components);
  const example::array<Vertex> across(ctx, components);
  take_lightest(ctx, at, taken, across);
  example::array<Vertex> root(ctx, components);
  const example::array<std::uint8_t> is_joined(ctx, components);
  example::for_each(ctx, components, cut_pairs<Vertex>{across.data(), root.data(), is_joined.data()});

  // Roots come first. So the edges that were taken end up behind them, where no later round writes, and the scatter
  // index of a root is its number among the components of the next round.
  const auto key = sheaf::split_key::category(is_joined, 2);
  const example::array<std::uint64_t> offsets(ctx, 3);
  const example::array<Vertex> root_number(ctx, components), renamed(ctx, components);
  sheaf::split(ctx, taken, key, result.edges.span().first(components), offsets);
  sheaf::split_scatter_index(ctx, key, root_number);
  jump_to_roots(ctx, root);
  sheaf::gather(ctx, root_number, root, renamed);

  sheaf::gather(ctx, renamed, at.component, at.next_component);
  std::swap(at.component, at.next_component);
  const std::uint64_t count = at.list.count;
  sheaf::gather(ctx, renamed, at.list.from.span().first(count), froms(at.list.edges.data(), count));
  sheaf::gather(ctx, renamed, at.list.to.span().first(count), tos(at.list.edges.data(), count));
  result.trees = offsets.on_host(ctx, 1);
  ++result.rounds;
}

template <class Vertex>
forest minimum_spanning_forest(const sheaf::context& ctx, const graph<Vertex>& graph) {
  const auto no_edge = static_cast<std::uint32_t>(graph.edges.size());
  std::vector<edge<Vertex>> with_loop = graph.edges;
  with_loop.push_back({0, 0, std::uint64_t{0xffffffff} << 32 | no_edge});
  state<Vertex> at{{ctx, with_loop}, {ctx, graph.edges},  {ctx, graph.vertices}, {ctx, graph.vertices},
                   no_edge,          with_loop.back().key};
  example::for_each(ctx, graph.vertices, example::number<Vertex>{at.component.data()});
  forest result{{ctx, graph.vertices}, graph.vertices, 0};
  for (drop_needless(ctx, at.list); at.list.count > 0; drop_needless(ctx, at.list)) join(ctx, at, result);
  return result;
}

/// The same edges by Kruskal's algorithm: from the lightest up, each taken if it joins two trees.
template <class Vertex>
std::vector<std::uint32_t> kruskal(const graph<Vertex>& g) {
  std::vector<edge<Vertex>> edges = g.edges;
  std::ranges::sort(edges, {}, &edge<Vertex>::key);
  std::vector<Vertex> parent(g.vertices);
  std::iota(parent.begin(), parent.end(), Vertex{0});
  const auto find = [&](Vertex v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  std::vector<std::uint32_t> taken;
  for (const edge<Vertex>& e : edges) {
    const Vertex a = find(e.from), b = find(e.to);
    if (a == b) continue;
    parent[a] = b;
    taken.push_back(static_cast<std::uint32_t>(e.key));
  }
  std::ranges::sort(taken);
  return taken;
}

template <class Vertex>
graph<Vertex> at_random(const char* name, std::uint64_t vertices, std::uint64_t edges, std::uint32_t weights) {
  std::mt19937 random(2009);
  graph<Vertex> graph{name, vertices, {}};
  for (std::uint64_t i = 0; i < edges; ++i) {
    const std::uint64_t from = random() % vertices, to = random() % vertices;
    graph.add(from, to, random() % weights);
  }
  return graph;
}

template <class Vertex>
graph<Vertex> square(std::uint64_t side) {
  std::mt19937 random(2009);
  graph<Vertex> graph{"grid", side * side, {}};
  for (std::uint64_t v = 0; v < side * side; ++v) {
    if (v % side + 1 < side) graph.add(v, v + 1, random() % 16);
    if (v / side + 1 < side) graph.add(v + side, v, random() % 16);
  }
  return graph;
}

template <class Vertex>
bool run(const sheaf::context& ctx, const graph<Vertex>& graph) {
  forest found;
  const double time = example::seconds_of_second(ctx, [&] { found = minimum_spanning_forest(ctx, graph); });
  const std::vector<std::uint32_t> expected = kruskal(graph);
  std::vector<std::uint32_t> taken = found.edges.on_host(ctx);
  taken.erase(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(found.trees));
  std::ranges::sort(taken);
  std::uint64_t weight = 0, expected_weight = 0;
  for (const std::uint32_t e : taken) weight += e < graph.edges.size() ? graph.edges[e].key >> 32 : 0;
  for (const std::uint32_t e : expected) expected_weight += graph.edges[e].key >> 32;
  std::printf("%-15s %4zu %9" PRIu64 " %9zu %9" PRIu64 " %6d %16" PRIu64 " %9.2f\n", graph.name, 8 * sizeof(Vertex),
              graph.vertices, graph.edges.size(), found.trees, found.rounds, weight, time * 1e3);
  if (taken != expected || weight != expected_weight) {
    return example::fails("the forest is not that of Kruskal's algorithm");
  }
  return found.trees + expected.size() == graph.vertices || example::fails("the trees are miscounted");
}

template <class Vertex>
bool run_all(const sheaf::context& ctx, std::uint64_t vertices) {
  bool right = run(ctx, at_random<Vertex>("random", vertices, 4 * vertices, 0xffffffff));
  right &= run(ctx, square<Vertex>(static_cast<std::uint64_t>(std::sqrt(static_cast<double>(vertices)))));
  right &= run(ctx, at_random<Vertex>("unconnected", vertices, vertices / 2, 100));
  right &= run(ctx, at_random<Vertex>("parallel edges", 64, vertices, 8));
  right &= run(ctx, at_random<Vertex>("one vertex", 1, 3, 8));
  right &= run(ctx, at_random<Vertex>("no edges", vertices, 0, 1));
  return right;
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "VERTICES", 1 << 17, 1, 1 << 24);
  const sheaf::context& ctx = given.ctx;
  std::printf("on %s\n", std::string(sheaf::name(ctx.backend())).c_str());
  std::printf("%-15s %4s %9s %9s %9s %6s %16s %9s\n", "graph", "bits", "vertices", "edges", "trees", "rounds", "weight",
              "ms");
  bool right = run_all<std::uint32_t>(ctx, given.size);
  right &= run_all<std::uint64_t>(ctx, given.size);
  return example::exit_code(right);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
} catch (const std::bad_alloc&) {
  std::fprintf(stderr, "spanning_tree: out of memory\n");
  return 1;
}
