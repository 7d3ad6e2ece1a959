#include "apps/sheaf/mesh/repeated.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/context.hpp>

#include "apps/sheaf/mesh/box.hpp"
#include "apps/sheaf/mesh/samples.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::apps_sheaf_mesh_repeated_test {
namespace {

using mesh::find_repeated_element;
using mesh::make_box;
using mesh::repeated_element;

constexpr element_type elements_of_cells[] = {element_type::triangle,    element_type::quadrilateral,
                                              element_type::tetrahedron, element_type::hexahedron,
                                              element_type::prism,       element_type::pyramid};

void expect_repeated(const unstructured_mesh& mesh, element_type type, std::uint64_t first, std::uint64_t second,
                     const std::string& words) {
  for (const int threads : {1, 2, 5}) {
    const auto found = find_repeated_element(context::cpu(threads), mesh);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->type, type);
    EXPECT_EQ(found->first, first);
    EXPECT_EQ(found->second, second);
    EXPECT_EQ(mesh::words_of(mesh, *found), words);
  }
}

TEST(RepeatedElement, IsFoundInAnyOrderOfItsNodes) {
  for (const element_type type : elements_of_cells) {
    SCOPED_TRACE(name(type));
    unstructured_mesh mesh = single(type).mesh;
    EXPECT_FALSE(find_repeated_element(context::cpu(1), mesh));
    auto& nodes = mesh.elements.nodes(type);
    std::vector<std::uint32_t> again(nodes.rbegin(), nodes.rend());
    nodes.insert(nodes.end(), again.begin(), again.end());
    const std::string words = std::string(name(type)) + " 1 has the nodes of " + std::string(name(type)) + " 0";
    expect_repeated(mesh, type, 0, 1, words);
    expect_error(error_code::bad_argument, "mesh: " + words, [&] { mesh::edges_of(context::cpu(1), mesh); });
    expect_error(error_code::bad_argument, "mesh: " + words, [&] { mesh::median_dual(context::cpu(1), mesh); });
  }
}

TEST(RepeatedElement, IsTheFirstOfSeveral) {
  unstructured_mesh mesh = make_box(context::cpu(1), {{12, 11, 10}});
  EXPECT_FALSE(find_repeated_element(context::cpu(2), mesh));
  auto& nodes = mesh.elements.nodes(element_type::tetrahedron);
  ASSERT_EQ(nodes.size(), 4U * 6 * 12 * 11 * 10);
  const auto repeat = [&](std::size_t from, std::size_t to) {
    std::copy_n(nodes.begin() + static_cast<std::ptrdiff_t>(4 * from), 4,
                nodes.begin() + static_cast<std::ptrdiff_t>(4 * to));
    std::swap(nodes[4 * to], nodes[4 * to + 2]);
  };
  repeat(7000, 7900);
  repeat(6999, 7899);
  repeat(17, 7898);
  repeat(17, 7897);
  expect_repeated(mesh, element_type::tetrahedron, 17, 7897, "tetrahedron 7897 has the nodes of tetrahedron 17");
}

TEST(RepeatedElement, OfAMarkerIsOneOfThatMarker) {
  unstructured_mesh mesh = make_box(context::cpu(1), {{3, 3, 3}});
  ASSERT_GE(mesh.markers.size(), 2U);
  mesh.markers[1].elements = mesh.markers[0].elements;
  EXPECT_FALSE(find_repeated_element(context::cpu(1), mesh)) << "two markers may cover a face";
  auto& nodes = mesh.markers[1].elements.nodes(element_type::triangle);
  const std::vector<std::uint32_t> again{nodes[5], nodes[3], nodes[4]};
  nodes.insert(nodes.end(), again.begin(), again.end());
  mesh.markers[1].name = "wall\n";
  expect_repeated(mesh, element_type::triangle, 1, 18, "marker 'wall\\x0a': triangle 18 has the nodes of triangle 1");
  const auto found = find_repeated_element(context::cpu(1), mesh);
  EXPECT_EQ(found->marker, 1U);
  // Those of the mesh come first.
  auto& elements = mesh.elements.nodes(element_type::tetrahedron);
  std::copy_n(elements.begin(), 4, elements.end() - 4);
  expect_repeated(mesh, element_type::tetrahedron, 0, 161, "tetrahedron 161 has the nodes of tetrahedron 0");
}

TEST(RepeatedElement, IsNoneInMeshesOfNoElements) {
  EXPECT_FALSE(find_repeated_element(context::cpu(3), {2, {1, 1}, {}, {}}));
}

// A triangle and a quadrilateral of a marker that begin alike differ.
TEST(RepeatedElement, HasAsManyNodes) {
  unstructured_mesh mesh = mixed().mesh;
  mesh.markers.push_back({"low", {}});
  mesh.markers[0].elements.nodes(element_type::quadrilateral) = {0, 1, 2, 3};
  mesh.markers[0].elements.nodes(element_type::triangle) = {0, 1, 2};
  EXPECT_FALSE(find_repeated_element(context::cpu(1), mesh));
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_mesh_repeated_test
