#include "apps/sheaf/mesh/dual.hpp"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/context.hpp>

#include "apps/sheaf/files/mesh/su2.hpp"
#include "apps/sheaf/mesh/box.hpp"
#include "apps/sheaf/mesh/samples.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::apps_sheaf_mesh_dual_test {
namespace {

using mesh::dual_mesh;
using mesh::edge;
using mesh::make_box;
using mesh::median_dual;
using mesh::node_order;
using doubles = std::vector<double>;
using numbers = std::vector<std::uint32_t>;

constexpr element_type elements_of_cells[] = {element_type::triangle,    element_type::quadrilateral,
                                              element_type::tetrahedron, element_type::hexahedron,
                                              element_type::prism,       element_type::pyramid};

void expect_near(const doubles& left, const doubles& right, double tolerance) {
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_NEAR(left[i], right[i], tolerance) << i;
}

void expect_same(const dual_mesh& left, const dual_mesh& right) {
  EXPECT_EQ(left.edges, right.edges);
  EXPECT_EQ(left.edge_normals, right.edge_normals);
  EXPECT_EQ(left.volumes, right.volumes);
  ASSERT_EQ(left.boundary.size(), right.boundary.size());
  for (std::size_t i = 0; i < left.boundary.size(); ++i) {
    EXPECT_EQ(left.boundary[i].marker, right.boundary[i].marker);
    EXPECT_EQ(left.boundary[i].nodes, right.boundary[i].nodes);
    EXPECT_EQ(left.boundary[i].normals, right.boundary[i].normals);
  }
}

// Mirrors an element: the opposite order around its base.
void turn_over(unstructured_mesh& mesh, element_type type) {
  for (std::uint64_t i = 0; i < mesh.elements.count(type); ++i) {
    std::uint32_t* const nodes = mesh.elements.nodes(type).data() + i * io::nodes_of(type);
    switch (type) {
      case element_type::hexahedron: std::swap(nodes[5], nodes[7]); [[fallthrough]];
      case element_type::quadrilateral:
      case element_type::pyramid: std::swap(nodes[1], nodes[3]); break;
      case element_type::prism: std::swap(nodes[4], nodes[5]); [[fallthrough]];
      default: std::swap(nodes[1], nodes[2]);
    }
  }
}

TEST(MedianDual, OfATriangleIsKnown) {
  unstructured_mesh mesh;
  mesh.dimension = 2;
  mesh.coordinates = {0, 0, 6, 0, 0, 6};
  add_element(mesh, element_type::triangle, {0, 1, 2});
  mesh.markers.push_back({"base", {}});
  mesh.markers[0].elements.nodes(element_type::line) = {1, 0};
  const dual_mesh dual = median_dual(context::cpu(2), mesh);
  EXPECT_EQ(dual.edges, (std::vector<edge>{{0, 1}, {0, 2}, {1, 2}}));
  // The centroid is (2, 2), the midpoints (3, 0), (0, 3) and (3, 3).
  expect_near(dual.edge_normals, {2, 1, 1, 2, -1, 1}, 1e-14);
  expect_near(dual.volumes, {6, 6, 6}, 1e-14);
  ASSERT_EQ(dual.boundary.size(), 2U);
  EXPECT_EQ(dual.boundary[0].marker, "base");
  EXPECT_EQ(dual.boundary[0].nodes, (numbers{0, 1}));
  expect_near(dual.boundary[0].normals, {0, -3, 0, -3}, 1e-14);
  EXPECT_EQ(dual.boundary[1].marker, "");
  EXPECT_EQ(dual.boundary[1].nodes, (numbers{0, 1, 2}));
  expect_near(dual.boundary[1].normals, {-3, 0, 3, 3, 0, 3}, 1e-14);
}

TEST(MedianDual, OfACuboidIsEightCuboids) {
  const dual_mesh dual = median_dual(context::cpu(1), single(element_type::hexahedron).mesh);
  expect_near(dual.volumes, doubles(8, 0.75), 1e-14);
  ASSERT_EQ(dual.edges.size(), 12U);
  // Edges along x, y and z have dual faces of 1 x 1.5, 0.5 x 1.5 and 0.5 x 1.
  EXPECT_EQ(dual.edges[0], (edge{0, 1}));
  EXPECT_EQ(dual.edges[1], (edge{0, 3}));
  EXPECT_EQ(dual.edges[2], (edge{0, 4}));
  expect_near({dual.edge_normals.begin(), dual.edge_normals.begin() + 9}, {1.5, 0, 0, 0, 0.75, 0, 0, 0, 0.5}, 1e-14);
  ASSERT_EQ(dual.boundary.size(), 1U);
  expect_near({dual.boundary[0].normals.begin(), dual.boundary[0].normals.begin() + 3}, {-1.5, -0.75, -0.5}, 1e-14);
}

TEST(MedianDual, CellsOfEachElementTypeClose) {
  for (const element_type type : elements_of_cells) {
    SCOPED_TRACE(name(type));
    single_element one = single(type);
    const dual_mesh dual = median_dual(context::cpu(2), one.mesh);
    expect_closed_cells(one.mesh, dual);
    EXPECT_NEAR(sum_of(dual.volumes), one.volume, 1e-14 * one.volume);
    EXPECT_EQ(dual.reoriented_elements, 0U);
    EXPECT_EQ(dual.flat_elements, 0U);
    distort(one.mesh);  // quadrilateral faces are no longer plane
    expect_closed_cells(one.mesh, median_dual(context::cpu(1), one.mesh));
  }
}

TEST(MedianDual, ElementsOfNegativeVolumeCountAsTheirMirrorImage) {
  for (const element_type type : elements_of_cells) {
    SCOPED_TRACE(name(type));
    single_element one = single(type);
    const dual_mesh straight = median_dual(context::cpu(1), one.mesh);
    turn_over(one.mesh, type);
    const unstructured_mesh before = one.mesh;
    const dual_mesh turned = median_dual(context::cpu(1), one.mesh);
    EXPECT_EQ(turned.reoriented_elements, 1U);
    EXPECT_EQ(turned.edges, straight.edges);
    expect_near(turned.edge_normals, straight.edge_normals, 1e-14);
    expect_near(turned.volumes, straight.volumes, 1e-14);
    expect_near(turned.boundary[0].normals, straight.boundary[0].normals, 1e-14);
    EXPECT_EQ(one.mesh, before);
  }
}

TEST(MedianDual, FlatElementsAreCounted) {
  unstructured_mesh mesh;
  mesh.dimension = 2;
  mesh.coordinates = {0, 0, 1, 0, 2, 0, 0, 1};
  add_element(mesh, element_type::triangle, {0, 1, 2});
  add_element(mesh, element_type::triangle, {0, 2, 3});
  const dual_mesh dual = median_dual(context::cpu(1), mesh);
  EXPECT_EQ(dual.flat_elements, 1U);
  EXPECT_EQ(dual.reoriented_elements, 0U);
  expect_closed_cells(mesh, dual);
  EXPECT_NEAR(sum_of(dual.volumes), 1, 1e-15);
}

TEST(MedianDual, CellsOfGluedElementsClose) {
  single_element all = mixed();
  const dual_mesh dual = median_dual(context::cpu(2), all.mesh);
  EXPECT_EQ(dual.edges.size(), 27U);
  EXPECT_EQ(dual.reoriented_elements, 0U);
  expect_closed_cells(all.mesh, dual);
  EXPECT_NEAR(sum_of(dual.volumes), all.volume, 1e-14);
  for (const element_type type : elements_of_cells) turn_over(all.mesh, type);
  const dual_mesh turned = median_dual(context::cpu(2), all.mesh);
  EXPECT_EQ(turned.reoriented_elements, 5U);
  expect_closed_cells(all.mesh, turned);
  EXPECT_NEAR(sum_of(turned.volumes), all.volume, 1e-14);
  distort(all.mesh);
  expect_closed_cells(all.mesh, median_dual(context::cpu(2), all.mesh));
}

// Each cell of a simplex has the same part of it.
doubles simplex_volumes(const unstructured_mesh& mesh) {
  doubles volumes(mesh.nodes());
  const element_type type = mesh.dimension == 2 ? element_type::triangle : element_type::tetrahedron;
  unstructured_mesh one{mesh.dimension, mesh.coordinates, {}, {}};
  for (std::uint64_t i = 0; i < mesh.elements.count(type); ++i) {
    const std::uint32_t* const nodes = mesh.elements.element(type, i);
    one.elements.nodes(type).assign(nodes, nodes + io::nodes_of(type));
    const double part = simplex_volume(one) / static_cast<double>(io::nodes_of(type));
    for (std::uint64_t n = 0; n < io::nodes_of(type); ++n) volumes[nodes[n]] += part;
  }
  return volumes;
}

TEST(MedianDual, CellsOfDistortedBoxesClose) {
  for (const mesh::box& of : {mesh::box{{4, 3, 5}}, mesh::box{{4, 3, 5}, node_order::random, 7}, mesh::box{{9, 6, 0}},
                              mesh::box{{1, 7, 0}, node_order::random, 8}}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", of.cells[0], of.cells[1], of.cells[2]));
    unstructured_mesh made = make_box(context::cpu(2), of);
    distort(made);
    const dual_mesh dual = median_dual(context::cpu(2), made);
    expect_closed_cells(made, dual);
    EXPECT_EQ(dual.reoriented_elements, 0U);
    EXPECT_EQ(dual.boundary.size(), made.markers.size()) << "sides cover the boundary";
    expect_near(dual.volumes, simplex_volumes(made), 1e-13);
    EXPECT_NEAR(sum_of(dual.volumes), simplex_volume(made), 1e-11);
  }
}

// As SU2 says it: for each element, face and edge of the face, the triangle of the edge's midpoint, the face's centroid
// and the element's, turned from the edge's lower node to the higher one.
std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<double, 3>> normals_of_cube(
    const unstructured_mesh& mesh) {
  constexpr int faces[6][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
  using point = std::array<double, 3>;
  std::map<std::pair<std::uint32_t, std::uint32_t>, point> normals;
  const auto mean = [&](std::initializer_list<int> nodes) {
    point sum{};
    for (const int n : nodes) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        sum[axis] += mesh.node(static_cast<std::uint64_t>(n))[axis] / static_cast<double>(nodes.size());
      }
    }
    return sum;
  };
  const auto less = [](const point& a, const point& b) { return point{a[0] - b[0], a[1] - b[1], a[2] - b[2]}; };
  const point center = mean({0, 1, 2, 3, 4, 5, 6, 7});
  for (const auto& face : faces) {
    for (int n = 0; n < 4; ++n) {
      const auto [first, second] = std::minmax(face[n], face[(n + 1) % 4]);
      const point middle = mean({first, second});
      const point a = less(mean({face[0], face[1], face[2], face[3]}), middle);
      const point b = less(center, middle);
      const point along = less(mean({second}), mean({first}));
      point normal{(a[1] * b[2] - a[2] * b[1]) / 2, (a[2] * b[0] - a[0] * b[2]) / 2, (a[0] * b[1] - a[1] * b[0]) / 2};
      const double sign = normal[0] * along[0] + normal[1] * along[1] + normal[2] * along[2] < 0 ? -1 : 1;
      point& sum = normals[{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second)}];
      for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] += sign * normal[axis];
    }
  }
  return normals;
}

TEST(MedianDual, DualFacesAreTrianglesOfMidpointsAndCentroids) {
  single_element one = single(element_type::hexahedron);
  distort(one.mesh);
  const dual_mesh dual = median_dual(context::cpu(1), one.mesh);
  const auto expected = normals_of_cube(one.mesh);
  ASSERT_EQ(dual.edges.size(), expected.size());
  for (std::size_t e = 0; e < dual.edges.size(); ++e) {
    const auto found = expected.find({dual.edges[e].first, dual.edges[e].second});
    ASSERT_NE(found, expected.end()) << e;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(dual.edge_normals[3 * e + axis], found->second[axis], 1e-14) << e;
    }
  }
}

TEST(MedianDual, FarFromTheOriginNoDigitsAreLost) {
  unstructured_mesh made = make_box(context::cpu(1), {{3, 3, 3}});
  for (double& x : made.coordinates) x += 0x1p30;
  const dual_mesh dual = median_dual(context::cpu(1), made);
  EXPECT_NEAR(sum_of(dual.volumes), 27, 1e-12);
  expect_closed_cells(made, dual);
}

TEST(MedianDual, BoundaryWithoutMarkersIsFound) {
  for (const std::size_t kept : {0, 1, 5}) {
    unstructured_mesh made = make_box(context::cpu(1), {{2, 3, 4}});
    made.markers.resize(kept);
    distort(made);
    const dual_mesh dual = median_dual(context::cpu(1), made);
    ASSERT_EQ(dual.boundary.size(), kept + 1);
    EXPECT_EQ(dual.boundary.back().marker, "");
    expect_closed_cells(made, dual);
  }
}

TEST(MedianDual, CheckSaysWhetherCellsClose) {
  for (const std::uint64_t layers : {0, 2}) {
    const unstructured_mesh made = make_box(context::cpu(1), {{4, 3, layers}});
    dual_mesh dual = median_dual(context::cpu(1), made);
    const double volume = sum_of(dual.volumes);
    EXPECT_DOUBLE_EQ(mesh::check_dual(made, dual).volume, volume);
    EXPECT_LT(mesh::check_dual(made, dual).closure_error, 1e-15);
    dual.edge_normals[3] *= 2;
    EXPECT_GT(mesh::check_dual(made, dual).closure_error, 1e-3);
  }
  unstructured_mesh lone{2, {1, 1}, {}, {}};
  EXPECT_EQ(mesh::check_dual(lone, median_dual(context::cpu(1), lone)).closure_error, 0);
}

TEST(MedianDual, NodesOfNoElementHaveNoVolume) {
  unstructured_mesh mesh = single(element_type::triangle).mesh;
  mesh.coordinates.insert(mesh.coordinates.end(), {7, 7});
  EXPECT_EQ(median_dual(context::cpu(1), mesh).volumes[3], 0);
  const dual_mesh none = median_dual(context::cpu(2), {2, {1, 1}, {}, {}});
  EXPECT_EQ(none.volumes, doubles{0});
  EXPECT_TRUE(none.edges.empty() && none.boundary.empty());
}

TEST(MedianDual, ThreadsComeToTheSameBits) {
  unstructured_mesh made = make_box(context::cpu(1), {{5, 4, 3}, node_order::random, 3});
  distort(made);
  const dual_mesh expected = median_dual(context::cpu(1), made);
  for (const int threads : {2, 3, 7}) {
    SCOPED_TRACE(threads);
    expect_same(median_dual(context::cpu(threads), made), expected);
  }
}

void expect_refused(const unstructured_mesh& mesh, std::string_view message) {
  expect_error(error_code::bad_argument, message, [&] { median_dual(context::cpu(1), mesh); });
}

TEST(MedianDual, FacesOfThreeElementsAreRefused) {
  unstructured_mesh mesh = make_box(context::cpu(1), {{1, 1, 0}});
  mesh.coordinates.insert(mesh.coordinates.end(), {2, 2});
  add_element(mesh, element_type::triangle, {3, 0, 4});
  mesh.markers.clear();
  expect_refused(mesh, "mesh: triangle 0, triangle 1 and triangle 2 share a face");
}

TEST(MedianDual, ArraysThatAreNoMeshAreRefused) {
  const unstructured_mesh good = single(element_type::tetrahedron).mesh;
  unstructured_mesh mesh = good;
  mesh.dimension = 4;
  expect_refused(mesh, "mesh: dimension 4 is neither 2 nor 3");
  mesh = good;
  mesh.coordinates.pop_back();
  expect_refused(mesh, "mesh: 11 coordinates do not make nodes of 3 dimensions");
  mesh = good;
  mesh.coordinates[7] = std::nan("");
  expect_refused(mesh, "mesh: node 2: coordinate 1 is nan");
  mesh = good;
  mesh.elements.nodes(element_type::tetrahedron)[2] = 4;
  expect_refused(mesh, "mesh: tetrahedron 0: node 4 is not below 4");
  mesh = good;
  mesh.elements.nodes(element_type::tetrahedron)[2] = 0;
  expect_refused(mesh, "mesh: tetrahedron 0: node 0 appears twice");
  mesh = good;
  mesh.elements.nodes(element_type::tetrahedron).pop_back();
  expect_refused(mesh, "mesh: 3 node numbers of type tetrahedron, which has 4 each");
  mesh = good;
  mesh.elements.nodes(element_type::triangle) = {0, 1, 2};
  expect_refused(mesh, "mesh: a triangle is not an element of 3 dimensions");
  mesh = single(element_type::triangle).mesh;
  mesh.markers.push_back({"a\n", {}});
  mesh.markers[0].elements.nodes(element_type::triangle) = {0, 1, 2};
  expect_refused(mesh, "mesh: marker 'a\\x0a': a triangle is not an element of 1 dimension");
}

TEST(MedianDual, NumbersThatOverflowAreRefused) {
  unstructured_mesh flat = single(element_type::triangle).mesh;
  for (double& coordinate : flat.coordinates) coordinate *= 1e150;
  EXPECT_GT(median_dual(context::cpu(1), flat).volumes[0], 1e299);
  for (double& coordinate : flat.coordinates) coordinate *= 1e10;
  expect_refused(flat, "mesh: node 0: no number of 8 bytes holds the volume of its cell");
  unstructured_mesh solid = single(element_type::tetrahedron).mesh;
  for (double& coordinate : solid.coordinates) coordinate *= 1e160;
  expect_refused(solid,
                 "mesh: the nodes 0 and 1 are so far apart that no number of 8 bytes holds the normal of their dual "
                 "face");
}

struct real_file {
  const char* name;
  std::uint64_t nodes;
  std::uint64_t edges;
  std::size_t boundaries;
};

TEST(MedianDual, CellsOfRealMeshesClose) {
  const char* data = std::getenv("SHEAF_DATA_DIR");
  const std::filesystem::path folder = std::filesystem::path(data == nullptr ? "" : data) / "meshes";
  if (data == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "SHEAF_DATA_DIR names no folder with meshes/ in it";
  }
  const real_file files[] = {
      {"aneurysm-2k.su2.gz", 2566, 16371, 1},    {"cylinder-11k.su2.gz", 11214, 70998, 1},
      {"aneurysm-53k.su2.gz", 53222, 360057, 1}, {"mesh_NACA0012_inv.su2.gz", 5233, 15449, 2},
      {"ramp_unst.su2.gz", 6482, 19127, 4},
  };
  std::size_t found = 0;
  for (const real_file& file : files) {
    if (!std::filesystem::exists(folder / file.name)) continue;
    SCOPED_TRACE(file.name);
    ++found;
    const unstructured_mesh read = io::read_su2(folder / file.name);
    EXPECT_EQ(read.nodes(), file.nodes);
    const dual_mesh dual = median_dual(context::cpu(), read);
    EXPECT_EQ(dual.edges.size(), file.edges);
    EXPECT_EQ(mesh::edges_of(context::cpu(), read), dual.edges);
    EXPECT_EQ(dual.boundary.size(), file.boundaries);
    expect_closed_cells(read, dual);
    const double volume = simplex_volume(read);
    EXPECT_NEAR(sum_of(dual.volumes), volume, 1e-11 * volume);
    EXPECT_EQ(dual.flat_elements, 0U);
  }
  EXPECT_GT(found, 0U);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_mesh_dual_test
