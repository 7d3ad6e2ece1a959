#pragma once

#include "apps/sheaf/mesh/edges.hpp"

namespace sheaf::mesh {

/// Normals of the boundary's dual faces at the nodes of a marker: each points outwards, and its length is the area of
/// those parts of the marker's elements that belong to the node.
struct boundary_normals {
  std::string marker;                ///< its name; empty for the boundary that no marker covers
  std::vector<std::uint32_t> nodes;  ///< of the marker's elements on the boundary, ascending
  std::vector<double> normals;       ///< node after node, as many numbers each as the mesh has dimensions
};

/// The median dual of a mesh: the cell of a node is bounded by the dual faces of its edges, which join midpoints of
/// edges, centroids of faces and centroids of elements, the means of their nodes (SU2's control volumes).
struct dual_mesh {
  std::vector<edge> edges;                 ///< as edges_of has them
  std::vector<double> edge_normals;        ///< of the dual face, from the edge's first node to its second, edge by edge
  std::vector<double> volumes;             ///< of each node's cell; 0 for a node of no element
  std::vector<boundary_normals> boundary;  ///< marker by marker, and the rest of the boundary, if any
  std::uint64_t reoriented_elements = 0;   ///< that had a negative volume, and count as their mirror image
  std::uint64_t flat_elements = 0;         ///< of volume 0
  std::vector<std::string> warnings;       ///< of elements of markers inside the mesh, or in two markers
};

/// Computes the median dual. Cells close: at each node, normals of edges that leave it less those that come to it plus
/// those of the boundary are 0 but for rounding; volumes add up to that of all elements. Elements of negative volume
/// are taken as if their nodes were in the opposite order, as SU2 does; the mesh does not change. Where such an element
/// overlaps its neighbour, on one side of their common face, cells there do not close. The result has the same bits for
/// every number of threads.
/// An element of a marker that lies inside the mesh, between two elements, has no part in the marker's normals: cells
/// close without it. A face that two markers cover belongs to the first. A warning for each marker counts these.
/// @param ctx  a CPU context, whose threads do the work.
/// @throws error(bad_argument) naming the elements if the arrays are not a mesh, three elements share a face, an
/// element is there twice, in the mesh or in a marker, an element of a marker is not a face of an element, or a normal
/// or a volume is not finite; error(out_of_memory)
dual_mesh median_dual(const context& ctx, const unstructured_mesh& mesh);

/// What says whether a dual mesh is sound.
struct dual_check {
  double volume = 0;  ///< of all cells
  /// The largest, over all nodes, of the length of the sum of a cell's normals, which point outwards, over the sum of
  /// their lengths: some 10^-16 where all cells close.
  double closure_error = 0;
};

/// @param dual  the mesh's median dual
dual_check check_dual(const unstructured_mesh& mesh, const dual_mesh& dual);

}  // namespace sheaf::mesh
