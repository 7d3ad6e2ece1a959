#pragma once

#include <cstdint>
#include <string>

#include <sheaf/context.hpp>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/mesh/arrays.hpp"

namespace sheaf::mesh {

/// What edges_of or median_dual throws of a mesh, as an error of the file that the mesh is of: it begins with the path
/// in place of "mesh", and has the lines of two elements that are one, for which the file is read again.
/// @param zone  that was read; 0: all
error file_error(const error& thrown, const std::string& path, std::uint64_t zone, const context& cpu,
                 const io::unstructured_mesh& mesh);

}  // namespace sheaf::mesh
