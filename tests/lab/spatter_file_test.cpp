#include "lab/spatter/file.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/spatter/pattern.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::lab_spatter_file_test {
namespace {

using bench::spatter_config;
using bench::spatter_kernel;
using testing::ElementsAre;
using testing::HasSubstr;

using entries = std::vector<std::uint64_t>;

bench::spatter_pattern expand(std::string_view text, std::uint64_t most = 1000) {
  return bench::expand_spatter_pattern(text, "f: pattern", most);
}

spatter_config parse_one(std::string_view text) {
  const auto configs = bench::parse_spatter(text, "f");
  EXPECT_EQ(configs.size(), 1U);
  return configs.at(0);
}

TEST(SpatterPattern, UniformStepsByItsStride) {
  EXPECT_THAT(expand("UNIFORM:8:4").entries, ElementsAre(0, 4, 8, 12, 16, 20, 24, 28));
  EXPECT_EQ(expand("UNIFORM:8:4").delta, std::nullopt);
  EXPECT_THAT(expand("UNIFORM:1:9").entries, ElementsAre(0));
}

TEST(SpatterPattern, UniformSetsItsDelta) {
  EXPECT_EQ(expand("UNIFORM:8:4:NR").delta, 32U);
  EXPECT_EQ(expand("UNIFORM:8:4:5").delta, 5U);
}

TEST(SpatterPattern, MostlyStrideOneHasItsGaps) {
  EXPECT_THAT(expand("MS1:8:4:32").entries, ElementsAre(0, 1, 2, 3, 35, 36, 37, 38));
  EXPECT_THAT(expand("MS1:8:2,3:20").entries, ElementsAre(0, 1, 21, 41, 42, 43, 44, 45));
  EXPECT_THAT(expand("MS1:8:2,3:20,22").entries, ElementsAre(0, 1, 21, 43, 44, 45, 46, 47));
  EXPECT_THAT(expand("MS1:3:0:5").entries, ElementsAre(4, 5, 6));
  EXPECT_THAT(expand("MS1:3:1:0").entries, ElementsAre(0, 0, 1));
  EXPECT_EQ(expand("MS1:8:4:32").delta, std::nullopt);
}

TEST(SpatterPattern, LaplacianIsAStencil) {
  EXPECT_THAT(expand("LAPLACIAN:1:1:100").entries, ElementsAre(0, 1, 2));
  EXPECT_THAT(expand("LAPLACIAN:2:1:100").entries, ElementsAre(0, 99, 100, 101, 200));
  EXPECT_THAT(expand("LAPLACIAN:2:2:100").entries, ElementsAre(0, 100, 198, 199, 200, 201, 202, 300, 400));
  EXPECT_THAT(expand("LAPLACIAN:3:1:100").entries, ElementsAre(0, 9900, 9999, 10000, 10001, 10100, 20000));
  EXPECT_EQ(expand("LAPLACIAN:2:1:100").delta, 1U);
}

TEST(SpatterPattern, AListOfNumbersIsItself) {
  EXPECT_THAT(expand("1,2,4,8").entries, ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(expand("7").entries, ElementsAre(7));
}

TEST(SpatterPattern, LengthIsBoundedBeforeMemoryIsTaken) {
  EXPECT_EQ(expand("UNIFORM:1000:1").entries.size(), 1000U);
  for (const char* text : {"UNIFORM:1001:1", "MS1:1001:1:2", "LAPLACIAN:10:50:1"}) {
    EXPECT_THAT(message_of(error_code::bad_input, [&text = text] { expand(text); }),
                testing::EndsWith("1001 entries, but 1000 are allowed"));
  }
  expect_error(error_code::bad_input, "f: pattern: '0,1,2': 3 entries, but 2 are allowed", [] { expand("0,1,2", 2); });
}

TEST(SpatterPattern, SaysWhatIsWrong) {
  constexpr std::pair<const char*, const char*> wrong[] = {
      {"", "'': is not UNIFORM, MS1, LAPLACIAN or a list of numbers"},
      {"uniform:8:1", "'uniform:8:1': is not UNIFORM, MS1, LAPLACIAN or a list of numbers"},
      {"-1,2", "'-1,2': is not UNIFORM, MS1, LAPLACIAN or a list of numbers"},
      {"1,,2", "'1,,2': entry is '', not a whole number from 0 to 281474976710656"},
      {"281474976710657",
       "'281474976710657': entry is '281474976710657', not a whole number from 0 to 281474976710656"},
      {"UNIFORM:8", "'UNIFORM:8': is not UNIFORM:LENGTH:STRIDE[:DELTA|NR]"},
      {"UNIFORM:8:1:NR:1", "'UNIFORM:8:1:NR:1': is not UNIFORM:LENGTH:STRIDE[:DELTA|NR]"},
      {"UNIFORM:0:1", "'UNIFORM:0:1': length is '0', not a whole number from 1 to 281474976710656"},
      {"UNIFORM:8:0", "'UNIFORM:8:0': stride is '0', not a whole number from 1 to 281474976710656"},
      {"UNIFORM:8:1x", "'UNIFORM:8:1x': stride is '1x', not a whole number from 1 to 281474976710656"},
      {"UNIFORM:8:1:0", "'UNIFORM:8:1:0': delta is '0', not a whole number from 1 to 281474976710656"},
      {"UNIFORM:8:281474976710656",
       "'UNIFORM:8:281474976710656': length * stride is 8 * 281474976710656, past 281474976710656"},
      {"MS1:8:4", "'MS1:8:4': is not MS1:LENGTH:LOCATIONS:GAPS"},
      {"MS1:8:2,3,4:1,2", "'MS1:8:2,3,4:1,2': 2 gaps for 3 locations, not one or as many"},
      {"MS1:8:3,2:9", "'MS1:8:3,2:9': gap locations do not ascend"},
      {"MS1:8:8:9", "'MS1:8:8:9': gap location 8 is past the length 8"},
      {"MS1:8:0:0", "'MS1:8:0:0': a gap of 0 at location 0 puts the first entry at -1"},
      {"MS1:8:1:281474976710656", "'MS1:8:1:281474976710656': entry 1 is past 281474976710656"},
      {"LAPLACIAN:2:1", "'LAPLACIAN:2:1': is not LAPLACIAN:DIMENSION:ORDER:SIZE"},
      {"LAPLACIAN:0:1:9", "'LAPLACIAN:0:1:9': dimension is '0', not a whole number from 1 to 281474976710656"},
      {"LAPLACIAN:9:1:1000000",
       "'LAPLACIAN:9:1:1000000': size to the power of dimension - 1 is 1000000000000 * 1000000, past 281474976710656"},
  };
  for (const auto& [text, message] : wrong) {
    expect_error(error_code::bad_input, fmt::format("f: pattern: {}", message), [&text = text] { expand(text); });
  }
}

TEST(SpatterFile, DefaultsAreSpatters) {
  const spatter_config c = parse_one(R"([{"pattern": [0, 3, 1]}])");
  EXPECT_EQ(c.kernel, spatter_kernel::gather);
  EXPECT_EQ(c.name, "");
  EXPECT_EQ(c.count, 1024U);
  EXPECT_EQ(c.wrap, 1U);
  EXPECT_EQ(c.runs, 0U);
  EXPECT_THAT(c.gather.places, ElementsAre(0, 3, 1));
  EXPECT_EQ(c.gather.period_delta, 8U);
  EXPECT_EQ(c.gather.last_place, 3U);
  EXPECT_FALSE(c.scatters());
}

TEST(SpatterFile, ReadsEveryField) {
  const spatter_config c = parse_one(R"([{"name": "n", "kernel": "SCATTER", "pattern": "0,5,9,2", "delta": 3,
    "count": 7, "wrap": 2, "pattern-size": 3, "boundary": 6, "nruns": 4, "local-work-size": 1024, "seed": 1,
    "delta-gather": 1, "delta-scatter": 2}])");
  EXPECT_EQ(c.kernel, spatter_kernel::scatter);
  EXPECT_EQ(c.name, "n");
  EXPECT_THAT(c.scatter.places, ElementsAre(0, 5, 3));
  EXPECT_EQ(c.scatter.period_delta, 3U);
  EXPECT_EQ(c.count, 7U);
  EXPECT_EQ(c.wrap, 2U);
  EXPECT_EQ(c.runs, 4U);
  EXPECT_EQ(c.scatter.extent(c.count), 5U + 3 * 6 + 1);
}

TEST(SpatterFile, KernelsAreKnownInAnyCase) {
  EXPECT_EQ(parse_one(R"([{"pattern": [0], "kernel": "gAtHeR"}])").kernel, spatter_kernel::gather);
  EXPECT_EQ(parse_one(R"([{"pattern-gather": [0], "pattern-scatter": [1], "kernel": "gs"}])").kernel,
            spatter_kernel::gather_scatter);
}

TEST(SpatterFile, MultiKernelsComeBackComposed) {
  const spatter_config g =
      parse_one(R"([{"kernel": "MultiGather", "pattern": [10, 20, 30], "pattern-gather": [2, 0, 2, 1], "delta": 4}])");
  EXPECT_THAT(g.gather.places, ElementsAre(30, 10, 30, 20));
  EXPECT_EQ(g.gather.period_delta, 4U);
  const spatter_config s =
      parse_one(R"([{"kernel": "MultiScatter", "pattern": "UNIFORM:3:5:NR", "pattern-scatter": [1, 2]}])");
  EXPECT_THAT(s.scatter.places, ElementsAre(5, 10));
  EXPECT_EQ(s.scatter.period_delta, 15U);
}

TEST(SpatterFile, GatherScatterHasADeltaForEachSide) {
  const spatter_config c = parse_one(
      R"([{"kernel": "GS", "pattern-gather": "UNIFORM:2:3:NR", "pattern-scatter": [4, 1], "delta": 77, "delta-scatter": 2}])");
  EXPECT_THAT(c.gather.places, ElementsAre(0, 3));
  EXPECT_THAT(c.scatter.places, ElementsAre(4, 1));
  EXPECT_EQ(c.gather.period_delta, 6U);
  EXPECT_EQ(c.scatter.period_delta, 2U);
}

TEST(SpatterFile, AGeneratorsDeltaOverrulesTheField) {
  EXPECT_EQ(parse_one(R"([{"pattern": "UNIFORM:4:2:NR", "delta": 5}])").gather.period_delta, 8U);
  EXPECT_EQ(parse_one(R"([{"pattern": "LAPLACIAN:1:1:9", "delta": 5}])").gather.period_delta, 1U);
  EXPECT_EQ(parse_one(R"([{"pattern": "UNIFORM:4:2", "delta": 5}])").gather.period_delta, 5U);
}

TEST(SpatterFile, DeltasAreSteppedThroughInTurn) {
  const spatter_config c = parse_one(R"([{"pattern": "UNIFORM:4:2:NR", "deltas": [1, 0, 5], "count": 8}])");
  entries offsets;
  for (std::uint64_t step = 0; step < 8; ++step) offsets.push_back(c.gather.offset(step));
  EXPECT_THAT(offsets, ElementsAre(0, 1, 1, 6, 7, 7, 12, 13));
  EXPECT_EQ(c.gather.extent(8), 6U + 13 + 1);
}

TEST(SpatterFile, WholeNumbersMayBeWrittenAsFloatingPoint) {
  EXPECT_EQ(parse_one(R"([{"pattern": [0], "count": 1e6}])").count, 1000000U);
  expect_error(error_code::bad_input, "f: configuration 0: count is 1.5, not a whole number from 1 to 281474976710656",
               [] { parse_one(R"([{"pattern": [0], "count": 1.5}])"); });
}

TEST(SpatterFile, SaysWhatIsWrongWithAConfiguration) {
  constexpr std::pair<const char*, const char*> wrong[] = {
      {R"(3)", "is not an object"},
      {R"({"pattern": [0], "stride": 3})", "'stride' is not a field that sheaf knows"},
      {R"({})", "pattern is missing, which kernel Gather needs"},
      {R"({"kernel": "gs", "pattern": [0]})", "pattern-gather is missing, which kernel GS needs"},
      {R"({"kernel": "gs", "pattern-gather": [0]})", "pattern-scatter is missing, which kernel GS needs"},
      {R"({"kernel": "multigather", "pattern": [0]})", "pattern-gather is missing, which kernel MultiGather needs"},
      {R"({"kernel": "multiscatter", "pattern": [0]})", "pattern-scatter is missing, which kernel MultiScatter needs"},
      {R"({"kernel": "sgemm", "pattern": [0]})",
       "kernel is 'sgemm', not Gather, Scatter, GS, MultiGather or MultiScatter"},
      {R"({"kernel": 1, "pattern": [0]})", "kernel is 1, not a string"},
      {R"({"name": [], "pattern": [0]})", "name is a list of 0, not a string"},
      {R"({"pattern": []})", "pattern is a list of 0, not a list of numbers"},
      {R"({"pattern": 4})", "pattern is 4, not a list of numbers"},
      {R"({"pattern": [0, -1]})", "pattern[1] is -1, not a whole number from 0 to 281474976710656"},
      {R"({"pattern": [0, "1"]})", "pattern[1] is \"1\", not a whole number from 0 to 281474976710656"},
      {R"({"pattern": "UNIFORM:8"})", "pattern: 'UNIFORM:8': is not UNIFORM:LENGTH:STRIDE[:DELTA|NR]"},
      {R"({"pattern": [0], "count": 0})", "count is 0, not a whole number from 1 to 281474976710656"},
      {R"({"pattern": [0], "wrap": 0})", "wrap is 0, not a whole number from 1 to 281474976710656"},
      {R"({"pattern": [0], "delta": -8})", "delta is -8, not a whole number from 0 to 281474976710656"},
      {R"({"pattern": [0], "delta": [1]})",
       "delta is a list of 1, not a number; the field for a list of them is deltas"},
      {R"({"kernel": "Scatter", "pattern": [0], "delta-scatter": [8, 16]})",
       "delta-scatter is a list of 2, not a number; the field for a list of them is deltas"},
      {R"({"kernel": "GS", "pattern-gather": [0], "pattern-scatter": [0], "delta-gather": [8, 16]})",
       "delta-gather is a list of 2, not a number; kernel GS takes one number each for delta-gather and delta-scatter"},
      {R"({"pattern": [0], "deltas": 8})", "deltas is 8, not a list of numbers; the field for one of them is delta"},
      {R"({"pattern": [0], "delta-gather": {}})",
       "delta-gather is an object, not a whole number from 0 to 281474976710656"},
      {R"({"pattern": [0], "delta-scatter": null})",
       "delta-scatter is null, not a whole number from 0 to 281474976710656"},
      {R"({"pattern": [0], "local-work-size": "x"})",
       "local-work-size is \"x\", not a whole number from 0 to 281474976710656"},
      {R"({"pattern": [0], "nruns": 0})", "nruns is 0, not a whole number from 1 to 281474976710656"},
      {R"({"pattern": [0], "delta": 1, "deltas": [1]})", "delta and deltas are both present"},
      {R"({"pattern": [0], "deltas": []})", "deltas is a list of 0, not a list of numbers"},
      {R"({"kernel": "gs", "pattern-gather": [0], "pattern-scatter": [0], "deltas": [1]})",
       "deltas do not go with kernel GS"},
      {R"({"kernel": "gs", "pattern-gather": [0, 1], "pattern-scatter": [0]})",
       "pattern-gather has 2 entries, but pattern-scatter has 1"},
      {R"({"pattern": [0, 1], "pattern-size": 3})", "pattern-size is 3, but pattern has 2 entries"},
      {R"({"pattern": [0, 1], "pattern-size": 0})", "pattern-size is 0, not a whole number from 1 to 281474976710656"},
      {R"({"kernel": "multigather", "pattern": [0, 1], "pattern-gather": [1, 2]})",
       "pattern-gather[1] is 2, but pattern has 2 entries"},
      {R"({"pattern": "UNIFORM:1024:1", "count": 281474976710656})",
       "pattern of 1024 entries, count 281474976710656: more than 72057594037927936 in all"},
      {R"({"pattern": "UNIFORM:1024:1", "wrap": 281474976710656})",
       "pattern of 1024 entries, wrap 281474976710656: more than 72057594037927936 in all"},
      {R"({"pattern": [3], "delta": 281474976710656, "count": 1025})",
       "largest place 3, deltas of 281474976710656 in 1 steps, count 1025: past 72057594037927936"},
  };
  for (const auto& [object, message] : wrong) {
    expect_error(error_code::bad_input, fmt::format("f: configuration 1: {}", message),
                 [&object = object] { bench::parse_spatter(fmt::format(R"([{{"pattern": [0]}}, {}])", object), "f"); });
  }
}

TEST(SpatterFile, SaysWhatIsWrongWithAFile) {
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "f: is a list of 0, not a list of configurations"},
           {R"({"pattern": [0]})", "f: is an object, not a list of configurations"},
           {"7", "f: is 7, not a list of configurations"},
           {R"([{"pattern": [[0]]}])", "f: nested deeper than a pattern file is"},
           {std::string(100000, '['), "f: nested deeper than a pattern file is"}}) {
    expect_error(error_code::bad_input, message, [&text = text] { bench::parse_spatter(text, "f"); });
  }
  EXPECT_THAT(message_of(error_code::bad_input, [] { bench::parse_spatter("[{]", "f"); }),
              testing::AllOf(HasSubstr("f: [0]: not JSON: "), HasSubstr("column 3")));
  EXPECT_THAT(message_of(error_code::bad_input, [] { bench::load_spatter("no/such/file.json"); }),
              HasSubstr("no/such/file.json: cannot be opened"));
}

TEST(SpatterFile, BytesAfterTheDocumentAreRefused) {
  for (const std::string& tail : {std::string(1, '\0'), std::string("\0[]", 3), std::string(" []")}) {
    EXPECT_THAT(message_of(error_code::bad_input, [&] { bench::parse_spatter(R"([{"pattern": [0]}])" + tail, "f"); }),
                testing::StartsWith("f: not JSON: "));
  }
}

TEST(SpatterFile, AFieldThatIsThereTwiceIsRefused) {
  expect_error(error_code::bad_input, "f: [1]: 'pattern' appears twice",
               [] { bench::parse_spatter(R"([{"pattern": [0]}, {"pattern": [0], "pattern": [1]}])", "f"); });
}

TEST(SpatterFile, MessagesAreShortAndPrintableWhateverTheFile) {
  const std::string x(5'000'000, 'x');
  for (const std::string& text :
       {x, "[\"" + x, "[{\"" + x, "[{\"" + x + "\": 1}]", "\"" + x + "\"", "[{\"pattern\": \"" + x + "\"}]",
        "[{\"pattern\": \"UNIFORM:" + x + ":1\"}]", "[{\"pattern\": [0], \"kernel\": \"" + x + "\"}]",
        "[{\"pattern\": [0], \"count\": \"" + x + "\"}]", "[{\"pattern\": [" + x + "]}]",
        std::string(R"([{"pattern": "\u001b[2J"}])"), std::string(R"([{"pattern": [0], "kernel": "\u001b[2J"}])"),
        std::string(R"([{"\u001b[2J": [0]}])")}) {
    const std::string message = message_of(error_code::bad_input, [&] { bench::parse_spatter(text, "f"); });
    EXPECT_LE(message.size(), 400U);
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; })) << message;
  }
}

// Another thread empties the file and writes it again, over and over. Touching what is no longer there would end the
// program by SIGBUS.
TEST(SpatterFile, AFileThatIsCutShortWhileItIsReadIsAnError) {
  const temporary_folder folder;
  const std::string spaces(1 << 20, ' ');
  const std::string path = folder.write("f.json", spaces);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    while (!done) folder.write("f.json", spaces);
  });
  for (int reads = 0; reads < 100; ++reads) {
    EXPECT_THAT(message_of(error_code::bad_input, [&] { bench::load_spatter(path); }), testing::StartsWith(path));
  }
  done = true;
  writer.join();
}

TEST(SpatterFile, PatternsOfAFileAreBoundedTogether) {
  constexpr const char* text = R"([{"pattern": "UNIFORM:6:1"}, {"pattern": [0, 1, 2, 3, 4]}])";
  EXPECT_EQ(bench::parse_spatter(text, "f", {11}).size(), 2U);
  expect_error(error_code::bad_input,
               "f: configuration 1: pattern has 5 entries, but 4 are left of what a file may have",
               [&] { bench::parse_spatter(text, "f", {10}); });
  expect_error(error_code::bad_input, "f: configuration 0: pattern: 'UNIFORM:6:1': 6 entries, but 5 are allowed",
               [&] { bench::parse_spatter(text, "f", {5}); });
}

TEST(SpatterFile, RealFilesAreRead) {
  const char* folder = std::getenv("SHEAF_DATA_DIR");
  if (folder == nullptr || !std::filesystem::is_directory(std::filesystem::path(folder) / "spatter")) {
    GTEST_SKIP() << "SHEAF_DATA_DIR names no folder with spatter/ in it";
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(folder) / "spatter")) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_NO_THROW(EXPECT_GT(bench::load_spatter(entry.path()).size(), 0U)) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0U);
}

}  // namespace
}  // namespace sheaf::tests::lab_spatter_file_test
