// Several zones in one file: joined, or one alone.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/sheaf/files/mesh/su2_file.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_mesh_su2_zones_test {
namespace {

using io::element_type;
using io::su2_options;
using io::unstructured_mesh;
using doubles = std::vector<double>;
using numbers = std::vector<std::uint32_t>;

const std::string first_zone =
    "NELEM= 1\n5 0 1 2\nNPOIN= 3\n0 0\n1 0\n0 1\nNMARK= 2\nMARKER_TAG= wall\nMARKER_ELEMS= 1\n3 0 1\nMARKER_TAG= far\n"
    "MARKER_ELEMS= 1\n3 1 2\n";
const std::string second_zone =
    "NELEM= 2\n9 0 1 2 3\n5 1 4 2\nNPOIN= 5\n5 5\n6 5\n6 6\n5 6\n7 5\nNMARK= 2\nMARKER_TAG= out\nMARKER_ELEMS= 1\n3 1 "
    "4\n"
    "MARKER_TAG= wall\nMARKER_ELEMS= 2\n3 3 0\n3 0 1\n";

std::string zones_file() {
  return "NZONE= 2\nIZONE= 1\nNDIME= 2\n" + first_zone + "IZONE= 2\nNDIME= 2\n" + second_zone;
}

TEST(Su2Zones, AreJoinedInTheOrderOfTheFile) {
  const unstructured_mesh mesh = parse_su2(zones_file());
  EXPECT_EQ(mesh.dimension, 2);
  EXPECT_EQ(mesh.coordinates, (doubles{0, 0, 1, 0, 0, 1, 5, 5, 6, 5, 6, 6, 5, 6, 7, 5}));
  EXPECT_EQ(mesh.elements.nodes(element_type::triangle), (numbers{0, 1, 2, 4, 7, 5}));
  EXPECT_EQ(mesh.elements.nodes(element_type::quadrilateral), (numbers{3, 4, 5, 6}));
  ASSERT_EQ(mesh.markers.size(), 3U);
  EXPECT_EQ(mesh.markers[0].name, "wall");
  EXPECT_EQ(mesh.markers[0].elements.nodes(element_type::line), (numbers{0, 1, 6, 3, 3, 4}));
  EXPECT_EQ(mesh.markers[1].name, "far");
  EXPECT_EQ(mesh.markers[1].elements.nodes(element_type::line), (numbers{1, 2}));
  EXPECT_EQ(mesh.markers[2].name, "out");
  EXPECT_EQ(mesh.markers[2].elements.nodes(element_type::line), (numbers{4, 7}));
  EXPECT_EQ(parse_su2(format_su2(mesh)), mesh);
  for (const std::uint64_t part_bytes : {1, 30}) {
    EXPECT_EQ(parse_su2(zones_file(), {.threads = 3, .part_bytes = part_bytes}), mesh);
  }
  const std::string turned = "IZONE= 2\nNDIME= 2\n" + second_zone + "IZONE= 1\nNDIME= 2\n" + first_zone + "NZONE= 2\n";
  EXPECT_EQ(parse_su2(turned).coordinates, (doubles{5, 5, 6, 5, 6, 6, 5, 6, 7, 5, 0, 0, 1, 0, 0, 1}));
}

TEST(Su2Zones, OneIsReadAlone) {
  const unstructured_mesh first = parse_su2("NDIME= 2\n" + first_zone);
  const unstructured_mesh second = parse_su2("NDIME= 2\n" + second_zone);
  EXPECT_EQ(parse_su2(zones_file(), {.zone = 1}), first);
  EXPECT_EQ(parse_su2(zones_file(), {.zone = 2}), second);
  const std::string turned = "NDIME= 2\nIZONE= 2\n" + second_zone + "IZONE= 1\n" + first_zone;
  EXPECT_EQ(parse_su2(turned, {.zone = 1}), first) << "IZONE numbers zones, not their order";
  EXPECT_EQ(parse_su2(plane_file(), {.zone = 1}), parse_su2(plane_file()));
  const auto refuse = [](const std::string& file, std::uint64_t zone, const char* message) {
    expect_error(error_code::bad_argument, message, [&] { parse_su2(file, {.zone = zone}); });
  };
  refuse(zones_file(), 3, "m.su2: zone 3 is wanted, but the file has 2 zones");
  refuse(plane_file(), 2, "m.su2: zone 2 is wanted, but the file has 1 zone");
}

TEST(Su2Zones, TakeTheDimensionInFrontOfThem) {
  const unstructured_mesh expected = parse_su2(zones_file());
  EXPECT_EQ(parse_su2("NDIME= 2\nNZONE= 2\nIZONE= 1\n" + first_zone + "IZONE= 2\n" + second_zone), expected);
  EXPECT_EQ(parse_su2("NDIME= 2\n" + zones_file()), expected);
  const std::string mixed = "NDIME= 2\nIZONE= 1\n" + first_zone + "IZONE= 2\nNDIME= 3\nNELEM= 0\nNPOIN= 1\n1 2 3\n";
  expect_su2_error(mixed, "m.su2: line 16: zone 2 has 3 dimensions, but zone 1 has 2: together they are not a mesh");
  EXPECT_EQ(parse_su2(mixed, {.zone = 2}).coordinates, (doubles{1, 2, 3}));
}

TEST(Su2Zones, WithoutNodesOrElementsChangeNothing) {
  const std::string none = "NELEM= 0\nNPOIN= 0\n";
  const std::string file = "NDIME= 2\nIZONE= 1\n" + none + "IZONE= 2\n" + second_zone + "IZONE= 3\n" + none;
  EXPECT_EQ(parse_su2(file), parse_su2("NDIME= 2\n" + second_zone));
}

TEST(Su2Zones, MarkersAreCountedInEach) {
  expect_su2_error(zones_file() + "NMARK= 2\n", "m.su2: line 36: NMARK appears twice: also in line 28");
  const std::string twice = zones_file() + "MARKER_TAG= wall\nMARKER_ELEMS= 0\n";
  expect_su2_error(twice, "m.su2: line 36: marker 'wall' appears twice: also in line 32");
}

TEST(Su2Zones, ThatAreWrongAreRefused) {
  const std::string zone = "NELEM= 0\nNPOIN= 0\n";
  const std::pair<std::string, const char*> cases[] = {
      {"NDIME= 2\nNZONE= 2\n" + zone, "line 2: NZONE is 2, but the file has 1 zone"},
      {"NDIME= 2\nNZONE= 1\nIZONE= 1\n" + zone + "IZONE= 2\n" + zone, "line 2: NZONE is 1, but the file has 2 zones"},
      {"NDIME= 2\nNZONE= 0\n" + zone, "line 2: NZONE is 0: a mesh has at least one zone"},
      {"NDIME= 2\nNZONE= 1\nNZONE= 1\n" + zone, "line 3: NZONE appears twice: also in line 2"},
      {"NDIME= 2\nNZONE= two\n" + zone, "line 2: NZONE 'two' is not a whole number"},
      {"NDIME= 2\nIZONE= 0\n" + zone, "line 2: IZONE is 0: zones are counted from 1"},
      {"NDIME= 2\nIZONE= 2\n" + zone, "line 2: IZONE is 2, but the file has 1 zone"},
      {"NDIME= 2\nIZONE= 1\n" + zone + "IZONE= 3\n" + zone, "line 5: IZONE is 3, but the file has 2 zones"},
      {"NDIME= 2\nIZONE= 1\n" + zone + "IZONE= 1\n" + zone, "line 5: IZONE 1 appears twice: also in line 2"},
      {"NDIME= 2\nIZONE= 1\n0 0\n" + zone, "line 3: '0 0' follows IZONE, which has no lines of its own"},
      {"NDIME= 2\nNELEM= 0\nIZONE= 1\n" + zone,
       "line 2: 'NELEM= 0' stands before the first IZONE, in line 3, so it is in no zone"},
      {"NDIME= 2\nMARKER_TAG= a\nIZONE= 1\n" + zone,
       "line 2: 'MARKER_TAG= a' stands before the first IZONE, in line 3, so it is in no zone"},
      {"IZONE= 1\n" + zone + "IZONE= 2\nNDIME= 2\n" + zone, "line 1: zone 1 has no NDIME"},
      {"NDIME= 2\nIZONE= 1\n" + zone + "IZONE= 2\nNPOIN= 0\n", "line 5: zone 2 has no NELEM"},
      {"NDIME= 2\nIZONE= 1\nNELEM= 0\nIZONE= 2\n" + zone, "line 2: zone 1 has no NPOIN"},
      {"NDIME= 2\nIZONE= 1\n" + zone + "MARKER_TAG= a\nIZONE= 2\n" + zone, "line 5: marker 'a' has no MARKER_ELEMS"},
      {"NDIME= 2\nIZONE= 1\nNMARK= 1\n" + zone + "IZONE= 2\n" + zone, "line 3: NMARK is 1, but zone 1 has 0 markers"},
      {"NDIME= 2\nizone= 1\n" + zone, "line 2: izone= is not the keyword IZONE="},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    expect_su2_error(text, fmt::format("m.su2: {}", message));
    expect_su2_error(text, fmt::format("m.su2: {}", message), {.threads = 3, .part_bytes = 1});
  }
  // Nodes are those of the zone, and errors are named by their lines in all of the file.
  std::string file = zones_file();
  file.replace(file.find("5 1 4 2"), 7, "5 1 5 2");
  expect_su2_error(file, "m.su2: line 21: node 5 is not below the 5 points");
  EXPECT_EQ(parse_su2(file, {.zone = 1}).nodes(), 3U);
}

TEST(Su2Zones, ElementsAreFoundByTheirLines) {
  const temporary_folder folder;
  const std::string path = folder.write("m.su2", zones_file());
  const auto line_of = [&](element_type type, std::uint64_t element, const char* marker = "", std::uint64_t zone = 0) {
    return io::line_of_su2_element(path, {type, element, marker}, {.zone = zone});
  };
  EXPECT_EQ(line_of(element_type::triangle, 0), 5U);
  EXPECT_EQ(line_of(element_type::triangle, 1), 21U);
  EXPECT_EQ(line_of(element_type::triangle, 2), 0U);
  EXPECT_EQ(line_of(element_type::quadrilateral, 0), 20U);
  EXPECT_EQ(line_of(element_type::triangle, 0, "", 2), 21U);
  EXPECT_EQ(line_of(element_type::line, 0, "wall"), 13U);
  EXPECT_EQ(line_of(element_type::line, 2, "wall"), 35U);
  EXPECT_EQ(line_of(element_type::line, 0, "wall", 2), 34U);
  EXPECT_EQ(line_of(element_type::line, 0, "none"), 0U);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_mesh_su2_zones_test
