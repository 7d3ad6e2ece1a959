// sheaf solve on MatrixMarket files, sheaf npb-cg, and the check behind --verify.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/nas.hpp"
#include "support/cli_test.hpp"
#include "support/matrix_market.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_solve_test {
namespace {

constexpr const char* springs =
    "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 2\n2 1 -1\n2 2 2\n3 2 -1\n3 3 2\n";

class CliSolve : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("a.mtx", springs);
    folder.write("b.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({4, 0, 0})));
    folder.write("narrow.npy", npy_file("'<f4'", "(3,)", bytes_of<float>({4, 0, 0})));
  }
  template <class Value>
  void expect_result(const std::string& file, const std::vector<Value>& numbers) {
    const std::string header = npy_file(sizeof(Value) == 8 ? "'<f8'" : "'<f4'", "(3,)", "");
    const std::string found = folder.read(file);
    ASSERT_EQ(found.size(), header.size() + 3 * sizeof(Value));
    EXPECT_EQ(found.substr(0, header.size()), header);
    for (std::size_t i = 0; i < 3; ++i) {
      Value number = 0;
      std::memcpy(&number, found.data() + header.size() + i * sizeof(Value), sizeof(Value));
      EXPECT_NEAR(number, numbers[i], 1e-5) << i;
    }
  }
};

TEST_F(CliSolve, SolvesForOnesOrAVector) {
  for (const std::string backend : {"reference", "cpu"}) {
    const std::string rest = " --verify --quiet --backend " + backend;
    expect_success("solve a.mtx -o x.npy" + rest);
    expect_result<double>("x.npy", {1.5, 2, 1.5});
    expect_success("solve a.mtx b.npy -o x.npy --jacobi" + rest);
    expect_result<double>("x.npy", {3, 2, 1});
    expect_success("solve a.mtx narrow.npy -o x.npy --value-type f32 --tolerance 1e-6" + rest);
    expect_result<float>("x.npy", {3, 2, 1});
    expect_success("solve a.mtx b.npy -o x.npy --tolerance 0 --absolute 1e-9 --threads 1" + rest);
    expect_result<double>("x.npy", {3, 2, 1});
  }
}

// Runs begin from 0 each, and one of them is written.
TEST_F(CliSolve, RunsChangeNothingButTheTimes) {
  for (const std::string backend : {"reference", "cpu"}) {
    const std::string rest = " --jacobi --value-type f32 --quiet --verify --backend " + backend;
    expect_success("solve a.mtx narrow.npy -o once.npy --history once.csv" + rest);
    expect_success("solve a.mtx narrow.npy -o often.npy --history often.csv --runs 4" + rest);
    EXPECT_EQ(folder.read("often.npy"), folder.read("once.npy"));
    EXPECT_EQ(folder.read("often.csv"), folder.read("once.csv"));
  }
  const program_result text = run_sheaf(folder, "solve a.mtx -o x.npy --runs 5");
  EXPECT_NE(text.out.find("; least of 5 runs, "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(" in the median, "), std::string::npos) << text.out;
  const program_result json = run_sheaf(folder, "solve a.mtx -o x.npy --runs 5 --json");
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["runs"], 5);
  EXPECT_LE(report["seconds"], report["median_seconds"]);
}

TEST_F(CliSolve, SaysHowItEnded) {
  const program_result text = run_sheaf(folder, "solve a.mtx -o x.npy --backend cpu --verify --history r.csv");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("a.mtx: 3 rows, 7 nonzeros\nsolve: converged after 2 iterations, |b - A x| = "))
      << text.out;
  EXPECT_NE(text.out.find("; verified\n  cpu.fused in "), std::string::npos) << text.out;
  const std::string history = folder.read("r.csv");
  EXPECT_TRUE(history.starts_with("iteration,residual,relative_residual\n0,1.7320508075688772,1\n1,")) << history;
  EXPECT_EQ(std::count(history.begin(), history.end(), '\n'), 4);
  const program_result json = run_sheaf(folder, "solve a.mtx -o x.npy --backend cpu --json --jacobi");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["command"], "solve");
  EXPECT_EQ(report["rows"], 3);
  EXPECT_EQ(report["nonzeros"], 7);
  EXPECT_EQ(report["reason"], "converged");
  EXPECT_EQ(report["converged"], true);
  EXPECT_EQ(report["preconditioner"], "jacobi");
  EXPECT_EQ(report["variant"], "cpu.fused");
  EXPECT_LE(report["relative_residual"], 1e-8);
}

TEST_F(CliSolve, WhatDoesNotConvergeIsWrittenWithExitCodeSeven) {
  const program_result few = run_sheaf(folder, "solve a.mtx -o x.npy --backend cpu --iterations 1 --quiet --verify");
  EXPECT_EQ(few.code, 7);
  EXPECT_EQ(few.err,
            "sheaf solve: a.mtx: not converged: 1 iterations are done; |b - A x| is 1.22, not 1.73e-08; x.npy has the "
            "best x that was found\n");
  expect_result<double>("x.npy", {1.5, 1.5, 1.5});
  const program_result json = run_sheaf(folder, "solve a.mtx -o x.npy --backend cpu --iterations 1 --json");
  EXPECT_EQ(json.code, 7);
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["reason"], "limit");
  EXPECT_EQ(report["error"]["code"], "not_converged");
  folder.write("negative.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 -1\n2 2 1\n3 3 -1\n");
  const program_result negative = run_sheaf(folder, "solve negative.mtx -o x.npy --backend cpu --quiet");
  EXPECT_EQ(negative.code, 7);
  EXPECT_EQ(negative.err,
            "sheaf solve: negative.mtx: not converged: the matrix is not positive definite, which iteration 1 found; "
            "|b - A x| is 1.73, not 1.73e-08; x.npy has the best x that was found\n");
  folder.write("nan.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({4, std::nan(""), 0})));
  folder.write("large.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({1e200, 0, 0})));
  folder.write("small.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({1e-200, 0, 0})));
  for (const std::string b : {"nan.npy", "large.npy", "small.npy"}) {
    for (const std::string backend : {"cpu", "reference"}) {
      folder.write("x.npy", "old");
      const program_result broken =
          run_sheaf(folder, fmt::format("solve a.mtx {} -o x.npy --quiet --verify --backend {}", b, backend));
      EXPECT_EQ(broken.code, 7);
      EXPECT_EQ(broken.err,
                "sheaf solve: a.mtx: not converged: iteration 1 met a sum that is NaN, infinite, or too small to "
                "tell from 0; |b - A x| is not known; x.npy has the best x that was found\n");
      expect_result<double>("x.npy", {0, 0, 0});
    }
  }
  // What f64 cannot reach: residuals stay where rounding leaves them.
  folder.write("thirds.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({0.1, 1.0 / 3, 0.7})));
  const program_result tight =
      run_sheaf(folder, "solve a.mtx thirds.npy -o x.npy --backend cpu --quiet --tolerance 1e-30");
  EXPECT_EQ(tight.code, 7);
  EXPECT_TRUE(tight.err.starts_with(
      "sheaf solve: a.mtx: not converged: rounding keeps the residual from falling further after "))
      << tight.err;
}

TEST_F(CliSolve, HistoriesAreWrittenWhateverTheEnd) {
  const program_result few =
      run_sheaf(folder, "solve a.mtx -o x.npy --backend cpu --iterations 1 --quiet --history r.csv");
  EXPECT_EQ(few.code, 7) << few.err;
  const std::string of_few = folder.read("r.csv");
  EXPECT_TRUE(of_few.starts_with("iteration,residual,relative_residual\n0,1.7320508075688772,1\n1,1.22")) << of_few;
  EXPECT_EQ(std::count(of_few.begin(), of_few.end(), '\n'), 3);
  folder.write("minus.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({-std::nan(""), 1, 0})));
  EXPECT_EQ(run_sheaf(folder, "solve a.mtx minus.npy -o x.npy --backend cpu --quiet --history r.csv").code, 7);
  EXPECT_EQ(folder.read("r.csv"), "iteration,residual,relative_residual\n0,nan,nan\n");
  folder.write("zero.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({0, 0, 0})));
  expect_success("solve a.mtx zero.npy -o x.npy --backend cpu --quiet --history r.csv");
  EXPECT_EQ(folder.read("r.csv"), "iteration,residual,relative_residual\n0,0,0\n");
}

TEST_F(CliSolve, FilesThatCannotBeWrittenLeaveNone) {
  expect_failure("solve a.mtx -o none/x.npy --backend cpu", 5,
                 "sheaf solve: none/x.npy: cannot be created: No such file or directory");
  expect_failure("solve a.mtx -o x.npy --history none/r.csv --backend cpu", 5,
                 "sheaf solve: none/r.csv: cannot be created: No such file or directory");
  EXPECT_FALSE(folder.has("x.npy"));
}

TEST_F(CliSolve, JacobiNamesTheRowWhoseDiagonalIsNotPositive) {
  const std::string head = "%%MatrixMarket matrix coordinate real symmetric\n";
  const auto expect_named = [&](const std::string& matrix, const std::string& words) {
    folder.write("wrong.mtx", head + matrix);
    for (const std::string backend : {"cpu", "reference"}) {
      const program_result result =
          run_sheaf(folder, "solve wrong.mtx -o x.npy --jacobi --verify --quiet --backend " + backend);
      EXPECT_EQ(result.code, 7);
      EXPECT_TRUE(result.err.starts_with(
          "sheaf solve: wrong.mtx: not converged: the matrix is not positive definite: " + words + "; |b - A x| is 1."))
          << result.err;
    }
  };
  expect_named("2 2 2\n1 1 1\n2 2 -3\n", "row 2 has -3 on the diagonal");
  expect_named("2 2 2\n1 1 1\n2 2 0\n", "row 2 has 0 on the diagonal");
  expect_named("2 2 2\n1 1 1\n2 1 0.5\n", "row 2 has no value on the diagonal");
}

// The matrix gives its upper triangle, and the right-hand side is MatrixMarket, too.
TEST_F(CliSolve, MatricesMayGiveEitherTriangleAndVectorsBeMatrixMarketFiles) {
  const std::string head = "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n";
  folder.write("upper.mtx", head + "1 1 2\n1 2 -1\n2 2 2\n2 3 -1\n3 3 2\n");
  folder.write("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n4\n0\n0\n");
  folder.write("e.mtx.gz", gzipped("%%MatrixMarket matrix coordinate real general\n3 1 1\n1 1 4\n"));
  for (const std::string b : {"b.mtx", "e.mtx.gz"}) {
    for (const std::string matrix : {"a.mtx", "upper.mtx"}) {
      SCOPED_TRACE(matrix);
      SCOPED_TRACE(b);
      expect_success(fmt::format("solve {} {} -o x.npy --backend cpu --quiet --verify", matrix, b));
      expect_result<double>("x.npy", {3, 2, 1});
    }
  }
  folder.write("out.npy", "old");
  folder.write("twice.mtx", head + "1 1 2\n1 2 -1\n2 1 -1\n2 2 2\n3 3 2\n");
  folder.write("four.mtx", "%%MatrixMarket matrix array real general\n1 4\n4\n0\n0\n0\n");
  expect_failure("solve twice.mtx -o out.npy", 3,
                 "sheaf solve: twice.mtx: line 5: entry (2, 1) is entry (1, 2) of line 4 again: a symmetric file gives "
                 "one of the two, which stands for both");
  expect_failure("solve a.mtx four.mtx -o out.npy", 3, "sheaf solve: four.mtx: 4 numbers, but a.mtx has 3 rows");
  EXPECT_EQ(folder.read("out.npy"), "old");
}

TEST_F(CliSolve, BadInputsAreNamedAndLeaveNoFile) {
  folder.write("out.npy", "old");
  folder.write("flat.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
  folder.write("skew.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 3\n2 2 1\n");
  folder.write("two.npy", npy_file("'<f8'", "(2,)", bytes_of<double>({4, 0})));
  folder.write("whole.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({1, 2, 3})));
  expect_failure("solve flat.mtx -o out.npy", 3, "sheaf solve: flat.mtx: the matrix is 2 x 3, not square");
  expect_failure("solve skew.mtx -o out.npy", 3,
                 "sheaf solve: skew.mtx: the matrix is not symmetric: row 1, column 2 has 3, row 2, column 1 has 0");
  folder.write("nan.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 nan\n2 2 1\n");
  expect_failure("solve nan.mtx -o out.npy", 3, "sheaf solve: nan.mtx: row 1, column 1 is nan");
  expect_failure("solve a.mtx two.npy -o out.npy", 3, "sheaf solve: two.npy: 2 numbers, but a.mtx has 3 rows");
  expect_failure("solve a.mtx whole.npy -o out.npy", 3, "sheaf solve: whole.npy: descr is '<i4'; a vector is f4 or f8");
  folder.write("far.npy", npy_file("'<f8'", "(3,)", bytes_of<double>({1, 2, 1e39})));
  expect_failure("solve a.mtx far.npy -o out.npy --value-type f32", 3,
                 "sheaf solve: far.npy: [2] is 1e+39, which f32 cannot hold; --value-type f64 does");
  expect_failure("solve none.mtx -o out.npy", 3, "sheaf solve: none.mtx: cannot be opened: No such file or directory");
  expect_failure("solve a.mtx b.npy -o b.npy", 2, "sheaf solve: -o b.npy is the input b.npy; inputs are never written");
  expect_failure("solve a.mtx -o out.npy --history out.npy", 2, "sheaf solve: --history out.npy is the output out.npy");
  expect_failure("solve a.mtx -o out.npy --tolerance -1 --backend cpu", 2,
                 "sheaf solve: the tolerance is -1, not 0 or more");
  for (const std::string option : {"--tolerance", "--absolute"}) {
    for (const std::string number : {"1e400", "nan", "1e-6x"}) {
      const program_result refused = run_sheaf(folder, fmt::format("solve a.mtx -o out.npy {} '{}'", option, number));
      EXPECT_EQ(refused.code, 2) << number;
      EXPECT_NE(refused.err.find(fmt::format("{}: '{}' is not a finite number", option, number)), std::string::npos)
          << refused.err;
    }
  }
  EXPECT_EQ(folder.read("out.npy"), "old");
  for (const char* wrong : {"solve a.mtx", "solve -o out.npy", "solve a.mtx --iterations x -o out.npy"}) {
    EXPECT_EQ(run_sheaf(folder, wrong).code, 2) << wrong;
  }
}

TEST_F(CliSolve, EmptyNamesAreNoOptionsThatWereLeftOut) {
  for (const char* wrong : {"solve '' -o out.npy", "solve a.mtx -o ''", "solve a.mtx '' -o out.npy",
                            "solve a.mtx -o out.npy --history ''"}) {
    const program_result result = run_sheaf(folder, wrong);
    EXPECT_EQ(result.code, 2) << wrong;
    EXPECT_NE(result.err.find("the value is empty"), std::string::npos) << result.err;
  }
  EXPECT_FALSE(folder.has("out.npy"));
}

TEST_F(CliSolve, NpbCgHasItsOfficialZeta) {
  for (const std::string rest : {" --backend cpu --threads 2", " --backend cpu --threads 1", " --backend reference"}) {
    const program_result text = run_sheaf(folder, "npb-cg S" + rest);
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_TRUE(
        text.out.starts_with("NAS CG, class S: 1400 rows, 78148 nonzeros, 15 iterations of 25 steps\n"
                             "zeta 8.59717750786"))
        << text.out;
    EXPECT_NE(text.out.find(", official 8.5971775078648\nVERIFICATION SUCCESSFUL\n"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find(" Mop/s, "), std::string::npos) << text.out;
  }
  const program_result json = run_sheaf(folder, "npb-cg S --backend cpu --json");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["verification"], "SUCCESSFUL");
  EXPECT_EQ(report["class"], "S");
  EXPECT_EQ(report["variant"], "cpu.fused");
  EXPECT_EQ(run_sheaf(folder, "npb-cg D").code, 2);
}

TEST_F(CliSolve, NpbCgInF32IsNotOfficial) {
  const program_result text = run_sheaf(folder, "npb-cg S --value-type f32 --backend cpu --threads 2");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(
      text.out.starts_with("NAS CG, class S: 1400 rows, 78148 nonzeros, 15 iterations of 25 steps in f32\n"
                           "zeta 8.59717"))
      << text.out;
  EXPECT_NE(text.out.find(", official 8.5971775078648\nVERIFICATION UNOFFICIAL\n"), std::string::npos) << text.out;
  const program_result json = run_sheaf(folder, "npb-cg S --value-type f32 --backend cpu --json");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["verification"], "UNOFFICIAL");
  EXPECT_EQ(report["value_type"], "f32");
  EXPECT_EQ(report["nonzeros"], 78148);
  EXPECT_NEAR(report["zeta"].get<double>(), 8.5971775078648, 1e-5);
  io::csr_matrix<double> matrix = jobs::nas_matrix(jobs::nas_class_named("S"), 2);
  for (double& value : matrix.values) value *= -1.01;
  io::write_matrix_market(folder / "s.mtx", matrix);
  const program_result wrong = run_sheaf(folder, "npb-cg S --value-type f32 --backend cpu --matrix s.mtx");
  EXPECT_EQ(wrong.code, 4);
  EXPECT_NE(wrong.out.find("\nVERIFICATION UNSUCCESSFUL\n"), std::string::npos) << wrong.out;
  EXPECT_TRUE(wrong.err.ends_with(", not 8.5971775078648 to 1e-04\n")) << wrong.err;
}

// The benchmark's matrix in a file gives the official zeta, and one with a single other value does not.
TEST_F(CliSolve, NpbCgWithAnotherMatrixIsUnsuccessful) {
  io::csr_matrix<double> matrix = jobs::nas_matrix(jobs::nas_class_named("S"), 2);
  for (double& value : matrix.values) value = -value;
  io::write_matrix_market(folder / "s.mtx", matrix);
  const program_result right = run_sheaf(folder, "npb-cg S --backend cpu --threads 2 --matrix s.mtx");
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_NE(right.out.find("\nVERIFICATION SUCCESSFUL\n"), std::string::npos) << right.out;
  for (std::uint64_t place = matrix.row_offsets[700]; place < matrix.row_offsets[701]; ++place) {
    if (std::get<std::vector<std::uint32_t>>(matrix.column_indices)[place] == 700) matrix.values[place] *= 1.001;
  }
  io::write_matrix_market(folder / "s.mtx", matrix);
  for (const std::string backend : {"cpu", "reference"}) {
    const program_result text = run_sheaf(folder, "npb-cg S --matrix s.mtx --threads 2 --backend " + backend);
    EXPECT_EQ(text.code, 4);
    EXPECT_NE(text.out.find("\nVERIFICATION UNSUCCESSFUL\n"), std::string::npos) << text.out;
    EXPECT_TRUE(text.err.starts_with("sheaf npb-cg: verification failed: zeta is 8.59717002")) << text.err;
    EXPECT_TRUE(text.err.ends_with(", not 8.5971775078648\n")) << text.err;
  }
  const program_result json = run_sheaf(folder, "npb-cg S --matrix s.mtx --backend cpu --json");
  EXPECT_EQ(json.code, 4);
  EXPECT_EQ(nlohmann::json::parse(json.out)["verification"], "UNSUCCESSFUL");
  for (double& value : matrix.values) value = 0;
  io::write_matrix_market(folder / "s.mtx", matrix);
  const program_result zeros = run_sheaf(folder, "npb-cg S --matrix s.mtx --backend cpu");
  EXPECT_EQ(zeros.code, 4);
  EXPECT_NE(zeros.out.find("\nzeta nan, official "), std::string::npos) << zeros.out;
  EXPECT_EQ(zeros.err,
            "sheaf npb-cg: verification failed: zeta is nan, not 8.5971775078648; a system ended before its 25 steps: "
            "not positive definite\n");
  expect_failure("npb-cg W --matrix s.mtx", 3,
                 "sheaf npb-cg: s.mtx: 1400 rows and 1400 columns, but class W has 7000 of both");
  expect_failure("npb-cg S --matrix none.mtx", 3,
                 "sheaf npb-cg: none.mtx: cannot be opened: No such file or directory");
}

// The check finds what solvers never say.
class SolutionCheck : public testing::Test {
 protected:
  std::optional<std::string> mistake(const std::vector<double>& x, double residual) const {
    return jobs::solution_mistake({2, 2, offsets, columns, numbers}, b, x, residual);
  }
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<std::uint64_t> offsets{0, 2, 4};
  std::vector<std::uint32_t> columns{0, 1, 0, 1};
  std::vector<double> numbers{2, 1, 1, 2};
  std::vector<double> b{3, 3};
};

// Rows enough for several parts, of which one thread or several take some each: the sums are the same.
TEST_F(SolutionCheck, DoesNotDependOnTheThreads) {
  constexpr std::uint64_t rows = 100'000;
  std::vector<std::uint64_t> begins(rows + 1);
  std::vector<std::uint32_t> own(rows);
  std::vector<double> twos(rows, 2);
  std::vector<double> ones(rows, 1);
  std::vector<double> found(rows, 0.5);
  for (std::uint64_t row = 0; row < rows; ++row) {
    begins[row + 1] = row + 1;
    own[row] = static_cast<std::uint32_t>(row);
  }
  const csr_view a(rows, rows, begins, own, twos);
  found[70'000] = 2;  // a residual of 3, in one row
  for (const int threads : {1, 2, 5}) {
    EXPECT_EQ(jobs::residual_of(a, ones, found, threads), 3) << threads;
    EXPECT_EQ(jobs::solution_mistake(a, ones, found, 3, threads), std::nullopt) << threads;
    EXPECT_EQ(jobs::solution_mistake(a, ones, found, 0, threads), "|b - A x| is 3, but is reported as 0") << threads;
  }
}

TEST_F(SolutionCheck, FindsResidualsThatAreNotThoseOfX) {
  EXPECT_EQ(mistake({1, 1}, 0), std::nullopt);
  EXPECT_EQ(mistake({1, 1}, 1e-16), std::nullopt);
  EXPECT_EQ(mistake({1, 1}, 1e-3), "|b - A x| is 0, but is reported as 0.001");
  EXPECT_EQ(mistake({0, 0}, std::sqrt(18.0)), std::nullopt);
  EXPECT_NE(mistake({0, 0}, 4), std::nullopt);
  b[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(mistake({1, 1}, b[0]), std::nullopt);
  EXPECT_NE(mistake({1, 1}, 0), std::nullopt);
}

// Solvers add squares in f64, which end long before numbers do.
TEST_F(SolutionCheck, TakesNaNWhereSquaresAreNoNumbers) {
  for (const double value : {1e200, 1e-200}) {
    b = {value, 0};
    EXPECT_EQ(mistake({0, 0}, nan), std::nullopt);
    EXPECT_EQ(mistake({0, 0}, value), std::nullopt);
    EXPECT_NE(mistake({0, 0}, infinity), std::nullopt);
  }
  EXPECT_EQ(mistake({0, 0}, 0), std::nullopt);  // 1e-200 has no square
  b = {1e200, 0};
  EXPECT_EQ(mistake({0, 0}, 0), "|b - A x| is 1e+200, but is reported as 0");
  b = {1e100, 0};
  EXPECT_EQ(mistake({0, 0}, nan), "|b - A x| is 1e+100, but is reported as nan");
  b = {1e308, 0};
  EXPECT_EQ(mistake({1e308, 0}, infinity), std::nullopt);  // 2e308 is no number
}

TEST_F(SolutionCheck, NamesTheFirstDiagonalThatIsNotPositive) {
  const auto found = [&] { return jobs::diagonal_mistake({2, 2, offsets, columns, numbers}); };
  EXPECT_EQ(found(), std::nullopt);
  numbers = {2, 1, 1, -1};
  EXPECT_EQ(found(), "row 2 has -1 on the diagonal");
  offsets = {0, 2, 3};
  columns = {0, 1, 0};
  numbers = {2, 1, 1};
  EXPECT_EQ(found(), "row 2 has no value on the diagonal");
}

TEST_F(SolutionCheck, FindsEntriesWhoseMirrorImageIsAnother) {
  const auto asymmetry = [&] { return jobs::asymmetry_of({2, 2, offsets, columns, numbers}); };
  EXPECT_EQ(asymmetry(), std::nullopt);
  numbers[1] = 1 + 1e-14;
  EXPECT_EQ(asymmetry(), std::nullopt);
  numbers[1] = 1.5;
  EXPECT_EQ(asymmetry(), "the matrix is not symmetric: row 1, column 2 has 1.5, row 2, column 1 has 1");
  numbers[1] = -nan;
  EXPECT_EQ(asymmetry(), "row 1, column 2 is nan");
  numbers = {2, 1, 1, infinity};
  EXPECT_EQ(asymmetry(), "row 2, column 2 is inf");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_solve_test
