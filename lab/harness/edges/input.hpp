#pragma once

#include "apps/sheaf/mesh/box.hpp"
#include "apps/sheaf/mesh/edges.hpp"

namespace sheaf::bench {

/// Edges in host memory, and where their nodes are.
struct edge_input {
  std::string name = {};
  std::uint64_t nodes = 0;
  std::uint32_t dimensions = 3;
  std::vector<mesh::edge> edges = {};
  std::vector<double> coordinates = {};  ///< node after node
};

/// The edges of an SU2 mesh, in ascending order. @param cpu  a CPU context. @throws error(bad_input)
edge_input read_edges(const context& cpu, const std::string& path);
/// Those of a box of tetrahedra, whose cells are unit cubes.
edge_input edges_of_box(const context& cpu, const mesh::box& of);
/// The box in space with equal sides whose number of nodes is next to this one.
mesh::box box_of_nodes(std::uint64_t nodes);
/// The graph with its nodes renamed at random; the order of the edges stays.
edge_input with_nodes_at_random(const edge_input& in, std::uint64_t seed);

/// The graph as a program would have it that took over the order of a preparation: nodes renumbered along a Morton
/// curve through their coordinates, edges in ascending order of their ends. @param cpu  a CPU context
edge_input in_prepared_order(const context& cpu, const edge_input& in);

/// Bytes that this takes at most for a box, with what it is made of.
std::uint64_t bytes_of_prepared_order(const mesh::box& of);
/// Bytes that a box's edges, positions and a sum's values take at most, with what is prepared.
std::uint64_t bytes_of_sums(const mesh::box& of, std::uint32_t components, std::uint64_t value_bytes);

}  // namespace sheaf::bench
