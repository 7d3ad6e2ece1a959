// The command between pipes: `-`, descriptors, pipes with names and devices as inputs and outputs.
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/cli_test.hpp"
#include "support/npy_file.hpp"
#include "support/terminal.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_pipes_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* letters = "a2b1c2d0e1";
constexpr const char* by_digit = "d0b1e1a2c2";

class CliPipes : public cli_test {
 protected:
  void SetUp() override {
    if (std::system("bash -c true 2>/dev/null") != 0) GTEST_SKIP() << "no bash here";
    cli_test::SetUp();
  }
  void fill_folder() override {
    folder.write("letters", letters);
    folder.write("a.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({30, 10, 20})));
    folder.write("order.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({1, 2, 0})));
    folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.5\n1 2 2\n2 2 -1\n");
    folder.write("t.su2", "NDIME= 2\nNELEM= 1\n5 0 1 2\nNPOIN= 3\n0 0\n1 0\n0 1\nNMARK= 0\n");
  }

  /// Runs lines of bash, in which $sheaf is the program and $sort it with records of two bytes.
  program_result bash(std::string_view lines) {
    const std::string file =
        scripts.write("lines", fmt::format("sheaf='{}'\nsort='{} sort --record-bytes 2 --key 1:1'\n{}\n",
                                           sheaf_program(), sheaf_program(), lines));
    return run_program("bash", folder, file);
  }
  void expect_refused(std::string_view lines, int code, const std::string& words) {
    const std::size_t files = folder.count();
    const program_result result = bash(lines);
    EXPECT_EQ(result.code, code) << lines;
    EXPECT_EQ(result.err, words + "\n") << lines;
    EXPECT_EQ(result.out, "") << lines;
    EXPECT_EQ(folder.count(), files) << lines;
  }

  temporary_folder scripts;
};

TEST_F(CliPipes, StandardInputAndOutputAreRecords) {
  for (const char* const line :
       {"$sort - -o - <letters", "cat letters | $sort - -o -", "cat letters | $sort /dev/stdin -o /dev/stdout",
        "cat letters | $sort /dev/fd/0 -o /dev/fd/1 --verify", "$sort <(cat letters) -o >(cat) | cat",
        "cat letters | $sort - --output=- | cat", "exec 7>&1; cat letters | $sort - -o /dev/fd/7"}) {
    const program_result result = bash(std::string(line) + "\nsleep 0.1");
    EXPECT_EQ(result.code, 0) << line << result.err;
    EXPECT_THAT(result.out, HasSubstr(by_digit)) << line;
    if (std::string_view(line).find(">(") == std::string_view::npos &&
        std::string_view(line).find("/dev/fd/7") == std::string_view::npos) {
      EXPECT_EQ(result.out, by_digit) << line;
      EXPECT_THAT(result.err, StartsWith("sort: 5 records of 2 bytes ")) << "the report goes there: " << line;
    }
  }
  EXPECT_EQ(bash("cat letters | $sort - -o - --quiet").err, "");
  EXPECT_EQ(bash("cat a.npy | $sheaf sort - -o - --quiet").out,
            npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({10, 20, 30})));
}

// A plan writes nothing, so that standard output is its own, whatever -o says.
TEST_F(CliPipes, PlansOfStreamsSayThatTheseWereRead) {
  const std::string plan = "$sheaf plan --like sort - --record-bytes 2 --key 1:1 --backend cpu";
  for (const char* const output : {"", " -o -", " -o /dev/stdout"}) {
    const program_result result = bash("cat letters | " + plan + output);
    EXPECT_EQ(result.code, 0) << output;
    EXPECT_EQ(result.err, "") << output;
    EXPECT_THAT(result.out, StartsWith("sort_records: 5 records of 2 bytes")) << output;
    EXPECT_THAT(result.out, HasSubstr("\nread: all of standard input\nsheaf sort: runs ")) << output;
  }
  EXPECT_THAT(bash(plan + " -o - <letters").out, HasSubstr("\nread: headers and sizes alone\n"));
  const auto document = nlohmann::json::parse(bash("cat letters | " + plan + " -o - --json").out);
  EXPECT_EQ(document["read"], std::vector<std::string>{"-"});
  EXPECT_THAT(bash("cat a.mtx | $sheaf plan --like spmv - --backend cpu").out,
              HasSubstr("\nread: all of standard input\n"));
  EXPECT_THAT(bash("cat t.su2 | $sheaf plan --like edges - --backend cpu").out,
              HasSubstr("\nread: all of standard input\n"));
}

TEST_F(CliPipes, DocumentsMakeRoomForTheResultAlsoOfAFailure) {
  const program_result result = bash("$sort - --json -o - <letters");
  EXPECT_EQ(result.out, by_digit);
  const auto report = nlohmann::json::parse(result.err);
  EXPECT_EQ(report["records"], 5);
  EXPECT_EQ(report["output"], "-");
  for (const char* const line : {"head -c 9 letters | $sort - --json -o -", "$sort - --json -o - --nonsense",
                                 "$sort none --json --output -", "$sort none --json -o-", "$sort none --json -qo-",
                                 "$sheaf spmv none --json --alpha 1e300 --value-type f32 -o /dev/stdout"}) {
    const program_result failed = bash(line);
    EXPECT_NE(failed.code, 0) << line;
    EXPECT_EQ(failed.out, "") << line;
    EXPECT_THAT(failed.err, StartsWith("{\n  \"command\": ")) << line;
  }
}

TEST_F(CliPipes, EverySubcommandThatReadsTakesThem) {
  const auto expect_same = [&](const std::string& piped, const std::string& of_files) {
    const program_result wanted = bash(of_files + " -o wanted --quiet; cat wanted; rm wanted");
    const program_result result = bash(piped + " -o - --quiet");
    EXPECT_EQ(result.err, "") << piped;
    EXPECT_EQ(result.out, wanted.out) << piped;
    EXPECT_NE(result.out, "") << piped;
  };
  expect_same("cat a.npy | $sheaf gather - order.npy", "$sheaf gather a.npy order.npy");
  expect_same("cat order.npy | $sheaf gather a.npy -", "$sheaf gather a.npy order.npy");
  expect_same("cat a.npy | $sheaf scatter - <(cat order.npy) --table 4", "$sheaf scatter a.npy order.npy --table 4");
  expect_same("cat a.npy | $sheaf scatter a.npy order.npy --into -", "$sheaf scatter a.npy order.npy --into a.npy");
  expect_same("cat letters | $sheaf split - --record-bytes 2 --key 1:1",
              "$sheaf split letters --record-bytes 2 --key 1:1");
  expect_same("cat letters | $sheaf rank <(printf '\\1\\0\\0\\0\\1\\0\\0\\0') --index-type u32",
              "printf '\\1\\0\\0\\0\\1\\0\\0\\0' >list; $sheaf rank list --index-type u32");
  expect_same("cat a.mtx | $sheaf spmv -", "$sheaf spmv a.mtx");
  expect_same("gzip -c a.mtx | $sheaf spmv -", "$sheaf spmv a.mtx");
  expect_same("$sheaf spmv a.mtx -o - --quiet | $sheaf spmv a.mtx -",
              "$sheaf spmv a.mtx -o y.npy --quiet; $sheaf spmv a.mtx y.npy");
  expect_same("printf '%%%%MatrixMarket matrix array real general\\n2 1\\n3\\n4\\n' | $sheaf spmv a.mtx /dev/stdin",
              "printf '%%%%MatrixMarket matrix array real general\\n2 1\\n3\\n4\\n' >x.mtx; $sheaf spmv a.mtx x.mtx");
  expect_same("cat t.su2 | $sheaf edges - --runs 1", "$sheaf edges t.su2 --runs 1");
  expect_same("gzip -c t.su2 | $sheaf edges - --runs 1", "$sheaf edges t.su2 --runs 1");
  const program_result found =
      bash("cat a.npy | $sheaf search - <(cat a.npy) --matches count -o found --quiet; cat found.counts.npy");
  EXPECT_EQ(found.out, npy_file("'<u4'", "(3,)", bytes_of<std::uint32_t>({1, 1, 1}))) << found.err;
}

TEST_F(CliPipes, OutputsBesideAStreamAreFiles) {
  const program_result result =
      bash("cat letters | $sheaf split - --record-bytes 2 --key 1:1 -o - --offsets offsets.npy --quiet");
  EXPECT_EQ(result.out, by_digit) << result.err;
  EXPECT_TRUE(folder.has("offsets.npy"));
  EXPECT_THAT(
      bash("$sheaf solve <(printf '%%%%MatrixMarket matrix coordinate real general\\n1 1 1\\n1 1 2\\n') -o x.npy "
           "--history - --quiet")
          .out,
      StartsWith("iteration,residual,relative_residual\n0,"));
}

TEST_F(CliPipes, PipesWithNamesAndDevicesAreOutputs) {
  EXPECT_EQ(bash("mkfifo p; cat p & $sort letters -o p --quiet; wait; rm p").out, by_digit);
  EXPECT_EQ(bash("$sort letters -o /dev/null --quiet").code, 0);
  EXPECT_EQ(bash("$sheaf split letters --record-bytes 2 --key 1:1 -o /dev/null --offsets /dev/null --quiet").code, 0);
  EXPECT_EQ(bash("test -c /dev/null").code, 0) << "it is still the device";
  EXPECT_EQ(bash("$sort letters -o - --quiet >/dev/full").err,
            "sheaf sort: standard output: cannot be written: No space left on device\n");
}

TEST_F(CliPipes, MistakesAreErrorsOfUsage) {
  expect_refused("$sort letters -o .", 2, "sheaf sort: .: a folder; an output is a file");
  expect_refused("$sheaf gather - - -o x <a.npy", 2,
                 "sheaf gather: standard input is two of the inputs, but a stream can be read only once");
  expect_refused("$sheaf search - /dev/stdin -o x <a.npy", 2,
                 "sheaf search: standard input (also /dev/stdin) is two of the inputs, but a stream can be read only "
                 "once");
  expect_refused("$sheaf edges - - <a.npy", 2,
                 "sheaf edges: standard input is two of the inputs, but a stream can be read only once");
  expect_refused("mkfifo p; $sheaf gather p p -o x; code=$?; rm p; exit $code", 2,
                 "sheaf gather: p is two of the inputs, but a stream can be read only once");
  expect_refused("mkfifo p; $sheaf gather p order.npy -o p; code=$?; rm p; exit $code", 2,
                 "sheaf gather: -o p is the input p; inputs are never written");
  expect_refused("$sort letters -o - >>letters", 2, "sheaf sort: -o - is the input letters; inputs are never written");
  expect_refused("$sheaf search a.npy a.npy -o -", 2,
                 "sheaf search: -o -: standard output takes one file, and -o says how the names of several begin");
  expect_refused("$sheaf split letters --record-bytes 2 --key 1:1 -o - --offsets /dev/stdout", 2,
                 "sheaf split: -o and --offsets are both /dev/stdout");
  expect_refused("$sort letters -o x --temporary none", 2,
                 "sheaf sort: --temporary: 'none' is not a folder\nTry: sheaf sort --help");
  EXPECT_EQ(folder.read("letters"), letters);
}

TEST_F(CliPipes, BrokenStreamsAreNamedWithPlaceAndValue) {
  expect_refused("head -c 9 letters | $sort - -o x", 3,
                 "sheaf sort: standard input: 9 bytes are not a multiple of 2 bytes: 1 are left over");
  expect_refused("head -c 130 a.npy | $sheaf sort - -o x", 3,
                 "sheaf sort: standard input: shape (3,) of '<i4' takes 12 bytes, but 2 follow the header: the file is "
                 "cut short");
  expect_refused("gzip -c a.npy | $sheaf sort - -o x", 3,
                 "sheaf sort: standard input: not an .npy file but gzip, which gzip -dc unpacks; raw files need "
                 "--record-bytes");
  expect_refused(
      "gzip -c a.mtx | head -c 30 | $sheaf spmv - -o x", 3,
      "sheaf spmv: standard input: compressed byte 30: the compressed data end early: the file is cut short");
  expect_refused("head -c 60 a.mtx | $sheaf spmv - -o x", 3,
                 "sheaf spmv: standard input: line 2: 3 entries are announced, but the 8 bytes that follow hold 2 at "
                 "most");
  expect_refused("head -c 30 t.su2 | $sheaf edges -", 3,
                 "sheaf edges: standard input: line 4: 'NPOI' is neither a line of numbers nor KEYWORD= value, as in "
                 "SU2's files");
  expect_refused("$sheaf sort - -o x </dev/null", 3,
                 "sheaf sort: standard input: not an .npy file; raw files need --record-bytes");
  expect_refused("$sheaf sort - -o x <&-", 3,
                 "sheaf sort: standard input: byte 0: cannot be read: Bad file descriptor");
  expect_refused("$sort letters -o - >&-", 5, "sheaf sort: standard output cannot be written");
  // An endless stream behind an array is not read to its end.
  const program_result endless = bash("(cat a.npy; cat /dev/zero) | timeout 20 $sheaf sort - -o x");
  EXPECT_EQ(endless.code, 3);
  EXPECT_THAT(endless.err, HasSubstr("follow the header: the file is too long"));
}

TEST_F(CliPipes, AReaderThatEndsEarlyEndsTheCommandInSilence) {
  const program_result result = bash(
      "head -c 4000000 /dev/zero | $sort - --memory 1M -o - | head -c 10 | wc -c; echo ${PIPESTATUS[1]}\n"
      "head -c 4000000 /dev/zero | $sheaf split - --record-bytes 2 --key 1:1 -o - --offsets offsets.npy | head -c 10 "
      ">x\n"
      "echo ${PIPESTATUS[1]}");
  EXPECT_EQ(result.out, fmt::format("10\n{}\n{}\n", 128 + SIGPIPE, 128 + SIGPIPE));
  EXPECT_EQ(result.err, "");
  EXPECT_FALSE(folder.has("offsets.npy")) << "what belongs together appears together";
}

TEST_F(CliPipes, MoreThanMemoryIsSortedBetweenPipes) {
  const program_result result = bash(
      "seq 3000000 -1 1000000 | $sheaf sort - --record-bytes 8 --key 0:7 --memory 2M -o - | $sheaf sort - "
      "--record-bytes 8 --key 0:7 --check --json\n"
      "seq 3000000 -1 1000000 | $sheaf sort - --record-bytes 8 --key 0:7 --memory 2M --verify -o - --quiet | head -c "
      "16");
  EXPECT_THAT(result.err, HasSubstr(" runs, merged"));
  EXPECT_TRUE(result.out.ends_with("}\n1000000\n1000001\n")) << result.out;
  EXPECT_THAT(result.out, HasSubstr("\"records\": 2000001"));
  EXPECT_THAT(result.out, HasSubstr("\"sorted\": true"));
}

TEST_F(CliPipes, TemporaryFilesGoWhereTheyAreToAndAreGoneAfterwards) {
  const program_result result = bash(
      "mkdir spool; head -c 4000000 /dev/zero | $sort - --memory 1M -o x --temporary spool --quiet; ls -A spool | wc "
      "-l\n"
      "cat letters | TMPDIR=spool $sort - -o - --quiet; ls -A spool | wc -l");
  EXPECT_EQ(result.out, fmt::format("0\n{}0\n", by_digit)) << result.err;
  const program_result full = bash("cat letters | $sort - -o x2 --temporary /proc");
  EXPECT_EQ(full.code, 5);
  EXPECT_THAT(full.err,
              StartsWith("sheaf sort: standard input: 0 bytes are read, and the temporary file for them in /proc "));
}

// A sparse file stands for a stream of more than 2 GiB: nobody writes 2 GiB here, but sizes are 64 bits all the way.
TEST_F(CliPipes, LargeSizesAreKept) {
  const std::string header = npy_file("'<i4'", "(1000000000,)", "");
  folder.write("large.npy", header);
  const program_result result = bash(
      "truncate -s 4000000128 large.npy && $sheaf gather - <(printf '\\0\\0\\0\\0\\377\\311\\232\\073') --index-type "
      "u32 -o - "
      "--quiet <large.npy | od -An -tx1 -j 128");
  if (result.err.starts_with("truncate")) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, " 00 00 00 00 00 00 00 00\n");
}

TEST_F(CliPipes, TerminalsGetTextAlone) {
  const terminal screen;
  if (!screen.is_there()) GTEST_SKIP() << "no terminal to be had";
  expect_refused(fmt::format("$sort letters -o - >{}", screen.path()), 2,
                 "sheaf sort: -o -: a terminal, and the result is not text; send it on by > FILE or | PROGRAM");
  expect_refused(fmt::format("$sort letters -o {}", screen.path()), 2,
                 fmt::format("sheaf sort: -o {}: a terminal, and the result is not text; send it on by > FILE or | "
                             "PROGRAM",
                             screen.path()));
  EXPECT_EQ(
      bash(fmt::format("$sheaf solve <(printf '%%%%MatrixMarket matrix coordinate real general\\n1 1 1\\n1 1 2\\n') "
                       "-o x.npy --history - --quiet >{}",
                       screen.path()))
          .code,
      0);
  EXPECT_THAT(screen.shown(), StartsWith("iteration,residual"));
}

TEST_F(CliPipes, MembersOfArchivesAreNamedBehindADescriptor) {
  EXPECT_THAT(bash("cat letters | $sheaf gather /dev/stdin:a order.npy -o x").err,
              HasSubstr("/dev/stdin: is not an .npz archive, so it has no member a"));
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_pipes_test
