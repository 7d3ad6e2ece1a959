#include "cpu/edges/cost.hpp"

#include "cpu/movement/memory_cost.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using primitives::edge_sum_problem;

/// Records of nodes, named by both ends of all edges.
primitives::movement by_ends(const edge_sum_problem& problem, std::uint64_t record_bytes) {
  primitives::movement result;
  result.backend = problem.backend;
  result.count = 2 * problem.edges;
  result.indexed_count = problem.nodes;
  result.record_bytes = result.sequential_stride_bytes = result.indexed_stride_bytes = record_bytes;
  result.word_bytes = static_cast<std::uint32_t>(problem.value_bytes());
  result.index = problem.index;
  result.pattern = problem.pattern;
  return result;
}

/// A cost; where nobody knows the order of the nodes, the mean of what it is in order and at random.
template <class Cost>
double expected(edge_sum_problem problem, Cost cost) {
  if (problem.pattern.shape != access_pattern::kind::unknown) return cost(problem);
  problem.pattern = access_pattern::sequential();
  const double in_order = cost(problem);
  problem.pattern = access_pattern::random();
  return (in_order + cost(problem)) / 2;
}

}  // namespace

std::uint64_t threads_worth(const edge_sum_problem& p, const machine& m) noexcept {
  return parts_worth(p.edges * (p.edge_bytes() + p.node_bytes()), m.parallelism);
}

double local_share(const edge_sum_problem& p) noexcept {
  using kind = access_pattern::kind;
  if (p.pattern.shape == kind::unknown) return 0.5;
  return p.pattern.shape == kind::sequential || p.pattern.shape == kind::clustered ? 1 : 0;
}

double streamed_seconds(const edge_sum_problem& p, const machine& m) {
  const std::uint64_t bytes = p.edges * p.edge_bytes() + p.nodes * (p.node_bytes() + 2 * p.result_bytes());
  return m.streamed(bytes, bytes);
}

double value_seconds(const edge_sum_problem& p, const machine& m) {
  return expected(p,
                  [&](const edge_sum_problem& q) { return gather_cost(by_ends(q, q.node_bytes()), m).indexed_random; });
}

double result_seconds(const edge_sum_problem& p, const machine& m) {
  return expected(
      p, [&](const edge_sum_problem& q) { return scatter_cost(by_ends(q, q.result_bytes()), m).indexed_random; });
}

double contribution_seconds(const edge_sum_problem& problem, const machine& machine, std::uint64_t threads) {
  // Differences of 3 f32 take 2.4 ns an edge in cache, of 5 f64 4.0 ns; distance, root and quotients 1.3 and 2.5 ns
  // more.
  const bool has_root = !problem.has_own_function && problem.function == edge_function::inverse_square;
  const double digits = 0.4 + 0.15 * static_cast<double>(problem.components + problem.value_components) +
                        (has_root ? 0.16 * static_cast<double>(problem.value_bytes()) : 0);
  return shared_digit_seconds(problem.edges, digits, machine, threads);
}

double ownership_seconds(const edge_sum_problem& p, const machine& m) {
  // The lowest and highest end of a chunk say whose it is where nodes are in order; else every edge is looked at.
  const double digits = 1 - 0.8 * local_share(p);
  return static_cast<double>(p.edges) * digits * digit_seconds(m);
}

}  // namespace sheaf::cpu
