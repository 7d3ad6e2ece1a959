#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/context.hpp>

#include "apps/sheaf/files/mesh/su2_file.hpp"
#include "apps/sheaf/mesh/box.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_mesh_su2_write_test {
namespace {

using io::element_type;
using io::unstructured_mesh;

// Also tells -0 from 0.
void expect_same(const unstructured_mesh& left, const unstructured_mesh& right) {
  EXPECT_EQ(left, right);
  ASSERT_EQ(left.coordinates.size(), right.coordinates.size());
  for (std::size_t i = 0; i < left.coordinates.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(left.coordinates[i]), std::bit_cast<std::uint64_t>(right.coordinates[i]));
  }
}

TEST(Su2Write, TextIsWrittenSectionBySection) {
  EXPECT_EQ(format_su2(parse_su2(plane_file())),
            "NDIME= 2\nNELEM= 2\n5 0 1 2\n9 0 2 3 4\nNPOIN= 5\n0 0\n1 0\n1 1\n0.5 1.5\n0 1\nNMARK= 2\n"
            "MARKER_TAG= low\nMARKER_ELEMS= 1\n3 0 1\nMARKER_TAG= high\nMARKER_ELEMS= 2\n3 2 3\n3 3 4\n");
  EXPECT_EQ(format_su2({}), "NDIME= 3\nNELEM= 0\nNPOIN= 0\nNMARK= 0\n");
}

TEST(Su2Write, CoordinatesAreReadBackBitByBit) {
  using limits = std::numeric_limits<double>;
  unstructured_mesh mesh;
  mesh.coordinates = {0.0,    -0.0, 0.1, 1.0 / 3, limits::max(), -limits::max(), limits::min(), limits::denorm_min(),
                      -2e-308};
  std::mt19937_64 random(21);
  while (mesh.coordinates.size() < 60000) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) mesh.coordinates.push_back(value);
  }
  expect_same(parse_su2(format_su2(mesh)), mesh);
}

TEST(Su2Write, GeneratedMeshesAreReadBack) {
  const temporary_folder folder;
  for (const mesh::box& of : {mesh::box{{13, 12, 11}, mesh::node_order::random, 4}, mesh::box{{90, 80, 0}}}) {
    unstructured_mesh made = make_box(context::cpu(2), of);
    for (double& x : made.coordinates) x = std::sin(x + 1) / 3;
    io::write_su2(folder / "box.su2", made);
    for (const int threads : {1, 2, 4}) expect_same(io::read_su2(folder / "box.su2", {.threads = threads}), made);
  }
  EXPECT_EQ(folder.count(), 1U);
}

TEST(Su2Write, EachElementTypeIsReadBack) {
  unstructured_mesh mesh;
  mesh.coordinates.assign(3 * 8, 0.25);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t n = 0; n < 8; ++n) {
    nodes.push_back(n);
    for (const element_type type : io::all_element_types) {
      if (io::dimension_of(type) == 3 && io::nodes_of(type) == nodes.size()) mesh.elements.nodes(type) = nodes;
    }
  }
  mesh.markers.resize(2);
  mesh.markers[0].name = "a=b\xc3\xa4#";
  mesh.markers[0].elements.nodes(element_type::triangle) = {7, 6, 5};
  mesh.markers[0].elements.nodes(element_type::quadrilateral) = {7, 6, 5, 4};
  mesh.markers[1].name = "none";
  EXPECT_EQ(mesh.elements.count(), 4U);
  expect_same(parse_su2(format_su2(mesh)), mesh);
}

TEST(Su2Write, WhatCannotBeReadBackIsRefused) {
  const auto expect_refused = [](const unstructured_mesh& mesh, std::string_view message) {
    expect_error(error_code::bad_argument, message, [&] { format_su2(mesh); });
  };
  for (const char* const name : {"", "a b", "a%", "a\n", "SEND_RECEIVE"}) {
    unstructured_mesh mesh;
    mesh.markers.push_back({name, {}});
    expect_refused(mesh, fmt::format("mesh: '{}' cannot be the name of a marker in an SU2 file",
                                     std::string_view(name) == "a\n" ? "a\\x0a" : name));
  }
  unstructured_mesh mesh = parse_su2(plane_file());
  mesh.markers[1].name = "low";
  expect_refused(mesh, "mesh: marker 'low' appears twice");
  mesh = parse_su2(plane_file());
  mesh.elements.nodes(element_type::triangle)[1] = 9;
  expect_refused(mesh, "mesh: triangle 0: node 9 is not below 5");
}

TEST(Su2Write, WhatFailsLeavesNothingBehind) {
  const temporary_folder folder;
  folder.write("m.su2", "before");
  unstructured_mesh mesh = parse_su2(plane_file());
  mesh.coordinates[3] = std::nan("");
  EXPECT_THROW(io::write_su2(folder / "m.su2", mesh), error);
  EXPECT_EQ(folder.read("m.su2"), "before");
  EXPECT_EQ(folder.count(), 1U);
  expect_error(error_code::io_failure, folder / "none/m.su2" + ": cannot be created: No such file or directory",
               [&] { io::write_su2(folder / "none/m.su2", parse_su2(plane_file())); });
}

TEST(Su2Write, RealMeshesAreReadBack) {
  const char* data = std::getenv("SHEAF_DATA_DIR");
  const std::filesystem::path meshes = std::filesystem::path(data == nullptr ? "" : data) / "meshes";
  if (data == nullptr || !std::filesystem::is_directory(meshes)) {
    GTEST_SKIP() << "SHEAF_DATA_DIR names no folder with meshes/ in it";
  }
  const temporary_folder folder;
  for (const auto& file : std::filesystem::directory_iterator(meshes)) {
    if (file.path().string().find(".su2") == std::string::npos) continue;
    SCOPED_TRACE(file.path());
    const unstructured_mesh mesh = io::read_su2(file.path());
    io::write_su2(folder / "copy.su2", mesh);
    expect_same(io::read_su2(folder / "copy.su2"), mesh);
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_mesh_su2_write_test
