#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/mesh/dual.hpp"

// Meshes that tests look at, and what every median dual keeps.
namespace sheaf::tests {

using io::element_type;
using io::unstructured_mesh;

inline void add_element(unstructured_mesh& mesh, element_type type, std::initializer_list<std::uint32_t> nodes) {
  auto& list = mesh.elements.nodes(type);
  list.insert(list.end(), nodes);
}

/// One element whose volume is known.
struct single_element {
  unstructured_mesh mesh;
  double volume;
};

inline single_element single(element_type type) {
  unstructured_mesh mesh;
  mesh.dimension = io::dimension_of(type);
  switch (type) {
    case element_type::triangle:
      mesh.coordinates = {0, 0, 2, 0, 0.5, 1};
      add_element(mesh, type, {0, 1, 2});
      return {mesh, 1};
    case element_type::quadrilateral:
      mesh.coordinates = {0, 0, 2, 0, 3, 1, 1, 1};
      add_element(mesh, type, {0, 1, 2, 3});
      return {mesh, 2};
    case element_type::tetrahedron:
      mesh.coordinates = {0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 1, 3};
      add_element(mesh, type, {0, 1, 2, 3});
      return {mesh, 1};
    case element_type::hexahedron:
      mesh.coordinates = {0, 0, 0, 1, 0, 0, 1, 2, 0, 0, 2, 0, 0, 0, 3, 1, 0, 3, 1, 2, 3, 0, 2, 3};
      add_element(mesh, type, {0, 1, 2, 3, 4, 5, 6, 7});
      return {mesh, 6};
    case element_type::prism:
      mesh.coordinates = {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 0, 3, 0, 2, 3};
      add_element(mesh, type, {0, 1, 2, 3, 4, 5});
      return {mesh, 3};
    default:
      mesh.coordinates = {0, 0, 0, 1, 0, 0, 1, 2, 0, 0, 2, 0, 0.5, 0.5, 3};
      add_element(mesh, element_type::pyramid, {0, 1, 2, 3, 4});
      return {mesh, 2};
  }
}

/// A cube with a pyramid above it, a prism beside it, and a tetrahedron at each of these two: 27 edges.
inline single_element mixed() {
  unstructured_mesh mesh;
  mesh.coordinates = {0,   0,    0,   1,   0, 0, 1, 1, 0, 0, 1, 0,
                      0,   0,    1,   1,   0, 1, 1, 1, 1, 0, 1, 1,  // 0 to 7: the cube
                      0.5, 0.5,  1.6,                               // 8: the pyramid's apex
                      1.8, 0,    0,   1.8, 1, 0,                    // 9 and 10: the prism's far edge
                      1.7, 0.5,  1.5,                               // 11: of the tetrahedron at the pyramid
                      1.2, -0.5, 0.3};                              // 12: of the tetrahedron at the prism
  add_element(mesh, element_type::hexahedron, {0, 1, 2, 3, 4, 5, 6, 7});
  add_element(mesh, element_type::pyramid, {4, 5, 6, 7, 8});
  add_element(mesh, element_type::prism, {1, 5, 9, 2, 6, 10});
  add_element(mesh, element_type::tetrahedron, {5, 6, 8, 11});
  add_element(mesh, element_type::tetrahedron, {1, 9, 5, 12});
  // The tetrahedra's triples of edges are (0, 1, 0), (-0.5, 0.5, 0.6), (0.7, 0.5, 0.5) and (0.8, 0, 0), (0, 0, 1),
  // (0.2, -0.5, 0.3).
  return {mesh, 1 + 0.6 / 3 + 0.4 + (0.6 * 0.7 + 0.5 * 0.5) / 6 + 0.5 * 0.8 / 6};
}

/// Moves nodes smoothly, by less than what turns an element of unit size over.
inline void distort(unstructured_mesh& mesh) {
  const auto dimension = static_cast<std::size_t>(mesh.dimension);
  for (std::size_t i = 0; i < mesh.coordinates.size(); i += dimension) {
    double* const at = mesh.coordinates.data() + i;
    const double z = dimension == 3 ? at[2] : 0;
    const double moved[] = {at[0] + 0.2 * std::sin(at[1] + 0.5 * z), at[1] + 0.15 * std::cos(0.7 * at[0] - z),
                            z + 0.1 * std::sin(at[0] + at[1])};
    std::copy_n(moved, dimension, at);
  }
}

/// The volume of all elements, if they are triangles or tetrahedra.
inline double simplex_volume(const unstructured_mesh& mesh) {
  double sum = 0;
  const bool plane = mesh.dimension == 2;
  const element_type type = plane ? element_type::triangle : element_type::tetrahedron;
  for (std::uint64_t i = 0; i < mesh.elements.count(type); ++i) {
    const std::uint32_t* const nodes = mesh.elements.element(type, i);
    double v[3][3] = {};
    for (int n = 1; n < (plane ? 3 : 4); ++n) {
      for (int axis = 0; axis < mesh.dimension; ++axis) {
        v[n - 1][axis] = mesh.node(nodes[n])[axis] - mesh.node(nodes[0])[axis];
      }
    }
    if (plane) v[2][2] = 1;
    sum +=
        std::abs(v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) - v[0][1] * (v[1][0] * v[2][2] - v[1][2] * v[2][0]) +
                 v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0])) /
        (plane ? 2 : 6);
  }
  return sum;
}

inline double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

/// The area of the boundary at each node, and what the cell's faces add up to there.
inline void expect_closed_cells(const unstructured_mesh& mesh, const mesh::dual_mesh& dual) {
  const auto dimension = static_cast<std::size_t>(mesh.dimension);
  ASSERT_EQ(dual.edge_normals.size(), dual.edges.size() * dimension);
  ASSERT_EQ(dual.volumes.size(), mesh.nodes());
  std::vector<double> sums(mesh.nodes() * dimension);
  std::vector<double> areas(mesh.nodes());
  const auto take = [&](std::uint64_t node, const double* normal, double sign) {
    for (std::size_t axis = 0; axis < dimension; ++axis) {
      sums[node * dimension + axis] += sign * normal[axis];
      areas[node] += std::abs(normal[axis]);
    }
  };
  for (std::size_t e = 0; e < dual.edges.size(); ++e) {
    ASSERT_LT(dual.edges[e].first, dual.edges[e].second);
    take(dual.edges[e].first, dual.edge_normals.data() + e * dimension, 1);
    take(dual.edges[e].second, dual.edge_normals.data() + e * dimension, -1);
  }
  for (const mesh::boundary_normals& part : dual.boundary) {
    ASSERT_EQ(part.normals.size(), part.nodes.size() * dimension);
    for (std::size_t i = 0; i < part.nodes.size(); ++i) take(part.nodes[i], part.normals.data() + i * dimension, 1);
  }
  for (std::uint64_t i = 0; i < sums.size(); ++i) {
    EXPECT_NEAR(sums[i], 0, 1e-13 * areas[i / dimension]) << "node " << i / dimension << ", axis " << i % dimension;
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace sheaf::tests
