#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>

#include "example.hpp"

// What a tree looks like from its Euler tour: depths, sizes of subtrees and lowest common ancestors. The tour goes down
// and up every edge once. Sorted by parent, the children of a vertex lie side by side, which gives each arc its
// successor; then the tour is a linked list of arcs. Ranks and sums along it (list_rank, list_scan) say where each arc
// stands and how deep it leads.
namespace {

using vertex = std::uint32_t;
constexpr vertex none = 0xffffffff;

struct tree {
  const char* name;
  vertex root;
  std::vector<vertex> parent;  // of the root: itself

  std::uint64_t vertices() const { return parent.size(); }
  /// Vertices but the root have numbers of their own, without a gap; the arc down to a vertex has this number, the arc
  /// up from it the number of all these edges more.
  std::uint64_t edges() const { return parent.size() - 1; }
  vertex edge_of(vertex v) const { return v < root ? v : v - 1; }
  vertex below(vertex edge) const { return edge < root ? edge : edge + 1; }
};

/// A tree whose vertices have random numbers. The parent of the i-th vertex is one of the `reach` before it.
tree at_random(const char* name, std::uint64_t vertices, std::uint64_t reach) {
  std::mt19937_64 random(17);
  std::vector<vertex> number(vertices);
  for (std::uint64_t i = 0; i < vertices; ++i) number[i] = static_cast<vertex>(i);
  std::shuffle(number.begin(), number.end(), random);
  tree t{name, number[0], std::vector<vertex>(vertices)};
  t.parent[t.root] = t.root;
  for (std::uint64_t i = 1; i < vertices; ++i) t.parent[number[i]] = number[i - 1 - random() % std::min(i, reach)];
  return t;
}

/// The tour's arcs in an array: each arc's successor.
std::vector<vertex> euler_tour(const sheaf::context& ctx, const tree& t) {
  std::vector<vertex> parents;
  std::vector<vertex> children;
  for (vertex edge = 0; edge < t.edges(); ++edge) {
    children.push_back(t.below(edge));
    parents.push_back(t.parent[children.back()]);
  }
  const example::array<vertex> sorted_parents(ctx, t.edges());
  const example::array<vertex> sorted_children(ctx, t.edges());
  sheaf::sort_pairs(ctx, example::array(ctx, parents), sorted_parents, example::array(ctx, children), sorted_children);
  parents = sorted_parents.on_host(ctx);
  children = sorted_children.on_host(ctx);

  const auto up = static_cast<vertex>(t.edges());
  std::vector<vertex> successor(2 * t.edges());
  for (vertex edge = 0; edge < t.edges(); ++edge) successor[edge] = up + edge;  // of a leaf
  for (std::size_t i = 0; i < children.size(); ++i) {
    const vertex above = parents[i];
    const bool is_first = i == 0 || parents[i - 1] != above;
    const bool is_last = i + 1 == children.size() || parents[i + 1] != above;
    if (is_first && above != t.root) successor[t.edge_of(above)] = t.edge_of(children[i]);
    const vertex from = up + t.edge_of(children[i]);
    if (!is_last) {
      successor[from] = t.edge_of(children[i + 1]);
    } else {
      successor[from] = above == t.root ? none : up + t.edge_of(above);
    }
  }
  return successor;
}

/// Lowest common ancestors: the vertex of least depth between two visits of the tour.
class ancestors {
 public:
  /// `depths` and `vertices` along the tour.
  ancestors(const std::vector<std::int32_t>& depths, const std::vector<vertex>& vertices) : visits_(depths.size()) {
    for (std::size_t i = 0; i < depths.size(); ++i) {
      visits_[i] = std::uint64_t{static_cast<std::uint32_t>(depths[i])} << 32 | vertices[i];
    }
    // Minima of blocks, then of twice as many blocks, and so on.
    least_.emplace_back();
    for (std::size_t first = 0; first < visits_.size(); first += block) {
      least_[0].push_back(least_of(first, std::min(first + block, visits_.size())));
    }
    for (std::size_t width = 1; 2 * width <= least_[0].size(); width *= 2) {
      const std::vector<std::uint64_t>& narrow = least_.back();
      std::vector<std::uint64_t> wide;
      for (std::size_t i = 0; i + width < narrow.size(); ++i) wide.push_back(std::min(narrow[i], narrow[i + width]));
      least_.push_back(std::move(wide));
    }
  }

  vertex between(std::size_t first, std::size_t last) const {
    if (first > last) std::swap(first, last);
    const std::size_t first_block = first / block + 1;
    const std::size_t last_block = last / block;
    if (first_block >= last_block) return static_cast<vertex>(least_of(first, last + 1));
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= last_block - first_block) ++level;
    const std::uint64_t inside =
        std::min(least_[level][first_block], least_[level][last_block - (std::size_t{1} << level)]);
    return static_cast<vertex>(
        std::min({least_of(first, first_block * block), inside, least_of(last_block * block, last + 1)}));
  }

 private:
  static constexpr std::size_t block = 64;

  std::uint64_t least_of(std::size_t first, std::size_t end) const {
    return *std::min_element(visits_.begin() + static_cast<std::ptrdiff_t>(first),
                             visits_.begin() + static_cast<std::ptrdiff_t>(end));
  }

  std::vector<std::uint64_t> visits_;  // depth, then vertex
  std::vector<std::vector<std::uint64_t>> least_;
};

struct answers {
  std::vector<std::int32_t> depth;
  std::vector<std::uint32_t> subtree;  // vertices in it
  std::vector<std::uint32_t> visit;    // where the tour first comes to a vertex
  std::vector<std::int32_t> depth_along_tour;
  std::vector<vertex> tour;
};

answers solve(const sheaf::context& ctx, const tree& t) {
  const std::uint64_t arcs = 2 * t.edges();
  const example::array successor(ctx, euler_tour(ctx, t));
  const example::array<std::uint32_t> rank(ctx, arcs);
  const example::array<std::int32_t> depth(ctx, arcs);
  std::vector<std::int32_t> steps(arcs, 1);
  std::fill(steps.begin() + static_cast<std::ptrdiff_t>(t.edges()), steps.end(), -1);
  sheaf::list_rank(ctx, successor, rank);
  sheaf::list_scan(ctx, successor, example::array(ctx, steps), depth, sheaf::scan_operator::add);
  ctx.wait();

  const std::vector<std::uint32_t> ranks = rank.on_host(ctx);
  const std::vector<std::int32_t> depths = depth.on_host(ctx);
  answers a;
  a.depth.assign(t.vertices(), 0);
  a.subtree.assign(t.vertices(), static_cast<std::uint32_t>(t.vertices()));
  a.visit.assign(t.vertices(), 0);
  // Visit 0 is the root's; the visit behind an arc is its rank and 1, of the vertex that the arc leads to.
  std::vector<vertex> leads_to(arcs);
  for (vertex edge = 0; edge < t.edges(); ++edge) {
    const vertex v = t.below(edge);
    const std::uint64_t up = t.edges() + edge;
    a.depth[v] = depths[edge];
    a.subtree[v] = (ranks[up] - ranks[edge] + 1) / 2;
    a.visit[v] = ranks[edge] + 1;
    leads_to[edge] = v;
    leads_to[up] = t.parent[v];
  }
  const example::array<vertex> visited(ctx, arcs);
  sheaf::scatter(ctx, example::array(ctx, leads_to), rank, visited);
  const example::array<std::int32_t> along(ctx, arcs);
  sheaf::gather(ctx, example::array(ctx, a.depth), visited, along);
  ctx.wait();
  a.tour = visited.on_host(ctx);
  a.tour.insert(a.tour.begin(), t.root);
  a.depth_along_tour = along.on_host(ctx);
  a.depth_along_tour.insert(a.depth_along_tour.begin(), 0);
  return a;
}

/// Walks the tree from its root, vertex by vertex.
bool is_right(const tree& t, const answers& a) {
  std::vector<std::vector<vertex>> children(t.vertices());
  for (vertex v = 0; v < t.vertices(); ++v) {
    if (v != t.root) children[t.parent[v]].push_back(v);
  }
  std::vector<vertex> order{t.root};
  std::vector<std::int32_t> depth(t.vertices(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const vertex child : children[order[i]]) {
      depth[child] = depth[order[i]] + 1;
      order.push_back(child);
    }
  }
  if (depth != a.depth) return example::fails("a depth");
  std::vector<std::uint32_t> subtree(t.vertices(), 1);
  for (std::size_t i = order.size(); i-- > 1;) subtree[t.parent[order[i]]] += subtree[order[i]];
  if (subtree != a.subtree) return example::fails("the size of a subtree");

  const ancestors of(a.depth_along_tour, a.tour);
  std::mt19937_64 random(5);
  const auto deepest = static_cast<std::uint64_t>(*std::max_element(depth.begin(), depth.end()));
  for (std::uint64_t pair = 0; pair < std::clamp<std::uint64_t>(50'000'000 / (deepest + 1), 10, 2000); ++pair) {
    vertex u = static_cast<vertex>(random() % t.vertices());
    vertex v = static_cast<vertex>(random() % t.vertices());
    const vertex found = of.between(a.visit[u], a.visit[v]);
    while (u != v) {
      vertex& lower = depth[u] > depth[v] ? u : v;
      lower = t.parent[lower];
    }
    if (found != u) return example::fails("a lowest common ancestor");
  }
  return true;
}

bool run(const sheaf::context& ctx, const tree& t) {
  answers a;
  const double seconds = example::seconds(ctx, [&] { a = solve(ctx, t); });
  std::printf("%-12s %10" PRIu64 " %10d %9.3f\n", t.name, t.vertices(),
              *std::max_element(a.depth.begin(), a.depth.end()), seconds * 1e3);
  return is_right(t, a);
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "VERTICES", 1 << 17, 1, 1 << 26);
  const sheaf::context& ctx = given.ctx;
  std::printf("on %s\n", std::string(sheaf::name(ctx.backend())).c_str());
  std::printf("%-12s %10s %10s %9s\n", "tree", "vertices", "deepest", "ms");
  bool right = run(ctx, at_random("random", given.size, given.size));
  right &= run(ctx, at_random("like a path", given.size, 3));
  right &= run(ctx, at_random("a path", given.size, 1));
  right &= run(ctx, at_random("two vertices", 2, 1));
  right &= run(ctx, at_random("one vertex", 1, 1));
  return right ? 0 : 1;
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
