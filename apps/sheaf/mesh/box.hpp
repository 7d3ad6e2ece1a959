#pragma once

#include "apps/sheaf/mesh/edges.hpp"

// Meshes that tests, benchmarks and demo generate: every edge and every element is a function of its number.
namespace sheaf::mesh {

enum class node_order : std::uint8_t {
  natural,  ///< x first, then y, then z
  random,   ///< a permutation of the natural numbers, which a seed says
};

/// A box of unit cells with a corner at the origin. In space each cell is cut into six tetrahedra that share its
/// diagonal from the lowest to the highest corner (Kuhn 1960); in the plane, where cells[2] is 0, into two triangles.
struct box {
  std::uint64_t cells[3] = {1, 1, 1};  ///< along x, y and z
  node_order order = node_order::natural;
  std::uint64_t seed = 1;  ///< of node_order::random
};

/// @throws error(bad_argument) if a box has no cells along x or y, or more than 2^32 nodes
void require_box(const box& of);

/// The mesh of a box, with a marker for each of its sides: x_min, x_max, y_min and so on. All elements have a positive
/// volume, and sides are seen from outside. @param ctx  a CPU context, whose threads do the work.
/// @throws error(bad_argument) as require_box; error(out_of_memory) naming what is wanted and available
unstructured_mesh make_box(const context& ctx, const box& of);

/// The edges of a box, without its elements: with nodes in natural order those that edges_of finds, in this order; in
/// random order the natural ones with their nodes renamed and each pair in ascending order.
/// Parameters and errors are those of make_box.
std::vector<edge> make_box_edges(const context& ctx, const box& of);

}  // namespace sheaf::mesh
