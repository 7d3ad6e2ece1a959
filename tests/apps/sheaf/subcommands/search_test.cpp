#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/sheaf/checks/search.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"
#include "support/scoped_environment.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_search_test {
namespace {

using u32s = std::vector<std::uint32_t>;
using u64s = std::vector<std::uint64_t>;

std::string u32_array(std::string_view shape, const u32s& list) { return npy_file("'<u4'", shape, bytes_of(list)); }
std::string u64_array(std::string_view shape, const u64s& list) { return npy_file("'<u8'", shape, bytes_of(list)); }

/// The bytes of numbers, each with its highest byte first.
template <class T>
std::string big_endian(const std::vector<T>& list) {
  std::string bytes = bytes_of(list);
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
    std::reverse(bytes.begin() + i, bytes.begin() + i + sizeof(T));
  return bytes;
}

/// A folder with a table of the keys 5, 7, 5, 8 and the keys 7, 5, 9, 5 to search for.
class CliSearch : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("table.npy", npy_file("'<i8'", "(4,)", bytes_of<std::int64_t>({5, 7, 5, 8})));
    folder.write("keys.npy", npy_file("'<i8'", "(4,)", bytes_of<std::int64_t>({7, 5, 9, 5})));
  }
  void expect_matches(const std::string& prefix, const u64s& offsets, const u32s& ids) {
    EXPECT_EQ(folder.read(prefix + ".offsets.npy"), u64_array(fmt::format("({},)", offsets.size()), offsets));
    EXPECT_EQ(folder.read(prefix + ".ids.npy"), u32_array(fmt::format("({},)", ids.size()), ids));
  }
};

constexpr const char* backends[] = {"auto", "cpu", "reference"};
constexpr std::uint32_t none = 0xffffffff;

TEST_F(CliSearch, FindsAllRowsTheFirstOrTheirNumber) {
  for (const std::string backend : backends) {
    const std::string more = " -o out --verify --backend " + backend;
    expect_success("search keys.npy table.npy" + more);
    expect_matches("out", {0, 1, 3, 3, 5}, {1, 0, 2, 0, 2});
    expect_success("search keys.npy table.npy --matches first" + more);
    EXPECT_EQ(folder.read("out.ids.npy"), u32_array("(4,)", {1, 0, none, 0})) << backend;
    expect_success("search keys.npy table.npy --matches count" + more);
    EXPECT_EQ(folder.read("out.counts.npy"), u32_array("(4,)", {1, 2, 0, 2})) << backend;
  }
}

TEST_F(CliSearch, KeepsTheShapeOfItsKeysWhereEachHasOneResult) {
  folder.write("keys.npy", npy_file("'<i8'", "(2, 1, 2)", bytes_of<std::int64_t>({7, 5, 9, 5})));
  expect_success("search keys.npy table.npy --matches first -o out --verify");
  EXPECT_EQ(folder.read("out.ids.npy"), u32_array("(2, 1, 2)", {1, 0, none, 0}));
  expect_success("search keys.npy table.npy --matches count -o out --verify");
  EXPECT_EQ(folder.read("out.counts.npy"), u32_array("(2, 1, 2)", {1, 2, 0, 2}));
  expect_success("search keys.npy table.npy -o out --verify");
  expect_matches("out", {0, 1, 3, 3, 5}, {1, 0, 2, 0, 2});
  folder.write("one.npy", npy_file("'<i8'", "()", bytes_of<std::int64_t>({8})));
  expect_success("search one.npy table.npy --matches first -o out --verify");
  EXPECT_EQ(folder.read("out.ids.npy"), u32_array("()", {3}));
}

TEST_F(CliSearch, TakesNumbersAndDatesOfEveryTypeAndOrderOfBytes) {
  const auto expect_found = [&](const std::string& keys, const std::string& table) {
    expect_success("search " + keys + " " + table + " -o out --verify");
    expect_matches("out", {0, 1, 3}, {1, 0, 2});
  };
  folder.write("f4.npy", npy_file("'<f4'", "(3,)", bytes_of<float>({0.5F, -2, 0.5F})));
  folder.write("f4_keys.npy", npy_file("'<f4'", "(2,)", bytes_of<float>({-2, 0.5F})));
  folder.write("f4_big.npy", npy_file("'>f4'", "(2,)", big_endian<float>({-2, 0.5F})));
  folder.write("i8_big.npy", npy_file("'>i8'", "(3,)", big_endian<std::int64_t>({-1, 6, -1})));
  folder.write("u8_keys.npy", npy_file("'<u8'", "(2,)", bytes_of<std::uint64_t>({6, ~std::uint64_t{0}})));
  folder.write("i8_keys_big.npy", npy_file("'>i8'", "(2,)", big_endian<std::int64_t>({6, -1})));
  folder.write("days.npy", npy_file("'<M8[D]'", "(3,)", bytes_of<std::int64_t>({1, 2, 1})));
  folder.write("days_keys.npy", npy_file("'<M8[D]'", "(2,)", bytes_of<std::int64_t>({2, 1})));
  expect_found("f4_keys.npy", "f4.npy");
  expect_found("f4_big.npy", "f4.npy");
  expect_found("u8_keys.npy", "i8_big.npy");
  expect_found("i8_keys_big.npy", "i8_big.npy");
  expect_found("days_keys.npy", "days.npy");
}

TEST_F(CliSearch, ComparesBits) {
  folder.write("table.npy", npy_file("'<u4'", "(3,)", bytes_of<std::uint32_t>({0x80000000, 0x7fc00000, 0})));
  folder.write("keys.bin", bytes_of<float>({0.0F, -0.0F}));
  expect_success("search keys.bin table.npy --key-bytes 4 -o out --matches first --verify");
  EXPECT_EQ(folder.read("out.ids.npy"), u32_array("(2,)", {2, 0}));
  folder.write("nan.bin", bytes_of<std::uint32_t>({0x7fc00000, 0x7fc00001}));
  expect_success("search nan.bin table.npy --key-bytes 4 -o out --matches first --verify");
  EXPECT_EQ(folder.read("out.ids.npy"), u32_array("(2,)", {1, none}));
}

TEST_F(CliSearch, ReadsKeysInsideOfRows) {
  folder.write("rows.npy", npy_file("'<i4'", "(3, 3)", bytes_of<std::int32_t>({1, 7, 1, 2, 5, 2, 3, 7, 3})));
  folder.write("raw.bin", bytes_of<std::int32_t>({1, 7, 1, 2, 5, 2, 3, 7, 3}));
  folder.write("fields.npy",
               npy_file("[('a', '|u1'), ('key', '<i4')]", "(2,)", std::string("\1\7\0\0\0\2\5\0\0\0", 10)));
  folder.write("keys4.npy", npy_file("'<i4'", "(2,)", bytes_of<std::int32_t>({7, 5})));
  for (const std::string backend : backends) {
    const std::string more = " -o out --verify --backend " + backend;
    expect_success("search keys4.npy rows.npy --key 4:4" + more);
    expect_matches("out", {0, 2, 3}, {0, 2, 1});
    expect_success("search keys4.npy raw.bin --record-bytes 12 --key 4:4" + more);
    expect_matches("out", {0, 2, 3}, {0, 2, 1});
    expect_success("search keys4.npy fields.npy --key 1:4" + more);
    expect_matches("out", {0, 1, 2}, {0, 1});
  }
}

TEST_F(CliSearch, WritesTheRecordsThatAreFound) {
  folder.write("letters.bin", "aabbccdd");
  folder.write("floats.npy", npy_file("'<f4'", "(4, 1)", bytes_of<float>({0, 1, 2, 3})));
  for (const std::string backend : backends) {
    const std::string more = " -o out --verify --backend " + backend;
    expect_success("search keys.npy table.npy --payload letters.bin --payload-bytes 2" + more);
    expect_matches("out", {0, 1, 3, 3, 5}, {1, 0, 2, 0, 2});
    EXPECT_EQ(folder.read("out.records.bin"), "bbaaccaacc") << backend;
    expect_success("search keys.npy table.npy --payload floats.npy" + more);
    EXPECT_EQ(folder.read("out.records.npy"), npy_file("'<f4'", "(5, 1)", bytes_of<float>({1, 0, 2, 0, 2}))) << backend;
  }
}

TEST_F(CliSearch, OfNothingIsNothing) {
  folder.write("none.npy", npy_file("'<i8'", "(0,)", ""));
  folder.write("none.bin", "");
  for (const std::string backend : backends) {
    const std::string more = " -o out --verify --backend " + backend;
    expect_success("search none.npy table.npy --payload table.npy" + more);
    expect_matches("out", {0}, {});
    EXPECT_EQ(folder.read("out.records.npy"), folder.read("none.npy"));
    expect_success("search keys.npy none.npy" + more);
    expect_matches("out", {0, 0, 0, 0, 0}, {});
    expect_success("search keys.npy none.npy --matches first" + more);
    EXPECT_EQ(folder.read("out.ids.npy"), u32_array("(4,)", {none, none, none, none}));
    expect_success("search none.bin none.bin --key-bytes 8 --record-bytes 8 --matches count" + more);
    EXPECT_EQ(folder.read("out.counts.npy"), u32_array("(0,)", {}));
  }
}

// Far more keys and rows than a thread takes at once; --verify looks at all of them.
TEST_F(CliSearch, IsRightForManyKeys) {
  std::vector<std::uint32_t> table(100000);
  std::vector<std::uint32_t> keys(70000);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint32_t>(inputs::mix(i) % 30000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(inputs::mix(~i) % 60000);
  folder.write("table.npy", npy_file("'<u4'", "(100000,)", bytes_of(table)));
  folder.write("keys.npy", npy_file("'<u4'", "(70000,)", bytes_of(keys)));
  for (const std::string variant : {"cpu.direct", "cpu.partitioned", "reference.serial"}) {
    for (const std::string kind : {"", " --matches first", " --matches count"}) {
      const std::string arguments =
          fmt::format("search keys.npy table.npy -o out --verify --backend cpu --variant {}{}", variant, kind);
      expect_success(arguments + " --threads 2 --memory 1G");
      const program_result report = run_sheaf(folder, arguments + " --json");
      EXPECT_EQ(nlohmann::json::parse(report.out)["variant"], variant) << report.out << report.err;
    }
  }
}

TEST_F(CliSearch, ReportsAreOneDocument) {
  const program_result result =
      run_sheaf(folder, "search keys.npy table.npy -o out --json --verify --backend reference");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["command"], "search");
  EXPECT_EQ(report["primitive"], "hash_search");
  EXPECT_EQ(report["variant"], "reference.serial");
  EXPECT_EQ(report["build_variant"], "reference.serial");
  EXPECT_EQ(report["keys"], 4);
  EXPECT_EQ(report["records"], 4);
  EXPECT_EQ(report["distinct"], 3);
  EXPECT_EQ(report["longest_chain"], 2);
  EXPECT_EQ(report["matches"], 5);
  EXPECT_EQ(report["verified"], true);
  EXPECT_EQ(report["outputs"], nlohmann::json({"out.offsets.npy", "out.ids.npy"}));
  const program_result first = run_sheaf(folder, "search keys.npy table.npy -o out --json --matches first");
  EXPECT_EQ(nlohmann::json::parse(first.out)["primitive"], "hash_find");
  EXPECT_EQ(nlohmann::json::parse(first.out)["matches"], 3) << "keys that some row has";
  const program_result counts = run_sheaf(folder, "search keys.npy table.npy -o out --json --matches count");
  EXPECT_EQ(nlohmann::json::parse(counts.out)["primitive"], "hash_count");
  EXPECT_EQ(nlohmann::json::parse(counts.out)["matches"], 5);
  const program_result text = run_sheaf(folder, "search keys.npy table.npy -o out --verify");
  EXPECT_TRUE(text.out.starts_with("hash_search: 4 keys among 4 records, 5 matches, with ")) << text.out;
  EXPECT_TRUE(text.out.ends_with("; verified\n")) << text.out;
  const program_result quiet = run_sheaf(folder, "search keys.npy table.npy -o out --quiet");
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(CliSearch, BadInputsAreNamed) {
  folder.write("short.npy", npy_file("'<i2'", "(5,)", std::string(10, '\0')));
  folder.write("text.npy", npy_file("'<U2'", "(1,)", std::string(8, 'a')));
  folder.write("narrow.npy", npy_file("'<i4'", "(1,)", std::string(4, '\0')));
  folder.write("floats.npy", npy_file("'<f8'", "(1,)", std::string(8, '\0')));
  folder.write("wide.npy", npy_file("'<i4'", "(1, 3)", std::string(12, '\0')));
  folder.write("raw.bin", std::string(10, '\0'));
  const auto fails = [&](const std::string& arguments, const std::string& words) {
    expect_failure("search " + arguments + " -o out", 3, "sheaf search: " + words);
  };
  fails("short.npy table.npy", "short.npy: keys of 2 bytes, not 4 or 8");
  fails("text.npy table.npy", "text.npy: descr is '<U2'; keys are numbers or dates of 4 or 8 bytes");
  fails("narrow.npy table.npy", "narrow.npy: keys of 4 bytes, but those of table.npy have 8");
  fails("floats.npy table.npy",
        "floats.npy: descr is '<f8', but table.npy has '<i8'; bits are compared, so both need the same type");
  fails("keys.npy wide.npy",
        "wide.npy: keys of 12 bytes, not 4 or 8; --key OFFSET:BYTES says where the key lies in a row");
  for (const std::string descr : {"'<c8'", "'<U2'", "'|S8'"}) {
    folder.write("others.npy", npy_file(descr, "(1,)", std::string(8, 'a')));
    fails("keys.npy others.npy", "others.npy: descr is " + descr +
                                     "; a row is a key where it has numbers or dates, elsewhere --key "
                                     "OFFSET:BYTES says where the key lies in it");
    expect_success("search keys.npy others.npy --key 0:8 -o out");
  }
  fails("raw.bin table.npy", "raw.bin: not an .npy file; raw files need --key-bytes");
  fails("raw.bin table.npy --key-bytes 8", "raw.bin: 10 bytes are not a multiple of 8 bytes: 2 are left over");
  fails("keys.npy raw.bin", "raw.bin: not an .npy file; raw files need --record-bytes");
  fails("keys.npy table.npy --record-bytes 8", "table.npy: an .npy file, but --record-bytes is for raw files");
  fails("keys.npy table.npy --payload short.npy", "short.npy: 5 records, but table.npy has 4 rows");
  fails("keys.npy table.npy --payload raw.bin", "raw.bin: not an .npy file; raw files need --payload-bytes");
  fails("missing.npy table.npy", "missing.npy: cannot be opened: No such file or directory");
}

TEST_F(CliSearch, UsageErrorsAreNamed) {
  const auto fails = [&](const std::string& arguments, const std::string& words) {
    expect_failure("search " + arguments, 2, "sheaf search: " + words);
  };
  for (const std::string place : {"4", "4:3", "x:4", "-1:4", "4:", ":8", "0:4:u"}) {
    fails("keys.npy table.npy -o out --key=" + place, "--key: '" + place + "' is not OFFSET:BYTES with 4 or 8 bytes");
  }
  fails("keys.npy table.npy -o out --key 1:8", "--key 1:8 ends past the 8 bytes of a row of table.npy");
  fails("keys.npy table.npy -o out --key 18446744073709551615:8",
        "--key 18446744073709551615:8 ends past the 8 bytes of a row of table.npy");
  fails("keys.npy table.npy -o out --matches first --payload table.npy", "--payload is for --matches all");
  std::filesystem::create_directory(folder / "inner");
  for (const std::string prefix : {".", "..", "inner", "inner/", "inner/missing/", "./"}) {
    fails("keys.npy table.npy -o " + prefix, "-o " + prefix + ": a folder; a prefix is how the names of files begin");
  }
  expect_success("search keys.npy table.npy -o inner/found --quiet");
  EXPECT_TRUE(folder.has("inner/found.ids.npy"));
  {
    const scoped_environment forced("SHEAF_VARIANT", "hash_search:reference.serial");
    const program_result refused = run_sheaf(folder, "search keys.npy table.npy -o out --backend cpu");
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("force build_hash_index:reference.serial too"), std::string::npos) << refused.err;
  }
  {
    const scoped_environment forced("SHEAF_VARIANT", "hash_search:reference.serial,build_hash_index:reference.serial");
    expect_success("search keys.npy table.npy -o out --backend cpu --quiet");
  }
  fails("keys.npy table.npy -o out --payload-bytes 8", "--payload-bytes is for --payload");
  fails("keys.npy table.npy -o out --backend reference --variant cpu.direct",
        "--variant cpu.direct does not belong to --backend reference");
  fails("keys.npy table.npy -o out --variant cpu.fast --backend cpu",
        "no variant is named 'cpu.fast'; there are reference.serial, cpu.direct, cpu.partitioned");
  for (const char* wrong :
       {"search keys.npy table.npy", "search keys.npy -o out", "search keys.npy table.npy --matches nonsense -o out",
        "search keys.npy table.npy --key-bytes 6 -o out"}) {
    EXPECT_EQ(run_sheaf(folder, wrong).code, 2) << wrong;
  }
}

TEST_F(CliSearch, NeverWritesAnInputNorOneFileTwice) {
  folder.write("in.ids.npy", folder.read("keys.npy"));
  expect_failure("search in.ids.npy table.npy -o ./in", 2,
                 "sheaf search: -o ./in.ids.npy is the input in.ids.npy; inputs are never written");
  EXPECT_EQ(folder.read("in.ids.npy"), folder.read("keys.npy"));
  std::filesystem::create_symlink("out.offsets.npy", folder / "out.ids.npy");
  expect_failure("search keys.npy table.npy -o out", 2, "sheaf search: out.offsets.npy and out.ids.npy are one file");
}

TEST_F(CliSearch, LeavesAllOldOutputsWhereOneCannotBeWritten) {
  folder.write("out.offsets.npy", "old");
  std::filesystem::create_directory(folder / "out.records.npy");
  const program_result result = run_sheaf(folder, "search keys.npy table.npy --payload table.npy -o out");
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("out.records.npy"), std::string::npos) << result.err;
  EXPECT_EQ(folder.read("out.offsets.npy"), "old");
  EXPECT_FALSE(folder.has("out.ids.npy"));
  const std::size_t files = folder.count();
  EXPECT_EQ(run_sheaf(folder, "search keys.npy table.npy -o missing/out").code, 5);
  EXPECT_EQ(folder.count(), files) << "nothing is left behind";
}

// The name of one output has as many characters as a file may have, that of the other has four more.
TEST_F(CliSearch, WritesNothingWhereOneOutputsNameIsTooLong) {
  const std::string prefix(255 - std::string_view(".ids.npy").size(), 'p');
  expect_failure("search keys.npy table.npy -o " + prefix, 5,
                 "sheaf search: " + prefix + ".offsets.npy: cannot be created: File name too long");
  folder.write(prefix + ".ids.npy", "old");
  expect_failure("search keys.npy table.npy -o " + prefix, 5,
                 "sheaf search: " + prefix + ".offsets.npy: cannot be created: File name too long");
  EXPECT_EQ(folder.read(prefix + ".ids.npy"), "old");
  expect_success("search keys.npy table.npy --matches first -o " + prefix);
  EXPECT_EQ(folder.read(prefix + ".ids.npy"), u32_array("(4,)", {1, 0, none, 0}));
}

// The variant is one that the search itself would refuse.
TEST_F(CliSearch, FindsNamesThatAreTooLongBeforeItSearches) {
  constexpr std::size_t longest_name = 255;
  const std::string fits(longest_name - std::string_view(".offsets.npy").size(), 'x');
  const std::string too_long = fits + "x";
  expect_failure("search keys.npy table.npy --variant cpu.fast --backend cpu -o " + too_long, 5,
                 "sheaf search: " + too_long + ".offsets.npy: cannot be created: File name too long");
  expect_failure("search keys.npy table.npy --payload table.npy --variant cpu.fast --backend cpu -o " + too_long, 5,
                 "sheaf search: " + too_long + ".offsets.npy: cannot be created: File name too long");
  expect_success("search keys.npy table.npy --matches first -o " + too_long);
  EXPECT_EQ(folder.read(too_long + ".ids.npy"), u32_array("(4,)", {1, 0, none, 0}));
  expect_success("search keys.npy table.npy --payload table.npy -o " + fits);
  expect_matches(fits, {0, 1, 3, 3, 5}, {1, 0, 2, 0, 2});
}

TEST_F(CliSearch, PlansExplainBuildsAndSearches) {
  const program_result text =
      run_sheaf(folder, "plan hash_search --count 1000 --table 5000 --repeats 16 --backend cpu");
  EXPECT_TRUE(text.out.starts_with("hash_search: 1000 keys among 5000 records, keys of 8 bytes, each of 16 records\n"))
      << text.out << text.err;
  const program_result build =
      run_sheaf(folder, "plan build_hash_index --count 1000 --repeats zipf --load 99 --json --backend cpu");
  ASSERT_EQ(build.code, 0) << build.err;
  const auto plan = nlohmann::json::parse(build.out);
  EXPECT_EQ(plan["primitive"], "build_hash_index");
  EXPECT_EQ(plan["repeats"], "zipf");
  EXPECT_EQ(plan["load_percent"], 99);
  EXPECT_EQ(plan["key_bytes"], 8);
  EXPECT_EQ(plan["choice"], "cpu.partitioned");
  const program_result named =
      run_sheaf(folder, "plan hash_find/zipf:s900:x1:h50/r4/k32/n=77 --json --backend reference");
  ASSERT_EQ(named.code, 0) << named.err;
  EXPECT_EQ(nlohmann::json::parse(named.out)["choice"], "reference.serial");
  expect_failure("plan hash_find --count 9 --key-bytes 16", 2,
                 "sheaf plan: --key-bytes: '16' is not 4 or 8\nTry: sheaf plan --help");
}

// The check behind --verify finds wrong answers, which the calls above never give.
TEST(SearchCheck, SaysWhichAnswerIsWrong) {
  const u32s table{5, 7, 5, 8};
  const u32s probes{7, 5, 9};
  const jobs::sorted_keys sorted(table);
  const auto search = [&](const u64s& offsets, const u32s& ids) { return sorted.search_mistake(probes, offsets, ids); };
  EXPECT_EQ(search({0, 1, 3, 3}, {1, 0, 2}), std::nullopt);
  EXPECT_EQ(search({1, 1, 3, 3}, {1, 0, 2}), "the matches of key 0 begin at 1, not at 0");
  EXPECT_EQ(search({0, 1, 2, 2}, {1, 0}), "the matches of key 1 are 1 to 2, but a sorted array has 2");
  EXPECT_EQ(search({0, 1, 3, 3}, {1, 0}), "the matches of key 1 are 1 to 3, but a sorted array has 2");
  EXPECT_EQ(search({0, 1, 3, 4}, {1, 0, 2, 3}), "the matches of key 2 are 3 to 4, but a sorted array has 0");
  EXPECT_EQ(search({0, 1, 3, 3}, {1, 2, 0}), "match 0 of key 1 is record 2, but a sorted array has 0");
  EXPECT_EQ(search({0, 1, 3, 3}, {1, 0, 2, 3}), "there are 4 record numbers, but all keys together have 3");
  EXPECT_EQ(sorted.count_mistake(probes, u32s{1, 2, 0}), std::nullopt);
  EXPECT_EQ(sorted.count_mistake(probes, u64s{1, 2, 0}), std::nullopt);
  EXPECT_EQ(sorted.count_mistake(probes, u64s{1, 2, 1}), "key 2 has 1 records, but a sorted array has 0");
  EXPECT_EQ(sorted.find_mistake(probes, u32s{1, 0, none}), std::nullopt);
  EXPECT_EQ(sorted.find_mistake(probes, u32s{1, 2, none}), "the first record of key 1 is 2, but a sorted array has 0");
  EXPECT_EQ(sorted.find_mistake(probes, u32s{none, 0, none}),
            "the first record of key 0 is none, but a sorted array has 1");
  EXPECT_EQ(sorted.find_mistake(probes, u64s{1, 0, 3}), "the first record of key 2 is 3, but a sorted array has none");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_search_test
