// What programs that write SU2's files do beyond the bare mesh, as it is found in SU2's public test cases.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/files/mesh/su2_file.hpp"

namespace sheaf::tests::apps_sheaf_files_mesh_su2_writers_test {
namespace {

using io::element_type;
using io::su2_options;
using io::unstructured_mesh;
using numbers = std::vector<std::uint32_t>;
using texts = std::vector<std::string>;

const su2_options small_parts{.threads = 3, .part_bytes = 1};

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// SU2_DEF writes a box for deformation behind the mesh. Lines of its surface points begin with their marker.
const std::string& ffd_box() {
  static const std::string text =
      "FFD_NBOX= 1\nFFD_NLEVEL= 1\nFFD_TAG= MAIN_BOX\nFFD_LEVEL= 0\nFFD_DEGREE_I= 1\nFFD_DEGREE_J= 1\n"
      "FFD_BLENDING= BSPLINE_UNIFORM\nBSPLINE_ORDER_I= 2\nFFD_PARENTS= 0\nFFD_CHILDREN= 0\n"
      "FFD_CORNER_POINTS= 4\n-0.1\t-0.1\n1.1\t-0.1\n1.1\t0.1\n-0.1\t0.1\n"
      "FFD_CONTROL_POINTS= 2\n0\t0\t0\t-1.0e-01\t-1.0e-01\t-5.0e-01\n1\t0\t0\t1.0e-01\t-1.0e-01\t-5.0e-01\n"
      "FFD_SURFACE_POINTS= 4\nlow\t0\t9.7e-01\t4.3e-02\t5.0e-01\nhigh\t1\t9.5e-01\t4.3e-02\t5.0e-01\n"
      "2nd wall\t3\t1.0e-01\t0\t0\n.4\t4\t2.0e-01\t0\t0\n";
  return text;
}

TEST(Su2Writers, BoxesForDeformationAreIgnoredWhole) {
  const unstructured_mesh expected = parse_su2(plane_file());
  for (const su2_options& options : {su2_options{}, small_parts}) {
    EXPECT_EQ(parse_su2(plane_file() + ffd_box(), options), expected);
    EXPECT_EQ(parse_su2(ffd_box() + plane_file(), options), expected);
    for (const char* const before : {"NELEM=", "NPOIN=", "NMARK=", "MARKER_TAG= high"}) {
      SCOPED_TRACE(before);
      EXPECT_EQ(parse_su2(with(plane_file(), before, ffd_box() + before), options), expected);
    }
  }
  EXPECT_EQ(parse_su2(plane_file() + ffd_box() + ffd_box()), expected);
  // What is ignored has an end: a keyword that is read.
  expect_su2_error(plane_file() + ffd_box() + "NDIME= 2\nlow 1\n",
                   "m.su2: line 43: NDIME appears twice: also in line 2");
}

TEST(Su2Writers, PointsOfThePlaneMayHaveAThirdCoordinate) {
  const unstructured_mesh expected = parse_su2(plane_file());
  for (const char* const line : {"1 1 0.0\n", "1 1 -1.5e-3 2\n", "1\t1\t0\t2\n", "1 1 2\n", "1 1\n", "1 1 0 % 2\n"}) {
    SCOPED_TRACE(line);
    EXPECT_EQ(parse_su2(with(plane_file(), "1 1 2\n", line)), expected);
    EXPECT_EQ(parse_su2(with(plane_file(), "1 1 2\n", line), small_parts), expected);
  }
  const std::string part = with(plane_file(), "NPOIN= 5", "NPOIN= 5\t3");
  EXPECT_EQ(parse_su2(with(part, "1 1 2\n", "1 1 0.5 2 17\n")), expected);
  expect_su2_error(with(part, "1 1 2\n", "1 1 0.5 2 17 4\n"), "m.su2: line 9: '4' follows the point");
  // In space the fourth number is the point's, which is whole.
  expect_su2_error("NDIME= 3\nNELEM= 0\nNPOIN= 1\n1 1 1 0.5\n",
                   "m.su2: line 4: '0.5', which follows the line's numbers, is not a whole number");
}

TEST(Su2Writers, MarkersAreNamedAsSu2NamesThem) {
  const std::string spelled = with(plane_file(), "MARKER_TAG= low", "MARKERTAG= low");
  EXPECT_EQ(parse_su2(spelled), parse_su2(plane_file()));
  const unstructured_mesh mesh = parse_su2(with(plane_file(), "MARKER_TAG= low", "MARKER_TAG=  lower \t inner wall  "));
  EXPECT_EQ(mesh.markers[0].name, "lowerinnerwall");
  EXPECT_EQ(parse_su2(format_su2(mesh)), mesh);
  expect_su2_error(with(plane_file(), "MARKER_TAG= low", "MARKER_TAG= hi gh"),
                   "m.su2: line 16: marker 'high' appears twice: also in line 13");
  expect_su2_error(with(plane_file(), "MARKER_TAG= low", "MARKERTAG= SEND_RECEIVE"),
                   "m.su2: line 13: marker SEND_RECEIVE: a part of a mesh that exchanges nodes with others is not "
                   "read; only whole meshes are");
}

TEST(Su2Writers, VerticesOfMarkersAreLeftOutWithAWarning) {
  const unstructured_mesh expected = parse_su2(plane_file());
  const std::string file = with(with(plane_file(), "MARKER_ELEMS= 2\n3 2 3\n", "MARKER_ELEMS= 4\n1 2\n3 2 3\n1 4 3\n"),
                                "MARKER_ELEMS= 1\n", "MARKER_ELEMS= 2\n1\t0\n");
  for (su2_options options : {su2_options{}, small_parts}) {
    texts warnings;
    options.warnings = &warnings;
    EXPECT_EQ(parse_su2(file, options), expected);
    EXPECT_EQ(warnings, (texts{"m.su2: marker 'low': 1 vertex is left out, which covers no part of the boundary",
                               "m.su2: marker 'high': 2 vertices are left out, which cover no part of the "
                               "boundary"}));
    EXPECT_EQ(parse_su2(file), expected) << "and nobody needs to listen";
    warnings.clear();
    parse_su2(plane_file(), options);
    EXPECT_EQ(warnings, texts{});
  }
  const std::pair<const char*, const char*> cases[] = {
      {"1", "the line ends after 0 of the 1 nodes of a vertex"},
      {"1 5", "node 5 is not below the 5 points"},
      {"1 x", "node 'x' is not a whole number"},
      {"1 0 1 2", "'2' follows the element"},
  };
  for (const auto& [line, message] : cases) {
    SCOPED_TRACE(line);
    expect_su2_error(with(plane_file(), "3 2 3\n", line + std::string("\n")),
                     std::string("m.su2: line 18: ") + message);
  }
  expect_su2_error(with(plane_file(), "5 0 1 2 0", "1 0"),
                   "m.su2: line 4: element type 1 is not one of 5 (triangle), 9 (quadrilateral)");
  expect_su2_error(with(plane_file(), "MARKER_ELEMS= 2\n", "MARKER_ELEMS= 2\n1 0\n"),
                   "m.su2: line 20: '3 3 4' follows the 2 elements of marker 'high' that line 17 announces");
}

// Pointwise aligns values and ends lines with blanks; Gmsh puts counts behind one blank; files of Windows have CRLF.
TEST(Su2Writers, SpacingIsFree) {
  const unstructured_mesh expected = parse_su2(plane_file());
  for (const auto& [from, to] : {std::pair("= ", "=      "), std::pair("= ", "=\t"), std::pair("\n", "  \r\n"),
                                 std::pair("\n", "\n\t"), std::pair(" ", "\t\t"), std::pair("= ", " = ")}) {
    std::string text = plane_file();
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + std::string(to).size())) {
      text.replace(at, std::string(from).size(), to);
    }
    SCOPED_TRACE(text);
    EXPECT_EQ(parse_su2(text), expected);
    EXPECT_EQ(parse_su2(text + "%\n% Boundary elements\n\n", small_parts), expected);
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_mesh_su2_writers_test
