#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/sheaf/checks/list.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_list_test {
namespace {

/// A folder that holds the list 2, 0, 3, 1, 4, its successors in several types, two lists, and values.
class CliList : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("list.npy", npy_file("'<i4'", "(5,)", bytes_of<std::int32_t>({3, 4, 0, 1, -1})));
    folder.write("two.npy", npy_file("'<i4'", "(5,)", bytes_of<std::int32_t>({3, -1, 0, -1, 1})));
    folder.write("values.npy", npy_file("'<f8'", "(5,)", bytes_of<double>({1, 2, 4, 8, 16})));
    folder.write("whole.npy", npy_file("'<u4'", "(5,)", bytes_of<std::uint32_t>({1, 2, 4, 8, 0xffffffff})));
  }

  static std::string ranks(const std::vector<std::uint32_t>& list) { return npy_file("'<u4'", "(5,)", bytes_of(list)); }
  static std::string doubles(const std::vector<double>& list) { return npy_file("'<f8'", "(5,)", bytes_of(list)); }
};

constexpr const char* backends[] = {"auto", "cpu", "reference"};

TEST_F(CliList, RanksAndScansOneList) {
  for (const std::string backend : backends) {
    const std::string more = " --verify --backend " + backend;
    expect_success("rank list.npy -o out.npy" + more);
    EXPECT_EQ(folder.read("out.npy"), ranks({1, 3, 0, 2, 4})) << backend;
    expect_success("scan list.npy values.npy --op add -o out.npy" + more);
    EXPECT_EQ(folder.read("out.npy"), doubles({5, 15, 4, 13, 31})) << backend;
    expect_success("scan list.npy values.npy --exclusive-from 0.5 -o out.npy" + more);
    EXPECT_EQ(folder.read("out.npy"), doubles({4.5, 13.5, 0.5, 5.5, 15.5})) << backend;
    expect_success("scan list.npy whole.npy --op xor --exclusive-from 4294967295 -o out.npy" + more);
    EXPECT_EQ(folder.read("out.npy"), ranks({0xfffffffb, 0xfffffff2, 0xffffffff, 0xfffffffa, 0xfffffff0})) << backend;
    expect_success("scan list.npy whole.npy -o out.npy" + more);
    EXPECT_EQ(folder.read("out.npy"), ranks({5, 15, 4, 13, 14})) << backend;
  }
}

TEST_F(CliList, RanksAndScansManyLists) {
  for (const std::string backend : backends) {
    const std::string more = " --lists many --verify --backend " + backend;
    expect_success("rank two.npy -o out.npy" + more);
    EXPECT_EQ(folder.read("out.npy"), ranks({1, 1, 0, 2, 0})) << backend;
    expect_success("scan two.npy values.npy --op mul -o out.npy" + more);
    EXPECT_EQ(folder.read("out.npy"), doubles({4, 32, 4, 32, 16})) << backend;
    expect_success("scan two.npy values.npy --op max --exclusive-from=-5 -o out.npy" + more);
    EXPECT_EQ(folder.read("out.npy"), doubles({4, 16, -5, 4, -5})) << backend;
  }
}

TEST_F(CliList, TakesEveryTypeOfSuccessorsAndEveryEnd) {
  folder.write("u4.npy", npy_file("'<u4'", "(5,)", bytes_of<std::uint32_t>({3, 4, 0, 1, 0xffffffff})));
  folder.write("u8.npy", npy_file("'<u8'", "(5,)", bytes_of<std::uint64_t>({3, 4, 0, 1, ~std::uint64_t{0}})));
  folder.write("i8.npy", npy_file("'<i8'", "(5,)", bytes_of<std::int64_t>({3, 4, 0, 1, 4})));
  for (const std::string list : {"u4.npy", "u8.npy", "i8.npy"}) {
    expect_success("rank " + list + " -o out.npy --verify --backend reference");
    EXPECT_EQ(folder.read("out.npy"), ranks({1, 3, 0, 2, 4})) << list;
  }
}

TEST_F(CliList, WritesRanksOfTheTypeAskedFor) {
  expect_success("rank list.npy --output-type i64 -o out.npy --verify --backend reference");
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<i8'", "(5,)", bytes_of<std::int64_t>({1, 3, 0, 2, 4})));
}

TEST_F(CliList, KeepsTheShapeOfItsInput) {
  folder.write("list.npy", npy_file("'<i4'", "(2, 2)", bytes_of<std::int32_t>({3, -1, 0, 1})));
  folder.write("values.npy", npy_file("'<f4'", "(2, 2, 1)", bytes_of<float>({1, 2, 4, 8})));
  expect_success("rank list.npy -o out.npy --verify --backend reference");
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<u4'", "(2, 2)", bytes_of<std::uint32_t>({1, 3, 0, 2})));
  expect_success("scan list.npy values.npy -o out.npy --verify --backend reference");
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<f4'", "(2, 2, 1)", bytes_of<float>({5, 15, 4, 13})));
}

TEST_F(CliList, OfRawNumbersIsRaw) {
  folder.write("list.bin", bytes_of<std::uint32_t>({1, 0xffffffff, 0}));
  folder.write("values.bin", bytes_of<std::int64_t>({-1, 5, 10}));
  expect_success("rank list.bin --index-type u32 -o out.bin --verify --backend reference");
  EXPECT_EQ(folder.read("out.bin"), bytes_of<std::uint32_t>({1, 2, 0}));
  expect_success(
      "scan list.bin values.bin --index-type u32 --value-type i64 --op min -o out.bin --verify --backend reference");
  EXPECT_EQ(folder.read("out.bin"), bytes_of<std::int64_t>({-1, -1, 10}));
  expect_failure("rank list.bin --index-type u32 -o out.npy --backend reference", 2,
                 "sheaf rank: -o out.npy: list.bin is raw, and so is the result, without the header of an .npy file; "
                 "give it a name that ends in .bin, or make list.bin an .npy file");
}

// What comes before a stretch of the list meets what the stretch came to by itself, which may be infinite.
TEST_F(CliList, VerifiesProductsAndSumsWhoseStretchesOverflow) {
  std::vector<std::int32_t> next(1000);
  std::iota(next.begin(), next.end(), 1);
  next.back() = -1;
  folder.write("list.npy", npy_file("'<i4'", "(1000,)", bytes_of(next)));
  const auto expect_verified = [&](float first, float others, const std::string& op) {
    std::vector<float> values(1000, others);
    values.front() = first;
    folder.write("values.npy", npy_file("'<f4'", "(1000,)", bytes_of(values)));
    for (const std::string backend : {"cpu --threads 1", "cpu --threads 3", "reference"}) {
      expect_success(fmt::format("scan list.npy values.npy --op {} -o out.npy --verify --backend {}", op, backend));
    }
  };
  const float infinity = std::numeric_limits<float>::infinity();
  expect_verified(0, 10, "mul");
  expect_verified(infinity, 0.1F, "mul");
  expect_verified(1e-30F, 10, "mul");
  expect_verified(infinity, -1e38F, "add");
  expect_verified(2, 1, "mul");
}

TEST_F(CliList, OfNothingIsNothing) {
  folder.write("none.npy", npy_file("'<i4'", "(0,)", ""));
  folder.write("nothing.npy", npy_file("'<f4'", "(0,)", ""));
  expect_success("rank none.npy -o out.npy --verify --backend reference");
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<u4'", "(0,)", ""));
  expect_success("scan none.npy nothing.npy -o out.npy --verify --backend reference");
  EXPECT_EQ(folder.read("out.npy"), folder.read("nothing.npy"));
}

TEST_F(CliList, ReportsAreOneDocument) {
  const program_result result = run_sheaf(folder, "rank list.npy -o out.npy --json --verify --backend reference");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["command"], "rank");
  EXPECT_EQ(report["primitive"], "list_rank");
  EXPECT_EQ(report["records"], 5);
  EXPECT_EQ(report["record_bytes"], 4);
  EXPECT_EQ(report["variant"], "reference.serial");
  EXPECT_EQ(report["verified"], true);
  EXPECT_EQ(report["output"], "out.npy");
  const program_result scan = run_sheaf(folder, "scan list.npy values.npy -o out.npy --json --backend reference");
  EXPECT_EQ(nlohmann::json::parse(scan.out)["primitive"], "list_scan");
  EXPECT_EQ(nlohmann::json::parse(scan.out)["record_bytes"], 8);
  const program_result quiet = run_sheaf(folder, "rank list.npy -o out.npy --quiet --backend reference");
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(CliList, WhatIsNoListNamesFileAndNodesAndLeavesTheOldOutput) {
  folder.write("out.npy", "old");
  folder.write("past.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({1, 7, -1})));
  folder.write("joined.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({2, 2, -1})));
  folder.write("cycle.npy", npy_file("'<i4'", "(4,)", bytes_of<std::int32_t>({-1, 2, 3, 1})));
  for (const std::string backend : backends) {
    for (const std::string command : {"rank", "scan"}) {
      const auto call = [&](const std::string& list, const std::string& values) {
        const std::string second = command == "scan" ? values : "";
        return fmt::format("{} {} {} -o out.npy --backend {}", command, list, second, backend);
      };
      folder.write("three.npy", npy_file("'<f4'", "(3,)", bytes_of<float>({1, 2, 3})));
      folder.write("four.npy", npy_file("'<f4'", "(4,)", bytes_of<float>({1, 2, 3, 4})));
      const std::string program = "sheaf " + command + ": ";
      expect_failure(call("past.npy", "three.npy"), 3,
                     program + "past.npy: successor[1] is 7, past the list's 3 nodes");
      expect_failure(call("joined.npy", "three.npy"), 3,
                     program + "joined.npy: nodes 0 and 1 both lead to node 2, so this is not a list");
      expect_failure(call("two.npy", "values.npy"), 3,
                     program +
                         "two.npy: no node leads to node 2 or to node 4: two lists, where one is expected; --lists "
                         "many takes any number");
      expect_failure(call("cycle.npy", "four.npy") + " --lists many", 3, program + "cycle.npy: node 1 is on a cycle");
    }
  }
  EXPECT_EQ(folder.read("out.npy"), "old");
}

TEST_F(CliList, BadInputsAreNamed) {
  folder.write("short.npy", npy_file("'<i2'", "(5,)", std::string(10, '\0')));
  folder.write("half.npy", npy_file("'>f2'", "(5,)", std::string(10, '\0')));
  folder.write("four.npy", npy_file("'<f4'", "(4,)", std::string(16, '\0')));
  expect_failure(
      "rank half.npy -o out.npy", 3,
      "sheaf rank: half.npy: descr is '>f2'; an index has whole numbers of 1, 2, 4 or 8 bytes, signed or unsigned");
  const std::string types =
      "; values are '<i4', '<u4', '<i8', '<u8', '<f4' or '<f8', which numpy's astype makes of other numbers";
  expect_failure("scan list.npy short.npy -o out.npy", 3, "sheaf scan: short.npy: descr is '<i2'" + types);
  expect_failure("scan list.npy half.npy -o out.npy", 3, "sheaf scan: half.npy: descr is '>f2'" + types);
  expect_failure("scan list.npy four.npy -o out.npy", 3, "sheaf scan: four.npy: 4 values, but list.npy has 5 nodes");
  expect_failure("rank none.npy -o out.npy", 3, "sheaf rank: none.npy: cannot be opened: No such file or directory");
  folder.write("raw.bin", std::string(10, '\0'));
  expect_failure("scan list.npy raw.bin -o out.bin", 3,
                 "sheaf scan: raw.bin: not an .npy file; raw files need --value-type");
  expect_failure("scan list.npy raw.bin --value-type f64 -o out.bin", 3,
                 "sheaf scan: raw.bin: 10 bytes are not a multiple of 8 bytes: 2 are left over");
  expect_failure("scan list.npy values.npy --value-type f64 -o out.bin", 3,
                 "sheaf scan: values.npy: an .npy file, but --value-type is for raw files");
}

TEST_F(CliList, UsageErrorsAreNamed) {
  expect_failure("scan list.npy values.npy --op and -o out.npy", 2,
                 "sheaf scan: --op and takes integers, but values.npy has values of type f64");
  expect_failure("scan list.npy values.npy --exclusive-from one -o out.npy", 2,
                 "sheaf scan: --exclusive-from: 'one' is not a number of type f64");
  for (const std::string number : {"1.5", "-1", "4294967296x"}) {
    expect_failure("scan list.npy whole.npy -o out.npy --exclusive-from=" + number, 2,
                   "sheaf scan: --exclusive-from: '" + number + "' is not a number of type u32");
  }
  expect_failure("scan list.npy whole.npy -o out.npy --exclusive-from 4294967296", 2,
                 "sheaf scan: --exclusive-from: '4294967296' is out of the range of type u32");
  for (const std::string number : {"1e-400", "1e400"}) {
    expect_failure("scan list.npy values.npy -o out.npy --exclusive-from " + number, 2,
                   "sheaf scan: --exclusive-from: '" + number + "' is out of the range of type f64");
  }
  expect_failure("rank list.npy -o ./list.npy", 2,
                 "sheaf rank: -o ./list.npy is the input list.npy; inputs are never written");
  expect_failure("scan list.npy values.npy -o ./values.npy", 2,
                 "sheaf scan: -o ./values.npy is the input values.npy; inputs are never written");
  // A sparse file of 2^31 nodes is not read before the type of ranks is known to be too narrow.
  folder.write("long.bin", "");
  std::filesystem::resize_file(folder / "long.bin", std::uintmax_t{4} << 31);
  expect_failure("rank long.bin --index-type u32 --output-type i32 -o out.bin", 2,
                 "sheaf rank: --output-type i32 cannot number 2147483648 nodes");
  expect_failure("rank list.npy --output-type f32 -o out.npy", 2,
                 "sheaf rank: 'f32' is not an index type: u32, u64, i32, i64");
  for (const char* wrong : {"rank list.npy --lists two -o out.npy", "scan list.npy values.npy --op sub -o out.npy",
                            "rank list.npy", "scan list.npy -o out.npy"}) {
    EXPECT_EQ(run_sheaf(folder, wrong).code, 2) << wrong;
  }
}

TEST_F(CliList, PlansExplainRanksAndScans) {
  const program_result text = run_sheaf(folder, "plan list_rank --count 1000 --lists many --backend cpu");
  EXPECT_TRUE(
      text.out.starts_with("list_rank: 1000 nodes in any number of lists, u32 successors, ranks of 4 bytes, "
                           "pattern unknown\n"))
      << text.out << text.err;
  const program_result scan = run_sheaf(
      folder, "plan list_scan --count 1000 --value-type u32 --op max --exclusive-from 0 --packed --json --backend cpu");
  ASSERT_EQ(scan.code, 0) << scan.err;
  const auto plan = nlohmann::json::parse(scan.out);
  EXPECT_EQ(plan["primitive"], "list_scan");
  EXPECT_EQ(plan["op"], "max");
  EXPECT_EQ(plan["scan"], "exclusive");
  EXPECT_EQ(plan["layout"], "packed");
  EXPECT_EQ(plan["value_type"], "u32");
  EXPECT_EQ(plan["lists"], "one");
  expect_failure("plan list_scan --count 1000 --value-type u64 --packed", 2,
                 "sheaf plan: list_scan: packed nodes have values and successors of 4 bytes, not 8 and 4");
  expect_failure("plan list_scan --count 1000 --op xor", 2,
                 "sheaf plan: list_scan: the bitwise operators take integers, not f32");
}

using rank_list = std::vector<std::uint32_t>;

// The check behind --verify finds wrong answers, which the calls above never give.
TEST(ListCheck, SaysWhichRankIsWrong) {
  const std::vector<std::int32_t> two{3, -1, 0, -1, 1};
  constexpr list_count many = list_count::many;
  EXPECT_EQ(jobs::rank_mistake(two, many, rank_list{1, 1, 0, 2, 0}), std::nullopt);
  EXPECT_EQ(jobs::rank_mistake(two, many, std::vector<std::uint64_t>{1, 1, 0, 2, 0}), std::nullopt);
  EXPECT_EQ(jobs::rank_mistake(two, many, rank_list{1, 1, 0, 3, 0}),
            "the rank of node 3 is 3, but a walk from node 2 has 2");
  EXPECT_EQ(jobs::rank_mistake(two, many, rank_list{1, 2, 0, 2, 1}),
            "the rank of node 4 is 1, but a walk from node 4 has 0");
}

// Whatever a call has answered where there was nothing to answer.
TEST(ListCheck, SaysWhatIsNoList) {
  using successors = std::vector<std::int32_t>;
  constexpr list_count one = list_count::one;
  constexpr list_count many = list_count::many;
  EXPECT_EQ(jobs::rank_mistake(successors{1, 0}, many, rank_list{77, 99}),
            "node 0 is not on a list: no walk from a head reaches it");
  EXPECT_EQ(jobs::rank_mistake(successors{-1, 2, 1}, one, rank_list{0, 1, 2}),
            "node 1 is not on a list: no walk from a head reaches it");
  EXPECT_EQ(jobs::rank_mistake(successors{3, -1, 0, -1, 1}, one, rank_list{1, 1, 0, 2, 0}),
            "node 4 is a second head beside node 2, where one list is expected");
  EXPECT_EQ(jobs::rank_mistake(successors{2, 2, -1}, many, rank_list{0, 0, 1}),
            "a walk from node 1 reaches node 2 again");
  EXPECT_EQ(jobs::rank_mistake(successors{1, 2, 1}, one, rank_list{0, 1, 2}),
            "a walk from node 0 reaches node 1 again");
  const std::vector<float> ones(2, 1);
  EXPECT_EQ(jobs::scan_mistake(successors{1, 0}, one, ones, ones, scan_operator::add, {}),
            "node 0 is not on a list: no walk from a head reaches it");
  EXPECT_EQ(jobs::scan_mistake(successors{-1, -1}, one, ones, ones, scan_operator::add, {}),
            "node 1 is a second head beside node 0, where one list is expected");
  EXPECT_EQ(jobs::scan_mistake(successors{-1, -1}, many, ones, ones, scan_operator::add, {}), std::nullopt);
}

template <class T>
std::optional<std::string> mistake_of(const std::vector<T>& in, const std::vector<T>& out, scan_operator op,
                                      std::optional<scalar> exclusive_from = {}) {
  const std::vector<std::int32_t> list{1, 2, -1};
  return jobs::scan_mistake(list, list_count::one, in, out, op, exclusive_from);
}

TEST(ListCheck, ComparesIntegersExactly) {
  using numbers = std::vector<std::int32_t>;
  EXPECT_EQ(mistake_of<std::int32_t>({1, 2, 3}, {1, 3, 6}, scan_operator::add), std::nullopt);
  EXPECT_EQ(mistake_of<std::int32_t>({1, 2, 3}, {1, 3, 7}, scan_operator::add),
            "the result of node 2 is 7, but a walk from node 0 has 6");
  EXPECT_EQ(mistake_of<std::int32_t>({1, 2, 3}, {9, 10, 12}, scan_operator::add, std::int32_t{9}), std::nullopt);
  EXPECT_EQ(mistake_of<std::int32_t>({1, 2, 3}, {1, 3, 6}, scan_operator::add, std::int32_t{0}),
            "the result of node 0 is 1, but a walk from node 0 has 0");
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(mistake_of<std::int32_t>({most, 1, 2}, {most, -most - 1, -most + 1}, scan_operator::add), std::nullopt);
  const numbers in{6, -3, 5};
  EXPECT_EQ(mistake_of(in, numbers{6, -18, -90}, scan_operator::mul), std::nullopt);
  EXPECT_EQ(mistake_of(in, numbers{6, -3, -3}, scan_operator::min), std::nullopt);
  EXPECT_EQ(mistake_of(in, numbers{6, 6, 6}, scan_operator::max), std::nullopt);
  EXPECT_EQ(mistake_of(in, numbers{6, 4, 4}, scan_operator::bit_and), std::nullopt);
  EXPECT_EQ(mistake_of(in, numbers{6, -1, -1}, scan_operator::bit_or), std::nullopt);
  EXPECT_EQ(mistake_of(in, numbers{6, 6 ^ -3, 6 ^ -3 ^ 5}, scan_operator::bit_xor), std::nullopt);
}

TEST(ListCheck, AllowsFloatsWhatRoundingMayDo) {
  const float tenth = 0.1F;
  EXPECT_EQ(
      mistake_of<float>({tenth, tenth, tenth}, {tenth, tenth + tenth, tenth + (tenth + tenth)}, scan_operator::add),
      std::nullopt);
  EXPECT_EQ(mistake_of<float>({1e8F, 1, -1e8F}, {1e8F, 1e8F, 0}, scan_operator::add), std::nullopt);
  EXPECT_EQ(mistake_of<float>({1, 2, 4}, {1, 3, 7.001F}, scan_operator::add),
            "the result of node 2 is 7.001, but a walk from node 0 has 7");
  EXPECT_EQ(mistake_of<double>({0.1, 3, 7}, {0.1, 0.1 * 3, 0.1 * (3 * 7.0)}, scan_operator::mul), std::nullopt);
  EXPECT_EQ(mistake_of<double>({2, 3, 7}, {2, 6, 43}, scan_operator::mul),
            "the result of node 2 is 43, but a walk from node 0 has 42");
  EXPECT_NE(mistake_of<float>({1, 2, 3}, {1, 1, 1.0000001F}, scan_operator::min), std::nullopt);
}

/// The list 0, 1, 2, ... of so many nodes.
std::vector<std::uint32_t> list_in_order(std::uint32_t nodes) {
  std::vector<std::uint32_t> list(nodes);
  std::iota(list.begin(), list.end(), 1U);
  if (nodes > 0) list.back() = 0xffffffffU;
  return list;
}

// The number of nodes times the precision is more than the whole sum from 2^23 nodes on.
TEST(ListCheck, SeesWrongSumsOfFloatsInLongLists) {
  constexpr std::uint32_t nodes = 1 << 24;
  const std::vector<std::uint32_t> list = list_in_order(nodes);
  const std::vector<float> ones(nodes, 1);
  std::vector<float> sums(nodes);
  std::iota(sums.begin(), sums.end(), 1.0F);
  const auto mistake = [&] { return jobs::scan_mistake(list, list_count::one, ones, sums, scan_operator::add, {}); };
  EXPECT_EQ(mistake(), std::nullopt);
  const float right = sums[nodes / 2];
  sums[nodes / 2] = right + 1000;
  EXPECT_EQ(mistake(), "the result of node 8388608 is 8389609, but a walk from node 0 has 8388609");
  sums[nodes / 2] = right;
  std::fill(sums.begin() + nodes / 2, sums.end(), 0.0F);
  EXPECT_EQ(mistake(), "the result of node 8388608 is 0, but a walk from node 0 has 8388609");
  // No step from one node to the next is wrong by more than rounding, but all together are.
  constexpr std::uint64_t half = nodes / 2;
  std::fill(sums.begin() + half, sums.end(), static_cast<float>(half));
  EXPECT_NE(mistake(), std::nullopt);
}

// From 2^24 on, a float stays as it is where 1 is added.
TEST(ListCheck, TakesSumsOfAWalkInFloats) {
  constexpr std::uint32_t nodes = 1 << 20;
  constexpr float first = 1 << 24;
  const std::vector<std::uint32_t> list = list_in_order(nodes);
  std::vector<float> in(nodes, 1);
  in.front() = first;
  const std::vector<float> of_a_walk(nodes, first);
  const auto mistake = [&](const std::vector<float>& out, std::optional<scalar> from) {
    return jobs::scan_mistake(list, list_count::one, in, out, scan_operator::add, from);
  };
  EXPECT_EQ(mistake(of_a_walk, {}), std::nullopt);
  EXPECT_NE(mistake(std::vector<float>(nodes, first + 2), {}), std::nullopt);
  in.front() = 1;
  EXPECT_EQ(mistake(of_a_walk, first), std::nullopt);
}

// Each multiplication rounds the whole product, in whatever order values are put together.
TEST(ListCheck, TakesProductsOfFloatsThatDriftButNoneThatJumps) {
  constexpr std::uint32_t nodes = 1 << 24;
  const std::vector<std::uint32_t> list = list_in_order(nodes);
  const std::vector<float> ones(nodes, 1);
  std::vector<float> products(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) products[i] = static_cast<float>(1 + i * 0x1p-24);
  const auto mistake = [&] {
    return jobs::scan_mistake(list, list_count::one, ones, products, scan_operator::mul, {});
  };
  EXPECT_EQ(mistake(), std::nullopt);
  std::fill(products.begin() + nodes / 2, products.end(), 0.0F);
  EXPECT_EQ(mistake(), "the result of node 8388608 is 0, but a walk from node 0 has 1");
}

TEST(ListCheck, TakesWhatIsNotFiniteAsItIs) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(mistake_of<double>({1, infinity, -infinity}, {1, infinity, nan}, scan_operator::add), std::nullopt);
  EXPECT_NE(mistake_of<double>({1, infinity, -infinity}, {1, infinity, 1}, scan_operator::add), std::nullopt);
  EXPECT_NE(mistake_of<double>({1, infinity, 1}, {1, 1, infinity}, scan_operator::add), std::nullopt);
  EXPECT_EQ(mistake_of<double>({1, nan, 0}, {1, nan, nan}, scan_operator::max), std::nullopt);
  EXPECT_NE(mistake_of<double>({1, nan, 0}, {1, nan, 1}, scan_operator::max), std::nullopt);
  EXPECT_EQ(mistake_of<double>({0.0, -0.0, 0.0}, {0.0, -0.0, -0.0}, scan_operator::min), std::nullopt);
  EXPECT_NE(mistake_of<double>({0.0, -0.0, 0.0}, {0.0, 0.0, 0.0}, scan_operator::min), std::nullopt);
  const double most = std::numeric_limits<double>::max();
  // The sum of the first two is out of range, that of the last two is not.
  EXPECT_EQ(mistake_of<double>({most, most, -most}, {most, infinity, most}, scan_operator::add), std::nullopt);
  EXPECT_EQ(mistake_of<double>({most, most, -most}, {most, infinity, infinity}, scan_operator::add), std::nullopt);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_list_test
