// sheaf edges on meshes and arrays of edges, and the check behind --verify.
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/sheaf/checks/edges.hpp"
#include "core/context_state.hpp"
#include "support/cli_test.hpp"
#include "support/contexts.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_edges_test {
namespace {

// Two triangles along the edge from 0 to 2.
constexpr const char* two_triangles = "NDIME= 2\nNELEM= 2\n5 0 1 2\n5 0 2 3\nNPOIN= 4\n0 0\n2 0\n2 2\n0 2\nNMARK= 0\n";

class CliEdges : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("square.su2", two_triangles);
    folder.write("edges.npy", npy_file("'<i8'", "(2, 2)", bytes_of<std::int64_t>({0, 1, 1, 2})));
    folder.write("values.npy", npy_file("'<f8'", "(3, 1)", bytes_of<double>({1, 2, 4})));
    folder.write("pairs.npy", npy_file("'<f8'", "(4, 2)", bytes_of<double>({1, 1, 2, 1, 4, 1, 8, 0})));
    folder.write("weights.npy", npy_file("'<f4'", "(2,)", bytes_of<float>({10, 100})));
  }
};

TEST_F(CliEdges, SumsOverArraysOfEdges) {
  for (const std::string backend : {"reference", "cpu"}) {
    const std::string rest = " --function weighted_difference -o out.npy --verify --quiet --backend " + backend;
    expect_success("edges edges.npy values.npy" + rest);
    EXPECT_EQ(folder.read("out.npy"), npy_file("'<f8'", "(3, 1)", bytes_of<double>({1, 1, -2})));
    expect_success("edges edges.npy values.npy --weights weights.npy --runs 1" + rest);
    EXPECT_EQ(folder.read("out.npy"), npy_file("'<f8'", "(3, 1)", bytes_of<double>({10, 190, -200})));
    expect_success("edges edges.npy values.npy --value-type f32 --runs 20" + rest);
    EXPECT_EQ(folder.read("out.npy"), npy_file("'<f4'", "(3, 1)", bytes_of<float>({1, 1, -2})));
  }
}

TEST_F(CliEdges, SumsForcesBetweenTheNodesOfAMesh) {
  for (const std::string backend : {"reference", "cpu"}) {
    const std::string rest = " -o out.npy --verify --quiet --backend " + backend;
    expect_success("edges square.su2" + rest);
    const std::string out = folder.read("out.npy");
    const std::string header = npy_file("'<f8'", "(4, 2)", "");
    ASSERT_EQ(out.size(), header.size() + 64);
    std::vector<double> forces(8);
    std::memcpy(forces.data(), out.data() + header.size(), 64);
    const double along = 1 / (8 * std::sqrt(2.0));  // of each component, along the diagonal
    const std::vector<double> expected{0.25 + along,  0.25 + along,  -0.25, 0.25,
                                       -0.25 - along, -0.25 - along, 0.25,  -0.25};
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(forces[i], expected[i], 1e-15) << i;
    expect_success("edges square.su2 pairs.npy --function weighted_difference --runs 30" + rest);
    EXPECT_EQ(
        folder.read("out.npy"),
        npy_file("'<f8'", "(4, 2)", bytes_of<double>({1 + 3 + 7, 0 + 0 - 1, -1 + 2, 0, -2 - 3 + 4, -1, -7 - 4, 2})));
  }
}

TEST_F(CliEdges, SumsThroughTheGraphicsPipeline) {
  if (!opengl_context()) GTEST_SKIP() << "no OpenGL device here";
  const std::string rest = " --value-type f32 -o out.npy --verify --backend opengl";
  expect_success("edges edges.npy values.npy --quiet --function weighted_difference" + rest);
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<f4'", "(3, 1)", bytes_of<float>({1, 1, -2})));
  expect_success("edges edges.npy values.npy --quiet --weights weights.npy --runs 1 --function weighted_difference" +
                 rest);
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<f4'", "(3, 1)", bytes_of<float>({10, 190, -200})));
  const program_result forces = run_sheaf(folder, "edges square.su2 --json --runs 20" + rest);
  ASSERT_EQ(forces.code, 0) << forces.err;
  const auto report = nlohmann::json::parse(forces.out);
  EXPECT_EQ(report["backend"], "opengl");
  EXPECT_EQ(report["device"], opengl_context()->state().device_name);
  EXPECT_EQ(report["value_type"], "f32");
  EXPECT_TRUE(report["verified"]);
  EXPECT_TRUE(report["variant"].get<std::string>().starts_with("opengl.")) << report["variant"];
}

TEST_F(CliEdges, SaysThatTheGraphicsPipelineNeedsF32) {
  EXPECT_NE(run_sheaf(folder, "edges --help").out.find("--backend opengl"), std::string::npos);
  if (!opengl_context()) GTEST_SKIP() << "no OpenGL device here";
  folder.write("out.npy", "old");
  expect_failure("edges square.su2 -o out.npy --backend opengl", 2,
                 "sheaf edges: --backend opengl works in f32, not in f64: add --value-type f32");
  EXPECT_EQ(folder.read("out.npy"), "old");
  folder.write("bad.npy", npy_file("'<i8'", "(2, 2)", bytes_of<std::int64_t>({0, 1, 1, 5})));
  expect_failure("edges bad.npy values.npy --value-type f32 -o out.npy --backend opengl", 3,
                 "sheaf edges: bad.npy: end 1 of edge 1 is 5, past the 3 nodes");
  EXPECT_EQ(folder.read("out.npy"), "old");
}

TEST_F(CliEdges, SaysWhatRunsTakeAndWhenLoadingHasPaid) {
  const program_result text = run_sheaf(folder, "edges square.su2 --backend cpu --verify");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("square.su2: 4 nodes, 5 edges, 2 components\nedges: cpu.")) << text.out;
  for (const char* part : {" runs a second; ", " in the median and ", " in the mean of 100 runs; verified\n",
                           "  loading: ", "; without, cpu."}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << " in " << text.out;
  }
  for (const char* absent : {"copy to the device", "dual: "}) {
    EXPECT_EQ(text.out.find(absent), std::string::npos) << absent << " in " << text.out;
  }
  const program_result json = run_sheaf(folder, "edges square.su2 --backend cpu --json --runs 7 -o out.npy");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["command"], "edges");
  EXPECT_EQ(report["nodes"], 4);
  EXPECT_EQ(report["edges"], 5);
  EXPECT_EQ(report["components"], 2);
  EXPECT_EQ(report["runs"], 7);
  EXPECT_EQ(report["function"], "inverse_square");
  EXPECT_EQ(report["output"], "out.npy");
  EXPECT_GT(report["seconds"], 0);
  EXPECT_GE(report["mean_seconds"], report["seconds"]);
  EXPECT_DOUBLE_EQ(report["runs_per_second"].get<double>(), 1 / report["seconds"].get<double>());
  EXPECT_GT(report["loading_seconds"], 0);
  EXPECT_EQ(report["copy_seconds"], 0);
  EXPECT_EQ(report["preparation_seconds"], report["loading_seconds"]);
  EXPECT_EQ(report["preparation"]["run_variant"], report["variant"]);
  EXPECT_TRUE(report.contains("pays_after_runs"));
  EXPECT_FALSE(report.contains("dual"));
}

TEST_F(CliEdges, CountsTheCopyToADeviceAsLoading) {
  if (!cuda_context()) GTEST_SKIP() << "no CUDA device here";
  const program_result json = run_sheaf(folder, "edges square.su2 --backend cuda --json --runs 3");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_GT(report["copy_seconds"], 0);
  EXPECT_DOUBLE_EQ(report["loading_seconds"].get<double>(),
                   report["copy_seconds"].get<double>() + report["preparation_seconds"].get<double>());
  const program_result text = run_sheaf(folder, "edges square.su2 --backend cuda --runs 3");
  EXPECT_NE(text.out.find(" of it the copy to the device"), std::string::npos) << text.out;
}

// Each triangle gives a third of its area, 2, to each of its nodes.
TEST_F(CliEdges, WritesTheMedianDualOfAMesh) {
  const std::string third = " --backend cpu --runs 1 --dual ";
  const program_result text = run_sheaf(folder, "edges square.su2" + third + "square");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("\ndual: volume 4, closure error "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(", 0 flat elements, 0 reoriented elements\n"), std::string::npos) << text.out;
  EXPECT_EQ(folder.read("square.edges.npy"),
            npy_file("'<u4'", "(5, 2)", bytes_of<std::uint32_t>({0, 1, 0, 2, 0, 3, 1, 2, 2, 3})));
  const auto numbers_of = [&](const std::string& name, const std::string& shape, std::size_t count) {
    const std::string all = folder.read(name);
    const std::string header = npy_file("'<f8'", shape, "");
    EXPECT_TRUE(all.starts_with(header)) << name;
    std::vector<double> numbers(count);
    EXPECT_EQ(all.size(), header.size() + count * sizeof(double)) << name;
    if (all.size() == header.size() + count * sizeof(double)) {
      std::memcpy(numbers.data(), all.data() + header.size(), count * sizeof(double));
    }
    return numbers;
  };
  const std::vector<double> volumes = numbers_of("square.volumes.npy", "(4,)", 4);
  const std::vector<double> expected{4.0 / 3, 2.0 / 3, 4.0 / 3, 2.0 / 3};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(volumes[i], expected[i], 1e-15) << i;
  // The dual face of the diagonal goes from centroid to centroid, at a right angle to it.
  const std::vector<double> normals = numbers_of("square.normals.npy", "(5, 2)", 10);
  EXPECT_NEAR(normals[2], 2.0 / 3, 1e-15);
  EXPECT_NEAR(normals[3], 2.0 / 3, 1e-15);

  folder.write("turned.su2",
               "NDIME= 2\nNELEM= 3\n5 0 2 1\n5 0 2 3\n5 0 4 1\nNPOIN= 5\n0 0\n2 0\n2 2\n0 2\n1 0\nNMARK= 0\n");
  const program_result json = run_sheaf(folder, "edges turned.su2 -o out.npy --json" + third + "turned");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto dual = nlohmann::json::parse(json.out)["dual"];
  EXPECT_NEAR(dual["volume"].get<double>(), 4, 1e-14);
  EXPECT_EQ(dual["flat_elements"], 1);
  EXPECT_EQ(dual["reoriented_elements"], 1);
  EXPECT_LT(dual["closure_error"], 1e-15);
  EXPECT_EQ(dual["outputs"],
            (std::vector<std::string>{"turned.volumes.npy", "turned.normals.npy", "turned.edges.npy"}));
}

TEST_F(CliEdges, WritesAllOfTheDualOrNothing) {
  folder.write("d.volumes.npy", "old");
  folder.write("out.npy", "old");
  folder.write("three.su2",
               "NDIME= 2\nNELEM= 3\n5 0 1 2\n5 0 1 3\n5 0 1 4\nNPOIN= 5\n0 0\n1 0\n0 1\n1 1\n0 -1\nNMARK= 0\n");
  expect_failure("edges three.su2 --dual d -o out.npy", 3,
                 "sheaf edges: three.su2: triangle 0, triangle 1 and triangle 2 share a face");
  expect_failure("edges square.su2 --dual d -o d.normals.npy", 2,
                 "sheaf edges: -o d.normals.npy and d.normals.npy of --dual are one file");
  folder.write("d.edges.npy", folder.read("pairs.npy"));
  expect_failure("edges square.su2 d.edges.npy --dual ./d -o out.npy", 2,
                 "sheaf edges: --dual ./d.edges.npy is the input d.edges.npy; inputs are never written");
  expect_failure("edges edges.npy values.npy --dual d", 2,
                 "sheaf edges: --dual needs a mesh, but edges.npy has only edges");
  EXPECT_EQ(folder.read("d.volumes.npy"), "old");
  EXPECT_EQ(folder.read("out.npy"), "old");
}

TEST_F(CliEdges, RefusesNumbersThatF32DoesNotHold) {
  const double infinite = std::numeric_limits<double>::infinity();
  folder.write("out.npy", "old");
  folder.write("far.su2", "NDIME= 2\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n0 0\n1 0\n0 1e308\nNMARK= 0\n");
  folder.write("large.npy", npy_file("'<f8'", "(3, 1)", bytes_of<double>({infinite, -1e39, 4})));
  folder.write("heavy.npy", npy_file("'<f8'", "(2,)", bytes_of<double>({1, 1e40})));
  const auto fails = [&](const std::string& arguments, const std::string& message) {
    expect_failure("edges " + arguments + " --value-type f32 -o out.npy", 3,
                   "sheaf edges: " + message + ", which f32 cannot hold; --value-type f64 does");
  };
  fails("far.su2", "far.su2: node 2: coordinate 1 is 1e+308");
  fails("edges.npy large.npy", "large.npy: node 1: component 0 is -1e+39");
  fails("edges.npy values.npy --weights heavy.npy", "heavy.npy: the weight of edge 1 is 1e+40");
  EXPECT_EQ(folder.read("out.npy"), "old");
  expect_success("edges far.su2 --quiet --runs 1");
  folder.write("large.npy", npy_file("'<f8'", "(3, 1)", bytes_of<double>({infinite, std::nan(""), 3.4e38})));
  expect_success("edges edges.npy large.npy --value-type f32 --quiet --runs 1 --verify");
}

TEST_F(CliEdges, GraphsWithoutEdgesOrNodesGiveWhatTheyHave) {
  folder.write("none.npy", npy_file("'<u4'", "(0, 2)", ""));
  folder.write("empty.npy", npy_file("'<f8'", "(0, 3)", ""));
  expect_success("edges none.npy values.npy --quiet --verify -o out.npy");
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<f8'", "(3, 1)", bytes_of<double>({0, 0, 0})));
  expect_success("edges none.npy empty.npy --quiet --verify -o out.npy");
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<f8'", "(0, 3)", ""));
}

TEST_F(CliEdges, BadInputsAreNamed) {
  folder.write("out.npy", "old");
  folder.write("bad.npy", npy_file("'<i8'", "(2, 2)", bytes_of<std::int64_t>({0, 1, 1, 5})));
  folder.write("flat.npy", npy_file("'<i8'", "(4,)", bytes_of<std::int64_t>({0, 1, 1, 2})));
  folder.write("wide.npy", npy_file("'<f8'", "(1, 9)", std::string(72, '\0')));
  folder.write("bad.su2", "NDIME= 2\nNELEM= 1\n5 0 1 7\nNPOIN= 3\n0 0\n1 0\n0 1\nNMARK= 0\n");
  const auto fails = [&](const std::string& arguments, const std::string& message) {
    expect_failure("edges " + arguments + " -o out.npy", 3, "sheaf edges: " + message);
  };
  fails("bad.npy values.npy", "bad.npy: end 1 of edge 1 is 5, past the 3 nodes");
  fails("flat.npy values.npy", "flat.npy: edges have shape (E, 2), one row of two nodes for each");
  folder.write("text.npy", "0 1\n");
  fails("text.npy values.npy", "text.npy: not an .npy file; raw files need the header of an .npy file");
  fails("values.npy values.npy",
        "values.npy: descr is '<f8'; an index has whole numbers of 1, 2, 4 or 8 bytes, signed or unsigned");
  fails("edges.npy wide.npy", "wide.npy: values have shape (N) or (N, C), with 1 to 8 components C");
  fails("edges.npy edges.npy", "edges.npy: descr is '<i8'; a vector is f4 or f8");
  fails("square.su2 values.npy", "values.npy: 3 rows, but square.su2 has 4 nodes");
  fails("edges.npy values.npy --weights values.npy", "values.npy: 3 numbers, but edges.npy has 2 edges");
  fails("none.su2", "none.su2: cannot be opened: No such file or directory");
  const program_result bad = run_sheaf(folder, "edges bad.su2 -o out.npy");
  EXPECT_EQ(bad.code, 3);
  EXPECT_TRUE(bad.err.starts_with("sheaf edges: bad.su2: line 3")) << bad.err;
  EXPECT_EQ(folder.read("out.npy"), "old");
}

TEST_F(CliEdges, UsageErrorsAreNamed) {
  expect_failure("edges edges.npy", 2, "sheaf edges: VALUES is needed: edges.npy has no positions of nodes");
  expect_failure("edges edges.npy values.npy -o ./values.npy", 2,
                 "sheaf edges: -o ./values.npy is the input values.npy; inputs are never written");
  for (const char* wrong : {"edges", "edges square.su2 --runs 0", "edges square.su2 --function other", "edges ''",
                            "edges square.su2 --dual ''", "edges square.su2 ''", "edges square.su2 --weights ''",
                            "edges square.su2 -o ''"}) {
    EXPECT_EQ(run_sheaf(folder, wrong).code, 2) << wrong;
  }
}

// The check finds wrong answers, which the calls above never give.
TEST(EdgeSumCheck, FindsWhatNoOrderOfSumsExplains) {
  const std::vector<std::uint32_t> first{0, 1};
  const std::vector<std::uint32_t> second{1, 2};
  const std::vector<double> values{1, 2, 4};
  const auto mistake = [&](const std::vector<double>& result, edge_function function) {
    return jobs::edge_sum_mistake(edge_view(first, second), values, {}, result, 1, function);
  };
  EXPECT_EQ(mistake({1, 1, -2}, edge_function::weighted_difference), std::nullopt);
  EXPECT_EQ(mistake({1 + 4e-16, 1, -2}, edge_function::weighted_difference), std::nullopt);
  EXPECT_EQ(mistake({1, 1, -2.5}, edge_function::weighted_difference),
            "component 0 of node 2 is -2.5, but the sum of its 1 terms is -2");
  EXPECT_EQ(mistake({1, -0.75, -0.25}, edge_function::inverse_square), std::nullopt);
  EXPECT_EQ(mistake({1, 0.75, -0.25}, edge_function::inverse_square),
            "component 0 of node 1 is 0.75, but the sum of its 2 terms is -0.75");
  EXPECT_NE(mistake({NAN, 1, -2}, edge_function::weighted_difference), std::nullopt);
}

// 1e-310 is below the least normal number, 2e-308.
TEST(EdgeSumCheck, TakesWhatIsBelowTheNormalNumbersForZeroOrAsItIs) {
  const std::vector<std::uint32_t> first{0};
  const std::vector<std::uint32_t> second{1};
  const auto mistake = [&](double value, double weight, double sum, edge_function function) {
    const std::vector<double> values{0, value};
    const std::vector<double> weights{weight};
    const std::vector<double> result{sum, -sum};
    return jobs::edge_sum_mistake(edge_view(first, second), values, weights, result, 1, function);
  };
  for (const auto& [value, weight] : {std::pair{1e-310, 1e100}, std::pair{1e100, 1e-310}, std::pair{1e-160, 1e-160}}) {
    EXPECT_EQ(mistake(value, weight, value * weight, edge_function::weighted_difference), std::nullopt) << value;
    EXPECT_EQ(mistake(value, weight, 0, edge_function::weighted_difference), std::nullopt) << value;
    EXPECT_NE(mistake(value, weight, 1e-100, edge_function::weighted_difference), std::nullopt) << value;
  }
  EXPECT_EQ(mistake(1e100, 1e-120, 0, edge_function::inverse_square), std::nullopt);
  EXPECT_NE(mistake(1e100, 1e-100, 0, edge_function::inverse_square), std::nullopt);
}

// What calls make of numbers at the ends of their range is right, and the exact sum says nothing of it.
TEST_F(CliEdges, VerifiesWhatOverflowsOnItsWay) {
  folder.write("pair.npy", npy_file("'<i8'", "(1, 2)", bytes_of<std::int64_t>({0, 1})));
  const double infinite = std::numeric_limits<double>::infinity();
  const auto holds = [&](const std::vector<double>& two_values, double weight, const std::string& function) {
    folder.write("v.npy", npy_file("'<f8'", "(2,)", bytes_of<double>(two_values)));
    folder.write("w.npy", npy_file("'<f8'", "(1,)", bytes_of<double>({weight})));
    expect_success("edges pair.npy v.npy --weights w.npy --runs 1 --quiet --verify --function " + function);
  };
  for (const double weight : {infinite, std::nan("")}) holds({3, 3}, weight, "inverse_square");
  for (const double weight : {0.0, 1e-10}) holds({-1.5e308, 1.5e308}, weight, "weighted_difference");
  holds({infinite, 1}, 1, "weighted_difference");
  holds({0, 1e-100}, 1e300, "inverse_square");
  holds({0, 1e-200}, 1, "inverse_square");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_edges_test
