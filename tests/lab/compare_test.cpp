#include "lab/harness/compare.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace sheaf::tests::lab_compare_test {
namespace {

using bench::change;
using bench::compare_request;
using bench::comparison;
using bench::recorded_row;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string gather = "gather/permutation/r8/u32/n=1024";
const std::string scatter = "scatter/permutation/r8/u32/n=1024";

recorded_row ours(const std::string& problem, double median, double peer_ratio = 0) {
  return {.backend = "cuda",
          .problem = problem,
          .who = "sheaf",
          .variant = "cuda.direct",
          .figure = {},
          .machine = "a machine",
          .commit = "abc",
          .median_seconds = median,
          .least_seconds = 0.99 * median,
          .most_seconds = 1.5 * median,
          .peer_ratio = peer_ratio};
}

recorded_row peer(const std::string& problem, double median) {
  recorded_row row = ours(problem, median);
  row.who = "thrust";
  row.variant.clear();
  return row;
}

const compare_request request{.old_path = "old.json", .new_path = "new.json"};
const compare_request relative_request{.old_path = "old.json", .new_path = "new.json", .relative = true};

using rows = std::vector<recorded_row>;

TEST(Compare, FilesThatAreEqualHaveNoChange) {
  const rows both{ours(gather, 1e-3, 2), peer(gather, 2e-3)};
  const comparison found = compare(both, both, request);
  ASSERT_EQ(found.rows.size(), 2U);
  for (const bench::compared_row& row : found.rows) {
    EXPECT_EQ(row.speedup, 1);
    EXPECT_EQ(row.change, change::none);
  }
  EXPECT_EQ(found.slower_count(), 0U);
  EXPECT_THAT(found.only_before, IsEmpty());
  EXPECT_THAT(found.only_after, IsEmpty());
}

TEST(Compare, SlowestRowComesFirst) {
  const comparison found =
      compare(rows{ours(gather, 1e-3), ours(scatter, 1e-3)}, rows{ours(gather, 0.5e-3), ours(scatter, 2e-3)}, request);
  ASSERT_EQ(found.rows.size(), 2U);
  EXPECT_EQ(found.rows[0].after.problem, scatter);
  EXPECT_EQ(found.rows[0].speedup, 0.5);
  EXPECT_EQ(found.rows[0].change, change::slower);
  EXPECT_EQ(found.rows[1].speedup, 2);
  EXPECT_EQ(found.rows[1].change, change::faster);
  EXPECT_EQ(found.slower_count(), 1U);
  const std::string text = report_text(found, request);
  EXPECT_THAT(text, HasSubstr("ours: 2 rows, old / new: geometric mean 1.000, worst 0.500 (cuda " + scatter +
                              "/sheaf); 1 slower beyond noise, 0 more below 0.97 within noise, 1 faster"));
}

// The fastest of the new runs has to take longer than the old median.
TEST(Compare, SpreadsDecideWhatIsNoise) {
  recorded_row wide = ours(gather, 1.2e-3);
  wide.least_seconds = 0.99e-3;
  EXPECT_EQ(compare(rows{ours(gather, 1e-3)}, rows{wide}, request).rows[0].change, change::within_noise);
  wide.least_seconds = 1.01e-3;
  EXPECT_EQ(compare(rows{ours(gather, 1e-3)}, rows{wide}, request).rows[0].change, change::slower);
}

TEST(Compare, ThresholdIsTheCallers) {
  compare_request strict = request;
  strict.threshold = 0.995;
  const rows before{ours(gather, 1e-3)};
  const rows after{ours(gather, 1.02e-3)};
  EXPECT_EQ(compare(before, after, request).rows[0].change, change::none);
  EXPECT_EQ(compare(before, after, strict).rows[0].change, change::slower);
}

TEST(Compare, RowsOfOneFileAreNamed) {
  const comparison found =
      compare(rows{ours(gather, 1e-3), peer(gather, 1e-3)}, rows{ours(gather, 1e-3), ours(scatter, 1e-3)}, request);
  EXPECT_THAT(found.only_before, ElementsAre("cuda " + gather + "/thrust"));
  EXPECT_THAT(found.only_after, ElementsAre("cuda " + scatter + "/sheaf"));
  EXPECT_THAT(report_text(found, request), HasSubstr("only in new.json, 1 rows:\n  cuda " + scatter + "/sheaf\n"));
}

TEST(Compare, DisjointFilesAreAnError) {
  expect_error(error_code::bad_input, "old.json and new.json have no row in common",
               [] { compare(rows{ours(gather, 1)}, rows{ours(scatter, 1)}, request); });
  expect_error(error_code::bad_input, "old.json and new.json have no row in common with a peer in both",
               [] { compare(rows{ours(gather, 1)}, rows{ours(gather, 1)}, relative_request); });
}

TEST(Compare, BackendsAndFiguresAreNotMixed) {
  recorded_row on_cpu = ours(gather, 5e-3);
  on_cpu.backend = "cpu";
  recorded_row of_paper = ours(gather, 7e-3);
  of_paper.figure = "he2007/9";
  const comparison found =
      compare(rows{ours(gather, 1e-3), on_cpu, of_paper}, rows{of_paper, on_cpu, ours(gather, 1e-3)}, request);
  ASSERT_EQ(found.rows.size(), 3U);
  for (const bench::compared_row& row : found.rows) EXPECT_EQ(row.speedup, 1) << name(row.after);
}

TEST(Compare, RowsOfOneNameGoByTheirOrder) {
  const comparison found = compare(rows{ours(gather, 1e-3), ours(gather, 2e-3)},
                                   rows{ours(gather, 1e-3), ours(gather, 2e-3), ours(gather, 3e-3)}, request);
  EXPECT_EQ(found.rows.size(), 2U);
  EXPECT_EQ(found.slower_count(), 0U);
  EXPECT_EQ(found.only_after.size(), 1U);
}

TEST(Compare, AnotherVariantIsComparedAndNamed) {
  recorded_row after = ours(gather, 2e-3);
  after.variant = "cuda.bucketed";
  const comparison found = compare(rows{ours(gather, 1e-3)}, rows{after}, request);
  EXPECT_THAT(report_text(found, request), HasSubstr("slower        cuda.direct -> cuda.bucketed\n"));
}

TEST(Compare, PeersAreComparedButDoNotCount) {
  const comparison found =
      compare(rows{ours(gather, 1e-3), peer(gather, 1e-3)}, rows{ours(gather, 1e-3), peer(gather, 2e-3)}, request);
  EXPECT_EQ(found.rows[0].change, change::slower);
  EXPECT_EQ(found.slower_count(), 0U);
  EXPECT_THAT(report_text(found, request), HasSubstr("peers: 1 rows, old / new: geometric mean 0.500"));
}

// A machine of half the speed: ours and the peer take twice as long.
TEST(Compare, RelativeTimesLeaveOutTheMachine) {
  const rows before{ours(gather, 1e-3, 2), peer(gather, 2e-3)};
  const rows slow{ours(gather, 2e-3, 2), peer(gather, 4e-3)};
  EXPECT_EQ(compare(before, slow, request).slower_count(), 1U);
  EXPECT_EQ(compare(before, slow, request).rows[0].relative_speedup, 1);
  const comparison found = compare(before, slow, relative_request);
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].change, change::none);

  const comparison lost = compare(before, rows{ours(gather, 1e-3, 1), ours(scatter, 1e-3)}, relative_request);
  EXPECT_EQ(lost.rows[0].speedup, 0.5);
  EXPECT_EQ(lost.slower_count(), 1U);
}

TEST(Compare, WrongAnswersAreCounted) {
  recorded_row wrong = ours(gather, 1e-3);
  wrong.verified = false;
  const comparison found = compare(rows{ours(gather, 1e-3)}, rows{wrong}, request);
  EXPECT_EQ(found.wrong_after, 1U);
  EXPECT_THAT(report_text(found, request), HasSubstr("new.json: 1 WRONG answers"));
}

TEST(Compare, WrongAnswersOfTheOldFileAreSaid) {
  recorded_row wrong = ours(gather, 1e-3);
  wrong.verified = false;
  const comparison found = compare(rows{wrong}, rows{ours(gather, 1e-3)}, request);
  EXPECT_EQ(found.wrong_before, 1U);
  EXPECT_EQ(found.wrong_after, 0U);
  const std::string text = report_text(found, request);
  EXPECT_THAT(text, HasSubstr("cuda.direct  OLD WRONG\n"));
  EXPECT_THAT(text, HasSubstr("old.json: 1 WRONG answers\n"));
}

// A results file of one row in which one field reads as the text says; empty leaves the field out.
std::string file_with(const std::string& field, const std::string& value) {
  const std::pair<const char*, const char*> fields[] = {{"problem", "\"p/q/r1/u32/n=1\""},
                                                        {"who", "\"sheaf\""},
                                                        {"backend", "\"cpu\""},
                                                        {"variant", "\"cpu.direct\""},
                                                        {"median_seconds", "2"},
                                                        {"least_seconds", "1"},
                                                        {"most_seconds", "3"},
                                                        {"peer_ratio", "null"},
                                                        {"verified", "true"}};
  std::string row;
  for (const auto& [name, usual] : fields) {
    const std::string text = name == field ? value : usual;
    if (!text.empty()) row += fmt::format("{}\"{}\": {}", row.empty() ? "" : ", ", name, text);
  }
  return fmt::format(
      "{{\"schema_version\": 2, \"commit\": \"abc\", \"machines\": {{\"cpu\": {{\"machine\": \"a machine\"}}}}, "
      "\"rows\": [{{{}}}]}}",
      row);
}

TEST(ResultsFile, IsReadRowByRow) {
  const rows read = bench::parse_results(file_with("peer_ratio", "1.5"), "f");
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(name(read[0]), "cpu p/q/r1/u32/n=1/sheaf");
  EXPECT_EQ(read[0].variant, "cpu.direct");
  EXPECT_EQ(read[0].least_seconds, 1);
  EXPECT_EQ(read[0].median_seconds, 2);
  EXPECT_EQ(read[0].most_seconds, 3);
  EXPECT_EQ(read[0].peer_ratio, 1.5);
  EXPECT_EQ(read[0].machine, "a machine");
  EXPECT_EQ(read[0].commit, "abc");
  EXPECT_EQ(bench::parse_results(file_with("backend", "\"cuda\""), "f")[0].machine, "");
  EXPECT_TRUE(read[0].verified);
}

TEST(ResultsFile, FieldsThatAreWrongAreNamedWithTheirRow) {
  const std::string place = "f: row 0 (p/q/r1/u32/n=1/sheaf): ";
  const struct {
    const char* field;
    const char* value;
    std::string message;
  } wrong[] = {
      {"median_seconds", "", place + "median_seconds is missing"},
      {"median_seconds", "-1", place + "median_seconds is -1, not a time in seconds from 1e-12 to 1e+06"},
      {"median_seconds", "0", place + "median_seconds is 0, not a time in seconds from 1e-12 to 1e+06"},
      {"median_seconds", "1e300", place + "median_seconds is 1e+300, not a time in seconds from 1e-12 to 1e+06"},
      {"median_seconds", "null", place + "median_seconds is null, not a time in seconds from 1e-12 to 1e+06"},
      {"median_seconds", "\"2\"", place + "median_seconds is \"2\", not a time in seconds from 1e-12 to 1e+06"},
      {"least_seconds", "[1, 2]", place + "least_seconds is a list of 2, not a time in seconds from 1e-12 to 1e+06"},
      {"least_seconds", "2.5", place + "least_seconds exceeds median_seconds"},
      {"most_seconds", "1.5", place + "median_seconds exceeds most_seconds"},
      {"peer_ratio", "-2", place + "peer_ratio is -2, not a ratio from 1e-09 to 1e+09"},
      {"verified", "1", place + "verified is 1, not a bool"},
      {"variant", "", place + "variant is missing"},
      {"variant", "\"\"", place + "variant is empty, which only a peer's may be"},
      {"backend", "", place + "backend is missing"},
      {"problem", "", "f: row 0: problem is missing"},
      {"problem", "\"\"", "f: row 0: problem is empty"},
      {"who", "7", "f: row 0: who is 7, not a string"},
      {"who", "\"a\\u001bb\"", "f: row 0: who is not a name of at most 256 printable characters"},
      {"who", "\"a\\u009bb\"", "f: row 0: who is not a name of at most 256 printable characters"},
      {"who", "\"a\", \"who\": \"b\"", "f: rows[0]: 'who' appears twice"},
  };
  for (const auto& [field, value, message] : wrong) {
    expect_error(error_code::bad_input, message,
                 [&, field = field, value = value] { bench::parse_results(file_with(field, value), "f"); });
  }
}

// The parser itself refuses what no double holds; the message says where that was.
TEST(ResultsFile, NumbersThatAreNoneAreNamedWithTheirRow) {
  for (const char* value : {"NaN", "1e400", "-Infinity", "0x10"}) {
    EXPECT_THAT(
        message_of(error_code::bad_input, [&] { bench::parse_results(file_with("median_seconds", value), "f"); }),
        testing::StartsWith("f: rows[0].median_seconds: not JSON: "))
        << value;
  }
}

// What stands before the rows has lists and objects, too, and one row may be no object.
TEST(ResultsFile, SyntaxErrorsAreNamedWithTheirRow) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{\"a\": [{\"z\": 1}, {}], \"rows\": [{}, 7, {\"who\": tru}]}", "f: rows[2].who: not JSON: "},
      {"{\"rows\": [{\"who\": 1}, tru]}", "f: rows[1]: not JSON: "},
      {"{\"rows\": [{\"who\": 1}], \"recorded\": tru}", "f: recorded: not JSON: "},
  };
  for (const auto& [text, start] : wrong) {
    EXPECT_THAT(message_of(error_code::bad_input, [&text = text] { bench::parse_results(text, "f"); }),
                testing::StartsWith(start));
  }
}

TEST(ResultsFile, MessagesAreShortAndPrintable) {
  for (const std::string& text : {"[\"" + std::string(100000, 'x') + "\x01", std::string("[\x7f\xff\x1b[31m"),
                                  "{\"" + std::string(1000, '\x7f') + "\": tru"}) {
    const std::string message = message_of(error_code::bad_input, [&] { bench::parse_results(text, "f"); });
    EXPECT_LE(message.size(), 300U);
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; })) << message;
  }
}

TEST(ResultsFile, DocumentsThatAreNoResultsAreRefused) {
  const std::pair<std::string, const char*> wrong[] = {
      {"[]", "f: is a list of 0, not an object with rows"},
      {"7", "f: is 7, not an object with rows"},
      {"{}", "f: schema_version is missing"},
      {"{\"schema_version\": 1, \"rows\": []}", "f: schema_version is 1, not 2"},
      {"{\"schema_version\": 2, \"seconds\": {}}", "f: rows is missing, which sheaf-bench --json writes"},
      {"{\"schema_version\": 2, \"rows\": {}}", "f: rows is an object, not a list"},
      {"{\"schema_version\": 2, \"rows\": [1]}", "f: row 0: is 1, not an object"},
      {"{\"schema_version\": 2, \"commit\": 7, \"rows\": []}", "f: commit is 7, not a string"},
      {"{\"schema_version\": 2, \"machines\": [], \"rows\": []}", "f: machines is a list of 0, not an object"},
      {"{\"schema_version\": 2, \"machines\": {\"cpu\": 7}, \"rows\": []}", "f: machines: cpu: is 7, not an object"},
      {"{\"schema_version\": 2, \"machines\": {\"cpu\": {}}, \"rows\": []}", "f: machines: cpu: machine is missing"},
      {std::string(100000, '['), "f: nested deeper than a results file is"},
      {"{\"schema_version\": 1, \"schema_version\": 2, \"rows\": []}", "f: 'schema_version' appears twice"},
      {"{\"schema_version\": 2, \"rows\": [{}], \"rows\": []}", "f: 'rows' appears twice"},
      {std::string("{}") + char{0} + "{}", "f: not JSON: byte 2 is zero"},
  };
  for (const auto& [text, message] : wrong) {
    expect_error(error_code::bad_input, message, [&text = text] { bench::parse_results(text, "f"); });
  }
  for (const char* text : {"", "{", "rows", "{\"schema_version\": 2, \"rows\": [{\"problem\": \"p"}) {
    EXPECT_THAT(message_of(error_code::bad_input, [&] { bench::parse_results(text, "f"); }), HasSubstr("not JSON: "));
  }
}

TEST(ResultsFile, ThatIsMissingIsNamed) {
  EXPECT_THAT(message_of(error_code::bad_input, [] { bench::load_results("/no/such/file.json"); }),
              HasSubstr("/no/such/file.json"));
}

TEST(ResultsFile, EveryRecordedFileIsRead) {
  for (const char* file : {"xeon-2-threads/movement.json", "h200/reduce.json", "h200/sort.json", "h200/words.json"}) {
    const rows read = bench::load_results(std::string(SHEAF_BENCH_RESULTS) + "/" + file);
    EXPECT_THAT(read, Not(IsEmpty())) << file;
    EXPECT_EQ(compare(read, read, request).slower_count(), 0U) << file;
  }
}

}  // namespace
}  // namespace sheaf::tests::lab_compare_test
