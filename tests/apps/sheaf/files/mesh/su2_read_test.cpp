#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/sheaf/files/mesh/su2_file.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_mesh_su2_read_test {
namespace {

using io::element_type;
using io::unstructured_mesh;
using doubles = std::vector<double>;
using numbers = std::vector<std::uint32_t>;

std::string with(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(Su2, SectionsBecomeArrays) {
  const unstructured_mesh mesh = parse_su2(plane_file());
  EXPECT_EQ(mesh.dimension, 2);
  EXPECT_EQ(mesh.nodes(), 5U);
  EXPECT_EQ(mesh.coordinates, (doubles{0, 0, 1, 0, 1, 1, 0.5, 1.5, 0, 1}));
  EXPECT_EQ(mesh.elements.count(), 2U);
  EXPECT_EQ(mesh.elements.nodes(element_type::triangle), (numbers{0, 1, 2}));
  EXPECT_EQ(mesh.elements.nodes(element_type::quadrilateral), (numbers{0, 2, 3, 4}));
  ASSERT_EQ(mesh.markers.size(), 2U);
  EXPECT_EQ(mesh.markers[0].name, "low");
  EXPECT_EQ(mesh.markers[0].elements.nodes(element_type::line), (numbers{0, 1}));
  EXPECT_EQ(mesh.markers[1].name, "high");
  EXPECT_EQ(mesh.markers[1].elements.nodes(element_type::line), (numbers{2, 3, 3, 4}));
}

TEST(Su2, ElementsOfSpaceAreReadByTheirType) {
  std::string points = "NPOIN= 13\n";
  for (int i = 0; i < 13; ++i) points += fmt::format("{} 0.5 -1e-3\n", i);
  const unstructured_mesh mesh = parse_su2(
      "NDIME= 3\nNELEM= 6\n12 0 1 2 3 4 5 6 7 0\n14 4 5 6 7 8 1\n10 1 5 9 12\n13 1 5 9 2 6 10\n10 5 6 8 11 99\n"
      "12 7 6 5 4 3 2 1 0\n" +
      points + "NMARK= 1\nMARKER_TAG= wall\nMARKER_ELEMS= 2\n9 0 1 2 3\n5 5 9 12 7\n");
  EXPECT_EQ(mesh.dimension, 3);
  EXPECT_EQ(mesh.elements.nodes(element_type::hexahedron), (numbers{0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(mesh.elements.nodes(element_type::pyramid), (numbers{4, 5, 6, 7, 8}));
  EXPECT_EQ(mesh.elements.nodes(element_type::tetrahedron), (numbers{1, 5, 9, 12, 5, 6, 8, 11}));
  EXPECT_EQ(mesh.elements.nodes(element_type::prism), (numbers{1, 5, 9, 2, 6, 10}));
  EXPECT_EQ(mesh.markers[0].elements.nodes(element_type::quadrilateral), (numbers{0, 1, 2, 3}));
  EXPECT_EQ(mesh.markers[0].elements.nodes(element_type::triangle), (numbers{5, 9, 12}));
  EXPECT_EQ(mesh.coordinates[36], 12);
  EXPECT_EQ(mesh.coordinates[38], -1e-3);
}

TEST(Su2, SectionsComeInAnyOrder) {
  const std::string tail = "MARKER_TAG= low\nMARKER_ELEMS= 1\n3 0 1\n";
  EXPECT_EQ(
      parse_su2(tail + "NPOIN= 5\n0 0\n1 0\n1 1\n0.5 1.5\n0 1\nNELEM= 2\n5 0 1 2\n9 0 2 3 4\nNDIME= 2\nMARKER_TAG= "
                       "high\nMARKER_ELEMS= 2\n3 2 3\n3 3 4\nNMARK= 2\n"),
      parse_su2(plane_file()));
}

TEST(Su2, CommentsBlankLinesAndCarriageReturnsAreSkipped) {
  const unstructured_mesh expected = parse_su2(plane_file());
  EXPECT_EQ(parse_su2(with(plane_file(), "\n", "\r\n")), expected);
  EXPECT_EQ(parse_su2(with(plane_file(), "\n", " \t\n\n % what follows = 3\n  ")), expected);
  EXPECT_EQ(parse_su2(with(plane_file(), "\n", " % said\n")), expected);
  EXPECT_EQ(parse_su2(with(plane_file(), "= ", "=")), expected);
  EXPECT_EQ(parse_su2(with(plane_file(), "= ", " =\t")), expected);
  EXPECT_EQ(parse_su2(plane_file().substr(0, plane_file().size() - 1)), expected);
}

TEST(Su2, KeywordsThatSayNothingOfTheMeshAreIgnored) {
  const unstructured_mesh expected = parse_su2(plane_file());
  for (const char* const line :
       {"NZONE= 1\n", "AOA_OFFSET= 1.25\nAOS_OFFSET= 0\n", "NCHUNK= 1\n",
        "FFD_NBOX= 1\nFFD_CORNER_POINTS= 2\n0 0\n1 1\n", "NPERIODIC= 1\nPERIODIC_INDEX= 0\nPERIODIC_CENTER= 0 0 0\n",
        "NPERIODIC= 1\nPERIODIC_INDEX= 0\n0.0\t0.0\t0.0\n0.0\t0.0\t0.0\n", "WHATEVER= is said\n",
        "WHATEVER= 2\n1 2\n3 4\n"}) {
    SCOPED_TRACE(line);
    EXPECT_EQ(parse_su2(line + plane_file()), expected);
    EXPECT_EQ(parse_su2(with(plane_file(), "NPOIN", std::string(line) + "NPOIN")), expected);
    EXPECT_EQ(parse_su2(plane_file() + line), expected);
  }
  EXPECT_EQ(parse_su2("IZONE= 1\n" + plane_file()), expected);
}

TEST(Su2, PartsOfMeshesHaveTwoNumbersOfPoints) {
  const std::string file = with(plane_file(), "NPOIN= 5", "NPOIN= 5 4");
  EXPECT_EQ(parse_su2(file), parse_su2(plane_file()));
  EXPECT_EQ(parse_su2(with(file, "1 1 2\n", "1 1 2 77\n")), parse_su2(plane_file()));
  const std::string space = "NDIME= 3\nNELEM= 0\nNPOIN= 1 0\n1 2 3 4 5\n";
  EXPECT_EQ(parse_su2(space).coordinates, (doubles{1, 2, 3}));
  expect_su2_error(with(space, "1 0\n", "1\n"), "m.su2: line 4: '5' follows the point");
}

TEST(Su2, NodesOfNoElementAreKept) {
  const unstructured_mesh mesh = parse_su2("NDIME= 2\nNELEM= 0\nNPOIN= 2\n1 2\n3 4\n");
  EXPECT_EQ(mesh.coordinates, (doubles{1, 2, 3, 4}));
  EXPECT_EQ(mesh.elements.count(), 0U);
  EXPECT_EQ(parse_su2("NDIME= 3\nNELEM= 0\nNPOIN= 0\nNMARK= 0").nodes(), 0U);
  EXPECT_EQ(parse_su2("NDIME= 3\nNELEM=0\nNPOIN=0\nMARKER_TAG= a\nMARKER_ELEMS= 0").markers.size(), 1U);
}

TEST(Su2, KeywordsThatAreWrongAreRefused) {
  const std::string body = "NELEM= 0\nNPOIN= 0\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "line 1: the file has no NDIME"},
      {"% nothing\n\n", "line 1: the file has no NDIME"},
      {body, "line 1: the file has no NDIME"},
      {"NDIME= 2\nNPOIN= 0\n", "line 1: the file has no NELEM"},
      {"NDIME= 2\nNELEM= 0\n", "line 1: the file has no NPOIN"},
      {"NDIME= 4\n" + body, "line 1: NDIME is 4, neither 2 nor 3"},
      {"ndime= 2\n" + body, "line 1: ndime= is not the keyword NDIME="},
      {"NDIME= 2\nNElem= 0\nNPOIN= 0\n", "line 2: NElem= is not the keyword NELEM="},
      {"NDIME= two\n" + body, "line 1: NDIME 'two' is not a whole number"},
      {"NDIME= 2.0\n" + body, "line 1: NDIME '2.0' is not a whole number"},
      {"NDIME= -2\n" + body, "line 1: NDIME '-2' is not a whole number"},
      {"NDIME=\n" + body, "line 1: NDIME has no number"},
      {"NDIME= % 2\n" + body, "line 1: NDIME has no number"},
      {"NDIME= 2 3\n" + body, "line 1: '3' follows the value of NDIME"},
      {"NDIME= 2\nNDIME= 2\n" + body, "line 2: NDIME appears twice: also in line 1"},
      {"NDIME= 2\n7 8\n" + body, "line 2: '7 8' follows NDIME, which has no lines of its own"},
      {"NDIME= 2\nNELEM= 0\n\n" + body, "line 4: NELEM appears twice: also in line 2"},
      {"NDIME= 2\nNPOIN= 0\n" + body, "line 4: NPOIN appears twice: also in line 2"},
      {"NDIME= 2\nNELEM= 0\nNPOIN= 4294967297\n",
       "line 3: NPOIN is 4294967297, more than the 2^32 points that are read"},
      {"NDIME= 2\nNELEM= 0\nNPOIN= 1 2 3\n", "line 3: '3' follows the value of NPOIN"},
      {"NDIME 2\n" + body, "line 1: 'NDIME 2' is neither a line of numbers nor KEYWORD= value, as in SU2's files"},
      {"=2\n" + body, "line 1: '=2' is neither a line of numbers nor KEYWORD= value, as in SU2's files"},
      {"NDIME% = 2\n" + body,
       "line 1: 'NDIME% = 2' is neither a line of numbers nor KEYWORD= value, as in SU2's files"},
      {"%%MatrixMarket\n1 2 3\n" + body, "line 2: '1 2 3' stands before the first keyword of an SU2 file"},
      {"\x7f"
       "ELF\x01",
       "line 1: '\\x7fELF\\x01' is neither a line of numbers nor KEYWORD= value, as in SU2's files"},
      {"NDIME= 2\nNMARK= 1\n" + body, "line 2: NMARK is 1, but the file has 0 markers"},
      {"NDIME= 2\nNMARK= 0\nNMARK= 0\n" + body, "line 3: NMARK appears twice: also in line 2"},
      {"NDIME= 2\nMARKER_TAG=\n" + body, "line 2: MARKER_TAG has no name"},
      {"NDIME= 2\nMARKERTAG= %\n" + body, "line 2: MARKERTAG has no name"},
      {"NDIME= 2\nmarker_tag= a\n" + body, "line 2: marker_tag= is not the keyword MARKER_TAG="},
      {"NDIME= 2\nNELEM= 0\nairfoil 1 2\nNPOIN= 0\n",
       "line 3: 'airfoil 1 2' is neither a line of numbers nor KEYWORD= value, as in SU2's files"},
      {"NDIME= 2\nMARKER_TAG= a\n" + body, "line 2: marker 'a' has no MARKER_ELEMS"},
      {"NDIME= 2\nMARKER_TAG= a\nMARKER_TAG= b\n" + body, "line 2: marker 'a' has no MARKER_ELEMS"},
      {"NDIME= 2\nMARKER_ELEMS= 0\n" + body, "line 2: MARKER_ELEMS follows no MARKER_TAG"},
      {"NDIME= 2\nMARKER_TAG= a\nMARKER_ELEMS= x\n" + body, "line 3: MARKER_ELEMS 'x' is not a whole number"},
      {"NDIME= 2\nMARKER_TAG= a\nMARKER_ELEMS= 0\nMARKER_TAG= a\nMARKER_ELEMS= 0\n" + body,
       "line 4: marker 'a' appears twice: also in line 2"},
      {"NDIME= 2\nMARKER_TAG= a\n3 0 1\nMARKER_ELEMS= 1\n" + body,
       "line 3: '3 0 1' follows MARKER_TAG, which has no lines of its own"},
      {"NDIME= 2\nMARKER_TAG= a\nMARKER_ELEMS= 1\nSEND_RECV= 1\n" + body,
       "line 4: SEND_RECV: a part of a mesh that exchanges nodes with others is not read; only whole meshes are"},
      {"NDIME= 2\nMARKER_TAG= SEND_RECEIVE\nMARKER_ELEMS= 1\n" + body,
       "line 2: marker SEND_RECEIVE: a part of a mesh that exchanges nodes with others is not read; only whole meshes "
       "are"},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    expect_su2_error(text, fmt::format("m.su2: {}", message));
    expect_su2_error(text, fmt::format("m.su2: {}", message), {.threads = 3, .part_bytes = 1});
  }
}

TEST(Su2, LinesOfElementsThatAreWrongAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"5 0 1", "the line ends after 2 of the 3 nodes of a triangle"},
      {"5", "the line ends after 0 of the 3 nodes of a triangle"},
      {"5 0 1 5", "node 5 is not below the 5 points"},
      {"5 0 1 18446744073709551617", "node 18446744073709551615 is not below the 5 points"},
      {"5 0 1 -1", "node '-1' is not a whole number"},
      {"5 0 1 2.0", "node '2.0' is not a whole number"},
      {"5 0 1 x", "node 'x' is not a whole number"},
      {"5 0 1 1", "node 1 of a triangle appears twice"},
      {"5 0 1 2 3 4", "'4' follows the element"},
      {"5 0 1 2 x", "'x', which follows the line's numbers, is not a whole number"},
      {"5,0,1,2", "element type '5,0,1,2' is not a whole number"},
      {"-5 0 1 2", "element type '-5' is not a whole number"},
      {"7 0 1 2", "element type 7 is not one of 5 (triangle), 9 (quadrilateral)"},
      {"305 0 1 2", "element type 305 is a triangle of order 4, and those of order 1 are read"},
      {"199 0 1 2", "element type 199 is not one of 5 (triangle), 9 (quadrilateral)"},
      {"10 0 1 2 3", "element type 10 is a tetrahedron, which has 3 dimensions, not 2"},
      {"3 0 1", "element type 3 is a line, which has 1 dimensions, not 2"},
  };
  for (const auto& [line, message] : cases) {
    SCOPED_TRACE(line);
    const std::string file = with(plane_file(), "5 0 1 2 0\n", fmt::format("\n{}\n", line));
    expect_su2_error(file, fmt::format("m.su2: line 5: {}", message));
    expect_su2_error(file, fmt::format("m.su2: line 5: {}", message), {.threads = 2, .part_bytes = 1});
  }
  expect_su2_error(with(plane_file(), "3 2 3\n", "5 2 3 4\n"),
                   "m.su2: line 18: element type 5 is a triangle, which has 2 dimensions, not 1");
  expect_su2_error(with(plane_file(), "3 2 3\n", "3 2 9\n"), "m.su2: line 18: node 9 is not below the 5 points");
  expect_su2_error("NDIME= 3\nNELEM= 1\n5 0 1 2\nNPOIN= 0\n",
                   "m.su2: line 3: element type 5 is a triangle, which has 2 dimensions, not 3");
  expect_su2_error("NDIME= 3\nNELEM= 1\n11 0 1 2\nNPOIN= 0\n",
                   "m.su2: line 3: element type 11 is not one of 10 (tetrahedron), 12 (hexahedron), 13 (prism), 14 "
                   "(pyramid)");
}

TEST(Su2, LinesOfPointsThatAreWrongAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"1", "the line ends after 1 of 2 coordinates"},
      {"1 % 1", "the line ends after 1 of 2 coordinates"},
      {"1 x", "coordinate 'x' is not a number"},
      {"1.5x 1", "coordinate '1.5x' is not a number"},
      {"1 nan", "coordinate 'nan' is not finite"},
      {"-inf 1", "coordinate '-inf' is not finite"},
      {"1 1e999", "coordinate '1e999' is past the range of f64"},
      {"1 1 x", "coordinate 'x' is not a number"},
      {"1 1 inf 4", "coordinate 'inf' is not finite"},
      {"1 1 0.5 0.5", "'0.5', which follows the line's numbers, is not a whole number"},
      {"1 1 2 3 4", "'4' follows the point"},
      {"nan 1", "'nan 1' is neither a line of numbers nor KEYWORD= value, as in SU2's files"},
  };
  for (const auto& [line, message] : cases) {
    SCOPED_TRACE(line);
    expect_su2_error(with(plane_file(), "1 1 2\n", fmt::format("{}\n", line)),
                     fmt::format("m.su2: line 9: {}", message));
  }
}

TEST(Su2, SectionsHaveAsManyLinesAsTheySay) {
  const std::string& file = plane_file();
  expect_su2_error(with(file, "NELEM= 2", "NELEM= 3"),
                   "m.su2: line 6: the elements end after 2 of the 3 that line 3 announces");
  expect_su2_error(with(file, "NELEM= 2", "NELEM= 1"),
                   "m.su2: line 5: '9 0 2 3 4 1' follows the 1 elements that line 3 announces");
  expect_su2_error(with(file, "NPOIN= 5", "NPOIN= 6"),
                   "m.su2: line 12: the points end after 5 of the 6 that line 6 announces");
  expect_su2_error(with(file, "NPOIN= 5", "NPOIN= 4"),
                   "m.su2: line 11: '0 1 4' follows the 4 points that line 6 announces");
  expect_su2_error(with(file, "MARKER_ELEMS= 2", "MARKER_ELEMS= 3"),
                   "m.su2: line 19: the elements of marker 'high' end after 2 of the 3 that line 17 announces");
  expect_su2_error(with(file, "MARKER_ELEMS= 2", "MARKER_ELEMS= 0"),
                   "m.su2: line 18: '3 2 3' follows the 0 elements of marker 'high' that line 17 announces");
  // A line that is wrong, and one too many as well.
  expect_su2_error(with(with(file, "NELEM= 2", "NELEM= 1"), "9 0 2", "9 0 7"),
                   "m.su2: line 5: '9 0 7 3 4 1' follows the 1 elements that line 3 announces");
}

TEST(Su2, AnnouncedCountsTakeNoMemory) {
  for (const char* const count : {"4000000000000", "18446744073709551615", "99999999999999999999999"}) {
    SCOPED_TRACE(count);
    const std::uint64_t read = std::min<std::uint64_t>(std::strtoull(count, nullptr, 10), ~std::uint64_t{0});
    expect_su2_error(with(plane_file(), "NELEM= 2", fmt::format("NELEM= {}", count)),
                     fmt::format("m.su2: line 6: the elements end after 2 of the {} that line 3 announces", read));
  }
  expect_su2_error(with(plane_file(), "NPOIN= 5", "NPOIN= 4294967296"),
                   "m.su2: line 12: the points end after 5 of the 4294967296 that line 6 announces");
}

TEST(Su2, ThreadsReadTheSameMesh) {
  unstructured_mesh mesh;
  mesh.dimension = 3;
  std::string text = "NDIME= 3\nNELEM= 700\n";
  for (std::uint32_t i = 0; i < 700; ++i) {
    text += i % 3 == 0 ? fmt::format("14 {} {} {} {} {}\n", i, i + 1, i + 2, i + 3, i + 4)
                       : fmt::format("10 {} {} {} {}\n% {}\n", i, i + 2, i + 1, i + 5, i);
  }
  text += "NPOIN= 710\n";
  for (int i = 0; i < 710; ++i) text += fmt::format("{}e-2 {} {}{}\n", i, i / 7.0, -i, i % 5 == 0 ? "\n" : "");
  const unstructured_mesh expected = parse_su2(text, {.threads = 1});
  EXPECT_EQ(expected.elements.count(element_type::pyramid), 234U);
  EXPECT_EQ(expected.elements.count(element_type::tetrahedron), 466U);
  for (const int threads : {1, 2, 5}) {
    for (const std::uint64_t part_bytes : {1, 100, 5000}) {
      EXPECT_EQ(parse_su2(text, {.threads = threads, .part_bytes = part_bytes}), expected);
    }
  }
}

TEST(Su2, FilesThatAreCutShortAreRefused) {
  const std::string& file = plane_file();
  std::size_t refused = 0;
  for (std::size_t size = 0; size < file.size() - 1; ++size) {
    SCOPED_TRACE(size);
    try {
      const unstructured_mesh mesh = parse_su2(file.substr(0, size), {.threads = 2, .part_bytes = 16});
      EXPECT_NO_THROW(io::require_mesh(mesh));
    } catch (const error& e) {
      EXPECT_EQ(e.code(), error_code::bad_input);
      EXPECT_TRUE(std::string_view(e.what()).starts_with("m.su2: line ")) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, file.size() - 100) << "only a file without its markers may pass";
}

TEST(Su2, GzipFilesAreReadAsTheirText) {
  EXPECT_EQ(parse_su2(gzipped(plane_file())), parse_su2(plane_file()));
  const std::string file = gzipped(plane_file());
  expect_su2_error(
      file.substr(0, file.size() - 9),
      fmt::format("m.su2: compressed byte {}: the compressed data end early: the file is cut short", file.size() - 9));
  expect_su2_error(file, "m.su2: inflates to more than 20 bytes, the most that are read", {.most_text_bytes = 20});
  for (std::size_t size = 2; size < file.size(); ++size) {
    EXPECT_THROW(parse_su2(file.substr(0, size)), error) << size;
  }
  // What is no mesh is refused by its first bytes: the rest, which is damaged, is not inflated.
  std::string other = gzipped("% c\nword\n" + std::string(200000, 'x'));
  other.resize(other.size() - 10);
  expect_su2_error(other, "m.su2: line 2: 'word' is neither a line of numbers nor KEYWORD= value, as in SU2's files");
  other = gzipped("1 2\n" + std::string(200000, 'x'));
  other.resize(other.size() - 10);
  expect_su2_error(other, "m.su2: line 1: '1 2' stands before the first keyword of an SU2 file");
  const std::string commented = std::string(200000, '%') + "\n" + plane_file();
  EXPECT_EQ(parse_su2(gzipped(commented)), parse_su2(plane_file()));
}

TEST(Su2, AByteOrderMarkIsPassedOver) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(parse_su2(mark + plane_file()), parse_su2(plane_file()));
  EXPECT_EQ(parse_su2(gzipped(mark + plane_file())), parse_su2(plane_file()));
  expect_su2_error(mark + "NDIME= 4\nNELEM= 0\nNPOIN= 0\n", "m.su2: line 1: NDIME is 4, neither 2 nor 3");
  EXPECT_THROW(parse_su2(mark + mark + plane_file()), error);
  EXPECT_THROW(parse_su2(mark), error);
}

TEST(Su2, FilesAreReadByTheirPath) {
  const temporary_folder folder;
  const std::string path = folder.write("m.su2", plane_file());
  EXPECT_EQ(io::read_su2(path), parse_su2(plane_file()));
  EXPECT_EQ(io::read_su2(folder.write("m.su2.gz", gzipped(plane_file()))), parse_su2(plane_file()));
  expect_error(error_code::bad_input, folder / "none.su2" + ": cannot be opened: No such file or directory",
               [&] { io::read_su2(folder / "none.su2"); });
  const std::string wrong = folder.write("wrong.su2", "NDIME= 5\n");
  expect_error(error_code::bad_input, wrong + ": line 1: NDIME is 5, neither 2 nor 3", [&] { io::read_su2(wrong); });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_mesh_su2_read_test
