#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sheaf/version.hpp>

#include "support/cli_test.hpp"
#include "support/contexts.hpp"
#include "support/npy_file.hpp"
#include "support/plan_options.hpp"
#include "support/run_program.hpp"
#include "support/scoped_environment.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_command_test {
namespace {

/// A folder that holds a table of ten rows of three floats and an index of three entries.
class Cli : public cli_test {
 protected:
  void fill_folder() override {
    std::vector<float> values(30);
    std::iota(values.begin(), values.end(), 0.0F);
    table = bytes_of(values);
    folder.write("table.npy", npy_file("'<f4'", "(10, 3)", table));
    folder.write("index.npy", npy_file("'<i8'", "(3,)", bytes_of<std::int64_t>({7, 0, 7})));
  }

  std::string row(std::size_t i) const { return table.substr(12 * i, 12); }
  std::string rows_file() const { return npy_file("'<f4'", "(3, 3)", row(7) + row(0) + row(7)); }

  std::string table;
};

TEST_F(Cli, GatherTakesRows) {
  for (const char* backend : {"auto", "cpu", "reference"}) {
    expect_success("gather table.npy index.npy -o rows.npy --verify --backend " + std::string(backend));
    EXPECT_EQ(folder.read("rows.npy"), rows_file()) << backend;
  }
}

TEST_F(Cli, GatherTakesTheShapeOfTheIndex) {
  folder.write("index2.npy", npy_file("'<u4'", "(2, 1)", bytes_of<std::uint32_t>({1, 2})));
  expect_success("gather table.npy index2.npy -o rows.npy --quiet");
  EXPECT_EQ(folder.read("rows.npy"), npy_file("'<f4'", "(2, 1, 3)", row(1) + row(2)));
  folder.write("index0.npy", npy_file("'<u4'", "()", bytes_of<std::uint32_t>({4})));
  expect_success("gather table.npy index0.npy -o row.npy --quiet");
  EXPECT_EQ(folder.read("row.npy"), npy_file("'<f4'", "(3,)", row(4)));
  folder.write("none.npy", npy_file("'<u4'", "(0,)", ""));
  expect_success("gather table.npy none.npy -o none_out.npy --verify");
  EXPECT_EQ(folder.read("none_out.npy"), npy_file("'<f4'", "(0, 3)", ""));
}

TEST_F(Cli, GatherMovesEveryType) {
  for (const char* descr : {"'>i4'", "'|S4'", "'<U1'", "'|V4'", "[('a', '<i2'), ('b', '|u1', (2,))]"}) {
    folder.write("typed.npy", npy_file(descr, "(4,)", "aaaabbbbccccdddd"));
    folder.write("reverse.npy", npy_file("'<i4'", "(4,)", bytes_of<std::int32_t>({3, 2, 1, 0})));
    expect_success("gather typed.npy reverse.npy -o out.npy --verify");
    EXPECT_EQ(folder.read("out.npy"), npy_file(descr, "(4,)", "ddddccccbbbbaaaa"));
  }
}

TEST_F(Cli, GatherTakesRawRecords) {
  folder.write("table.bin", "zero one  two  ");
  folder.write("index.bin", bytes_of<std::uint64_t>({2, 0}));
  expect_success("gather table.bin index.bin --record-bytes 5 --index-type u64 -o out.bin");
  EXPECT_EQ(folder.read("out.bin"), "two  zero ");
  expect_success("gather table.bin index.npy --record-bytes 1 -o out.bin");
  EXPECT_EQ(folder.read("out.bin"), "eze");
}

TEST_F(Cli, ScatterPutsRowsBack) {
  folder.write("rows.npy", rows_file());
  expect_success("scatter rows.npy index.npy --into table.npy -o new.npy --verify --duplicates last");
  EXPECT_EQ(folder.read("new.npy"), folder.read("table.npy"));
  expect_success("scatter rows.npy index.npy --table 9 -o new.npy --verify");
  EXPECT_EQ(folder.read("new.npy"),
            npy_file("'<f4'", "(9, 3)", row(0) + std::string(72, '\0') + row(7) + std::string(12, '\0')));
}

TEST_F(Cli, TheLastWriterOfARecordWinsUnlessAnyMay) {
  folder.write("in.bin", "abcdefghi");
  folder.write("twice.bin", bytes_of<std::uint32_t>({1, 0, 1}));
  const std::string scatter =
      "scatter in.bin twice.bin --record-bytes 3 --index-type u32 --table 2 -o out.bin --verify";
  for (const char* more : {"", " --duplicates last", " --backend reference"}) {
    expect_success(scatter + more);
    EXPECT_EQ(folder.read("out.bin"), "defghi") << more;
  }
  expect_success(scatter + " --duplicates any --threads 1");
  EXPECT_EQ(folder.read("out.bin").substr(0, 3), "def");
  EXPECT_NE(run_sheaf(folder, "scatter --help").out.find("faster"), std::string::npos);
}

TEST_F(Cli, ScatterUndoesAGatherOfAnyShape) {
  folder.write("index2.npy", npy_file("'<u4'", "(5, 2)", bytes_of<std::uint32_t>({9, 8, 7, 6, 5, 4, 3, 2, 1, 0})));
  expect_success("gather table.npy index2.npy -o rows.npy");
  expect_success("scatter rows.npy index2.npy --table 10 -o back.npy --verify");
  EXPECT_EQ(folder.read("back.npy"), folder.read("table.npy"));
  folder.write("flat.npy", npy_file("'<f4'", "(10, 3)", table));
  expect_success("scatter flat.npy index2.npy --table 10 -o back.npy --verify");
}

TEST_F(Cli, ReportsAreOneDocument) {
  const program_result result =
      run_sheaf(folder, "gather table.npy index.npy -o rows.npy --json --verify --backend cpu --threads 1");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["schema_version"], 1);
  EXPECT_EQ(report["command"], "gather");
  EXPECT_EQ(report["variant"], "cpu.direct");
  EXPECT_EQ(report["records"], 3);
  EXPECT_EQ(report["record_bytes"], 12);
  EXPECT_EQ(report["threads"], 1);
  EXPECT_EQ(report["verified"], true);
  EXPECT_GT(report["seconds"], 0.0);
  EXPECT_GT(report["predicted_seconds"], 0.0);
}

TEST_F(Cli, QuietPrintsNothing) {
  for (const char* arguments : {"gather table.npy index.npy -o rows.npy --quiet", "machine --quiet"}) {
    const program_result result = run_sheaf(folder, arguments);
    EXPECT_EQ(result.code, 0) << arguments;
    EXPECT_EQ(result.out + result.err, "") << arguments;
  }
}

TEST_F(Cli, BadIndicesNameFilePositionAndValue) {
  folder.write("bad.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({1, 10, -1})));
  folder.write("rows.npy", rows_file());
  expect_failure("gather table.npy bad.npy -o out.npy", 3,
                 "sheaf gather: bad.npy: index[1] is 10, past the table's 10 records");
  expect_failure("scatter rows.npy bad.npy --table 5 -o out.npy", 3,
                 "sheaf scatter: bad.npy: index[1] is 10, past the output's 5 records");
}

// With --json a failure is a document on stdout, beside the words on stderr.
TEST_F(Cli, FailuresAreDocumentsToo) {
  const auto expect_document = [&](const std::string& arguments, int exit, const std::string& code,
                                   const std::string& message, const std::string& words) {
    const std::string command = words.substr(6, words.find(':') - 6);
    const program_result result = run_sheaf(folder, arguments);
    EXPECT_EQ(result.code, exit) << arguments;
    EXPECT_EQ(result.err, words + "\n") << arguments;
    const nlohmann::json expected = {
        {"command", words.starts_with("sheaf:") ? nlohmann::json() : nlohmann::json(command)},
        {"device", nullptr},
        {"error", {{"code", code}, {"message", message}}},
        {"output", nullptr},
        {"predicted_seconds", nullptr},
        {"schema_version", 1}};
    EXPECT_EQ(nlohmann::json::parse(result.out, nullptr, false), expected) << arguments << "\n" << result.out;
  };
  folder.write("bad.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({1, 10, -1})));
  folder.write("raw", "12345");
  expect_document("--json", 2, "usage", "A subcommand is required",
                  "sheaf: A subcommand is required\nTry: sheaf --help");
  expect_document("frobnicate --json", 2, "usage", "'frobnicate' is not a subcommand",
                  "sheaf: 'frobnicate' is not a subcommand\nTry: sheaf --help");
  expect_document("gather --record-bytes -1 --json", 2, "usage",
                  "--record-bytes: '-1' is not a whole number from 1 to 65536",
                  "sheaf gather: --record-bytes: '-1' is not a whole number from 1 to 65536\nTry: sheaf gather --help");
  expect_document("plan gather --json --count 1 --table 1 --record-bytes 65537", 2, "bad_argument",
                  "gather: out has records of 65537 bytes, not 1 to 65536",
                  "sheaf plan: gather: out has records of 65537 bytes, not 1 to 65536");
  expect_document("gather raw index.npy -o out --json", 3, "bad_input",
                  "raw: not an .npy file; raw files need --record-bytes",
                  "sheaf gather: raw: not an .npy file; raw files need --record-bytes");
  expect_document("gather table.npy bad.npy -o out.npy --json", 3, "bad_index",
                  "bad.npy: index[1] is 10, past the table's 10 records",
                  "sheaf gather: bad.npy: index[1] is 10, past the table's 10 records");
  expect_document("gather table.npy index.npy -o none/out.npy --quiet --json", 5, "io_failure",
                  "none/out.npy: cannot be created: No such file or directory",
                  "sheaf gather: none/out.npy: cannot be created: No such file or directory");
  EXPECT_FALSE(folder.has("out.npy"));
  EXPECT_FALSE(folder.has("out"));
  // What stands behind -- is no option.
  expect_failure("gather raw index.npy -o out -- --json", 2,
                 "sheaf gather: '--json' is an argument more than is expected\nTry: sheaf gather --help");
}

TEST_F(Cli, OptionsThatASubcommandIgnoresAreNotOffered) {
  const auto refused = [&](const std::string& arguments, const std::string& option) {
    const program_result result = run_sheaf(folder, arguments + " " + option);
    EXPECT_EQ(result.code, 2) << arguments << " " << option;
    const std::string subcommand = arguments.substr(0, arguments.find(' '));
    EXPECT_TRUE(result.err.starts_with("sheaf " + subcommand + ": ") &&
                result.err.ends_with("\nTry: sheaf " + subcommand + " --help\n") &&
                result.err.find(option.substr(0, option.find(' '))) != std::string::npos)
        << result.err;
  };
  for (const char* option : {"--verify", "--quiet", "--backend cpu", "--threads 1", "--memory 1G"}) {
    refused("version", option);
  }
  for (const char* option : {"--verify", "--quiet"})
    refused("plan gather --count 1 --table 1 --record-bytes 1", option);
  for (const char* option : {"--verify", "--memory 1G", "--seconds 1"}) refused("machine", option);
  refused("demo", "--verify");
}

TEST_F(Cli, ThreadsAreForTheCpu) {
  expect_failure("gather table.npy index.npy -o out.npy --backend cuda --threads 2", 2,
                 "sheaf gather: --threads is for the CPU, not for --backend cuda");
}

TEST_F(Cli, AFailedRunLeavesTheOldOutput) {
  folder.write("out.npy", "old");
  folder.write("bad.npy", npy_file("'<i4'", "(1,)", bytes_of<std::int32_t>({-1})));
  expect_failure("gather table.npy bad.npy -o out.npy", 3,
                 "sheaf gather: bad.npy: index[0] is -1, outside the table's 10 records");
  EXPECT_EQ(folder.read("out.npy"), "old");
}

TEST_F(Cli, BadInputsAreNamed) {
  folder.write("short.npy", npy_file("'<f4'", "(10, 3)", table.substr(1)));
  expect_failure("gather short.npy index.npy -o out.npy", 3,
                 "sheaf gather: short.npy: shape (10, 3) of '<f4' takes 120 bytes, but 119 follow the header: the file "
                 "is cut short");
  expect_failure("gather none.npy index.npy -o out.npy", 3,
                 "sheaf gather: none.npy: cannot be opened: No such file or directory");
  expect_failure(
      "gather table.npy table.npy -o out.npy", 3,
      "sheaf gather: table.npy: descr is '<f4'; an index has whole numbers of 1, 2, 4 or 8 bytes, signed or unsigned");
  folder.write("raw", "12345");
  expect_failure("gather raw index.npy --record-bytes 2 -o out", 3,
                 "sheaf gather: raw: 5 bytes are not a multiple of 2 bytes: 1 are left over");
  expect_failure("gather raw index.npy -o out", 3,
                 "sheaf gather: raw: not an .npy file; raw files need --record-bytes");
  folder.write("wide.npy", npy_file("'|u1'", "(1, 65537)", std::string(65537, 'x')));
  expect_failure("gather wide.npy index.npy -o out.npy", 3,
                 "sheaf gather: wide.npy: rows of shape (65537,) of '|u1' take 65537 bytes; records take 1 to 65536");
}

TEST_F(Cli, ScatterChecksThatItsFilesFit) {
  folder.write("rows.npy", rows_file());
  folder.write("two.npy", npy_file("'<f4'", "(2, 3)", row(1) + row(2)));
  folder.write("doubles.npy", npy_file("'<f8'", "(5, 3)", std::string(120, 'x')));
  expect_failure("scatter two.npy index.npy --table 10 -o out.npy", 3,
                 "sheaf scatter: index.npy: 3 indices, but two.npy has 2 records");
  folder.write("pairs.npy", npy_file("'<f4'", "(5, 2)", std::string(40, 'x')));
  expect_failure("scatter rows.npy index.npy --into pairs.npy -o out.npy", 3,
                 "sheaf scatter: pairs.npy: rows of shape (2,) of '<f4', but rows.npy has rows of shape (3,) of '<f4'");
  expect_failure(
      "scatter rows.npy index.npy --into doubles.npy -o out.npy", 3,
      "sheaf scatter: doubles.npy: rows of shape (3,) of '<f8', but rows.npy has rows of shape (3,) of '<f4'");
  expect_failure("scatter rows.npy index.npy -o out.npy", 2,
                 "sheaf scatter: give --table N for an output of zeros, or --into BASE for one like BASE");
}

TEST_F(Cli, InputsAreNeverWritten) {
  folder.write("rows.npy", rows_file());
  ASSERT_EQ(symlink("table.npy", (folder / "alias.npy").c_str()), 0);
  expect_failure("gather table.npy index.npy -o alias.npy", 2,
                 "sheaf gather: -o alias.npy is the input table.npy; inputs are never written");
  expect_failure("gather table.npy index.npy -o ./index.npy", 2,
                 "sheaf gather: -o ./index.npy is the input index.npy; inputs are never written");
  expect_failure("scatter rows.npy index.npy --into table.npy -o table.npy", 2,
                 "sheaf scatter: -o table.npy is the input table.npy; inputs are never written");
}

TEST_F(Cli, UsageErrorsAreNamed) {
  expect_failure("", 2, "sheaf: A subcommand is required\nTry: sheaf --help");
  expect_failure("frobnicate", 2, "sheaf: 'frobnicate' is not a subcommand\nTry: sheaf --help");
  expect_failure("gather", 2, "sheaf gather: TABLE is required\nTry: sheaf gather --help");
  expect_failure("gather table.npy index.npy", 2, "sheaf gather: --output is required\nTry: sheaf gather --help");
  expect_failure("gather table.npy index.npy -o out --record-bytes -1", 2,
                 "sheaf gather: --record-bytes: '-1' is not a whole number from 1 to 65536\nTry: sheaf gather --help");
  expect_failure("gather table.npy index.npy -o out --threads 0x2", 2,
                 "sheaf gather: --threads: '0x2' is not a whole number from 1 to 4096\nTry: sheaf gather --help");
  expect_failure("gather table.npy index.npy -o out --index-type f32", 2,
                 "sheaf gather: 'f32' is not an index type: u32, u64, i32, i64");
  for (const char* pattern :
       {"zigzag", "clustered", "clustered:0", "clustered:x", "random:3", "skewed:2", "repeated"}) {
    expect_failure(
        "gather table.npy index.npy -o out --pattern " + std::string(pattern), 2,
        "sheaf gather: '" + std::string(pattern) +
            "' is not an access pattern: unknown, sequential, random, partitioned:N, clustered:N, strided:N, "
            "skewed, repeated:N");
  }
  expect_failure("plan gather --count 1 --table 1 --record-bytes 65537", 2,
                 "sheaf plan: gather: out has records of 65537 bytes, not 1 to 65536");
  expect_failure("plan gather --count 1 --table 1 --record-bytes 4 --duplicates last", 2,
                 option_is_for_others("--duplicates"));
}

TEST_F(Cli, OutputsThatCannotBeWrittenAreNamed) {
  expect_failure("gather table.npy index.npy -o none/out.npy", 5,
                 "sheaf gather: none/out.npy: cannot be created: No such file or directory");
  folder.write("rows.npy", rows_file());
  const program_result large = run_sheaf(folder, "scatter rows.npy index.npy --table 700000000000000000 -o out.npy");
  EXPECT_EQ(large.code, 5);
  EXPECT_TRUE(
      large.err.starts_with("sheaf scatter: out.npy: cannot be written: 8400000000000000128 bytes are wanted, "))
      << large.err;
  EXPECT_TRUE(large.err.ends_with(" are free\n")) << large.err;
  EXPECT_FALSE(folder.has("out.npy"));
  expect_failure("scatter rows.npy index.npy --table 18446744073709551615 -o out.npy", 2,
                 "sheaf scatter: out.npy: 18446744073709551615 records of 12 bytes are more than a file can hold");
  expect_failure("scatter rows.npy index.npy --table 1537228672809129301 -o out.npy", 2,
                 "sheaf scatter: out.npy: 1537228672809129301 records of 12 bytes are more than a file can hold");
}

TEST_F(Cli, AFullStandardOutputIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const program_result result = run_sheaf(folder, "version --json", "/dev/full");
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.err, "sheaf version: standard output cannot be written\n");
  for (const std::string arguments : {"--help", "--version", "gather --help"}) {
    const program_result help = run_sheaf(folder, arguments, "/dev/full");
    EXPECT_EQ(help.code, 5) << arguments;
    EXPECT_EQ(help.err, std::string("sheaf") + (arguments.starts_with("gather") ? " gather" : "") +
                            ": standard output cannot be written\n");
  }
}

// Runs the command in a shell of its own, with these redirections behind it.
program_result run_redirected(const temporary_folder& folder, std::string_view arguments,
                              std::string_view redirections) {
  return run_sheaf(folder, fmt::format("version >/dev/null; ( '{}' {} {} )", sheaf_program(), arguments, redirections));
}

TEST_F(Cli, WithoutStandardErrorTheExitCodeIsTheWorks) {
  const std::pair<const char*, int> cases[] = {{"gather table.npy index.npy -o out.npy --quiet", 0},
                                               {"gather", 2},
                                               {"gather none.npy index.npy -o out.npy", 3},
                                               {"gather table.npy index.npy -o none/out.npy", 5}};
  for (const char* redirection : {"2>&-", "2>/dev/full", "<&- >&- 2>&-"}) {
    if (redirection == std::string_view("2>/dev/full") && access("/dev/full", W_OK) != 0) continue;
    for (const auto& [arguments, code] : cases) {
      const program_result result = run_redirected(folder, arguments, redirection);
      EXPECT_EQ(result.code, code) << arguments << " " << redirection;
      EXPECT_EQ(result.out + result.err, "") << arguments << " " << redirection;
    }
    EXPECT_EQ(folder.read("out.npy"), rows_file()) << redirection;
  }
}

TEST_F(Cli, RawResultsAreNotNamedAsArrays) {
  folder.write("raw.bin", table);
  const std::string words =
      "raw.bin is raw, and so is the result, without the header of an .npy file; give it a name that ends in .bin, or "
      "make raw.bin an .npy file";
  expect_failure("gather raw.bin index.npy --record-bytes 12 -o out.npy", 2, "sheaf gather: -o out.npy: " + words);
  expect_failure("scatter raw.bin index.npy --record-bytes 12 --table 10 -o out.npy", 2,
                 "sheaf scatter: -o out.npy: " + words);
  expect_failure("split raw.bin --record-bytes 12 --bits 0:8 -o out.npy", 2, "sheaf split: -o out.npy: " + words);
  expect_failure("split --keys raw.bin --key-bytes 12 --bits 0:8 --index gather -o out.npy", 2,
                 "sheaf split: -o out.npy: " + words);
  expect_failure("sort raw.bin --record-bytes 12 --key 0:8 -o out.npy", 2, "sheaf sort: -o out.npy: " + words);
  expect_failure("sort raw.bin --record-bytes 12 --key 0:8 --index gather -o out.npy", 2,
                 "sheaf sort: -o out.npy: " + words);
  expect_success("gather raw.bin index.npy --record-bytes 12 -o out.npy.bin --quiet");
  expect_success("gather table.npy index.npy -o out.any --quiet");
  EXPECT_EQ(folder.read("out.any"), rows_file()) << "an array says itself what it is, by any name";
}

TEST_F(Cli, ALinkToNothingIsWrittenThrough) {
  std::filesystem::create_directory(folder / "far");
  std::filesystem::create_symlink("far/target.npy", folder / "link.npy");
  expect_success("gather table.npy index.npy -o link.npy --quiet");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.npy"));
  EXPECT_EQ(folder.read("far/target.npy"), rows_file());
}

TEST_F(Cli, WhatDoesNotFitIntoTheAddressSpaceIsOutOfMemory) {
  if (under_address_sanitizer || under_thread_sanitizer) GTEST_SKIP() << "sanitizers need address space without limit";
  std::filesystem::resize_file(folder.write("large.bin", ""), std::uint64_t{3} << 29);
  const program_result result =
      run_sheaf(folder, fmt::format("version >/dev/null; ulimit -v 1048576; '{}' gather large.bin index.npy "
                                    "--record-bytes 65536 -o out.bin --backend cpu",
                                    sheaf_program()));
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.err, "sheaf gather: large.bin: cannot be mapped, 1610612736 bytes: Cannot allocate memory\n");
}

TEST_F(Cli, AMissingBackendIsNamed) {
  const program_result version = run_sheaf(folder, "version --json");
  ASSERT_EQ(version.code, 0);
  if (version.out.find("\"cuda\"") != std::string::npos) GTEST_SKIP() << "this build has the CUDA backend";
  expect_failure("gather table.npy index.npy -o out.npy --backend cuda", 6,
                 "sheaf gather: this build of sheaf has no backend 'cuda'");
  expect_failure("plan gather --count 1 --table 1 --record-bytes 4 --backend cuda", 6,
                 "sheaf plan: this build of sheaf has no backend 'cuda'");
}

TEST_F(Cli, PlanExplainsEveryVariant) {
  const program_result result =
      run_sheaf(folder,
                "plan scatter --count 1000000 --table 1000000 --record-bytes 16 --duplicates last "
                "--backend cpu --pattern strided:64 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto plan = nlohmann::json::parse(result.out);
  EXPECT_EQ(plan["pattern"], "strided:64");
  std::size_t chosen = 0;
  for (const auto& variant : plan["variants"]) {
    chosen += variant["chosen"].get<bool>() ? 1 : 0;
    EXPECT_NE(variant["chosen"].get<bool>(), !variant["reason"].get<std::string>().empty()) << variant;
    if (!variant["applicable"].get<bool>()) continue;
    double sum = 0;
    for (const auto& term : variant["terms"]) sum += term["seconds"].get<double>();
    EXPECT_NEAR(sum, variant["predicted_seconds"].get<double>(), 1e-12) << variant;
  }
  EXPECT_EQ(chosen, 1U);
  const program_result text =
      run_sheaf(folder, "plan gather --count 1000 --table 1000 --record-bytes 16 --backend cpu");
  EXPECT_NE(text.out.find("* cpu.direct"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("reference.serial"), std::string::npos) << text.out;
}

TEST_F(Cli, MachineSaysWhereItsProfileComesFrom) {
  const scoped_environment cache("XDG_CACHE_HOME", folder / "cache");
  const program_result shipped = run_sheaf(folder, "machine --backend cpu --save mine.json");
  EXPECT_EQ(shipped.code, 0) << shipped.err;
  EXPECT_NE(shipped.out.find("shipped with sheaf"), std::string::npos) << shipped.out;
  const program_result loaded = run_sheaf(folder, "machine --backend cpu --json");
  EXPECT_EQ(nlohmann::json::parse(loaded.out)["machines"][0]["source"], "shipped");
  setenv("SHEAF_PROFILE", "mine.json", 1);
  const program_result read = run_sheaf(folder, "machine --backend cpu");
  folder.write("mine.json", "{}");
  const program_result broken = run_sheaf(folder, "machine --backend cpu");
  unsetenv("SHEAF_PROFILE");
  EXPECT_NE(read.out.find("read from mine.json"), std::string::npos) << read.out;
  EXPECT_EQ(broken.code, 3);
  EXPECT_EQ(broken.err, "sheaf machine: mine.json: schema_version is missing\n");
}

// In little memory for a little while.
program_result run_calibration(const temporary_folder& folder, const std::string& arguments) {
  std::string line = "machine --calibrate --seconds 1 " + arguments;
  if (under_thread_sanitizer) line += " --threads 1";  // random writes race, as they may
  return run_sheaf(folder, line);
}

// Whether this machine is too busy or too slow to be measured in a second, which the command must say. What was
// measured in part is stored.
bool was_too_busy(const program_result& result) {
  if (result.code != 8) return false;
  const std::string_view advice =
      "lose other programs and repeat, with more seconds (--seconds) or fewer threads "
      "(--threads)\n";
  EXPECT_NE(result.err.find(advice), std::string::npos) << result.err;
  return result.err.find("sheaf machine: measured in part: ") == std::string::npos;
}

// Progress is for terminals, but what was left out of a profile is said, and then the exit code is 8.
void expect_only_warnings(const program_result& result) {
  std::istringstream lines(result.err);
  bool is_in_part = false;
  for (std::string line; std::getline(lines, line);) {
    const bool says_in_part = line.starts_with("sheaf machine: measured in part: ");
    is_in_part = is_in_part || says_in_part;
    EXPECT_TRUE(says_in_part || line.starts_with("sheaf machine: warning: cpu: left out of the profile: ") ||
                line.starts_with("sheaf machine: note: cpu: "))
        << result.err;
  }
  EXPECT_EQ(result.code, is_in_part ? 8 : 0) << result.err;
}

TEST_F(Cli, MachineKeepsWhatItMeasures) {
  const scoped_environment cache("XDG_CACHE_HOME", folder / "cache");
  const program_result measured = run_calibration(folder, "--backend cpu");
  if (was_too_busy(measured)) {
    EXPECT_EQ(measured.out, "");
    EXPECT_FALSE(folder.has("cache"));
    return;
  }
  expect_only_warnings(measured);
  EXPECT_NE(measured.out.find("measured just now"), std::string::npos) << measured.out;
  const auto stored = measured.out.find(" stored as " + folder.path() + "/cache/sheaf/cpu-");
  ASSERT_NE(stored, std::string::npos) << measured.out;
  const std::string file = measured.out.substr(stored + 11, measured.out.size() - stored - 12);

  const auto later = nlohmann::json::parse(run_sheaf(folder, "machine --backend cpu --json").out)["machines"][0];
  EXPECT_EQ(later["source"], file);
  EXPECT_FALSE(later.contains("ignored"));
  for (const char* curve : {"streams", "latencies", "random_read", "random_write", "atomic_add", "cache_levels"}) {
    EXPECT_GT(later[curve].size(), 0U) << curve;
  }
  EXPECT_TRUE(later["versions"].contains("compiler"));
  const auto plan = run_sheaf(folder, "plan gather --count 9 --table 9 --record-bytes 4 --backend cpu");
  EXPECT_NE(plan.out.find("profile " + file), std::string::npos) << plan.out;

  folder.write(file.substr(folder.path().size() + 1), "{\"schema_version\": 1}");
  const program_result stale = run_sheaf(folder, "machine --backend cpu");
  EXPECT_EQ(stale.code, 0) << stale.err;
  EXPECT_NE(stale.out.find("shipped with sheaf"), std::string::npos) << stale.out;
  EXPECT_NE(stale.out.find("not used          " + file + ": has schema 1, but this sheaf reads 3"), std::string::npos)
      << stale.out;
  EXPECT_TRUE(
      nlohmann::json::parse(run_sheaf(folder, "machine --backend cpu --json").out)["machines"][0].contains("ignored"));
}

TEST_F(Cli, MachineSavesWhatItMeasuresWhereItIsTold) {
  const scoped_environment no_cache("XDG_CACHE_HOME", "");
  const scoped_environment no_home("HOME", "");
  expect_failure("machine --calibrate --backend cpu", 2,
                 "sheaf machine: there is no place for machine profiles: XDG_CACHE_HOME and HOME name no folder; save "
                 "with --save FILE, and use the file with SHEAF_PROFILE=FILE");
  const program_result measured = run_calibration(folder, "--backend cpu --save mine.json --json");
  if (was_too_busy(measured)) {
    EXPECT_EQ(nlohmann::json::parse(measured.out)["error"]["code"], "measurement_failed");
    EXPECT_FALSE(folder.has("mine.json"));
    return;
  }
  expect_only_warnings(measured);
  const auto document = nlohmann::json::parse(measured.out)["machines"][0];
  EXPECT_EQ(document.contains("warnings"), measured.code == 8) << measured.err;
  EXPECT_EQ(nlohmann::json::parse(measured.out).contains("error"), measured.code == 8) << measured.err;
  const auto saved = nlohmann::json::parse(folder.read("mine.json"));
  EXPECT_EQ(document["source"], "measured");
  EXPECT_EQ(document["random_read"], saved["random_read"]);
  const scoped_environment profile("SHEAF_PROFILE", "mine.json");
  EXPECT_NE(run_sheaf(folder, "machine --backend cpu").out.find("read from mine.json"), std::string::npos);
}

TEST_F(Cli, MachineRefusesBudgetsThatAreNone) {
  for (const char* seconds : {"0", "-1", "1.5", "soon", "3601"}) {
    const program_result result = run_sheaf(folder, "machine --calibrate --seconds " + std::string(seconds));
    EXPECT_EQ(result.code, 2) << seconds;
    EXPECT_NE(result.err.find("--seconds: '" + std::string(seconds) + "' is not a whole number from 1 to 3600"),
              std::string::npos)
        << result.err;
  }
}

TEST_F(Cli, MachineDrawsItsCurves) {
  const scoped_environment cache("XDG_CACHE_HOME", folder / "cache");
  const std::string out = run_sheaf(folder, "machine --backend cpu").out;
  for (const char* title : {"copies, GB/s", "one read that waits for another, ns", "random reads, millions a second",
                            "random writes, millions a second", "atomic adds, millions a second"}) {
    EXPECT_NE(out.find(title), std::string::npos) << title << "\n" << out;
  }
  EXPECT_NE(out.find("###"), std::string::npos);
}

TEST_F(Cli, VersionNamesWhatIsBuiltIn) {
  EXPECT_EQ(run_sheaf(folder, "--version").out, "sheaf " SHEAF_VERSION "\n");
  const auto version = nlohmann::json::parse(run_sheaf(folder, "version --json").out);
  EXPECT_EQ(version["version"], SHEAF_VERSION);
  EXPECT_EQ(version["backends"][0], "reference");
  EXPECT_TRUE(version["compilers"].contains("c++"));
}

TEST_F(Cli, EveryHelpEndsWithAnExample) {
  for (const std::string subcommand :
       {"", "gather", "scatter", "split", "multi-split", "sort", "search", "rank", "scan", "spmv", "edges", "solve",
        "npb-cg", "plan", "machine", "version", "demo", "help"}) {
    const program_result help = run_sheaf(folder, subcommand + " --help");
    EXPECT_EQ(help.code, 0) << subcommand;
    EXPECT_NE(help.out.rfind("\nExamples:\n"), std::string::npos) << help.out;
    EXPECT_TRUE(help.out.rfind("\n  sheaf ") > help.out.rfind("\nExamples:\n")) << help.out;
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_command_test
