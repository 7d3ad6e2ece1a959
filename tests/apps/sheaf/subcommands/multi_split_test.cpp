#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/sheaf/checks/split.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_multi_split_test {
namespace {

/// A folder that holds five records, raw and as rows of two 16-bit numbers, and in which of four categories they are:
/// the third in none, category 2 has none.
class CliMultiSplit : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("in.bin", "a b c d e ");
    folder.write("in.npy",
                 npy_file("'<u2'", "(5, 2)", bytes_of<std::uint16_t>({10, 20, 11, 21, 12, 22, 13, 23, 14, 24})));
    folder.write("first.npy", npy_file("'<u8'", "(6,)", bytes_of<std::uint64_t>({0, 2, 3, 3, 6, 7})));
    folder.write("of.npy", npy_file("'|u1'", "(7,)", bytes_of<std::uint8_t>({3, 0, 1, 1, 3, 0, 3})));
  }

  const std::string of = " --row-offsets first.npy --keys of.npy --categories 4 ";
  const std::string raw_result = "a d b d a d e ";
  const std::string result =
      npy_file("'<u2'", "(7, 2)", bytes_of<std::uint16_t>({10, 20, 13, 23, 11, 21, 13, 23, 10, 20, 13, 23, 14, 24}));
  const std::string sources = npy_file("'<u4'", "(7,)", bytes_of<std::uint32_t>({0, 3, 1, 3, 0, 3, 4}));
  const std::string offsets = npy_file("'<u8'", "(5,)", bytes_of<std::uint64_t>({0, 2, 4, 4, 7}));
};

TEST_F(CliMultiSplit, WritesEachRecordOnceForEachOfItsCategories) {
  for (const char* backend : {"auto", "cpu", "reference"}) {
    expect_success(
        fmt::format("multi-split in.npy{}-o out.npy --sources sources.npy --offsets offsets.npy --verify "
                    "--backend {}",
                    of, backend));
    EXPECT_EQ(folder.read("out.npy"), result) << backend;
    EXPECT_EQ(folder.read("sources.npy"), sources) << backend;
    EXPECT_EQ(folder.read("offsets.npy"), offsets) << backend;
    expect_success(fmt::format("multi-split in.bin --record-bytes 2{}-o out.bin --verify --backend {}", of, backend));
    EXPECT_EQ(folder.read("out.bin"), raw_result) << backend;
  }
}

TEST_F(CliMultiSplit, WritesSourcesAlone) {
  expect_success("multi-split" + of + "--sources sources.npy --offsets offsets.npy --verify");
  EXPECT_EQ(folder.read("sources.npy"), sources);
  EXPECT_EQ(folder.read("offsets.npy"), offsets);
  expect_success("multi-split" + of + "--sources wide.npy --output-type i64 --verify");
  EXPECT_EQ(folder.read("wide.npy"), npy_file("'<i8'", "(7,)", bytes_of<std::int64_t>({0, 3, 1, 3, 0, 3, 4})));
  // A gather by the sources is the split.
  expect_success("gather in.npy wide.npy -o out.npy");
  EXPECT_EQ(folder.read("out.npy"), result);
}

TEST_F(CliMultiSplit, ReadsNumbersOfAnyWidthAndOrder) {
  const std::vector<std::string> firsts{
      npy_file("'|u1'", "(6,)", bytes_of<std::uint8_t>({0, 2, 3, 3, 6, 7})),
      npy_file("'<i2'", "(6,)", bytes_of<std::int16_t>({0, 2, 3, 3, 6, 7})),
      npy_file("'<i4'", "(6,)", bytes_of<std::int32_t>({0, 2, 3, 3, 6, 7})),
      npy_file("'<i8'", "(6,)", bytes_of<std::int64_t>({0, 2, 3, 3, 6, 7})),
      npy_file("'>u4'", "(6,)", std::string("\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\3\0\0\0\6\0\0\0\7", 24)),
  };
  for (const std::string& first : firsts) {
    folder.write("first.npy", first);
    expect_success("multi-split in.npy" + of + "-o out.npy --verify");
    EXPECT_EQ(folder.read("out.npy"), result) << first;
  }
  const std::vector<std::string> categories{
      npy_file("'<u2'", "(7,)", bytes_of<std::uint16_t>({3, 0, 1, 1, 3, 0, 3})),
      npy_file("'>u2'", "(7,)", std::string("\0\3\0\0\0\1\0\1\0\3\0\0\0\3", 14)),
      npy_file("'<u4'", "(7,)", bytes_of<std::uint32_t>({3, 0, 1, 1, 3, 0, 3})),
  };
  for (const std::string& list : categories) {
    folder.write("of.npy", list);
    expect_success("multi-split in.npy" + of + "-o out.npy --verify");
    EXPECT_EQ(folder.read("out.npy"), result) << list;
  }
  folder.write("first.bin", bytes_of<std::uint32_t>({0, 2, 3, 3, 6, 7}));
  folder.write("of.bin", bytes_of<std::uint16_t>({3, 0, 1, 1, 3, 0, 3}));
  expect_success(
      "multi-split in.bin --record-bytes 2 --row-offsets first.bin --index-type u32 --keys of.bin "
      "--key-bytes 2 --categories 4 -o out.bin --verify");
  EXPECT_EQ(folder.read("out.bin"), raw_result);
}

TEST_F(CliMultiSplit, OfNothingIsNothing) {
  folder.write("none.npy", npy_file("'<f4'", "(0, 3)", ""));
  folder.write("first.npy", npy_file("'<u8'", "(1,)", bytes_of<std::uint64_t>({0})));
  folder.write("of.npy", npy_file("'|u1'", "(0,)", ""));
  expect_success("multi-split none.npy" + of + "-o out.npy --sources sources.npy --offsets offsets.npy --verify");
  EXPECT_EQ(folder.read("out.npy"), folder.read("none.npy"));
  EXPECT_EQ(folder.read("sources.npy"), npy_file("'<u4'", "(0,)", ""));
  EXPECT_EQ(folder.read("offsets.npy"), npy_file("'<u8'", "(5,)", bytes_of<std::uint64_t>({0, 0, 0, 0, 0})));
  // Records that are in no category.
  folder.write("first.npy", npy_file("'<u8'", "(6,)", bytes_of<std::uint64_t>({0, 0, 0, 0, 0, 0})));
  expect_success("multi-split in.npy" + of + "-o out.npy --verify");
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<u2'", "(0, 2)", ""));
  // One record in one category.
  folder.write("one.bin", "x");
  folder.write("first.npy", npy_file("'<u8'", "(2,)", bytes_of<std::uint64_t>({0, 1})));
  folder.write("of.npy", npy_file("'|u1'", "(1,)", bytes_of<std::uint8_t>({3})));
  expect_success("multi-split one.bin --record-bytes 1" + of + "-o out.bin --offsets offsets.npy --verify");
  EXPECT_EQ(folder.read("out.bin"), "x");
  EXPECT_EQ(folder.read("offsets.npy"), npy_file("'<u8'", "(5,)", bytes_of<std::uint64_t>({0, 0, 0, 0, 1})));
}

// More records, memberships and categories than one thread or one pass takes, against an order that the test finds.
TEST_F(CliMultiSplit, KeepsTheOrderOfManyMemberships) {
  constexpr std::uint64_t records = 20000;
  constexpr std::uint64_t categories = 70000;
  std::string in;
  std::vector<std::uint64_t> first{0};
  std::vector<std::uint32_t> of_all;
  std::vector<std::vector<std::uint32_t>> members(categories);
  for (std::uint32_t r = 0; r < records; ++r) {
    in += fmt::format("record {:5}.", r);
    for (std::uint64_t e = inputs::mix(r) % 6; e > 0; --e) {
      const auto category = static_cast<std::uint32_t>(inputs::mix(1000 * r + e) % categories);
      of_all.push_back(category);
      members[category].push_back(r);
    }
    first.push_back(of_all.size());
  }
  std::string expected;
  std::vector<std::uint32_t> expected_sources;
  for (const auto& category : members) {
    expected_sources.insert(expected_sources.end(), category.begin(), category.end());
    for (const std::uint32_t r : category) expected += in.substr(13 * r, 13);
  }
  folder.write("many.bin", in);
  folder.write("first.npy", npy_file("'<u8'", fmt::format("({},)", first.size()), bytes_of(first)));
  folder.write("of.npy", npy_file("'<u4'", fmt::format("({},)", of_all.size()), bytes_of(of_all)));
  for (const char* backend : {"auto", "cpu --threads 3"}) {
    expect_success(
        fmt::format("multi-split many.bin --record-bytes 13 --row-offsets first.npy --keys of.npy --categories "
                    "{} -o out.bin --sources sources.npy --verify --backend {}",
                    categories, backend));
    EXPECT_EQ(folder.read("out.bin"), expected) << backend;
    EXPECT_EQ(folder.read("sources.npy"),
              npy_file("'<u4'", fmt::format("({},)", of_all.size()), bytes_of(expected_sources)))
        << backend;
  }
}

TEST_F(CliMultiSplit, ReportsAreOneDocument) {
  const program_result both = run_sheaf(folder, "multi-split in.npy" + of + "-o out.npy --json --verify --backend cpu");
  ASSERT_EQ(both.code, 0) << both.err;
  const auto report = nlohmann::json::parse(both.out);
  EXPECT_EQ(report["command"], "multi-split");
  EXPECT_EQ(report["primitive"], "multi_split");
  EXPECT_EQ(report["records"], 7);
  EXPECT_EQ(report["record_bytes"], 4);
  EXPECT_EQ(report["verified"], true);
  EXPECT_EQ(report["output"], "out.npy");
  EXPECT_TRUE(report["variant"].get<std::string>().starts_with("cpu.")) << report;
  const program_result alone = run_sheaf(folder, "multi-split" + of + "--sources s.npy --json");
  EXPECT_EQ(nlohmann::json::parse(alone.out)["primitive"], "multi_split_index");
  EXPECT_EQ(nlohmann::json::parse(alone.out)["output"], "s.npy");
  const program_result quiet = run_sheaf(folder, "multi-split in.npy" + of + "-o out.npy --quiet");
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(CliMultiSplit, BadCategoriesNameFilePlaceAndValueAndLeaveTheOldOutputs) {
  for (const char* name : {"out.npy", "sources.npy", "offsets.npy"}) folder.write(name, "old");
  for (const char* how : {"", " --backend cpu --threads 3", " --backend reference --verify"}) {
    expect_failure(
        "multi-split in.npy --row-offsets first.npy --keys of.npy --categories 3 -o out.npy --sources "
        "sources.npy --offsets offsets.npy" +
            std::string(how),
        3, "sheaf multi-split: of.npy: category[0] is 3, past the 3 categories");
  }
  for (const char* name : {"out.npy", "sources.npy", "offsets.npy"}) EXPECT_EQ(folder.read(name), "old") << name;
}

TEST_F(CliMultiSplit, PlacesThatDoNotAscendToTheEndAreNamed) {
  folder.write("out.npy", "old");
  const auto refused = [&](const std::string& type, const std::string& data, const std::string& why) {
    folder.write("wrong.npy", npy_file(type, "(6,)", data));
    expect_failure("multi-split in.npy --row-offsets wrong.npy --keys of.npy --categories 4 -o out.npy", 3,
                   "sheaf multi-split: wrong.npy: " + why);
  };
  refused("'<u8'", bytes_of<std::uint64_t>({0, 2, 3, 2, 6, 7}), "[3] is 2, below [2], which is 3");
  refused("'<u8'", bytes_of<std::uint64_t>({1, 2, 3, 3, 6, 7}), "[0] is 1, not 0");
  refused("'<u8'", bytes_of<std::uint64_t>({0, 2, 3, 3, 6, 8}), "[5], the last, is 8, but of.npy has 7 entries");
  refused("'<u4'", bytes_of<std::uint32_t>({0, 2, 3, 3, 6, 6}), "[5], the last, is 6, but of.npy has 7 entries");
  refused("'<u8'", bytes_of<std::uint64_t>({0, 2, ~std::uint64_t{0}, 3, 6, 7}),
          "[3] is 3, below [2], which is 18446744073709551615");
  refused("'<i8'", bytes_of<std::int64_t>({0, 2, 3, -4, 6, 7}), "[3] is -4, below [2], which is 3");
  refused("'<i4'", bytes_of<std::int32_t>({-1, 2, 3, 3, 6, 7}), "[0] is -1, not 0");
  EXPECT_EQ(folder.read("out.npy"), "old");
}

TEST_F(CliMultiSplit, BadInputsAreNamed) {
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    expect_failure("multi-split " + arguments, 3, "sheaf multi-split: " + why);
  };
  folder.write("short.npy", npy_file("'<u8'", "(5,)", bytes_of<std::uint64_t>({0, 2, 3, 3, 7})));
  folder.write("none.npy", npy_file("'<u8'", "(0,)", ""));
  folder.write("square.npy", npy_file("'<u8'", "(2, 3)", bytes_of<std::uint64_t>({0, 2, 3, 3, 6, 7})));
  folder.write("float.npy", npy_file("'<f8'", "(6,)", std::string(48, '\0')));
  folder.write("signed.npy", npy_file("'|i1'", "(7,)", std::string(7, '\0')));
  folder.write("wide.npy", npy_file("'<u8'", "(7,)", std::string(56, '\0')));
  folder.write("twice.npy", npy_file("'|u1'", "(7, 1)", std::string(7, '\0')));
  const auto by_first = [](const std::string& first) {
    return "in.npy --row-offsets " + first + " --keys of.npy --categories 4 -o out.npy";
  };
  const auto by_categories = [](const std::string& categories) {
    return "in.npy --row-offsets first.npy --keys " + categories + " --categories 4 -o out.npy";
  };
  refused(by_first("short.npy"), "short.npy: 5 numbers, but in.npy has 5 records, which need 6");
  refused(by_first("none.npy"), "none.npy: no numbers; there is one row offset more than there are records");
  refused(by_first("square.npy"), "square.npy: shape is (2, 3); row offsets are one number a record, and one more");
  refused(by_first("float.npy"),
          "float.npy: descr is '<f8'; an index has whole numbers of 1, 2, 4 or 8 bytes, signed or unsigned");
  refused(by_first("in.bin"), "in.bin: not an .npy file; raw files need --index-type");
  refused(by_first("in.bin --index-type u32"), "in.bin: 10 bytes are not a multiple of 4 bytes: 2 are left over");
  refused(by_first("missing.npy"), "missing.npy: cannot be opened: No such file or directory");
  refused(by_categories("signed.npy"), "signed.npy: descr is '|i1'; categories are '|u1', '<u2' or '<u4'");
  refused(by_categories("wide.npy"), "wide.npy: descr is '<u8'; categories are '|u1', '<u2' or '<u4'");
  refused(by_categories("twice.npy"), "twice.npy: shape is (7, 1); categories are one number a membership");
  refused(by_categories("in.bin"), "in.bin: not an .npy file; raw files need --key-bytes");
  refused("in.bin" + of + "-o out.bin", "in.bin: not an .npy file; raw files need --record-bytes");
}

TEST_F(CliMultiSplit, UsageErrorsAreNamed) {
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    expect_failure("multi-split " + arguments, 2, "sheaf multi-split: " + why);
  };
  const std::string hint = "\nTry: sheaf multi-split --help";
  refused("in.npy" + of, "give -o, --sources or both");
  refused(of + "-o out.npy", "-o needs IN; --sources alone does without records");
  refused("in.npy" + of + "--sources out.npy", "IN is for -o; --sources alone does without records");
  refused(of + "--sources out.npy --record-bytes 2", "--record-bytes is for IN");
  refused("in.npy" + of + "-o out.npy --output-type u64", "--output-type is for --sources");
  refused("in.npy" + of + "-o out.npy --key-bytes 3", "--key-bytes is 3, not 1, 2 or 4");
  refused("in.npy --row-offsets first.npy --keys of.npy -o out.npy", "--categories is required" + hint);
  refused("in.npy --row-offsets first.npy --categories 4 -o out.npy", "--keys is required" + hint);
  refused("in.npy --keys of.npy --categories 4 -o out.npy", "--row-offsets is required" + hint);
  refused(
      "in.npy --row-offsets first.npy --keys of.npy --categories 0 -o out.npy",
      "--categories: '0' is not a whole number from 1 to 4294967296; --keys names the file of the categories" + hint);
  refused("in.bin --record-bytes 2" + of + "-o out.npy",
          "-o out.npy: in.bin is raw, and so is the result, without the header of an .npy file; give it a name that "
          "ends in .bin, or make in.bin an .npy file");
}

TEST_F(CliMultiSplit, InputsAreNeverWrittenAndOutputsAreThreeFiles) {
  const auto refused = [&](const std::string& outputs, const std::string& why) {
    expect_failure("multi-split in.npy" + of + outputs, 2, "sheaf multi-split: " + why);
  };
  ASSERT_EQ(symlink("first.npy", (folder / "alias.npy").c_str()), 0);
  refused("-o ./in.npy", "-o ./in.npy is the input in.npy; inputs are never written");
  refused("-o alias.npy", "-o alias.npy is the input first.npy; inputs are never written");
  refused("-o out.npy --sources of.npy", "--sources of.npy is the input of.npy; inputs are never written");
  refused("-o out.npy --offsets first.npy", "--offsets first.npy is the input first.npy; inputs are never written");
  refused("-o out.npy --sources ./out.npy", "-o and --sources are both ./out.npy");
  refused("-o out.npy --offsets out.npy", "-o and --offsets are both out.npy");
  refused("-o out.npy --sources s.npy --offsets s.npy", "--sources and --offsets are both s.npy");
}

// The check behind --verify finds out wrong answers, which the calls above never give.
TEST(MultiSplitCheck, SaysWhatIsWrong) {
  const std::vector<std::uint16_t> in{50, 60, 70};
  const std::vector<std::uint64_t> first{0, 2, 2, 4};
  const std::vector<std::uint8_t> category{1, 0, 1, 2};
  const membership of{first, {reinterpret_cast<const std::byte*>(category.data()), 4, 1}, 3};
  const std::vector<std::uint16_t> right{50, 50, 70, 70};
  const std::vector<std::uint32_t> numbers{0, 0, 2, 2};
  const std::vector<std::uint64_t> offsets{0, 1, 3, 4};
  EXPECT_EQ(jobs::multi_split_mistake(in, of, right, numbers, offsets), std::nullopt);
  EXPECT_EQ(jobs::multi_split_mistake({}, of, {}, numbers, {}), std::nullopt);
  const std::vector<std::uint16_t> swapped{50, 70, 50, 70};
  EXPECT_EQ(jobs::multi_split_mistake(in, of, swapped, numbers, {}),
            "record 1 of the result is not that of the reference");
  const std::vector<std::uint64_t> empty_record{0, 0, 1, 2};
  EXPECT_EQ(jobs::multi_split_mistake({}, of, {}, empty_record, {}), "source 2 is 1, but the reference's is 2");
  const std::vector<std::uint64_t> late{0, 2, 3, 4};
  EXPECT_EQ(jobs::multi_split_mistake(in, of, right, {}, late), "offset 1 is 2, but the reference's is 1");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_multi_split_test
