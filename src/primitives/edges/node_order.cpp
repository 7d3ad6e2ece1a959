#include "primitives/edges/node_order.hpp"

#include "core/scratch_offsets.hpp"
#include "primitives/edges/ends.hpp"

namespace sheaf::graph {
namespace {

using primitives::edge_sum_problem;

/// Where the arrays begin in the scratch.
struct order_layout {
  std::uint64_t begins;
  std::uint64_t neighbours;
  std::uint64_t marks;
  std::uint64_t front;
  std::uint64_t bytes;

  explicit order_layout(const edge_sum_problem& problem) noexcept {
    core::scratch_offsets place;
    begins = place.take((problem.nodes + 2) * sizeof(std::uint64_t));
    neighbours = place.take(2 * problem.edges * sizeof(std::uint32_t));
    marks = place.take(problem.nodes);
    front = place.take(problem.nodes * sizeof(std::uint32_t));
    bytes = place.bytes();
  }
};

/// The nodes beside each node.
struct adjacency {
  std::uint64_t* begins;
  std::uint32_t* neighbours;

  const std::uint32_t* begin(std::uint64_t node) const { return neighbours + begins[node]; }
  const std::uint32_t* end(std::uint64_t node) const { return begin(node + 1); }
};

template <class End>
void find_neighbours(const edge_sum_problem& problem, const end_arrays<End>& ends, const adjacency& made) {
  // Counts are two places on, so that the places where neighbours are put end up as the offsets.
  std::uint64_t* const counts = made.begins;
  std::fill_n(counts, problem.nodes + 2, std::uint64_t{0});
  for (std::uint64_t e = 0; e < problem.edges; ++e) {
    if (!ends.is_good(e)) continue;
    ++counts[ends.from(e) + std::uint64_t{2}];
    ++counts[ends.to(e) + std::uint64_t{2}];
  }
  for (std::uint64_t n = 2; n < problem.nodes + 2; ++n) counts[n] += counts[n - 1];
  for (std::uint64_t e = 0; e < problem.edges; ++e) {
    if (!ends.is_good(e)) continue;
    const std::uint64_t a = ends.from(e);
    const std::uint64_t b = ends.to(e);
    made.neighbours[counts[a + 1]++] = static_cast<std::uint32_t>(b);
    made.neighbours[counts[b + 1]++] = static_cast<std::uint32_t>(a);
  }
}

/// Grows parts of a graph.
class grower {
 public:
  grower(const adjacency& graph, std::uint64_t nodes, std::uint8_t* marks, std::uint32_t* front, std::uint32_t* order)
      : graph_(graph), nodes_(nodes), order_(order), marks_(marks), front_(front) {
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
  std::uint8_t* marks_;
  std::uint32_t* front_;
  std::uint64_t front_begin_ = 0;
  std::uint64_t front_end_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t lowest_ = 0;
};

}  // namespace

std::uint64_t order_scratch_bytes(const edge_sum_problem& p) noexcept { return order_layout(p).bytes; }

void grow_order(const edge_sum_problem& problem, const edge_view& edges, std::uint64_t part_nodes, std::byte* scratch,
                std::uint32_t* order) {
  const order_layout layout(problem);
  const adjacency graph{reinterpret_cast<std::uint64_t*>(scratch + layout.begins),
                        reinterpret_cast<std::uint32_t*>(scratch + layout.neighbours)};
  with_ends(problem, edges, [&](const auto& ends) { find_neighbours(problem, ends, graph); });
  grower(graph, problem.nodes, reinterpret_cast<std::uint8_t*>(scratch + layout.marks),
         reinterpret_cast<std::uint32_t*>(scratch + layout.front), order)
      .grow(part_nodes);
}

}  // namespace sheaf::graph
