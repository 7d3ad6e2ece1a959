#pragma once

#include <sheaf/context.hpp>

#include "apps/sheaf/files/mesh/arrays.hpp"

namespace sheaf::mesh {

using io::unstructured_mesh;

/// Two nodes of an element that an edge of the element joins; first < second.
struct edge {
  std::uint32_t first;
  std::uint32_t second;

  friend bool operator==(const edge&, const edge&) = default;
};
static_assert(sizeof(edge) == 8);

/// The edges of all elements, each once, in ascending order of (first, second).
/// @param ctx  a CPU context, whose threads do the work.
/// Takes 16 bytes for each edge of each element, and the scratch of a sort of as many pairs.
/// @throws error(bad_argument) if the arrays are not a mesh, an element is there twice, in the mesh or in a marker, or
/// ctx is of another backend; error(out_of_memory) naming what is wanted and available
std::vector<edge> edges_of(const context& ctx, const unstructured_mesh& mesh);

}  // namespace sheaf::mesh
