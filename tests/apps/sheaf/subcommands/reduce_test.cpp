// sheaf reduce and sheaf spmm on files of numpy.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sheaf/float16.hpp>

#include "apps/sheaf/checks/reduce.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_reduce_test {
namespace {

class CliReduce : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("in.npy", npy_file("'<f4'", "(4, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6, 7, 8})));
    folder.write("swapped.npy", npy_file("'>i2'", "(3,)", std::string("\0\1\0\2\xff\xff", 6)));
    folder.write("of.npy", npy_file("'<i8'", "(4,)", bytes_of<std::int64_t>({2, 0, 2, 0})));
    folder.write("three.npy", npy_file("'|u1'", "(3,)", std::string("\1\1\0", 3)));
    folder.write("base.npy", npy_file("'<f4'", "(3, 2)", bytes_of<float>({10, 10, 20, 20, 30, 30})));
    folder.write("half.npy", npy_file("'<f2'", "(2, 1)", bytes_of<std::uint16_t>({0x3c00, 0x4000})));
    folder.write("two.npy", npy_file("'<i4'", "(2,)", bytes_of<std::int32_t>({0, 0})));
    folder.write("wide.npy", npy_file("'|i1'", "(1, 65537)", std::string(65537, '\0')));
    folder.write("raw.bin", std::string(8, '\0'));
    folder.write("one.npy", npy_file("'<i4'", "(1,)", bytes_of<std::int32_t>({0})));
    folder.write("bad.npy", npy_file("'<i8'", "(4,)", bytes_of<std::int64_t>({2, 0, 3, 0})));
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1.5\n1 3 2\n2 2 -1\n");
    folder.write("x.npy", npy_file("'<f8'", "(3, 2)", bytes_of<double>({1, 2, 10, 20, 100, 200})));
    folder.write("y.npy", npy_file("'<f4'", "(2, 2)", bytes_of<float>({1, 2, 10, 20})));
  }
  void expect_floats(const std::string& file, const std::string& shape, const std::vector<float>& numbers) {
    EXPECT_EQ(folder.read(file), npy_file("'<f4'", shape, bytes_of<float>(numbers)));
  }
};

TEST_F(CliReduce, CombinesTheRowsThatAnIndexNamesAlike) {
  for (const std::string backend : {"reference", "cpu"}) {
    const std::string rest = " --verify --quiet --backend " + backend;
    expect_success("reduce in.npy of.npy -o sum.npy" + rest);
    expect_floats("sum.npy", "(3, 2)", {10, 12, 0, 0, 6, 8});
    expect_success("reduce in.npy of.npy --op mean --table 4 -o mean.npy" + rest);
    expect_floats("mean.npy", "(4, 2)", {5, 6, 0, 0, 3, 4, 0, 0});
    expect_success("reduce in.npy of.npy --op max --into base.npy -o max.npy --runs 2" + rest);
    expect_floats("max.npy", "(3, 2)", {10, 10, 20, 20, 30, 30});
    expect_success("reduce in.npy of.npy --op subtract --into base.npy -o less.npy --runs 2" + rest);
    expect_floats("less.npy", "(3, 2)", {0, -2, 20, 20, 24, 22});
    expect_success("reduce swapped.npy three.npy --op multiply -o product.npy" + rest);
    EXPECT_EQ(folder.read("product.npy"), npy_file("'<i2'", "(2,)", bytes_of<std::int16_t>({-1, 2})));
    expect_success("reduce half.npy two.npy -o half_sum.npy" + rest);
    EXPECT_EQ(folder.read("half_sum.npy"), npy_file("'<f2'", "(1, 1)", bytes_of<std::uint16_t>({0x4200})));
  }
}

TEST_F(CliReduce, RefusesWhatCannotBeCombined) {
  expect_failure("reduce in.npy three.npy -o out.npy", 3, "sheaf reduce: three.npy: 3 indices, but in.npy has 4 rows");
  expect_failure("reduce in.npy bad.npy --table 3 -o out.npy --backend cpu", 3,
                 "sheaf reduce: bad.npy: index[2] is 3, past the output's 3 rows");
  expect_failure("reduce in.npy of.npy --into half.npy -o out.npy", 3,
                 "sheaf reduce: half.npy: rows of another type or width than those of in.npy");
  expect_failure("reduce wide.npy one.npy -o out.npy", 3,
                 "sheaf reduce: wide.npy: rows of shape (65537,) of '|i1' take 65537 bytes; records take 1 to 65536");
  expect_failure("reduce raw.bin one.npy -o out.npy", 3,
                 "sheaf reduce: raw.bin: not an .npy file; raw files need the header of an .npy file");
  expect_failure("spmm a.mtx raw.bin -o out.npy", 3,
                 "sheaf spmm: raw.bin: not an .npy file; raw files need the header of an .npy file");
}

TEST_F(CliReduce, ReportsWhatItDid) {
  const program_result result = run_sheaf(folder, "reduce in.npy of.npy -o sum.npy --json --backend cpu");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["primitive"], "scatter_reduce_rows");
  EXPECT_EQ(report["records"], 4);
  EXPECT_EQ(report["record_bytes"], 8);
}

TEST_F(CliReduce, MultipliesRowsByASparseMatrix) {
  for (const std::string backend : {"reference", "cpu"}) {
    const std::string rest = " --verify --quiet --backend " + backend;
    expect_success("spmm a.mtx x.npy -o p.npy" + rest);
    EXPECT_EQ(folder.read("p.npy"), npy_file("'<f8'", "(2, 2)", bytes_of<double>({201.5, 403, -10, -20})));
    expect_success("spmm a.mtx y.npy -o t.npy --transposed --alpha 2 --value-type f32 --runs 2" + rest);
    expect_floats("t.npy", "(3, 2)", {3, 6, -20, -40, 4, 8});
  }
  // 2 A X - Y, of files of two types
  expect_success("spmm a.mtx x.npy --alpha 2 --beta -1 --y y.npy -o p.npy --runs 3 --verify --quiet");
  EXPECT_EQ(folder.read("p.npy"), npy_file("'<f8'", "(2, 2)", bytes_of<double>({402, 804, -30, -60})));
  expect_failure("spmm a.mtx x.npy --beta 1 -o out.npy", 2, "sheaf spmm: --beta 1 multiplies rows, which --y names");
  expect_failure("spmm a.mtx x.npy --beta 1 --y x.npy -o out.npy", 3,
                 "sheaf spmm: x.npy: 3 rows, but a.mtx has 2 rows");
  expect_failure("spmm a.mtx x.npy --beta 1 --y half.npy -o out.npy", 3,
                 "sheaf spmm: half.npy: rows of 1 numbers, but x.npy has rows of 2");
  expect_failure("spmm a.mtx y.npy -o out.npy", 3, "sheaf spmm: y.npy: 2 rows, but a.mtx has 3 columns");
}

TEST_F(CliReduce, SaysInWhichOrderATransposedProductOfRowsWasAdded) {
  for (const std::string order : {"deterministic", "unordered"}) {
    const std::string line = fmt::format("spmm a.mtx y.npy -o t.npy --transposed --verify --order {}", order);
    const program_result result = run_sheaf(folder, line + " --json");
    ASSERT_EQ(result.code, 0) << result.err;
    const auto report = nlohmann::json::parse(result.out);
    EXPECT_EQ(report["transposed"], true);
    EXPECT_EQ(report["order"], order);
    // The plan is of the same call.
    const auto plan = nlohmann::json::parse(run_sheaf(folder, "plan --like " + line + " --json").out);
    EXPECT_EQ(plan["order"], order);
  }
  const auto plain = nlohmann::json::parse(run_sheaf(folder, "spmm a.mtx x.npy -o p.npy --json").out);
  EXPECT_EQ(plain["transposed"], false);
  EXPECT_EQ(plain["order"], "deterministic");
  expect_failure("spmm a.mtx x.npy -o out.npy --order unordered", 2,
                 "sheaf spmm: --order requires --transposed\nTry: sheaf spmm --help");
}

TEST(ReductionMistake, NamesTheFirstValueThatIsWrong) {
  const std::vector<float> in{1, 2, 3, 4};
  const std::vector<std::uint32_t> index{0, 1};
  std::vector<float> out{1, 2, 3, 4};
  const auto mistake = [&](reduction op) {
    return jobs::reduction_mistake({in.data(), 2, 2, value_type::f32}, index, {out.data(), 2, 2, value_type::f32},
                                   nullptr, op);
  };
  EXPECT_EQ(mistake(reduction::add), std::nullopt);
  EXPECT_EQ(mistake(reduction::max), std::nullopt);
  out[3] = 4.00001F;
  EXPECT_TRUE(mistake(reduction::add).value_or("").starts_with("value 1 of row 1 is 4.0000"));
  EXPECT_EQ(mistake(reduction::min), "value 1 of row 1 is not that of the reference");
}

/// What is wrong with the one value that values were combined to.
template <class T>
std::optional<std::string> mistake_of_one(const std::vector<T>& in, T out, reduction op) {
  const std::vector<std::uint32_t> index(in.size(), 0);
  return jobs::reduction_mistake({in.data(), in.size(), 1, value_type_of<T>()}, index, {&out, 1, 1, value_type_of<T>()},
                                 nullptr, op);
}

TEST(ReductionMistake, JudgesWhatNoOrderTakesOutOfTheRange) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(mistake_of_one<float>({1e30F, 1e30F, 1e-30F}, infinity, reduction::multiply), std::nullopt);
  EXPECT_EQ(mistake_of_one<float>({1e-30F, 1e-30F, 1e30F}, 0, reduction::multiply), std::nullopt);
  EXPECT_EQ(mistake_of_one<float>({2e38F, 2e38F, 2e38F}, infinity, reduction::mean), std::nullopt);
  EXPECT_NE(mistake_of_one<float>({1e30F, 1e-30F}, infinity, reduction::multiply), std::nullopt);
  EXPECT_NE(mistake_of_one<float>({0, 1e-30F, 1e-30F}, 1, reduction::multiply), std::nullopt);
  EXPECT_NE(mistake_of_one<float>({1e37F, 1e37F}, infinity, reduction::mean), std::nullopt);
}

TEST(ReductionMistake, MeasuresSmallNumbersByTheirOwnSize) {
  // Near 0 the last bit of a float16 is 2^-24.
  const std::vector<float16> third{float16(0x1p-23F), float16(0.0F), float16(0.0F)};
  EXPECT_EQ(mistake_of_one<float16>(third, float16(0x1p-24F), reduction::mean), std::nullopt);
  EXPECT_NE(mistake_of_one<float16>(third, float16(0x1p-22F), reduction::mean), std::nullopt);
  EXPECT_NE(mistake_of_one<float>({1e-20F}, 2e-20F, reduction::add), std::nullopt);
}

TEST(ReductionMistake, WantsNanWhereOneCame) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(mistake_of_one<float>({1, nan}, nan, reduction::add), std::nullopt);
  EXPECT_EQ(mistake_of_one<float>({1, nan}, 1, reduction::add), "value 0 of row 0 is 1, not NaN");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_reduce_test
