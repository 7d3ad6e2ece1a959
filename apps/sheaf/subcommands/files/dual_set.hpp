#pragma once

#include <string>
#include <vector>

#include "apps/sheaf/files/mesh/arrays.hpp"
#include "apps/sheaf/mesh/dual.hpp"
#include "apps/sheaf/subcommands/files/output_set.hpp"

// The files of a mesh's median dual.
namespace sheaf::cli {

/// Opens PREFIX.volumes.npy, PREFIX.normals.npy and PREFIX.edges.npy, before there is anything to write.
/// @param output  another output of the call, or empty
/// @throws error(bad_argument) if one of them is an input or that output
output_set open_dual(const std::string& prefix, std::vector<std::string> inputs, const std::string& output);

/// Writes the volumes of the nodes' cells, the normals of the edges' dual faces, from an edge's first node to its
/// second, and the two nodes of each edge: arrays of shapes (N), (E, D) and (E, 2). @throws error(io_failure)
void write_dual(output_set& files, const io::unstructured_mesh& mesh, const mesh::dual_mesh& dual);

}  // namespace sheaf::cli
