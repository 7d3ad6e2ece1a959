// Markers that are not the boundary, element by element: inside the mesh, on a face of another marker, or on none.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/context.hpp>

#include "apps/sheaf/mesh/box.hpp"
#include "apps/sheaf/mesh/samples.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::apps_sheaf_mesh_boundary_test {
namespace {

using mesh::dual_mesh;
using mesh::make_box;
using mesh::median_dual;
using doubles = std::vector<double>;
using numbers = std::vector<std::uint32_t>;
using texts = std::vector<std::string>;

// Nodes 0 1 2 below 3 4 5, at unit distance; triangles 0 1 4, 0 4 3, 1 2 5, 1 5 4, and markers of these lines.
unstructured_mesh plane(const std::vector<std::pair<std::string, numbers>>& markers) {
  unstructured_mesh mesh = make_box(context::cpu(1), {{2, 1, 0}});
  mesh.markers.clear();
  for (const auto& [name, lines] : markers) {
    mesh.markers.push_back({name, {}});
    mesh.markers.back().elements.nodes(element_type::line) = lines;
  }
  return mesh;
}

const mesh::boundary_normals& normals_of(const dual_mesh& dual, const std::string& marker) {
  static const mesh::boundary_normals none;
  for (const mesh::boundary_normals& part : dual.boundary) {
    if (part.marker == marker) return part;
  }
  ADD_FAILURE() << "no marker " << marker;
  return none;
}

TEST(Boundary, ElementsInsideTheMeshHaveNoPartInNormals) {
  const unstructured_mesh mesh = plane({{"cut", {4, 1, 0, 3, 0, 4}}, {"low", {0, 1, 1, 2}}});
  for (const int threads : {1, 3}) {
    const dual_mesh dual = median_dual(context::cpu(threads), mesh);
    EXPECT_EQ(dual.warnings, (texts{"marker 'cut': 2 of its 3 elements lie inside the mesh and do not contribute to "
                                    "its normals; the first, line 0, is between triangle 0 and triangle 3"}));
    EXPECT_EQ(normals_of(dual, "cut").nodes, (numbers{0, 3}));
    EXPECT_EQ(normals_of(dual, "cut").normals, (doubles{-0.5, 0, -0.5, 0}));
    EXPECT_EQ(normals_of(dual, "low").nodes, (numbers{0, 1, 2}));
    EXPECT_EQ(normals_of(dual, "low").normals, (doubles{0, -0.5, 0, -1, 0, -0.5}));
    EXPECT_EQ(normals_of(dual, "").nodes, (numbers{2, 3, 4, 5}));
    expect_closed_cells(mesh, dual);
    EXPECT_LT(mesh::check_dual(mesh, dual).closure_error, 1e-15);
  }
}

TEST(Boundary, MarkersWhollyInsideHaveNoNormals) {
  const unstructured_mesh mesh = plane({{"rotor\x1b", {0, 4}}});
  const dual_mesh dual = median_dual(context::cpu(1), mesh);
  EXPECT_EQ(dual.warnings, (texts{"marker 'rotor\\x1b': 1 of its 1 elements lie inside the mesh and do not contribute "
                                  "to its normals; the first, line 0, is between triangle 0 and triangle 1"}));
  EXPECT_TRUE(normals_of(dual, "rotor\x1b").nodes.empty());
  EXPECT_TRUE(normals_of(dual, "rotor\x1b").normals.empty());
  expect_closed_cells(mesh, dual);
}

TEST(Boundary, AFaceOfTwoMarkersBelongsToTheFirst) {
  const unstructured_mesh mesh =
      plane({{"wall", {0, 1, 3, 0}}, {"low", {1, 2, 1, 0}}, {"all", {2, 1, 0, 3, 1, 0, 2, 5}}});
  const dual_mesh dual = median_dual(context::cpu(2), mesh);
  EXPECT_EQ(
      dual.warnings,
      (texts{"marker 'low': 1 of its 2 elements cover faces of earlier markers and do not contribute to its normals; "
             "the first, line 1, covers the face of marker 'wall': line 0",
             "marker 'all': 3 of its 4 elements cover faces of earlier markers and do not contribute to its normals; "
             "the first, line 0, covers the face of marker 'low': line 0"}));
  EXPECT_EQ(normals_of(dual, "wall").nodes, (numbers{0, 1, 3}));
  EXPECT_EQ(normals_of(dual, "wall").normals, (doubles{-0.5, -0.5, 0, -0.5, -0.5, 0}));
  EXPECT_EQ(normals_of(dual, "low").nodes, (numbers{1, 2}));
  EXPECT_EQ(normals_of(dual, "all").nodes, (numbers{2, 5}));
  EXPECT_EQ(normals_of(dual, "all").normals, (doubles{0.5, 0, 0.5, 0}));
  expect_closed_cells(mesh, dual);
}

TEST(Boundary, FacesInsideSpaceAreFoundInAnyOrderOfNodes) {
  unstructured_mesh mesh = mixed().mesh;
  mesh.markers.resize(2);
  mesh.markers[0].name = "inside";
  mesh.markers[0].elements.nodes(element_type::quadrilateral) = {7, 6, 5, 4};
  mesh.markers[0].elements.nodes(element_type::triangle) = {6, 8, 5};
  mesh.markers[1].name = "low";
  mesh.markers[1].elements.nodes(element_type::quadrilateral) = {0, 1, 2, 3};
  const dual_mesh dual = median_dual(context::cpu(1), mesh);
  EXPECT_EQ(
      dual.warnings,
      (texts{
          "marker 'inside': 2 of its 2 elements lie inside the mesh and do not contribute to its normals; the first, "
          "triangle 0, is between tetrahedron 0 and pyramid 0"}));
  EXPECT_EQ(normals_of(dual, "low").normals, (doubles{0, 0, -0.25, 0, 0, -0.25, 0, 0, -0.25, 0, 0, -0.25}));
  expect_closed_cells(mesh, dual);
}

TEST(Boundary, OfMarkersThatFitHasNoWarnings) {
  for (const std::uint64_t layers : {0, 2}) {
    EXPECT_EQ(median_dual(context::cpu(1), make_box(context::cpu(1), {{3, 2, layers}})).warnings, texts{});
  }
}

TEST(Boundary, ElementsOfMarkersThatAreNoFacesAreRefused) {
  expect_error(error_code::bad_argument, "mesh: marker 'x_min': line 1 is not a face of an element", [] {
    median_dual(context::cpu(1), plane({{"x_min", {3, 0, 0, 5}}}));
  });
  expect_error(error_code::bad_argument, "mesh: marker 'a': line 2 has the nodes of line 0", [] {
    median_dual(context::cpu(1), plane({{"a", {0, 1, 1, 2, 1, 0}}}));
  });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_mesh_boundary_test
