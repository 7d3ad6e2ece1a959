#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/sheaf/checks/split.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"
#include "support/plan_options.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_split_test {
namespace {

/// A folder that holds five raw records of two letters, five rows of two 16-bit numbers, and their categories.
class CliSplit : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("in.bin", "a2b1c2d0e1");
    folder.write("in.npy", npy_file("'<u2'", "(5, 2)", bytes_of<std::uint16_t>(rows)));
    folder.write("of.npy", npy_file("'|u1'", "(5,)", bytes_of<std::uint8_t>({2, 1, 2, 0, 1})));
    folder.write("keys.npy", npy_file("'<i4'", "(5,)", bytes_of<std::int32_t>({0x2ff, 0x1ff, 0x2ff, 0xff, 0x1ff})));
  }

  // The rows in the order d b e a c.
  std::string sorted_file() const {
    return npy_file("'<u2'", "(5, 2)",
                    bytes_of<std::uint16_t>({13, 0x000, 11, 0x100, 14, 0x101, 10, 0x200, 12, 0x202}));
  }

  const std::vector<std::uint16_t> rows{10, 0x200, 11, 0x100, 12, 0x202, 13, 0x000, 14, 0x101};
};

TEST_F(CliSplit, SortsByBitsOfTheRecord) {
  for (const char* backend : {"auto", "cpu", "reference"}) {
    expect_success("split in.bin --record-bytes 2 --bits 8:8 -o out.bin --verify --backend " + std::string(backend));
    EXPECT_EQ(folder.read("out.bin"), "d0b1e1a2c2") << backend;
    // The high byte of the second number, in both numberings.
    expect_success("split in.npy --bits 24:8 -o out.npy --verify --backend " + std::string(backend));
    EXPECT_EQ(folder.read("out.npy"), sorted_file()) << backend;
    expect_success("split in.npy -k 3:1 -o out.npy --verify --backend " + std::string(backend));
    EXPECT_EQ(folder.read("out.npy"), sorted_file()) << backend;
    expect_success("split in.npy --key 2:2 --bits 8:8 -o out.npy --verify --backend " + std::string(backend));
    EXPECT_EQ(folder.read("out.npy"), sorted_file()) << backend;
    expect_success("split in.npy --key 3:1 --bits 6:2 --from-left -o out.npy --verify --backend " +
                   std::string(backend));
    EXPECT_EQ(folder.read("out.npy"), sorted_file()) << backend;
    expect_success("split in.npy --bits 30:2 --from-left -o out.npy --verify --backend " + std::string(backend));
    EXPECT_EQ(folder.read("out.npy"), sorted_file()) << backend;
  }
}

TEST_F(CliSplit, SortsByKeysAndCategoriesApart) {
  expect_success("split in.npy --keys keys.npy --bits 8:2 -o out.npy --verify --offsets offsets.npy");
  EXPECT_EQ(folder.read("out.npy"), sorted_file());
  EXPECT_EQ(folder.read("offsets.npy"), npy_file("'<u8'", "(5,)", bytes_of<std::uint64_t>({0, 1, 3, 5, 5})));
  expect_success("split in.npy --keys of.npy --categories 3 -o out.npy --verify --offsets offsets.npy");
  EXPECT_EQ(folder.read("out.npy"), sorted_file());
  EXPECT_EQ(folder.read("offsets.npy"), npy_file("'<u8'", "(4,)", bytes_of<std::uint64_t>({0, 1, 3, 5})));
  folder.write("of.bin", std::string("\2\1\2\0\1", 5));
  expect_success("split in.bin --record-bytes 2 --keys of.bin --key-bytes 1 --categories 3 -o out.bin --verify");
  EXPECT_EQ(folder.read("out.bin"), "d0b1e1a2c2");
}

TEST_F(CliSplit, UnstableSplitsHaveTheSameCategories) {
  expect_success("split in.bin --record-bytes 2 --bits 8:8 --unstable -o out.bin --verify");
  const std::string out = folder.read("out.bin");
  ASSERT_EQ(out.size(), 10U);
  EXPECT_EQ(out.substr(0, 2), "d0");
  EXPECT_TRUE(out.substr(2, 4) == "b1e1" || out.substr(2, 4) == "e1b1") << out;
  EXPECT_TRUE(out.substr(6, 4) == "a2c2" || out.substr(6, 4) == "c2a2") << out;
}

TEST_F(CliSplit, WritesIndexesInstead) {
  for (const char* from : {"in.npy --bits 24:2", "in.npy --keys keys.npy --bits 8:8", "--keys keys.npy --bits 8:2",
                           "--keys of.npy --categories 3", "in.npy --keys of.npy --categories 99"}) {
    expect_success("split " + std::string(from) + " --index gather -o index.npy --verify");
    EXPECT_EQ(folder.read("index.npy"), npy_file("'<u4'", "(5,)", bytes_of<std::uint32_t>({3, 1, 4, 0, 2}))) << from;
    expect_success("split " + std::string(from) + " --index scatter --output-type i64 -o index.npy --verify");
    EXPECT_EQ(folder.read("index.npy"), npy_file("'<i8'", "(5,)", bytes_of<std::int64_t>({3, 1, 4, 0, 2}))) << from;
  }
  // A gather by what --index gather says, and a scatter by the other, are the split.
  expect_success("split in.bin --record-bytes 2 --bits 8:8 --index gather -o from.bin --offsets offsets.npy");
  expect_success("gather in.bin from.bin --record-bytes 2 --index-type u32 -o out.bin");
  EXPECT_EQ(folder.read("out.bin"), "d0b1e1a2c2");
  expect_success("split in.bin --record-bytes 2 --bits 8:8 --index scatter -o to.bin");
  expect_success("scatter in.bin to.bin --record-bytes 2 --index-type u32 --table 5 -o out.bin");
  EXPECT_EQ(folder.read("out.bin"), "d0b1e1a2c2");
}

TEST_F(CliSplit, SortsByMoreThan32Bits) {
  // Rows of 12 bytes: the byte 11 is the highest of a little-endian number, and the byte 0 from the left.
  const std::string text = "bxxxxxxxxxx2axxxxxxxxxx2cxxxxxxxxxx1axxxxxxxxxx1";
  const auto row = [&](std::size_t i) { return text.substr(12 * i, 12); };
  folder.write("rows.bin", text);
  for (const char* backend : {"auto", "cpu", "reference"}) {
    const std::string split = "split rows.bin --record-bytes 12 -o out.bin --verify --backend " + std::string(backend);
    expect_success(split + " --bits 0:96");
    EXPECT_EQ(folder.read("out.bin"), row(3) + row(2) + row(1) + row(0)) << backend;
    expect_success(split + " --bits 0:95 --from-left");
    EXPECT_EQ(folder.read("out.bin"), row(3) + row(1) + row(0) + row(2)) << backend;
    expect_success(split + " --bits 48:48 --unstable");
    EXPECT_EQ(folder.read("out.bin").substr(23, 1), "1") << backend;
    EXPECT_EQ(folder.read("out.bin").substr(47, 1), "2") << backend;
    expect_success(split + " --bits 0:95 --from-left --index gather");
    EXPECT_EQ(folder.read("out.bin"), bytes_of<std::uint32_t>({3, 1, 0, 2})) << backend;
    expect_success(split + " --bits 0:95 --from-left --index scatter");
    EXPECT_EQ(folder.read("out.bin"), bytes_of<std::uint32_t>({2, 1, 3, 0})) << backend;
  }
  const program_result plan = run_sheaf(folder, "plan split --count 1000 --record-bytes 12 --bits 3:93 --backend cpu");
  EXPECT_TRUE(plan.out.starts_with("split: 1000 records of 12 bytes by 93 bits from bit 3\n")) << plan.out;
}

TEST_F(CliSplit, OfNothingIsNothing) {
  folder.write("none.npy", npy_file("'<f4'", "(0, 3)", ""));
  expect_success("split none.npy --bits 0:1 -o out.npy --offsets offsets.npy --verify");
  EXPECT_EQ(folder.read("out.npy"), folder.read("none.npy"));
  EXPECT_EQ(folder.read("offsets.npy"), npy_file("'<u8'", "(3,)", bytes_of<std::uint64_t>({0, 0, 0})));
}

TEST_F(CliSplit, ReportsAreOneDocument) {
  const program_result result = run_sheaf(folder, "split in.npy --bits 24:8 -o out.npy --json --verify --backend cpu");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["command"], "split");
  EXPECT_EQ(report["records"], 5);
  EXPECT_EQ(report["record_bytes"], 4);
  EXPECT_EQ(report["verified"], true);
  EXPECT_EQ(report["output"], "out.npy");
  const program_result index = run_sheaf(folder, "split --keys of.npy --categories 3 --index gather -o i.npy --json");
  EXPECT_EQ(nlohmann::json::parse(index.out)["primitive"], "split_gather_index");
  const program_result quiet = run_sheaf(folder, "split in.npy --bits 24:8 -o out.npy --quiet");
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(CliSplit, BadCategoriesNameFilePositionAndValueAndLeaveTheOldOutput) {
  folder.write("out.npy", "old");
  folder.write("offsets.npy", "old too");
  for (const char* how : {"", " --unstable", " --index gather", " --index scatter", " --backend reference --verify"}) {
    expect_failure("split in.npy --keys of.npy --categories 2 -o out.npy --offsets offsets.npy" + std::string(how), 3,
                   "sheaf split: of.npy: category[0] is 2, past the 2 categories");
  }
  EXPECT_EQ(folder.read("out.npy"), "old");
  EXPECT_EQ(folder.read("offsets.npy"), "old too");
}

TEST_F(CliSplit, BadInputsAreNamed) {
  folder.write("wide.npy", npy_file("'<i8'", "(5,)", std::string(40, '\0')));
  folder.write("twice.npy", npy_file("'|u1'", "(5, 2)", std::string(10, '\0')));
  folder.write("four.npy", npy_file("'|u1'", "(4,)", std::string(4, '\0')));
  expect_failure("split in.npy --keys wide.npy --categories 2 -o out.npy", 3,
                 "sheaf split: wide.npy: descr is '<i8'; categories are '|u1', '<u2' or '<u4'");
  expect_failure("split in.npy --keys twice.npy --categories 2 -o out.npy", 3,
                 "sheaf split: twice.npy: shape is (5, 2); categories are one number a record");
  expect_failure("split in.npy --keys four.npy --categories 2 -o out.npy", 3,
                 "sheaf split: four.npy: 4 keys, but in.npy has 5 records");
  expect_failure("split in.bin --bits 0:8 -o out", 3,
                 "sheaf split: in.bin: not an .npy file; raw files need --record-bytes");
  expect_failure("split in.npy --keys in.bin --bits 0:8 -o out", 3,
                 "sheaf split: in.bin: not an .npy file; raw files need --key-bytes");
  expect_failure("split in.bin --record-bytes 3 --bits 0:8 -o out", 3,
                 "sheaf split: in.bin: 10 bytes are not a multiple of 3 bytes: 1 are left over");
  expect_failure("split none.npy --bits 0:8 -o out", 3,
                 "sheaf split: none.npy: cannot be opened: No such file or directory");
}

TEST_F(CliSplit, UsageErrorsAreNamed) {
  expect_failure(
      "split in.npy -o out", 2,
      "sheaf split: give --key OFFSET:BYTES, --bits FIRST:COUNT, or --keys FILE and --categories N, to which "
      "--row-offsets FILE adds records of several categories");
  expect_failure(
      "split in.npy --keys keys.npy -o out", 2,
      "sheaf split: give --key OFFSET:BYTES, --bits FIRST:COUNT, or --keys FILE and --categories N, to which "
      "--row-offsets FILE adds records of several categories");
  expect_failure("split in.npy --categories of.npy -o out", 2,
                 "sheaf split: --categories: 'of.npy' is not a whole number from 1 to 4294967296; --keys names the "
                 "file of the categories\nTry: sheaf split --help");
  expect_failure("split --bits 0:8 -o out", 2, "sheaf split: IN may be left out only for an --index by --keys");
  expect_failure("split --keys of.npy --categories 3 -o out", 2,
                 "sheaf split: IN may be left out only for an --index by --keys");
  expect_failure("split in.npy --bits 0:8 --output-type u32 -o out", 2, "sheaf split: --output-type is for --index");
  expect_failure("split in.npy --bits 0:8 --key-bytes 4 -o out", 2, "sheaf split: --key-bytes is for --keys");
  expect_failure("split --keys keys.npy --bits 0:8 --index gather --record-bytes 4 -o out", 2,
                 "sheaf split: --record-bytes is for IN");
  expect_failure("split in.npy --keys of.npy --categories 3 --from-left -o out", 2,
                 "sheaf split: --from-left is for --key and --bits");
  expect_failure("split in.npy --bits 0:8 --index gather --unstable -o out", 2,
                 "sheaf split: --unstable is for records, not for an index");
  for (const char* text : {"8", "a:1", "1:", ":1", "-1:8", "1:2:3", "0x1:2"}) {
    expect_failure("split in.npy -o out --bits " + std::string(text), 2,
                   "sheaf split: --bits: '" + std::string(text) +
                       "' is not FIRST:COUNT, two whole numbers\nTry: sheaf split --help");
    expect_failure("split in.npy -o out --key " + std::string(text), 2,
                   "sheaf split: --key: '" + std::string(text) +
                       "' is not OFFSET:BYTES, two whole numbers, of which the second is not 0; --bits FIRST:COUNT "
                       "takes bits of them\nTry: sheaf split --help");
  }
  expect_failure("split in.npy -o out --key 0:65537", 2,
                 "sheaf split: --key: '0:65537' reaches past the end of any record; --bits FIRST:COUNT takes bits\n"
                 "Try: sheaf split --help");
  expect_failure("split in.npy -o out --key 3:2", 2,
                 "sheaf split: --key: '3:2': 2 bytes from byte 3 on reach past the 4 bytes of a row of in.npy; --bits "
                 "FIRST:COUNT takes bits");
  expect_failure("split in.npy -o out --key 2:1 --bits 7:2", 2,
                 "sheaf split: --bits: '7:2' reaches past the 8 bits of --key 2:1");
  folder.write("wide.npy", npy_file("'<u8'", "(1, 2)", std::string(16, '\0')));
  expect_failure("split wide.npy --bits 0:97 -o out", 2,
                 "sheaf split: --bits: '0:97' has 97 bits, not 1 to 96\nTry: sheaf split --help");
  expect_failure("split wide.npy --bits 8:0 -o out", 2,
                 "sheaf split: --bits: '8:0' has 0 bits, not 1 to 96\nTry: sheaf split --help");
  expect_failure("split in.npy --bits 0:33 -o out", 2,
                 "sheaf split: --bits: '0:33' reaches past the 32 bits of a row of in.npy");
  for (const char* what : {"", " --unstable", " --index gather", " --index scatter"}) {
    expect_failure(
        "split wide.npy --bits 3:33 -o out --offsets offsets.npy" + std::string(what), 2,
        "sheaf split: --offsets is for keys of up to 32 bits; one of 33 has too many categories for offsets");
  }
  expect_failure("split in.npy --bits 30:3 -o out", 2,
                 "sheaf split: --bits: '30:3' reaches past the 32 bits of a row of in.npy");
  expect_failure("split wide.npy --key 0:16 -o out", 2,
                 "sheaf split: --key 0:16 has 128 bits, more than 96: --bits FIRST:COUNT takes some of them");
  expect_failure("split in.npy --categories 3 -o out", 2,
                 "sheaf split: --categories requires --keys\nTry: sheaf split --help");
  expect_failure("split in.npy --keys of.npy --categories 3 --bits 0:1 -o out", 2,
                 "sheaf split: --bits excludes --categories\nTry: sheaf split --help");
  expect_failure(
      "split in.npy --keys of.npy --categories 0 -o out", 2,
      "sheaf split: --categories: '0' is not a whole number from 1 to 4294967296; --keys names the file of the "
      "categories\nTry: sheaf split --help");
}

TEST_F(CliSplit, InputsAreNeverWritten) {
  ASSERT_EQ(symlink("of.npy", (folder / "alias.npy").c_str()), 0);
  expect_failure("split in.npy --bits 0:8 -o ./in.npy", 2,
                 "sheaf split: -o ./in.npy is the input in.npy; inputs are never written");
  expect_failure("split in.npy --keys of.npy --categories 3 -o alias.npy", 2,
                 "sheaf split: -o alias.npy is the input of.npy; inputs are never written");
  expect_failure("split in.npy --keys of.npy --categories 3 -o out.npy --offsets alias.npy", 2,
                 "sheaf split: --offsets alias.npy is the input of.npy; inputs are never written");
  expect_failure("split in.npy --bits 0:8 -o out.npy --offsets ./out.npy", 2,
                 "sheaf split: -o and --offsets are both ./out.npy");
  ASSERT_EQ(symlink("out.npy", (folder / "link.npy").c_str()), 0);
  expect_failure("split in.npy --bits 0:8 -o link.npy --offsets out.npy", 2,
                 "sheaf split: -o and --offsets are both out.npy");
}

struct cut_result {
  bool was_cut = false;
  int code = -1;
};

// Runs `sheaf WORDS` up to where it has mapped the file, empties the file, and lets it go on. Stopping at system calls
// makes this the same every time. Nothing is cut where processes may not be traced.
cut_result cut_once_mapped(const temporary_folder& folder, const char* file, std::vector<const char*> words) {
  const std::string path = folder / file;
  const pid_t child = fork();
  if (child == 0) {
    words.insert(words.begin(), "sheaf");
    words.push_back(nullptr);
    const int err = open((folder / "err").c_str(), O_CREAT | O_WRONLY, 0600);
    const int out = open((folder / "out").c_str(), O_CREAT | O_WRONLY, 0600);
    const bool ready =
        dup2(err, STDERR_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && chdir(folder.path().c_str()) == 0;
    if (ready && ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) {
      execv(sheaf_program().c_str(), const_cast<char* const*>(words.data()));
    }
    _exit(99);
  }
  cut_result result;
  int status = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    std::ifstream maps("/proc/" + std::to_string(child) + "/maps");
    const std::string all{std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>()};
    result.was_cut = all.find(path) != all.npos;
    if (result.was_cut) std::filesystem::resize_file(path, 0);
    ptrace(result.was_cut ? PTRACE_DETACH : PTRACE_SYSCALL, child, nullptr, nullptr);
  }
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  return result;
}

// Row 0 is in 2 and 0, row 1 in 1, row 2 in none, row 3 in 0 and 2, row 4 in 2: the same as multi-split makes of them.
class CliSplitOfSeveral : public CliSplit {
 protected:
  void fill_folder() override {
    CliSplit::fill_folder();
    folder.write("first.npy", npy_file("'<i8'", "(6,)", bytes_of<std::int64_t>({0, 2, 3, 3, 5, 6})));
    folder.write("each.npy", npy_file("'|u1'", "(6,)", bytes_of<std::uint8_t>({2, 0, 1, 0, 2, 2})));
    folder.write("each.bin", bytes_of<std::uint8_t>({2, 0, 1, 0, 2, 2}));
  }

  const std::string several = " --row-offsets first.npy --keys each.npy --categories 4 ";
  const std::string numbers = bytes_of<std::uint32_t>({0, 3, 1, 0, 3, 4});
};

TEST_F(CliSplitOfSeveral, WritesRecordsSourcesAndOffsets) {
  const std::string offsets = npy_file("'<u8'", "(5,)", bytes_of<std::uint64_t>({0, 2, 3, 6, 6}));
  for (const char* backend : {"auto", "cpu --threads 3", "reference"}) {
    for (const std::string subcommand : {"split", "multi-split"}) {
      expect_success(
          fmt::format("{} in.npy{}-o out.npy --sources sources.npy --offsets offsets.npy --verify --backend {}",
                      subcommand, several, backend));
      EXPECT_EQ(folder.read("out.npy"),
                npy_file("'<u2'", "(6, 2)",
                         bytes_of<std::uint16_t>({10, 0x200, 13, 0x000, 11, 0x100, 10, 0x200, 13, 0x000, 14, 0x101})))
          << subcommand << backend;
      EXPECT_EQ(folder.read("sources.npy"), npy_file("'<u4'", "(6,)", numbers));
      EXPECT_EQ(folder.read("offsets.npy"), offsets);
      for (const char* file : {"out.npy", "sources.npy", "offsets.npy"}) std::filesystem::remove(folder / file);
    }
  }
  expect_success(
      "split in.bin --record-bytes 2 --row-offsets first.npy --keys each.bin --key-bytes 1 --categories 4 -o out.bin");
  EXPECT_EQ(folder.read("out.bin"), "a2d0b1a2d0e1");
}

TEST_F(CliSplitOfSeveral, WritesAGatherIndexAlone) {
  expect_success("split in.npy" + several + "--index gather -o index.npy --offsets offsets.npy --verify");
  EXPECT_EQ(folder.read("index.npy"), npy_file("'<u4'", "(6,)", numbers));
  expect_success("split" + several + "--index gather --output-type i64 -o index.npy --verify");
  EXPECT_EQ(folder.read("index.npy"), npy_file("'<i8'", "(6,)", bytes_of<std::int64_t>({0, 3, 1, 0, 3, 4})));
  expect_success("split" + several + "--sources sources.npy --verify");
  EXPECT_EQ(folder.read("sources.npy"), npy_file("'<u4'", "(6,)", numbers));
  // Raw where the inputs are.
  expect_success(
      "split --row-offsets first.npy --keys each.bin --key-bytes 1 --categories 4 --index gather -o index.bin");
  EXPECT_EQ(folder.read("index.bin"), numbers);
  expect_success("gather in.npy index.npy -o out.npy");
  const auto report =
      nlohmann::json::parse(run_sheaf(folder, "split" + several + "--index gather -o index.npy --json").out);
  EXPECT_EQ(report["command"], "split");
  EXPECT_EQ(report["primitive"], "multi_split_index");
  EXPECT_EQ(report["output"], "index.npy");
}

TEST_F(CliSplitOfSeveral, RefusesWhatIsForRecordsOfOneCategory) {
  const auto refused = [&](const std::string& arguments, const std::string& why, int code = 2) {
    expect_failure("split " + arguments, code, "sheaf split: " + why);
  };
  const std::string hint = "\nTry: sheaf split --help";
  refused("in.npy" + several, "--output is required" + hint);
  refused("in.npy" + several + "--sources s.npy", "IN is for -o; --sources alone does without records");
  refused(several + "-o out.npy", "-o needs IN; --sources alone does without records");
  refused("in.npy" + several + "-o out.npy --unstable",
          "--unstable is for records of one category, not for --row-offsets");
  refused("in.npy" + several + "-o out.npy --index scatter",
          "--index scatter is for records of one category; with --row-offsets they go to several places");
  refused(several + "-o out.npy --index gather --sources s.npy",
          "--sources and --index gather write the same numbers; give one of them");
  refused("in.npy --key 0:1 -o out.npy --sources s.npy",
          "--sources is for --row-offsets; --index gather writes where records of one category come from");
  refused("in.npy --key 0:1 -o out.npy --index-type u32",
          "--index-type is for --row-offsets; --output-type is the type of an index to write");
  refused("in.npy --row-offsets first.npy -o out.npy", "--row-offsets requires --categories" + hint);
  refused("in.npy --row-offsets first.npy --keys each.npy -o out.npy", "--row-offsets requires --categories" + hint);
  refused("in.npy" + several + "-o out.npy --key 0:1", "--key excludes --categories" + hint);
  refused("in.npy" + several + "-o out.npy --output-type u32", "--output-type is for --sources");
  refused("in.npy --row-offsets first.npy --keys each.bin --key-bytes 3 --categories 4 -o out.npy",
          "--key-bytes is 3, not 1, 2 or 4");
  refused("in.npy --row-offsets first.npy --keys each.npy --categories 2 -o out.npy",
          "each.npy: category[0] is 2, past the 2 categories", 3);
  refused("in.npy --row-offsets of.npy --keys each.npy --categories 4 -o out.npy",
          "of.npy: 5 numbers, but in.npy has 5 records, which need 6", 3);
  refused("in.npy" + several + "--index gather -o first.npy",
          "-o first.npy is the input first.npy; inputs are never written");
  refused("in.npy" + several + "--index gather -o i.npy --offsets i.npy", "-o and --offsets are both i.npy");
}

TEST_F(CliSplit, InputsThatAreCutShortMeanwhileAreNamed) {
  for (const char* file : {"in.npy", "of.npy"}) {
    fill_folder();
    const cut_result result = cut_once_mapped(
        folder, file, {"split", "in.npy", "--keys", "of.npy", "--categories", "3", "-o", "out.npy", "--json"});
    if (!result.was_cut) GTEST_SKIP() << "programs may not be traced here";
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(folder.read("err"), "sheaf split: " + std::string(file) + ": was cut short while it was read\n");
    const auto document = nlohmann::json::parse(folder.read("out"), nullptr, false);
    EXPECT_EQ(document["command"], "split");
    EXPECT_EQ(document["error"]["message"], std::string(file) + ": was cut short while it was read");
    EXPECT_FALSE(folder.has("out.npy"));
    std::filesystem::remove(folder / "err");
    std::filesystem::remove(folder / "out");
  }
}

TEST_F(CliSplit, OutputsThatCannotBeWrittenAreNamed) {
  expect_failure("split in.npy --bits 0:8 -o none/out.npy", 5,
                 "sheaf split: none/out.npy: cannot be created: No such file or directory");
  expect_failure("split in.npy --bits 0:8 -o out.npy --offsets none/offsets.npy", 5,
                 "sheaf split: none/offsets.npy: cannot be created: No such file or directory");
}

TEST_F(CliSplit, PlansExplainSplitsAndReductions) {
  for (const std::string arguments :
       {"split --record-bytes 16 --bits 5:11", "split_unstable --record-bytes 4 --categories 1000 --key-bytes 2",
        "split_gather_index --key-bytes 4 --bits 0:16 --from-left", "split_scatter_index --output-type u64",
        "scatter_reduce --table 1000 --value-type f64 --op max --order unordered --pattern random"}) {
    const program_result result = run_sheaf(folder, "plan " + arguments + " --count 100000 --json --backend cpu");
    ASSERT_EQ(result.code, 0) << arguments << result.err;
    const auto plan = nlohmann::json::parse(result.out);
    EXPECT_EQ(plan["primitive"], arguments.substr(0, arguments.find(' ')));
    EXPECT_EQ(plan["count"], 100000);
    EXPECT_FALSE(plan["choice"].is_null()) << arguments;
    EXPECT_GE(plan["variants"].size(), 2U) << arguments;
  }
  const program_result text = run_sheaf(folder, "plan split --count 1000 --record-bytes 12 --bits 3:9 --backend cpu");
  EXPECT_TRUE(text.out.starts_with("split: 1000 records of 12 bytes, 512 categories by 9 bits from bit 3\n"))
      << text.out;
  expect_failure("plan split --count 1", 2, "sheaf plan: --record-bytes is required\nTry: sheaf plan --help");
  expect_failure("plan gather --count 1 --record-bytes 4", 2,
                 "sheaf plan: --table is required\nTry: sheaf plan --help");
  expect_failure("plan gather --count 1 --record-bytes 4 --table 1 --bits 0:8", 2, option_is_for_others("--bits"));
  expect_failure("plan gather --count 1 --record-bytes 4 --table 1 --from-left", 2,
                 option_is_for_others("--from-left"));
  expect_failure("plan gather --count 1 --record-bytes 4 --table 1 --record-bytes 8", 2,
                 "sheaf plan: 2 times --record-bytes: gather has one\nTry: sheaf plan --help");
  expect_failure("plan split --count 1 --record-bytes 4 --op max", 2, option_is_for_others("--op"));
  expect_failure("plan split --count 1 --record-bytes 4 --bits 0:8 --categories 4", 2,
                 "sheaf plan: give --categories or --bits, not both\nTry: sheaf plan --help");
  expect_failure("plan split --count 1 --record-bytes 4 --bits 25:8", 2,
                 "sheaf plan: split: 8 bits from bit 25 on reach past a record of 32 bits");
  expect_failure("plan split --count 1 --record-bytes 4 --bits 0:8:u", 2,
                 "sheaf plan: --bits: '0:8:u' is not FIRST:COUNT, two whole numbers\nTry: sheaf plan --help");
  expect_failure("plan split --count 1 --record-bytes 4 --bits 0:8 --bits 8:8", 2,
                 "sheaf plan: 2 times --bits: split has one\nTry: sheaf plan --help");
  expect_failure("plan split_scatter_index --count 5000000000 --output-type u32", 2,
                 "sheaf plan: split_scatter_index: the index has 4-byte entries, too narrow for 5000000000 records");
}

// The check behind --verify finds out wrong answers, which the calls above never give.
TEST(SplitCheck, SaysWhatIsWrong) {
  const std::vector<std::uint16_t> in{0x201, 0x102, 0x203, 0x004, 0x105};
  const split_key key = split_key::of_record({8, 8});
  const std::vector<std::uint16_t> right{0x004, 0x102, 0x105, 0x201, 0x203};
  const std::vector<std::uint16_t> swapped{0x004, 0x105, 0x102, 0x201, 0x203};
  const std::vector<std::uint16_t> twice{0x004, 0x102, 0x102, 0x201, 0x203};
  std::vector<std::uint64_t> offsets(257, 5);
  std::copy_n(std::begin({0, 1, 3}), 3, offsets.begin());
  EXPECT_EQ(jobs::split_mistake(in, key, true, right, offsets), std::nullopt);
  EXPECT_EQ(jobs::split_mistake(in, key, false, swapped, offsets), std::nullopt);
  EXPECT_EQ(jobs::split_mistake(in, key, true, swapped, {}), "record 1 of the result is not that of the reference");
  EXPECT_EQ(jobs::split_mistake(in, key, false, twice, {}), "category 1 has records other than the reference's");
  const std::vector<std::array<std::uint64_t, 2>> wide{{{3, 2}}, {{1, 2}}, {{2, 1}}};
  const split_key most = split_key::of_record({1, 96});
  const std::vector<std::array<std::uint64_t, 2>> wide_sorted{{{2, 1}}, {{1, 2}}, {{3, 2}}};
  EXPECT_EQ(jobs::split_mistake(wide, most, false, wide_sorted, {}), std::nullopt);
  const std::vector<std::array<std::uint64_t, 2>> wide_swapped{{{2, 1}}, {{3, 2}}, {{1, 2}}};
  EXPECT_EQ(jobs::split_mistake(wide, most, false, wide_swapped, {}),
            "category 0x10000000000000000 has records other than the reference's");
  offsets[2] = 2;
  EXPECT_EQ(jobs::split_mistake(in, key, true, right, offsets), "offset 2 is 2, but the reference's is 3");
  const split_key apart = split_key::of(in, {8, 8});
  const std::vector<std::uint32_t> from{3, 1, 4, 0, 2};
  EXPECT_EQ(jobs::split_index_mistake(apart, true, from, {}), std::nullopt);
  EXPECT_EQ(jobs::split_index_mistake(apart, false, std::vector<std::uint32_t>{3, 1, 4, 2, 0}, {}),
            "the index is wrong: record 3 of the result is not that of the reference");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_split_test
