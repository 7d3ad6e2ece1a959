#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <new>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <unistd.h>

#include <sheaf/sheaf.hpp>

#include "example.hpp"

// What a tree looks like from its Euler tour: depths, sizes of subtrees and lowest common ancestors. The tour goes down
// and up every edge once. Sorted by parent, the children of a vertex lie side by side, which gives each arc its
// successor; then the tour is a linked list of arcs. Ranks and sums along it (list_rank, list_scan) say where each arc
// stands and how deep it leads.
//
// Vertices are numbers of 4 bytes while those tell all arcs apart, which are twice as many, and of 8 bytes else.
namespace {

template <class Vertex>
constexpr Vertex none = static_cast<Vertex>(~Vertex{0});

template <class Vertex>
struct tree {
  using vertex = Vertex;
  using depth = std::make_signed_t<Vertex>;

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
template <class Vertex>
tree<Vertex> at_random(const char* name, std::uint64_t vertices, std::uint64_t reach) {
  std::mt19937_64 random(17);
  std::vector<Vertex> number(vertices);
  for (std::uint64_t i = 0; i < vertices; ++i) number[i] = static_cast<Vertex>(i);
  std::shuffle(number.begin(), number.end(), random);
  tree<Vertex> t{name, number[0], std::vector<Vertex>(vertices)};
  t.parent[t.root] = t.root;
  for (std::uint64_t i = 1; i < vertices; ++i) t.parent[number[i]] = number[i - 1 - random() % std::min(i, reach)];
  return t;
}

/// The tour's arcs in an array: each arc's successor.
template <class Vertex>
std::vector<Vertex> euler_tour(const sheaf::context& ctx, const tree<Vertex>& tree) {
  using vertex = Vertex;
  std::vector<vertex> parents(tree.edges());
  std::vector<vertex> children(tree.edges());
  for (vertex edge = 0; edge < tree.edges(); ++edge) {
    children[edge] = tree.below(edge);
    parents[edge] = tree.parent[children[edge]];
  }
  const example::array<vertex> sorted_parents(ctx, tree.edges());
  const example::array<vertex> sorted_children(ctx, tree.edges());
  sheaf::sort_pairs(ctx, example::array(ctx, parents), sorted_parents, example::array(ctx, children), sorted_children);
  parents = sorted_parents.on_host(ctx);
  children = sorted_children.on_host(ctx);

  const auto up = static_cast<vertex>(tree.edges());
  std::vector<vertex> successor(2 * tree.edges());
  for (vertex edge = 0; edge < tree.edges(); ++edge) successor[edge] = up + edge;  // of a leaf
  for (std::size_t i = 0; i < children.size(); ++i) {
    const vertex above = parents[i];
    const bool is_first = i == 0 || parents[i - 1] != above;
    const bool is_last = i + 1 == children.size() || parents[i + 1] != above;
    if (is_first && above != tree.root) successor[tree.edge_of(above)] = tree.edge_of(children[i]);
    const vertex from = up + tree.edge_of(children[i]);
    if (!is_last) {
      successor[from] = tree.edge_of(children[i + 1]);
    } else {
      successor[from] = above == tree.root ? none<vertex> : up + tree.edge_of(above);
    }
  }
  return successor;
}

/// Lowest common ancestors: the vertex of least depth between two visits of the tour.
template <class Vertex>
class ancestors {
 public:
  using vertex = Vertex;
  using depth = typename tree<Vertex>::depth;

  /// `depths` and `vertices` along the tour.
  ancestors(const std::vector<depth>& depths, const std::vector<vertex>& vertices)
      : depths_(depths), vertices_(vertices) {
    const std::size_t visits = depths.size();
    // Minima of blocks, then of twice as many blocks, and so on.
    least_.emplace_back();
    for (std::size_t first = 0; first < visits; first += block) {
      least_[0].push_back(least_of(first, std::min(first + block, visits)));
    }
    for (std::size_t width = 1; 2 * width <= least_[0].size(); width *= 2) {
      const std::vector<visit>& narrow = least_.back();
      std::vector<visit> wide;
      for (std::size_t i = 0; i + width < narrow.size(); ++i) wide.push_back(std::min(narrow[i], narrow[i + width]));
      least_.push_back(std::move(wide));
    }
  }

  vertex between(std::size_t first, std::size_t last) const {
    if (first > last) std::swap(first, last);
    const std::size_t first_block = first / block + 1;
    const std::size_t last_block = last / block;
    if (first_block >= last_block) return least_of(first, last + 1).of;
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= last_block - first_block) ++level;
    const visit inside = std::min(least_[level][first_block], least_[level][last_block - (std::size_t{1} << level)]);
    return std::min({least_of(first, first_block * block), inside, least_of(last_block * block, last + 1)}).of;
  }

 private:
  static constexpr std::size_t block = 64;

  struct visit {
    depth at;
    vertex of;
    bool operator<(const visit& other) const { return at != other.at ? at < other.at : of < other.of; }
  };

  visit least_of(std::size_t first, std::size_t end) const {
    visit least{depths_[first], vertices_[first]};
    for (std::size_t i = first + 1; i < end; ++i) least = std::min(least, {depths_[i], vertices_[i]});
    return least;
  }

  const std::vector<depth>& depths_;
  const std::vector<vertex>& vertices_;
  std::vector<std::vector<visit>> least_;
};

template <class Vertex>
struct answers {
  using depths = std::vector<typename tree<Vertex>::depth>;
  depths depth;
  std::vector<Vertex> subtree;  // vertices in it
  std::vector<Vertex> visit;    // where the tour first comes to a vertex
  depths depth_along_tour;
  std::vector<Vertex> tour;
};

/// The rank of each arc of the tour, and the depth of the vertex that it leads to.
template <class Vertex>
struct ranked_arcs {
  example::array<Vertex> rank;
  example::array<typename tree<Vertex>::depth> depth;
};

template <class Vertex>
ranked_arcs<Vertex> rank_arcs(const sheaf::context& ctx, const tree<Vertex>& input) {
  using depth = typename tree<Vertex>::depth;
  const std::uint64_t arcs = 2 * input.edges();
  const example::array successor(ctx, euler_tour(ctx, input));
  ranked_arcs<Vertex> found{{ctx, arcs}, {ctx, arcs}};
  std::vector<depth> steps(arcs, 1);
  std::fill(steps.begin() + static_cast<std::ptrdiff_t>(input.edges()), steps.end(), -1);
  sheaf::list_rank(ctx, successor, found.rank);
  sheaf::list_scan(ctx, successor, example::array(ctx, steps), found.depth, sheaf::scan_operator::add);
  ctx.wait();
  return found;
}

template <class Vertex>
answers<Vertex> solve(const sheaf::context& ctx, const tree<Vertex>& input) {
  using vertex = Vertex;
  using depth = typename tree<Vertex>::depth;
  const std::uint64_t arcs = 2 * input.edges();
  const ranked_arcs<vertex> along_tour = rank_arcs(ctx, input);
  const std::vector<vertex> ranks = along_tour.rank.on_host(ctx);
  const std::vector<depth> depths = along_tour.depth.on_host(ctx);
  answers<vertex> answers;
  answers.depth.assign(input.vertices(), 0);
  answers.subtree.assign(input.vertices(), static_cast<vertex>(input.vertices()));
  answers.visit.assign(input.vertices(), 0);
  // Visit 0 is the root's; the visit behind an arc is its rank and 1, of the vertex that the arc leads to.
  std::vector<vertex> leads_to(arcs);
  for (vertex edge = 0; edge < input.edges(); ++edge) {
    const vertex v = input.below(edge);
    const std::uint64_t up = input.edges() + edge;
    answers.depth[v] = depths[edge];
    answers.subtree[v] = (ranks[up] - ranks[edge] + 1) / 2;
    answers.visit[v] = ranks[edge] + 1;
    leads_to[edge] = v;
    leads_to[up] = input.parent[v];
  }
  const example::array<vertex> visited(ctx, arcs);
  sheaf::scatter(ctx, example::array(ctx, leads_to), along_tour.rank, visited);
  const example::array<depth> along(ctx, arcs);
  sheaf::gather(ctx, example::array(ctx, answers.depth), visited, along);
  ctx.wait();
  answers.tour = visited.on_host(ctx);
  answers.tour.insert(answers.tour.begin(), input.root);
  answers.depth_along_tour = along.on_host(ctx);
  answers.depth_along_tour.insert(answers.depth_along_tour.begin(), 0);
  return answers;
}

/// Walks the tree from its root, vertex by vertex.
template <class Vertex>
bool is_right(const tree<Vertex>& input, const answers<Vertex>& answers) {
  using vertex = Vertex;
  std::vector<vertex> child(input.vertices(), none<vertex>);    // the last one
  std::vector<vertex> sibling(input.vertices(), none<vertex>);  // the one before
  for (vertex v = 0; v < input.vertices(); ++v) {
    if (v == input.root) continue;
    sibling[v] = child[input.parent[v]];
    child[input.parent[v]] = v;
  }
  std::vector<vertex> order{input.root};
  std::vector<typename tree<Vertex>::depth> depth(input.vertices(), 0);
  order.reserve(input.vertices());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (vertex v = child[order[i]]; v != none<vertex>; v = sibling[v]) {
      depth[v] = depth[order[i]] + 1;
      order.push_back(v);
    }
  }
  if (depth != answers.depth) return example::fails("a depth");
  std::vector<vertex> subtree(input.vertices(), 1);
  for (std::size_t i = order.size(); i-- > 1;) subtree[input.parent[order[i]]] += subtree[order[i]];
  if (subtree != answers.subtree) return example::fails("the size of a subtree");

  const ancestors<vertex> of(answers.depth_along_tour, answers.tour);
  std::mt19937_64 random(5);
  const auto deepest = static_cast<std::uint64_t>(*std::max_element(depth.begin(), depth.end()));
  for (std::uint64_t pair = 0; pair < std::clamp<std::uint64_t>(50'000'000 / (deepest + 1), 10, 2000); ++pair) {
    vertex u = static_cast<vertex>(random() % input.vertices());
    vertex v = static_cast<vertex>(random() % input.vertices());
    const vertex found = of.between(answers.visit[u], answers.visit[v]);
    while (u != v) {
      vertex& lower = depth[u] > depth[v] ? u : v;
      lower = input.parent[lower];
    }
    if (found != u) return example::fails("a lowest common ancestor");
  }
  return true;
}

template <class Vertex>
bool run(const sheaf::context& ctx, const tree<Vertex>& tree) {
  answers<Vertex> a;
  const double seconds = example::seconds(ctx, [&] { a = solve(ctx, tree); });
  std::printf("%-12s %10" PRIu64 " %10" PRIu64 " %9.3f\n", tree.name, tree.vertices(),
              static_cast<std::uint64_t>(*std::max_element(a.depth.begin(), a.depth.end())), seconds * 1e3);
  return is_right(tree, a);
}

template <class Vertex>
bool run_all(const sheaf::context& ctx, std::uint64_t vertices) {
  bool right = run(ctx, at_random<Vertex>("random", vertices, vertices));
  right &= run(ctx, at_random<Vertex>("like a path", vertices, 3));
  right &= run(ctx, at_random<Vertex>("a path", vertices, 1));
  right &= run(ctx, at_random<Vertex>("two vertices", 2, 1));
  right &= run(ctx, at_random<Vertex>("one vertex", 1, 1));
  return right;
}

/// Arcs of so many vertices have numbers of 4 bytes, and one is left over.
bool are_few(std::uint64_t vertices) { return vertices <= std::uint64_t{1} << 31; }

/// Refuses what the host's memory cannot hold: all arrays, and the library's scratch on a CPU.
void require_memory(std::uint64_t vertices) {
  constexpr std::uint64_t numbers_each = 33;  // of a vertex, at the most at once, by measurement
  const double needed = static_cast<double>(vertices) * numbers_each * (are_few(vertices) ? 4 : 8);
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed <= there) return;
  char message[160];
  std::snprintf(message, sizeof message,
                "euler_tour: %" PRIu64 " vertices take %.1f GB of memory, but there are %.1f GB", vertices,
                needed * 1e-9, there * 1e-9);
  throw sheaf::error(sheaf::error_code::out_of_memory, message);
}

}  // namespace

int main(int argc, char** argv) try {
  const example::arguments given = example::read_arguments(argc, argv, "VERTICES", 1 << 17, 1, std::uint64_t{1} << 40);
  require_memory(given.size);
  const sheaf::context& ctx = given.ctx;
  std::printf("on %s\n", std::string(sheaf::name(ctx.backend())).c_str());
  std::printf("%-12s %10s %10s %9s\n", "tree", "vertices", "deepest", "ms");
  bool right = are_few(given.size) ? run_all<std::uint32_t>(ctx, given.size) : run_all<std::uint64_t>(ctx, given.size);
  right &= run(ctx, at_random<std::uint64_t>("of 8 bytes", std::min<std::uint64_t>(given.size, 1000), 3));
  return example::exit_code(right);
} catch (const sheaf::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
} catch (const std::bad_alloc&) {
  std::fprintf(stderr, "euler_tour: out of memory\n");
  return 1;
}
