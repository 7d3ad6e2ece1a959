#include "apps/sheaf/mesh/box.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/context.hpp>

#include "apps/sheaf/mesh/box_function.hpp"
#include "apps/sheaf/mesh/samples.hpp"
#include "core/host.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::apps_sheaf_mesh_box_test {
namespace {

using mesh::box;
using mesh::edge;
using mesh::edges_of;
using mesh::make_box;
using mesh::make_box_edges;
using mesh::median_dual;
using mesh::node_order;

// From the numbers of vertices along the axes: those along an axis, along diagonals of faces, and of cells.
std::uint64_t edge_formula(const box& of) {
  const std::uint64_t x = of.cells[0];
  const std::uint64_t y = of.cells[1];
  const std::uint64_t z = of.cells[2];
  const std::uint64_t along = x * (y + 1) * (z + 1) + (x + 1) * y * (z + 1) + (x + 1) * (y + 1) * z;
  return along + x * y * (z + 1) + x * (y + 1) * z + (x + 1) * y * z + x * y * z;
}

std::vector<edge> sorted(std::vector<edge> edges) {
  std::sort(edges.begin(), edges.end(),
            [](const edge& a, const edge& b) { return std::tie(a.first, a.second) < std::tie(b.first, b.second); });
  return edges;
}

const box shapes[] = {{{1, 1, 1}}, {{1, 1, 0}}, {{2, 1, 1}}, {{1, 5, 1}}, {{1, 1, 4}},
                      {{4, 3, 2}}, {{7, 2, 0}}, {{1, 6, 0}}, {{5, 7, 6}}, {{40, 1, 3}}};

std::string shape_name(const box& of) { return fmt::format("{} x {} x {}", of.cells[0], of.cells[1], of.cells[2]); }

TEST(Box, EdgesAreThoseOfItsElements) {
  for (const box& of : shapes) {
    SCOPED_TRACE(shape_name(of));
    const unstructured_mesh made = make_box(context::cpu(2), of);
    const std::vector<edge> edges = make_box_edges(context::cpu(2), of);
    EXPECT_EQ(edges.size(), edge_formula(of));
    EXPECT_EQ(edges, edges_of(context::cpu(2), made));
    EXPECT_EQ(made.nodes(), (of.cells[0] + 1) * (of.cells[1] + 1) * (of.cells[2] + 1));
  }
}

TEST(Box, NodesInRandomOrderAreTheSameMeshRenamed) {
  for (box of : shapes) {
    SCOPED_TRACE(shape_name(of));
    const unstructured_mesh natural = make_box(context::cpu(1), of);
    of.order = node_order::random;
    of.seed = 11;
    const unstructured_mesh renamed = make_box(context::cpu(3), of);
    EXPECT_EQ(sorted(make_box_edges(context::cpu(2), of)), edges_of(context::cpu(2), renamed));
    ASSERT_EQ(renamed.coordinates.size(), natural.coordinates.size());
    const element_type type = natural.dimension == 2 ? element_type::triangle : element_type::tetrahedron;
    ASSERT_EQ(renamed.elements.count(type), natural.elements.count(type));
    for (std::size_t i = 0; i < natural.elements.nodes(type).size(); ++i) {
      const std::uint32_t a = natural.elements.nodes(type)[i];
      const std::uint32_t b = renamed.elements.nodes(type)[i];
      ASSERT_TRUE(std::equal(natural.node(a), natural.node(a) + natural.dimension, renamed.node(b))) << i;
    }
  }
}

TEST(Box, EachElementHasTheVolumeOfItsPartOfACell) {
  for (const box& of : shapes) {
    SCOPED_TRACE(shape_name(of));
    const unstructured_mesh made = make_box(context::cpu(2), of);
    const mesh::dual_mesh dual = median_dual(context::cpu(2), made);
    const double volume = static_cast<double>(of.cells[0] * of.cells[1] * std::max<std::uint64_t>(of.cells[2], 1));
    EXPECT_EQ(made.elements.count(), mesh::box_elements(of));
    EXPECT_NEAR(sum_of(dual.volumes), volume, 1e-12 * volume);
    EXPECT_NEAR(simplex_volume(made), volume, 1e-12 * volume);
    EXPECT_EQ(dual.reoriented_elements, 0U);
    EXPECT_EQ(dual.flat_elements, 0U);
    expect_closed_cells(made, dual);
  }
}

TEST(Box, SidesCoverTheBoundaryAndAreSeenFromOutside) {
  const unstructured_mesh made = make_box(context::cpu(1), {{2, 3, 4}});
  const mesh::dual_mesh dual = median_dual(context::cpu(1), made);
  const char* const names[] = {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"};
  const double areas[] = {12, 12, 8, 8, 6, 6};
  ASSERT_EQ(dual.boundary.size(), 6U);
  for (std::size_t side = 0; side < 6; ++side) {
    SCOPED_TRACE(names[side]);
    EXPECT_EQ(dual.boundary[side].marker, names[side]);
    double sums[3] = {};
    for (std::size_t i = 0; i < dual.boundary[side].normals.size(); ++i) {
      sums[i % 3] += dual.boundary[side].normals[i];
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(sums[axis], axis == side / 2 ? (side % 2 == 0 ? -areas[side] : areas[side]) : 0, 1e-12);
    }
    // The marker's own triangles go around as seen from outside.
    const auto& triangles = made.markers[side].elements;
    EXPECT_EQ(triangles.count(element_type::triangle), static_cast<std::uint64_t>(2 * areas[side]));
    for (std::uint64_t i = 0; i < triangles.count(element_type::triangle); ++i) {
      const std::uint32_t* const nodes = triangles.element(element_type::triangle, i);
      const double* const a = made.node(nodes[0]);
      const double* const b = made.node(nodes[1]);
      const double* const c = made.node(nodes[2]);
      const std::size_t u = (side / 2 + 1) % 3;
      const std::size_t v = (side / 2 + 2) % 3;
      EXPECT_EQ((b[u] - a[u]) * (c[v] - a[v]) - (b[v] - a[v]) * (c[u] - a[u]), side % 2 == 0 ? -1 : 1) << i;
    }
  }
}

TEST(Box, SidesInThePlaneHaveItOnTheirLeft) {
  const unstructured_mesh made = make_box(context::cpu(1), {{2, 3, 0}});
  ASSERT_EQ(made.markers.size(), 4U);
  for (const io::mesh_marker& side : made.markers) {
    SCOPED_TRACE(side.name);
    for (std::uint64_t i = 0; i < side.elements.count(element_type::line); ++i) {
      const std::uint32_t* const nodes = side.elements.element(element_type::line, i);
      const double* const a = made.node(nodes[0]);
      const double* const b = made.node(nodes[1]);
      EXPECT_GT((b[0] - a[0]) * (1.5 - a[1]) - (b[1] - a[1]) * (1 - a[0]), 0) << i;
    }
  }
}

TEST(Box, LargeBoxesAreFunctionsOfPositionWithoutWrap) {
  const box of{{1500, 1500, 1500}};  // 3.4e9 nodes, 2.4e10 edges, 8.1e10 entries of elements
  mesh::require_box(of);
  EXPECT_EQ(mesh::box_edges(of), edge_formula(of));
  EXPECT_EQ(mesh::box_elements(of), 6 * std::uint64_t{1500} * 1500 * 1500);
  const auto last = static_cast<std::uint32_t>(std::uint64_t{1501} * 1501 * 1501 - 1);
  EXPECT_EQ(mesh::box_edge(of, mesh::box_edges(of) - 1), (edge{last - 1, last}));
  EXPECT_EQ(mesh::box_element_node(of, mesh::box_elements(of) - 1, 3), last);
  edge before{0, 0};
  for (std::uint64_t i = 0; i < mesh::box_edges(of); i += mesh::box_edges(of) / 9973) {
    const edge next = mesh::box_edge(of, i);
    ASSERT_LT(next.first, next.second) << i;
    ASSERT_LE(before.first, next.first) << i;
    before = next;
  }
  // Neighbours around the places where a row or a layer ends are in ascending order, and none is there twice.
  for (const std::uint64_t middle : {mesh::box_row_edges(of, 2), mesh::box_layer_edges(of, true),
                                     mesh::box_layer_edges(of, true) * 1500, std::uint64_t{1} << 32}) {
    for (std::uint64_t i = middle - 50; i < middle + 50; ++i) {
      const edge a = mesh::box_edge(of, i - 1);
      const edge b = mesh::box_edge(of, i);
      ASSERT_LT(std::tie(a.first, a.second), std::tie(b.first, b.second)) << i;
    }
  }
}

TEST(Box, SizesThatAreNoMeshAreRefused) {
  const auto expect_refused = [](const box& of, std::string_view message) {
    expect_error(error_code::bad_argument, message, [&] { make_box(context::cpu(1), of); });
    expect_error(error_code::bad_argument, message, [&] { make_box_edges(context::cpu(1), of); });
  };
  expect_refused({{0, 3, 3}}, "box: 0 x 3 x 3 cells are not a mesh");
  expect_refused({{3, 0, 0}}, "box: 3 x 0 cells are not a mesh");
  expect_refused({{2000, 2000, 2000}}, "box: 2000 x 2000 x 2000 cells have more than 2^32 nodes");
  expect_refused({{~std::uint64_t{0}, 1, 1}}, "box: 18446744073709551615 x 1 x 1 cells have more than 2^32 nodes");
  expect_refused({{65536, 65535, 0}}, "box: 65536 x 65535 cells have more than 2^32 nodes");
  mesh::require_box({{65535, 65535, 0}});
}

TEST(Box, MemoryIsAskedForBeforeItIsTaken) {
  const box of{{1500, 1500, 1500}};
  const std::uint64_t edge_bytes = 8 * mesh::box_edges(of);
  if (core::host_available_bytes() >= edge_bytes) GTEST_SKIP() << "this machine has memory for so large a box";
  const std::string edges = message_of(error_code::out_of_memory, [&] { make_box_edges(context::cpu(1), of); });
  EXPECT_TRUE(edges.starts_with(fmt::format("mesh: edges of 1500 x 1500 x 1500 cells take {} bytes, ", edge_bytes)))
      << edges;
  EXPECT_TRUE(edges.ends_with(" are available")) << edges;
  const std::string elements = message_of(error_code::out_of_memory, [&] { make_box(context::cpu(1), of); });
  EXPECT_TRUE(elements.starts_with(fmt::format("mesh: nodes and elements of 1500 x 1500 x 1500 cells take {} bytes, ",
                                               24 * mesh::box_nodes(of) + 16 * mesh::box_elements(of))))
      << elements;
}

TEST(Edges, AreThePairsOfNodesThatElementsJoin) {
  EXPECT_EQ(edges_of(context::cpu(1), single(element_type::triangle).mesh),
            (std::vector<edge>{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(edges_of(context::cpu(2), single(element_type::quadrilateral).mesh),
            (std::vector<edge>{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
  EXPECT_EQ(edges_of(context::cpu(2), single(element_type::pyramid).mesh),
            (std::vector<edge>{{0, 1}, {0, 3}, {0, 4}, {1, 2}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}));
  EXPECT_EQ(edges_of(context::cpu(2), single(element_type::prism).mesh),
            (std::vector<edge>{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 4}, {2, 5}, {3, 4}, {3, 5}, {4, 5}}));
  EXPECT_EQ(edges_of(context::cpu(3), mixed().mesh).size(), 27U);
  EXPECT_TRUE(edges_of(context::cpu(2), unstructured_mesh{}).empty());
}

TEST(Edges, AreTheSameForEveryNumberOfThreads) {
  const unstructured_mesh made = make_box(context::cpu(1), {{7, 6, 5}, node_order::random, 5});
  const std::vector<edge> expected = edges_of(context::cpu(1), made);
  for (const int threads : {2, 3, 16}) EXPECT_EQ(edges_of(context::cpu(threads), made), expected) << threads;
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_mesh_box_test
