#pragma once

#include "opengl/device/state.hpp"
#include "primitives/edges/edge_sum.hpp"

namespace sheaf::opengl {

constexpr std::uint64_t no_edge = ~std::uint64_t{0};

/// The nodes of an edge, as 32-bit numbers.
struct node_pair {
  std::uint32_t first;
  std::uint32_t second;
};

/// Calls use(edge number, ends) for edges [begin, begin + count) whose ends are nodes, and skip(edge number) for
/// others. Returns the first of the others, or no_edge.
template <class Use, class Skip>
std::uint64_t for_each_edge(const primitives::edge_sum_problem& problem, const edge_view& edges, std::uint64_t begin,
                            std::uint64_t count, Use use, Skip skip) {
  const auto visit = [&](const auto* first, const auto* second) {
    std::uint64_t first_bad = no_edge;
    for (std::uint64_t e = begin; e < begin + count; ++e) {
      const auto i = static_cast<std::uint64_t>(first[e * edges.stride]);  // extends the sign
      const auto j = static_cast<std::uint64_t>(second[e * edges.stride]);
      if (i < problem.nodes && j < problem.nodes) {
        use(e, node_pair{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)});
      } else {
        skip(e);
        first_bad = std::min(first_bad, e);
      }
    }
    return first_bad;
  };
  switch (edges.type) {
    case index_type::u32:
      return visit(static_cast<const std::uint32_t*>(edges.first), static_cast<const std::uint32_t*>(edges.second));
    case index_type::i32:
      return visit(static_cast<const std::int32_t*>(edges.first), static_cast<const std::int32_t*>(edges.second));
    default:
      return visit(static_cast<const std::uint64_t*>(edges.first), static_cast<const std::uint64_t*>(edges.second));
  }
}

/// Keeps the report of a bad end, if there is one.
inline void report_bad_end(opengl_state& state, const primitives::edge_sum_problem& p, const edge_view& edges,
                           std::uint64_t first_bad, primitives::edge_call by, std::uint64_t call) {
  if (first_bad != no_edge) state.keep_first(bad_end_of(p, edges, first_bad, by, call));
}

/// A call that reads edges: work(state, first_bad) sets the first edge that has a bad end, if there is one, which is
/// reported in the words of `by`.
template <class Work>
void run_on_edges(const context& ctx, std::string_view call, const primitives::edge_sum_problem& p,
                  const edge_view& edges, primitives::edge_call by, Work work) {
  std::uint64_t first_bad = no_edge;
  const std::uint64_t number = run_call(ctx, call, [&](opengl_state& state) { work(state, first_bad); });
  report_bad_end(state_of(ctx), p, edges, first_bad, by, number);
}

}  // namespace sheaf::opengl
