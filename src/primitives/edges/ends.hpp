#pragma once

#include "primitives/edges/edge_sum.hpp"

namespace sheaf::graph {

/// The ends in the caller's arrays, in host memory, as unsigned numbers, so that a negative end lies above every node.
template <class End>
struct end_arrays {
  using end = End;

  const End* first;
  const End* second;
  std::uint64_t stride;
  std::uint64_t limit;  ///< the least number that is not a node

  end_arrays(const primitives::edge_sum_problem& p, const edge_view& edges)
      : first(static_cast<const End*>(edges.first)),
        second(static_cast<const End*>(edges.second)),
        stride(edges.stride),
        limit(p.end_limit()) {}

  End from(std::uint64_t edge) const { return first[edge * stride]; }
  End to(std::uint64_t edge) const { return second[edge * stride]; }
  bool is_good(std::uint64_t edge) const { return (from(edge) < limit) & (to(edge) < limit); }
};

/// Calls body(end_arrays<End>).
template <class Body>
auto with_ends(const primitives::edge_sum_problem& p, const edge_view& edges, Body body) {
  if (bytes(p.index) == 4) return body(end_arrays<std::uint32_t>(p, edges));
  return body(end_arrays<std::uint64_t>(p, edges));
}

}  // namespace sheaf::graph
