// sheaf edges on meshes that are more than one box of elements: several zones, markers that are no boundary, elements
// that are there twice.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_edges_mesh_test {
namespace {

using texts = std::vector<std::string>;

// Two triangles along the edge from 0 to 2, and one alone.
constexpr const char* zones =
    "NDIME= 2\nNZONE= 2\nIZONE= 1\nNELEM= 2\n5 0 1 2\n5 0 2 3\nNPOIN= 4\n0 0\n2 0\n2 2\n0 2\nNMARK= 1\nMARKER_TAG= "
    "wall\n"
    "MARKER_ELEMS= 1\n3 0 1\nIZONE= 2\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n3 0\n4 0\n4 1\nNMARK= 1\nMARKER_TAG= wall\n"
    "MARKER_ELEMS= 1\n3 1 2\n";
// The same two triangles, with a marker along the diagonal and one that covers a side again, and has a vertex.
constexpr const char* odd_markers =
    "NDIME= 2\nNELEM= 2\n5 0 1 2\n5 0 2 3\nNPOIN= 4\n0 0 0\n2 0 0.0\n2 2 0\n0 2 0\nNMARK= 2\nMARKER_TAG= the cut\n"
    "MARKER_ELEMS= 2\n3 0 1\n3 2 0\nMARKERTAG= side\nMARKER_ELEMS= 2\n1 3\n3 1 0\n";

const texts& warnings_of_reader() {
  static const texts all{"odd.su2: marker 'side': 1 vertex is left out, which covers no part of the boundary"};
  return all;
}
const texts& warnings_of_dual() {
  static const texts all{"odd.su2: marker 'side': 1 vertex is left out, which covers no part of the boundary",
                         "odd.su2: marker 'thecut': 1 of its 2 elements lie inside the mesh and do not contribute to "
                         "its normals; the first, line 1, is between triangle 0 and triangle 1",
                         "odd.su2: marker 'side': 1 of its 1 elements cover faces of earlier markers and do not "
                         "contribute to its normals; the first, line 0, covers the face of marker 'thecut': line 0"};
  return all;
}

std::string printed(const texts& warnings) {
  std::string all;
  for (const std::string& warning : warnings) all += "sheaf edges: warning: " + warning + "\n";
  return all;
}

class CliEdgesOfMeshes : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("zones.su2", zones);
    folder.write("odd.su2", odd_markers);
    folder.write("edges.npy", npy_file("'<i8'", "(2, 2)", bytes_of<std::int64_t>({0, 1, 1, 2})));
    folder.write("values.npy", npy_file("'<f8'", "(3, 1)", bytes_of<double>({1, 2, 4})));
  }
};

TEST_F(CliEdgesOfMeshes, ZonesAreReadTogetherOrOneAlone) {
  const std::string rest = " --quiet --runs 1 --verify --backend cpu --dual d";
  expect_success("edges zones.su2" + rest);
  EXPECT_EQ(folder.read("d.edges.npy"),
            npy_file("'<u4'", "(8, 2)", bytes_of<std::uint32_t>({0, 1, 0, 2, 0, 3, 1, 2, 2, 3, 4, 5, 4, 6, 5, 6})));
  expect_success("edges zones.su2 --zone 1" + rest);
  EXPECT_EQ(folder.read("d.edges.npy"),
            npy_file("'<u4'", "(5, 2)", bytes_of<std::uint32_t>({0, 1, 0, 2, 0, 3, 1, 2, 2, 3})));
  expect_success("edges zones.su2 values.npy --function weighted_difference -o out.npy --zone 2" + rest);
  EXPECT_EQ(folder.read("d.edges.npy"), npy_file("'<u4'", "(3, 2)", bytes_of<std::uint32_t>({0, 1, 0, 2, 1, 2})));
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<f8'", "(3, 1)", bytes_of<double>({1 + 3, -1 + 2, -3 - 2})));
  expect_success("edges odd.su2 --zone 1 --quiet --runs 1");
}

TEST_F(CliEdgesOfMeshes, ZonesThatAreNotThereAreRefused) {
  folder.write("out.npy", "old");
  const auto fails = [&](const std::string& arguments, const std::string& message) {
    expect_failure("edges " + arguments + " -o out.npy", 2, "sheaf edges: " + message);
  };
  fails("zones.su2 --zone 3", "zones.su2: zone 3 is wanted, but the file has 2 zones");
  fails("odd.su2 --zone 2", "odd.su2: zone 2 is wanted, but the file has 1 zone");
  fails("edges.npy values.npy --zone 1", "--zone needs a mesh, but edges.npy has only edges");
  EXPECT_EQ(run_sheaf(folder, "edges zones.su2 --zone 0").code, 2);
  EXPECT_EQ(run_sheaf(folder, "edges zones.su2 --zone one").code, 2);
  EXPECT_EQ(folder.read("out.npy"), "old");
}

TEST_F(CliEdgesOfMeshes, WarnsOfWhatIsNoBoundary) {
  const program_result text = run_sheaf(folder, "edges odd.su2 --backend cpu --runs 1 --dual d");
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.err, printed(warnings_of_dual()));
  EXPECT_EQ(text.out.find("warning"), std::string::npos) << text.out;
  const program_result json = run_sheaf(folder, "edges odd.su2 --backend cpu --runs 1 --dual d --json");
  EXPECT_EQ(json.code, 0);
  EXPECT_EQ(json.err, printed(warnings_of_dual()));
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["warnings"].get<texts>(), warnings_of_dual());
  EXPECT_NEAR(report["dual"]["volume"].get<double>(), 4, 1e-14);
  EXPECT_LT(report["dual"]["closure_error"].get<double>(), 1e-15);
  const program_result quiet = run_sheaf(folder, "edges odd.su2 --backend cpu --runs 1 --dual d --json --quiet");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.err + quiet.out, "");
  const program_result sums = run_sheaf(folder, "edges odd.su2 --backend cpu --runs 1 --json");
  EXPECT_EQ(sums.err, printed(warnings_of_reader())) << "markers are asked for the boundary by --dual alone";
  EXPECT_EQ(nlohmann::json::parse(sums.out)["warnings"].get<texts>(), warnings_of_reader());
  const program_result none = run_sheaf(folder, "edges zones.su2 --backend cpu --runs 1 --json --dual d");
  EXPECT_EQ(none.err, "");
  EXPECT_EQ(nlohmann::json::parse(none.out)["warnings"].get<texts>(), texts{});
}

TEST_F(CliEdgesOfMeshes, NamesBothOfTwoElementsThatAreOne) {
  folder.write("twice.su2",
               "NDIME= 2\nNELEM= 3\n5 0 1 2\n5 0 2 3\n\n5 2 1 0\nNPOIN= 4\n0 0\n2 0\n2 2\n0 2\nNMARK= 0\n");
  folder.write("zone.su2", std::string(zones) + "IZONE= 3\nNELEM= 2\n5 0 1 2\n5 1 2 0\nNPOIN= 3\n3 5\n4 5\n4 6\n");
  const std::string zone = "zone.su2: line 30: triangle 4 has the nodes of triangle 3, in line 29";
  folder.write("side.su2",
               "NDIME= 2\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n0 0\n2 0\n2 2\nNMARK= 1\nMARKER_TAG= a\nMARKER_ELEMS= 3\n3 0 1\n"
               "1 2\n3 1 0\n");
  for (const std::string option : {"", " --dual d"}) {
    const auto fails = [&](const std::string& mesh, const std::string& message) {
      expect_failure("edges " + mesh + option + " -o out.npy", 3, "sheaf edges: " + message);
    };
    fails("twice.su2", "twice.su2: line 6: triangle 2 has the nodes of triangle 0, in line 3");
    fails("side.su2", "side.su2: line 13: marker 'a': line 1 has the nodes of line 0, in line 11");
  }
  std::string three = folder.read("zone.su2");
  three.replace(three.find("NZONE= 2"), 8, "NZONE= 3");
  folder.write("zone.su2", three);
  expect_failure("edges zone.su2", 3, "sheaf edges: " + zone);
  expect_failure("edges zone.su2 --zone 3", 3,
                 "sheaf edges: zone.su2: line 30: triangle 1 has the nodes of triangle 0, in line 29");
  expect_success("edges zone.su2 --zone 2 --quiet --runs 1");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_edges_mesh_test
