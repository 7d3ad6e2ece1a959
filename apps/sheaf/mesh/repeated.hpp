#pragma once

#include <sheaf/context.hpp>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/mesh/arrays.hpp"

namespace sheaf::mesh {

using io::element_type;
using io::unstructured_mesh;

/// Two elements of a mesh, or of one of its markers, that have the same nodes, in whatever order.
struct repeated_element {
  element_type type;
  std::uint64_t first;  ///< among the elements of its type
  std::uint64_t second;
  std::optional<std::uint32_t> marker;  ///< whose they are; none for elements of the mesh itself
};

/// The first element that is there before, of those of the mesh and then of its markers; none where all differ.
/// @param ctx  a CPU context, whose threads do the work. @param mesh  checked arrays
/// Sorts 8 bytes for each element. @throws error(out_of_memory)
std::optional<repeated_element> find_repeated_element(const context& ctx, const unstructured_mesh& mesh);

/// What is wrong with it, as in "triangle 7 has the nodes of triangle 2".
std::string words_of(const unstructured_mesh& mesh, const repeated_element& repeated);

/// @throws error(bad_argument) naming both elements if one is there twice
void require_distinct_elements(const context& ctx, const unstructured_mesh& mesh);

/// What edges_of or median_dual throws of a mesh, as an error of the file that the mesh is of: it begins with the path
/// in place of "mesh", and has the lines of two elements that are one, for which the file is read again.
/// @param zone  that was read; 0: all
error file_error(const error& thrown, const std::string& path, std::uint64_t zone, const context& cpu,
                 const io::unstructured_mesh& mesh);

}  // namespace sheaf::mesh
