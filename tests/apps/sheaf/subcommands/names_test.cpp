#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/cli_test.hpp"
#include "support/matrix_market.hpp"
#include "support/npy_file.hpp"

// What options are called, what is said of a name that is none, and what all documents have.
namespace sheaf::tests::apps_sheaf_subcommands_names_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliNames : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("table.npy", npy_file("'<i4'", "(4,)", bytes_of<std::int32_t>({5, 7, 5, 8})));
    folder.write("index.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({3, 0, 1})));
    folder.write("of.npy", npy_file("'|u1'", "(4,)", std::string("\1\0\1\0", 4)));
    folder.write("begins.npy", npy_file("'<i4'", "(5,)", bytes_of<std::int32_t>({0, 1, 2, 3, 4})));
    folder.write("list.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({2, -1, 1})));
    folder.write("values.npy", npy_file("'<f4'", "(3,)", bytes_of<float>({1, 2, 4})));
    folder.write("places.npy", npy_file("'<f8'", "(3, 1)", bytes_of<double>({1, 2, 4})));
    folder.write("edges.npy", npy_file("'<i4'", "(2, 2)", bytes_of<std::int32_t>({0, 1, 1, 2})));
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n");
  }

  void expect_usage(const std::string& subcommand, const std::string& arguments, const std::string& words) {
    expect_failure(subcommand + " " + arguments, 2,
                   fmt::format("sheaf {}: {}\nTry: sheaf {} --help", subcommand, words, subcommand));
  }

  // Not const, so that members that are not there are null.
  nlohmann::json document_of(const std::string& arguments, int code = 0) {
    const program_result result = run_sheaf(folder, arguments + " --json");
    EXPECT_EQ(result.code, code) << arguments << "\n" << result.err;
    nlohmann::json document = nlohmann::json::parse(result.out, nullptr, false);
    return document.is_object() ? document : nlohmann::json::object();
  }

  // Commands that end well, one of each kind of report.
  const std::vector<std::string> commands{
      "gather table.npy index.npy -o out.npy",
      "scatter values.npy index.npy --table 9 -o out.npy",
      "split table.npy --keys of.npy --categories 2 -o out.npy",
      "multi-split table.npy --row-offsets begins.npy --keys of.npy --categories 2 -o out.npy",
      "sort table.npy -o out.npy",
      "search table.npy table.npy -o found",
      "rank list.npy -o out.npy",
      "scan list.npy values.npy -o out.npy",
      "spmv a.mtx -o out.npy",
      "solve a.mtx -o out.npy",
      "npb-cg S",
      "edges edges.npy places.npy -o out.npy --runs 2",
  };
};

// A name that was changed is refused with the one that it has now.
TEST_F(CliNames, FormerNamesAreRefusedWithThoseOfToday) {
  for (const std::string subcommand : {"gather", "scatter", "rank", "scan"})
    expect_usage(subcommand, "x y -o z --pattern-hint random", "--pattern-hint is now --pattern");
  expect_usage("spmv", "a.mtx -o y --transpose", "--transpose is now --transposed");
  for (const std::string subcommand : {"spmv", "solve", "edges"})
    expect_usage(subcommand, "a.mtx -o y --f32", "--f32 is now --value-type f32");
  expect_usage("npb-cg", "S --f32", "--f32 is now --value-type f32");
  expect_usage("sort", "x -o y --index gather --index-type u64", "--index-type is now --output-type");
  expect_failure("split x -o y --index gather --index-type u64", 2,
                 "sheaf split: --index-type is for --row-offsets; --output-type is the type of an index to write");
  expect_usage("rank", "list.npy -o y --type u64", "--type is now --output-type");
  expect_usage("split", "x -o y --categories c --count 3",
               "--count is now --categories, and --keys names the file of the categories");
  expect_usage("multi-split", "x -o y --categories c --count 3",
               "--count is now --categories, and --keys names the file of the categories");
  expect_usage("multi-split", "x -o y --first-type u32", "--first-type is now --index-type");
  expect_usage("multi-split", "x -o y --category-bytes 1", "--category-bytes is now --key-bytes");
  expect_usage("search", "x y -o z --table-key 0:4", "--table-key is now --key");
  expect_usage("search", "x y -o z --first", "--first is now --matches first");
  expect_usage("search", "x y -o z --count", "--count is now --matches count");
  expect_usage("search", "x y -o z --records t.npy", "--records is now --payload");
  expect_usage("search", "x y -o z --table-bytes 8",
               "--table-bytes is now --record-bytes; of the records of --payload, --payload-bytes");
  expect_usage("scatter", "x y -o z --count 9", "--count is now --table");
  for (const std::string subcommand : {"split", "multi-split"})
    expect_usage(subcommand, "x -o y --keys k --categories 3 --first f", "--first is now --row-offsets");
  expect_usage("plan", "edge_sum --count 9 --weights", "--weights is now --weighted");
  expect_usage("solve", "a.mtx -o y --limit=5", "--limit is now --iterations");
  expect_usage("plan", "list_scan --count 9 --exclusive", "--exclusive is now --exclusive-from NUMBER");
  expect_usage("plan", "spmv --count 9 --type f64",
               "--type is now --value-type; of the ranks of list_rank, --output-type");
  expect_usage("plan", "gather --count 9 --bytes 4",
               "--bytes is now --record-bytes; of the values of sort_pairs, --value-bytes");
}

TEST_F(CliNames, ANearMissIsSaidToBeOne) {
  expect_usage("gather", "table.npy index.npy --out x.npy", "there is no option --out; did you mean --output?");
  expect_usage("gather", "table.npy index.npy --outptu=x.npy", "there is no option --outptu; did you mean --output?");
  expect_usage("gather", "--verfy", "there is no option --verfy; did you mean --verify?");
  expect_usage("gather", "--rec 5", "there is no option --rec; did you mean --record-bytes?");
  expect_usage("split", "--re 5", "there is no option --re; did you mean --record-bytes?");
  expect_usage("sort", "x --key-field 0:4", "there is no option --key-field; did you mean --key?");
  expect_usage("sort", "x -descending", "there is no option -descending; did you mean --descending?");
  expect_usage("sort", "x -z", "there is no option -z");
  expect_usage("sort", "x -qz", "there is no option -z");
  expect_usage("sort", "x --reverse", "--reverse is called --descending");
  expect_usage("sort", "x --parallel=4", "--parallel is called --threads");
  expect_usage("gather", "--into x.npy", "--into is an option of scatter, reduce, not of gather");
  expect_usage("gather", "--nonsense", "there is no option --nonsense");
  expect_failure("gatter x", 2, "sheaf: 'gatter' is not a subcommand; did you mean gather?\nTry: sheaf --help");
  expect_failure("help srot", 2, "sheaf help: 'srot' is not a subcommand; did you mean sort?\nTry: sheaf help --help");
  expect_failure("--quiet gather", 2,
                 "sheaf: --quiet stands behind its subcommand: gather, scatter, reduce, split, multi-split, sort, "
                 "search, rank, scan, spmv, spmm, edges, solve, npb-cg, machine, demo\nTry: sheaf --help");
  // What an option takes is no option, and neither is what stands behind --.
  expect_usage("gather", "-o --nonsense", "TABLE is required");
  expect_usage("gather", "-o x -- --nonsense", "INDEX is required");
}

// What CLI11 complains of is said in words of this program.
TEST_F(CliNames, ComplaintsAreSaidPlainly) {
  expect_usage("gather", "table.npy index.npy -o a.npy -o b.npy", "--output is given 2 times, but takes one value");
  expect_usage("gather", "table.npy index.npy -o", "--output needs a value: FILE");
  expect_usage("search", "table.npy table.npy -o x --matches", "--matches needs a value: all, first, count");
  expect_usage("search", "table.npy table.npy -o x --matches some",
               "--matches: 'some' is not one of all, first, count");
  expect_usage("npb-cg", "X", "CLASS: 'X' is not one of S, W, A, B, C");
  expect_usage("gather", "table.npy index.npy -o x --verify=maybe", "--verify: 'maybe' is neither true nor false");
  expect_usage("gather", "table.npy index.npy more -o x", "'more' is an argument more than is expected");
  expect_usage("gather", "table.npy index.npy more 'and\nmore' -o x",
               "'more', 'and\\x0amore' are more arguments than are expected");
}

TEST_F(CliNames, ShortNamesAreThoseOfGnuSort) {
  folder.write("in.bin", "a2b1c2d0e1");
  expect_success("sort in.bin --record-bytes 2 -k 1:1 -r -j 2 -q -o out.bin");
  EXPECT_EQ(folder.read("out.bin"), "a2c2b1e1d0");
  expect_success("sort in.bin --record-bytes 2 -rqk1:1 -j2 -oout.bin");
  EXPECT_EQ(folder.read("out.bin"), "a2c2b1e1d0");
  expect_success("split in.bin --record-bytes 2 -k 1:1 --bits 0:1 -q -o out.bin");
  EXPECT_EQ(folder.read("out.bin"), "a2c2d0b1e1");
  folder.write("keys.bin", "2b1c");
  expect_success("search keys.bin in.bin --key-bytes 4 --record-bytes 5 -k 1:4 -q -o found --matches count");
  EXPECT_EQ(run_sheaf(folder, "-V").out, run_sheaf(folder, "--version").out);
  expect_failure("sort in.bin --record-bytes 2 -k 1:1 -qv -o out.bin", 2,
                 "sheaf sort: --quiet excludes --verbose\nTry: sheaf sort --help");
}

TEST_F(CliNames, JsonMayStandFirstAndMayHaveAValue) {
  const std::string gather = "gather table.npy index.npy -o out.npy";
  for (const std::string& line : {"--json " + gather, "--json=true " + gather, gather + " --json=true",
                                  gather + " --json=1", "--json=false " + gather + " --json"}) {
    const program_result result = run_sheaf(folder, line);
    EXPECT_EQ(result.code, 0) << line << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out, nullptr, false)["command"], "gather") << line;
  }
  for (const std::string& line : {gather + " --json=false", "--json=false " + gather, "--json " + gather + " --json=0"})
    EXPECT_THAT(run_sheaf(folder, line).out, StartsWith("gather: 3 records")) << line;
  for (const std::string line : {"--json=true gather none.npy index.npy -o x", "--json gather none.npy index.npy -o x",
                                 "gather none.npy index.npy -o x --json=true"}) {
    const program_result failed = run_sheaf(folder, line);
    EXPECT_EQ(failed.code, 3);
    EXPECT_EQ(nlohmann::json::parse(failed.out, nullptr, false)["error"]["code"], "bad_input") << line;
  }
  EXPECT_THAT(run_sheaf(folder, "gather none.npy index.npy -o x --json=false").out, "");
  for (const std::string line : {"--json", "--json gather", "--json gather --nonsense", "--json nonsense",
                                 "--nonsense --json", "--json help nonsense", "sort --json=maybe x"}) {
    const program_result failed = run_sheaf(folder, line);
    EXPECT_EQ(failed.code, 2) << line;
    EXPECT_EQ(nlohmann::json::parse(failed.out, nullptr, false)["error"]["code"], "usage") << line << failed.out;
  }
}

TEST_F(CliNames, AllDocumentsHaveTheSameMembers) {
  const auto expect_members = [](nlohmann::json document, const std::string& line) {
    for (const char* name : {"command", "device", "predicted_seconds", "output", "schema_version"})
      EXPECT_TRUE(document.contains(name)) << name << " of " << line << "\n" << document;
    EXPECT_EQ(document["command"], line.substr(0, line.find(' '))) << line;
  };
  for (const std::string& line : commands) {
    nlohmann::json document = document_of(line + (line.starts_with("edges") ? "" : " --backend cpu"));
    expect_members(document, line);
    EXPECT_TRUE(document["device"].is_string()) << line << document;
    EXPECT_TRUE(document["predicted_seconds"].is_number() || line.starts_with("edges")) << line << document;
    const std::size_t output = line.find("-o ");
    const nlohmann::json wanted =
        output == line.npos ? nlohmann::json()
                            : nlohmann::json(line.substr(output + 3, line.find(' ', output + 3) - output - 3));
    EXPECT_EQ(document["output"], wanted) << line;
  }
  for (const std::string line : {"version", "machine --backend cpu", "plan gather --count 9 --table 9 --record-bytes 4",
                                 "sort values.npy --check"}) {
    expect_members(document_of(line), line);
  }
  EXPECT_TRUE(document_of("plan gather --count 9 --table 9 --record-bytes 4")["predicted_seconds"].is_number());
  EXPECT_EQ(document_of("machine --backend cpu --save mine.json")["output"], "mine.json");
  expect_members(document_of("gather none.npy index.npy -o x", 3), "gather");
  expect_members(document_of("sort table.npy --check", 4), "sort");
  expect_members(document_of("gather --nonsense", 2), "gather");
}

TEST_F(CliNames, RunsAreTimed) {
  for (const std::string& line : commands) {
    if (line.starts_with("npb-cg")) {
      EXPECT_THAT(run_sheaf(folder, line + " --runs 3").err, HasSubstr("--runs is an option of ")) << line;
      continue;
    }
    const std::string bare = line.substr(0, line.find(" --runs"));
    nlohmann::json document = document_of(bare + " --runs 3 --verify --backend cpu");
    EXPECT_EQ(document["runs"], 3) << line;
    EXPECT_LE(document["seconds"], document["mean_seconds"]) << line;
    EXPECT_LE(document["seconds"], document["median_seconds"]) << line;
    EXPECT_GT(document["runs_per_second"], 0) << line;
    if (line.starts_with("edges")) continue;
    EXPECT_FALSE(document_of(bare + " --backend cpu").contains("runs")) << line;
    EXPECT_THAT(run_sheaf(folder, bare + " --runs 3").out, HasSubstr("; least of 3 runs, ")) << line;
  }
}

TEST_F(CliNames, VariantsAreForced) {
  for (const std::string& line : commands) {
    nlohmann::json document = document_of(line + " --variant reference.serial --backend reference");
    EXPECT_EQ(document["variant"], "reference.serial") << line;
    const program_result unknown = run_sheaf(folder, line + " --variant cpu.nonsense");
    EXPECT_EQ(unknown.code, 2) << line;
    const std::string subcommand = line.substr(0, line.find(' '));
    EXPECT_THAT(unknown.err, StartsWith("sheaf " + subcommand + ": no variant is named 'cpu.nonsense'; there are "))
        << "one prefix";
  }
  EXPECT_EQ(document_of("plan gather --count 9 --table 9 --record-bytes 4 --variant reference.serial")["choice"],
            "reference.serial");
}

TEST_F(CliNames, VerboseSaysWhichVariantRanAndQuietNothing) {
  for (const std::string& line : commands) {
    for (const std::string name : {" --verbose", " -v"}) {
      const program_result verbose = run_sheaf(folder, line + name + " --backend cpu");
      EXPECT_EQ(verbose.code, 0) << line << verbose.err;
      EXPECT_THAT(verbose.err, HasSubstr("cpu.")) << line;
      EXPECT_THAT(verbose.err, HasSubstr(", taken\n")) << line;
      EXPECT_THAT(verbose.out, Not(HasSubstr("taken"))) << line;
    }
    for (const std::string name : {" --quiet", " -q", " -q --json"}) {
      const program_result quiet = run_sheaf(folder, line + name);
      EXPECT_EQ(quiet.code, 0) << line << quiet.err;
      EXPECT_EQ(quiet.out + quiet.err, "") << line << name;
    }
    EXPECT_EQ(run_sheaf(folder, line).err, "") << line;
  }
}

TEST_F(CliNames, SearchTakesALoadFactor) {
  nlohmann::json dense = document_of("search table.npy table.npy -o found --load 99 --verify --backend cpu");
  nlohmann::json sparse = document_of("search table.npy table.npy -o found --load 5 --verify --backend cpu");
  EXPECT_GT(dense["load"], sparse["load"]);
  expect_failure("search table.npy table.npy -o found --load 50 --backend reference", 2,
                 "sheaf search: --load is for hash tables, and the reference has none");
  expect_usage("search", "table.npy table.npy -o found --load 4", "--load: '4' is not a whole number from 5 to 99");
}

/// What a terminal in the place of standard error shows.
std::string shown_on_terminal(const temporary_folder& folder, const std::string& arguments) {
  const int main = posix_openpt(O_RDWR | O_NOCTTY);
  if (main < 0 || grantpt(main) != 0 || unlockpt(main) != 0) return {};
  const std::string name = ptsname(main);
  const int screen = open(name.c_str(), O_RDWR | O_NOCTTY);  // so that it lasts until it was read
  const std::string line =
      fmt::format("cd '{}' && '{}' {} >/dev/null 2>{}", folder.path(), sheaf_program(), arguments, name);
  static_cast<void>(std::system(line.c_str()));
  std::string text;
  char part[256];
  for (pollfd ready{main, POLLIN, 0}; poll(&ready, 1, 100) > 0 && (ready.revents & POLLIN) != 0;) {
    const ssize_t bytes = read(main, part, sizeof part);
    if (bytes <= 0) break;
    text.append(part, static_cast<std::size_t>(bytes));
  }
  close(screen);
  close(main);
  return text;
}

TEST_F(CliNames, ControlCharactersOfNamesDoNotReachATerminal) {
  const std::string name = "no\033[31m\n\xc2\x9bne";
  const std::string gather = "gather \"$(printf 'no\\033[31m\\n\\302\\233ne')\" index.npy -o out.npy";
  const program_result elsewhere = run_sheaf(folder, gather + " --json");
  EXPECT_EQ(elsewhere.code, 3);
  EXPECT_EQ(nlohmann::json::parse(elsewhere.out)["error"]["message"],
            name + ": cannot be opened: No such file or directory");
  EXPECT_EQ(elsewhere.err, "sheaf gather: " + name + ": cannot be opened: No such file or directory\n");
  const std::string shown = shown_on_terminal(folder, gather);
  if (shown.empty()) GTEST_SKIP() << "no terminal to be had";
  EXPECT_EQ(shown, "sheaf gather: no\\x1b[31m\\x0a\\u009bne: cannot be opened: No such file or directory\r\n");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_names_test
