// sheaf spmv on MatrixMarket files, and the check behind --verify.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/sheaf/checks/spmv.hpp"
#include "core/context_state.hpp"
#include "support/cli_test.hpp"
#include "support/contexts.hpp"
#include "support/matrix_market.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_spmv_test {
namespace {

constexpr const char* two_by_three = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n1 3 2\n2 2 -1\n";

class CliSpmv : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("a.mtx", two_by_three);
    folder.write("x.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({1, 10, 100})));
    folder.write("narrow.npy", npy_file("'<f4'", "(3,)", bytes_of<float>({1, 10, 100})));
    folder.write("y.npy", npy_file("'<f8'", "(2,)", bytes_of<double>({7, 9})));
  }
  void expect_result(const std::string& file, const std::vector<double>& numbers) {
    EXPECT_EQ(folder.read(file), npy_header("'<f8'", numbers.size()) + bytes_of<double>(numbers));
  }
  static std::string npy_header(const std::string& descr, std::size_t count) {
    return npy_file(descr, "(" + std::to_string(count) + ",)", "");
  }
};

TEST_F(CliSpmv, MultipliesByOnesOrAVector) {
  for (const std::string backend : {"reference", "cpu"}) {
    const std::string rest = " --verify --quiet --backend " + backend;
    expect_success("spmv a.mtx -o ones.npy" + rest);
    expect_result("ones.npy", {3.5, -1});
    expect_success("spmv a.mtx x.npy -o p.npy" + rest);
    expect_result("p.npy", {201.5, -10});
    expect_success("spmv a.mtx narrow.npy -o p.npy --runs 3" + rest);
    expect_result("p.npy", {201.5, -10});
    expect_success("spmv a.mtx y.npy -o t.npy --transposed" + rest);
    expect_result("t.npy", {10.5, -9, 14});
    expect_success("spmv a.mtx y.npy -o t.npy --transposed --runs 20" + rest);
    expect_result("t.npy", {10.5, -9, 14});
    for (const std::string order : {"deterministic", "unordered --runs 20", "unordered"}) {
      const std::string line = fmt::format("spmv a.mtx y.npy -o t.npy --transposed --order {}", order);
      expect_success(line + rest);
      expect_result("t.npy", {10.5, -9, 14});
      const nlohmann::json report = nlohmann::json::parse(run_sheaf(folder, line + " --json").out);
      EXPECT_EQ(report["order"], order.substr(0, order.find(' ')));
    }
    expect_success("spmv a.mtx x.npy -o s.npy --alpha 2 --beta -1 --y y.npy --runs 2" + rest);
    expect_result("s.npy", {396, -29});
    expect_success("spmv a.mtx x.npy -o f.npy --value-type f32" + rest);
    EXPECT_EQ(folder.read("f.npy"), npy_header("'<f4'", 2) + bytes_of<float>({201.5, -10}));
  }
}

TEST_F(CliSpmv, MultipliesThroughTheGraphicsPipeline) {
  if (!opengl_context()) GTEST_SKIP() << "no OpenGL device here";
  const std::string rest = " --value-type f32 --verify --quiet --backend opengl";
  expect_success("spmv a.mtx x.npy -o f.npy" + rest);
  EXPECT_EQ(folder.read("f.npy"), npy_header("'<f4'", 2) + bytes_of<float>({201.5, -10}));
  expect_success("spmv a.mtx x.npy -o f.npy --runs 20 --alpha 2 --beta -1 --y y.npy" + rest);
  EXPECT_EQ(folder.read("f.npy"), npy_header("'<f4'", 2) + bytes_of<float>({396, -29}));
  expect_success("spmv a.mtx y.npy -o f.npy --transposed" + rest);
  EXPECT_EQ(folder.read("f.npy"), npy_header("'<f4'", 3) + bytes_of<float>({10.5, -9, 14}));
  expect_failure("spmv a.mtx x.npy -o f.npy --backend opengl", 2,
                 "sheaf spmv: --backend opengl works in f32, not in f64: add --value-type f32");
  const program_result json = run_sheaf(folder, "spmv a.mtx x.npy -o f.npy --json --value-type f32 --backend opengl");
  EXPECT_EQ(nlohmann::json::parse(json.out)["device"], opengl_context()->state().device_name);
}

TEST_F(CliSpmv, SaysWhatTheMatrixIsAndWhatWasTaken) {
  const program_result text = run_sheaf(folder, "spmv a.mtx x.npy -o p.npy --backend cpu --verify");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("spmv: 2 x 3 with 3 nonzeros, cpu.rows in ")) << text.out;
  EXPECT_TRUE(text.out.ends_with("; verified\n")) << text.out;
  EXPECT_EQ(std::ranges::count(text.out, '\n'), 1) << text.out;
  EXPECT_EQ(text.err, "");
  const program_result asked = run_sheaf(folder, "spmv a.mtx x.npy -o p.npy --backend cpu --verbose");
  EXPECT_EQ(std::ranges::count(asked.out, '\n'), 1) << asked.out;
  EXPECT_TRUE(asked.err.starts_with("a.mtx: rows of 1 to 2 nonzeros, 1.5 in the mean; bandwidth 2\n")) << asked.err;
  EXPECT_NE(asked.err.find("\nspmv: cpu.rows: predicted "), std::string::npos) << asked.err;
  EXPECT_NE(asked.err.find(", taken\n"), std::string::npos) << asked.err;
  EXPECT_NE(asked.err.find("\nspmv: cpu.private: multiplies by the transposed matrix\n"), std::string::npos)
      << asked.err;
  const program_result json = run_sheaf(folder, "spmv a.mtx x.npy -o p.npy --backend cpu --json --runs 5");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["command"], "spmv");
  EXPECT_EQ(report["rows"], 2);
  EXPECT_EQ(report["columns"], 3);
  EXPECT_EQ(report["nonzeros"], 3);
  EXPECT_EQ(report["row_nonzeros"]["least"], 1);
  EXPECT_EQ(report["row_nonzeros"]["most"], 2);
  EXPECT_EQ(report["bandwidth"], 2);
  EXPECT_EQ(report["transposed"], false);
  EXPECT_EQ(report["order"], "deterministic");
  EXPECT_EQ(report["variant"], "cpu.rows");
  EXPECT_EQ(report["runs"], 5);
  EXPECT_EQ(report["verified"], false);
  EXPECT_GT(report["predicted_seconds"], 0);
  EXPECT_TRUE(report.contains("preparation_seconds"));
  EXPECT_FALSE(report["variants"].empty());
  EXPECT_EQ(report["preparation"]["variant"], "kept");
  EXPECT_EQ(report["preparation"]["timed"], false) << "fewer than 16 runs are to come";
  EXPECT_GT(report["runs_per_second"], 0);
}

// With --runs the text is about the preparation whose runs are timed, and its choice among preparations.
TEST_F(CliSpmv, SaysWhatWasPrepared) {
  const program_result kept = run_sheaf(folder, "spmv a.mtx x.npy -o p.npy --backend cpu --runs 5 -v");
  ASSERT_EQ(kept.code, 0) << kept.err;
  EXPECT_NE(kept.out.find(" nonzeros, cpu.rows in "), std::string::npos) << kept.out;
  EXPECT_TRUE(kept.out.ends_with(" runs a second\n")) << kept.out;
  EXPECT_NE(kept.err.find("\nprepared: kept in "), std::string::npos) << kept.err;
  EXPECT_NE(kept.err.find(", whose runs are cpu.rows, saves no time; 0 bytes kept\n"), std::string::npos) << kept.err;
  EXPECT_NE(kept.err.find(": kept: predicted "), std::string::npos) << kept.err;
  EXPECT_NE(kept.err.find(" with 5 runs, taken\n"), std::string::npos) << kept.err;
  EXPECT_NE(kept.err.find(": cpu.transposed: only transposed products gain from a transposed matrix\n"),
            std::string::npos)
      << kept.err;
  EXPECT_EQ(kept.err.find(": cpu.private: "), std::string::npos) << kept.err;
  std::string band = "%%MatrixMarket matrix coordinate real general\n3000 3000 8998\n";
  for (int row = 1; row <= 3000; ++row) {
    for (int column = std::max(1, row - 1); column <= std::min(3000, row + 1); ++column) {
      band += fmt::format("{} {} {}\n", row, column, column - row + 3);
    }
  }
  folder.write("band.mtx", band);
  setenv("SHEAF_VARIANT", "prepare_spmv:cpu.diagonals", 1);
  const program_result forced = run_sheaf(folder, "spmv band.mtx -o p.npy --backend cpu --verify --runs 20 --verbose");
  unsetenv("SHEAF_VARIANT");
  ASSERT_EQ(forced.code, 0) << forced.err;
  EXPECT_NE(forced.out.find(" nonzeros, cpu.diagonals in "), std::string::npos) << forced.out;
  EXPECT_NE(forced.err.find("\nprepared: cpu.diagonals in "), std::string::npos) << forced.err;
  EXPECT_NE(forced.err.find(", whose runs are cpu.diagonals, "), std::string::npos) << forced.err;
  const program_result by_name =
      run_sheaf(folder, "spmv band.mtx -o p.npy --backend cpu --verify --runs 20 --variant cpu.rows --json");
  ASSERT_EQ(by_name.code, 0) << by_name.err;
  EXPECT_FALSE(nlohmann::json::parse(by_name.out).contains("preparation")) << "a named variant runs unprepared";
  EXPECT_EQ(nlohmann::json::parse(by_name.out)["variant"], "cpu.rows");
  EXPECT_NE(forced.out.find("; verified\n"), std::string::npos) << forced.out;
}

TEST_F(CliSpmv, MatricesWithoutRowsOrColumnsGiveWhatTheyHave) {
  folder.write("flat.mtx", "%%MatrixMarket matrix coordinate real general\n0 3 0\n");
  folder.write("thin.mtx", "%%MatrixMarket matrix coordinate real general\n3 0 0\n");
  expect_success("spmv flat.mtx -o out.npy --quiet --verify --runs 2");
  expect_result("out.npy", {});
  expect_success("spmv thin.mtx -o out.npy --quiet --verify --runs 2");
  expect_result("out.npy", {0, 0, 0});
  expect_success("spmv flat.mtx -o out.npy --quiet --verify --transposed");
  expect_result("out.npy", {0, 0, 0});
}

TEST_F(CliSpmv, BadInputsAreNamed) {
  folder.write("out.npy", "old");
  folder.write("whole.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({1, 2, 3})));
  folder.write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 4 1.5\n");
  expect_failure("spmv a.mtx whole.npy -o out.npy", 3, "sheaf spmv: whole.npy: descr is '<i4'; a vector is f4 or f8");
  expect_failure("spmv a.mtx y.npy -o out.npy", 3, "sheaf spmv: y.npy: 2 numbers, but a.mtx has 3 columns");
  expect_failure("spmv a.mtx x.npy --transposed -o out.npy", 3, "sheaf spmv: x.npy: 3 numbers, but a.mtx has 2 rows");
  expect_failure("spmv a.mtx --beta 1 --y x.npy -o out.npy", 3, "sheaf spmv: x.npy: 3 numbers, but a.mtx has 2 rows");
  expect_failure("spmv none.mtx -o out.npy", 3, "sheaf spmv: none.mtx: cannot be opened: No such file or directory");
  const program_result bad = run_sheaf(folder, "spmv bad.mtx -o out.npy");
  EXPECT_EQ(bad.code, 3);
  EXPECT_TRUE(bad.err.starts_with("sheaf spmv: bad.mtx: line 3")) << bad.err;
  EXPECT_EQ(folder.read("out.npy"), "old");
}

// What SciPy writes of a dense or a sparse vector, and by gzip; the matrix may be an array, too.
TEST_F(CliSpmv, VectorsMayBeMatrixMarketFiles) {
  folder.write("x.mtx", "%%MatrixMarket matrix array real general\n% by hand\n3 1\n1\n10\n100\n");
  folder.write("sparse.mtx", "%%MatrixMarket matrix coordinate integer general\n1 3 2\n1 3 100.0\n1 1 1\n");
  folder.write("y.mtx.gz", gzipped("%%MatrixMarket matrix array real general\n2 1\n7\n9\n"));
  folder.write("dense.mtx", "%%MatrixMarket matrix array real general\n2 3\n1.5\n0\n0\n-1\n2\n0\n");
  for (const std::string backend : {"reference", "cpu"}) {
    const std::string rest = " --verify --quiet --backend " + backend;
    for (const std::string matrix : {"a.mtx", "dense.mtx"}) {
      expect_success(fmt::format("spmv {} x.mtx -o p.npy{}", matrix, rest));
      expect_result("p.npy", {201.5, -10});
      expect_success(fmt::format("spmv {} sparse.mtx -o p.npy --runs 3{}", matrix, rest));
      expect_result("p.npy", {201.5, 0});
    }
    expect_success("spmv a.mtx y.mtx.gz -o t.npy --transposed" + rest);
    expect_result("t.npy", {10.5, -9, 14});
    expect_success("spmv a.mtx x.mtx -o s.npy --alpha 2 --beta -1 --threads 1 --y y.mtx.gz" + rest);
    expect_result("s.npy", {396, -29});
    expect_success("spmv a.mtx x.mtx -o f.npy --value-type f32" + rest);
    EXPECT_EQ(folder.read("f.npy"), npy_header("'<f4'", 2) + bytes_of<float>({201.5, -10}));
  }
  EXPECT_EQ(folder.read("x.mtx"), "%%MatrixMarket matrix array real general\n% by hand\n3 1\n1\n10\n100\n");
}

TEST_F(CliSpmv, VectorsOfMatrixMarketFilesHaveOneNumberForEachColumnOrRow) {
  folder.write("out.npy", "old");
  folder.write("two.mtx", "%%MatrixMarket matrix array real general\n2 1\n7\n9\n");
  folder.write("row.mtx", "%%MatrixMarket matrix coordinate real general\n1 9000000000000000000 1\n1 1 1\n");
  folder.write("x.zip", "PK\x03\x04 and more");
  folder.write("x.txt", "1\n2\n3\n");
  folder.write("cut.npy", "1\n2\n3\n");
  folder.write("large.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n1e39\n0\n");
  expect_failure("spmv a.mtx two.mtx -o out.npy", 3, "sheaf spmv: two.mtx: 2 numbers, but a.mtx has 3 columns");
  expect_failure("spmv a.mtx --beta 1 --y row.mtx -o out.npy", 3,
                 "sheaf spmv: row.mtx: 9000000000000000000 numbers, but a.mtx has 2 rows");
  expect_failure("spmv a.mtx large.mtx --transposed -o out.npy", 3,
                 "sheaf spmv: large.mtx: 3 numbers, but a.mtx has 2 rows");
  expect_failure("spmv a.mtx large.mtx --value-type f32 -o out.npy", 3,
                 "sheaf spmv: large.mtx: line 4: value '1e39' is past the range of f32");
  expect_failure("spmv a.mtx a.mtx -o out.npy", 3,
                 "sheaf spmv: a.mtx: line 2: a vector has one column or one row, not 2 rows and 3 columns");
  expect_failure(
      "spmv a.mtx x.zip -o out.npy", 3,
      "sheaf spmv: x.zip: not a MatrixMarket file, but a zip archive, as .npz files are: unpack it, or write "
      "the matrix by scipy.io.mmwrite");
  expect_failure("spmv a.mtx x.txt -o out.npy", 3,
                 "sheaf spmv: x.txt: line 1: not a MatrixMarket file: it starts with '1', not '%%MatrixMarket'");
  expect_failure("spmv x.npy -o out.npy", 3,
                 "sheaf spmv: x.npy: not a MatrixMarket file, but a NumPy array (.npy): write it by scipy.io.mmwrite");
  expect_failure("spmv a.mtx two.mtx -o two.mtx", 2,
                 "sheaf spmv: -o two.mtx is the input two.mtx; inputs are never written");
  const program_result cut = run_sheaf(folder, "spmv a.mtx cut.npy -o out.npy");
  EXPECT_EQ(cut.code, 3);
  EXPECT_TRUE(cut.err.starts_with("sheaf spmv: cut.npy: not an .npy file")) << cut.err;
  EXPECT_EQ(folder.read("out.npy"), "old");
}

// A few bytes announce columns whose vector no memory holds.
TEST_F(CliSpmv, VectorsThatMemoryDoesNotHoldAreRefusedBeforeTheyAreTaken) {
  for (const std::string columns : {"1000000000000000", "1200000000000000000"}) {
    folder.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n1 " + columns + " 1\n1 1 1\n");
    for (const std::string options : {"", " --transposed", " --value-type f32 --runs 20"}) {
      const program_result refused = run_sheaf(folder, "spmv wide.mtx -o out.npy --backend cpu" + options);
      EXPECT_EQ(refused.code, 5) << options;
      EXPECT_TRUE(refused.err.starts_with("sheaf spmv: wide.mtx: line 2: a matrix of 1 rows, " + columns +
                                          " columns and 1 entries and its vectors take "))
          << refused.err;
      EXPECT_TRUE(refused.err.ends_with(" are available\n")) << refused.err;
    }
  }
  EXPECT_FALSE(folder.has("out.npy"));
}

TEST_F(CliSpmv, NumbersAreFiniteAndAllOfTheirOption) {
  for (const std::string option : {"--alpha", "--beta"}) {
    for (const std::string number : {"1e400", "inf", "nan", "1x", "1 2", "0x10"}) {
      const program_result refused =
          run_sheaf(folder, fmt::format("spmv a.mtx --y y.npy -o out.npy {} '{}'", option, number));
      EXPECT_EQ(refused.code, 2) << number;
      EXPECT_NE(refused.err.find(fmt::format("{}: '{}' is not a finite number", option, number)), std::string::npos)
          << refused.err;
    }
    const program_result empty = run_sheaf(folder, "spmv a.mtx --y y.npy -o out.npy " + option + " ''");
    EXPECT_EQ(empty.code, 2);
    EXPECT_NE(empty.err.find(option + ": the value is empty"), std::string::npos) << empty.err;
  }
  expect_success("spmv a.mtx x.npy -o s.npy --alpha +2.0e0 --beta=-1 --y y.npy --quiet");
  expect_result("s.npy", {396, -29});
}

TEST_F(CliSpmv, RefusesNumbersThatF32DoesNotHold) {
  const double infinite = std::numeric_limits<double>::infinity();
  folder.write("out.npy", "old");
  folder.write("far.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({infinite, -1e39, 1})));
  folder.write("high.npy", npy_file("'<f8'", "(2,)", bytes_of<double>({1, 3.4028236e38})));
  const auto fails = [&](const std::string& arguments, int code, const std::string& message) {
    expect_failure("spmv a.mtx " + arguments + " --value-type f32 -o out.npy", code,
                   "sheaf spmv: " + message + ", which f32 cannot hold; --value-type f64 does");
  };
  fails("far.npy", 3, "far.npy: [1] is -1e+39");
  fails("high.npy --transposed", 3, "high.npy: [1] is 3.4028236e+38");
  fails("x.npy --beta 1 --y high.npy", 3, "high.npy: [1] is 3.4028236e+38");
  fails("x.npy --alpha 1e300", 2, "--alpha is 1e+300");
  fails("x.npy --beta -1e39 --y y.npy", 2, "--beta is -1e+39");
  EXPECT_EQ(folder.read("out.npy"), "old");
  expect_success("spmv a.mtx far.npy -o out.npy --alpha 1e300 --quiet");
  // What is not finite stays so, the largest numbers are kept, and those that are too small become 0.
  folder.write("far.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({infinite, 3.4028235e38, 1e-300})));
  expect_success("spmv a.mtx far.npy --value-type f32 -o out.npy --alpha 1e-300 --beta 0.5 --y y.npy --quiet");
  expect_success("spmv a.mtx far.npy --value-type f32 -o out.npy --quiet --verify");
  EXPECT_EQ(folder.read("out.npy"), npy_header("'<f4'", 2) + bytes_of<float>({std::numeric_limits<float>::infinity(),
                                                                              -std::numeric_limits<float>::max()}));
}

TEST_F(CliSpmv, EmptyNamesAreNoOptionsThatWereLeftOut) {
  for (const char* wrong : {"spmv '' -o out.npy", "spmv a.mtx -o ''", "spmv a.mtx '' -o out.npy",
                            "spmv a.mtx -o out.npy --beta 1 --y ''"}) {
    const program_result result = run_sheaf(folder, wrong);
    EXPECT_EQ(result.code, 2) << wrong;
    EXPECT_NE(result.err.find("the value is empty"), std::string::npos) << result.err;
  }
}

TEST_F(CliSpmv, UsageErrorsAreNamed) {
  expect_failure("spmv a.mtx --beta 2 -o out.npy", 2, "sheaf spmv: --beta 2 multiplies a vector, which --y names");
  expect_failure("spmv a.mtx x.npy -o ./x.npy", 2,
                 "sheaf spmv: -o ./x.npy is the input x.npy; inputs are never written");
  for (const char* wrong :
       {"spmv a.mtx", "spmv -o out.npy", "spmv a.mtx --runs 0 -o out.npy", "spmv a.mtx --alpha x -o o.npy"}) {
    EXPECT_EQ(run_sheaf(folder, wrong).code, 2) << wrong;
  }
}

// The check finds wrong answers, which the calls above never give.
class ProductCheck : public testing::Test {
 protected:
  std::optional<std::string> mistake(const std::vector<double>& y, const jobs::product_terms& terms = {}) const {
    return jobs::product_mistake({2, 3, offsets, columns, numbers}, x, y, terms);
  }
  std::vector<std::uint64_t> offsets{0, 2, 3};
  std::vector<std::uint32_t> columns{0, 2, 1};
  std::vector<double> numbers{1.5, 2, -1};
  std::vector<double> x{1, 10, 100};
};

TEST_F(ProductCheck, FindsWhatNoOrderOfSumsExplains) {
  EXPECT_EQ(mistake({201.5, -10}), std::nullopt);
  EXPECT_EQ(mistake({201.5 * (1 + 2e-16), -10}), std::nullopt);
  EXPECT_EQ(mistake({201.5, -10.5}), "y[1] is -10.5, but the sum of its 1 terms is -10");
  EXPECT_EQ(mistake({201.500001, -10}), "y[0] is 201.500001, but the sum of its 2 terms is 201.5");
  const std::vector<double> before{7, 9};
  EXPECT_EQ(mistake({396, -29}, {2, -1, before.data(), false}), std::nullopt);
  EXPECT_EQ(mistake({396, -28}, {2, -1, before.data(), false}), "y[1] is -28, but the sum of its 2 terms is -29");
}

// Threads check ranges of columns of a transposed product, and the first wrong one is named.
TEST(TransposedProductCheck, FindsTheFirstMistakeForAnyNumberOfThreads) {
  constexpr std::uint64_t columns_of_a = 300'000;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> columns;
  for (std::uint64_t row = 0; row < 3; ++row) {
    for (std::uint64_t c = row; c < columns_of_a; c += row + 1) columns.push_back(static_cast<std::uint32_t>(c));
    offsets.push_back(columns.size());
  }
  const std::vector<double> numbers(columns.size(), 0.5);
  const std::vector<double> x{1, 10, 100};
  std::vector<double> right(columns_of_a);
  for (std::uint64_t row = 0; row < 3; ++row) {
    for (std::uint64_t place = offsets[row]; place < offsets[row + 1]; ++place) right[columns[place]] += 0.5 * x[row];
  }
  for (const int threads : {1, 2, 7}) {
    const auto mistake = [&](const std::vector<double>& y) {
      return jobs::product_mistake({3, columns_of_a, offsets, columns, numbers}, x, y, {1, 0, nullptr, true, threads});
    };
    EXPECT_EQ(mistake(right), std::nullopt) << threads;
    std::vector<double> wrong = right;
    for (const std::uint64_t c : {299'999U, 200'003U, 65'536U, 65'535U, 0U}) {
      wrong[c] += 1;
      EXPECT_TRUE(mistake(wrong).value_or("").starts_with(fmt::format("y[{}] is ", c))) << threads;
    }
  }
}

TEST_F(ProductCheck, TakesWhatIsNotFiniteAsItIs) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  x[1] = infinity;
  EXPECT_EQ(mistake({201.5, -infinity}), std::nullopt);
  EXPECT_NE(mistake({201.5, infinity}), std::nullopt);
  EXPECT_NE(mistake({201.5, nan}), std::nullopt);
  x[1] = nan;
  EXPECT_EQ(mistake({201.5, nan}), std::nullopt);
  EXPECT_NE(mistake({201.5, 1}), std::nullopt);
}

// 1e-320 is below the least normal number, 2e-308.
TEST_F(ProductCheck, TakesWhatIsBelowTheNormalNumbersForZeroOrAsItIs) {
  numbers = {1e-320, 0, 1e-200};
  x[0] = 1e10;
  x[1] = 1e-200;
  for (const double y : {0.0, 1e-310}) EXPECT_EQ(mistake({y, 0}), std::nullopt) << y;
  EXPECT_NE(mistake({1e-300, 0}), std::nullopt);
  EXPECT_NE(mistake({0, 1e-300}), std::nullopt);
  // A product is lost before alpha brings it back.
  EXPECT_EQ(mistake({0, 0}, {1e300, 0, nullptr, false}), std::nullopt);
  EXPECT_NE(mistake({0, 1}, {1e300, 0, nullptr, false}), std::nullopt);
}

TEST_F(ProductCheck, MultipliesByABetaThatItsTypeRoundsToZero) {
  const std::vector<double> before{std::nan(""), 5};
  std::vector<float> narrow{1.5F, 2, -1};
  const std::vector<float> of_x{1, 10, 100};
  const auto wrong = [&](const std::vector<float>& y, double beta) {
    return jobs::product_mistake({2, 3, offsets, columns, narrow}, of_x, y, {1, beta, before.data(), false});
  };
  EXPECT_EQ(wrong({std::nanf(""), -10}, 1e-50), std::nullopt);
  EXPECT_NE(wrong({201.5F, -10}, 1e-50), std::nullopt);
  EXPECT_EQ(wrong({201.5F, -10}, 0), std::nullopt);
}

// alpha multiplies the sum of a row, and not its terms.
TEST_F(ProductCheck, MultipliesSumsByAnAlphaThatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  numbers = {-1.5, 2, 0};
  EXPECT_EQ(mistake({infinity, nan}, {infinity, 0, nullptr, false}), std::nullopt);
  EXPECT_NE(mistake({nan, nan}, {infinity, 0, nullptr, false}), std::nullopt);
  EXPECT_NE(mistake({infinity, 0}, {infinity, 0, nullptr, false}), std::nullopt);
  EXPECT_EQ(mistake({nan, nan}, {nan, 0, nullptr, false}), std::nullopt);
  offsets = {0, 0, 0};
  EXPECT_EQ(mistake({nan, nan}, {infinity, 0, nullptr, false}), std::nullopt) << "infinity times nothing is NaN";
  EXPECT_NE(mistake({0, nan}, {infinity, 0, nullptr, false}), std::nullopt);
}

TEST_F(ProductCheck, DoesNotJudgeTermsThatOverflowBesideInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  x = {infinity, 10, -1e308};
  numbers = {1.5, 2, -1};
  EXPECT_EQ(mistake({nan, -10}), std::nullopt) << "-2e308 is -infinity in f64";
  EXPECT_EQ(mistake({infinity, -10}), std::nullopt);
  numbers = {1.5, 1, -1};
  EXPECT_EQ(mistake({infinity, -10}), std::nullopt);
  EXPECT_NE(mistake({nan, -10}), std::nullopt);
}

TEST_F(ProductCheck, DoesNotJudgeSumsThatOverflowBeforeAlpha) {
  numbers = {1.5e308, 1e307, -1};
  x = {1, 1, 100};
  offsets = {0, 2, 3};
  EXPECT_EQ(mistake({1.6e298, -1e-10}, {1e-10, 0, nullptr, false}), std::nullopt);
  x[2] = 1e10;
  for (const double y : {std::numeric_limits<double>::infinity(), 1e307}) {
    EXPECT_EQ(mistake({y, -1e-10}, {1e-10, 0, nullptr, false}), std::nullopt) << y;
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_spmv_test
