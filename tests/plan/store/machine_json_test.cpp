#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sheaf/machine.hpp>

#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::plan_store_machine_json_test {
namespace {

const std::string good = format_machine(shipped_machines().front());

std::string with(const std::string& field, const std::string& value) {
  const auto begin = good.find("\"" + field + "\": ") + field.size() + 4;
  return good.substr(0, begin) + value + good.substr(good.find_first_of(",\n", begin));
}

// A field set, whatever lines it takes, or is not there yet.
std::string with_list(const std::string& field, const std::string& value) {
  nlohmann::json document = nlohmann::json::parse(good);
  document[field] = nlohmann::json::parse(value);
  return document.dump();
}

void expect_refused(const std::string& text, std::string_view message) {
  expect_error(error_code::bad_input, message, [&] { parse_machine(text, "m.json"); });
}

TEST(MachineJson, EveryShippedProfileSurvivesTheRoundTrip) {
  for (const machine& m : shipped_machines()) {
    const machine back = parse_machine(format_machine(m), "m.json");
    EXPECT_EQ(back.source, "m.json");
    EXPECT_EQ(format_machine(back), format_machine(m));
    EXPECT_EQ(m.source, "shipped");
  }
}

TEST(MachineJson, SavedProfilesAreLoaded) {
  const temporary_folder folder;
  const machine m = shipped_machines().back();
  save_machine(m, folder / "m.json");
  EXPECT_EQ(format_machine(load_machine(folder / "m.json")), format_machine(m));
  EXPECT_EQ(load_machine(folder / "m.json").source, folder / "m.json");
  EXPECT_EQ(folder.count(), 1U);
}

TEST(MachineJson, MissingFieldsAreNamed) {
  expect_refused("{}", "m.json: schema_version is missing");
  expect_refused("{\"schema_version\": 3}", "m.json: name is missing");
  expect_refused("[]", "m.json: is not an object");
}

TEST(MachineJson, WrongValuesAreNamed) {
  expect_refused(with("schema_version", "\"2\""),
                 "m.json: schema_version is \"2\", not a whole number from 1 to 1000000");
  expect_refused(with("name", "7"), "m.json: name is 7, not a string");
  expect_refused(with("name", "\"\""), "m.json: name is \"\", not 1 to 200 printable bytes");
  expect_refused(with("name", "\"a\\u001b[2J\""), "m.json: name is \"a\\u001b[2J\", not 1 to 200 printable bytes");
  expect_refused(with("name", "\"a\\u007f\""), "m.json: name is \"a\\u007f\", not 1 to 200 printable bytes");
  const std::string long_name = "\"" + std::string(201, 'x') + "\"";
  expect_refused(with("name", long_name),
                 "m.json: name is \"" + std::string(39, 'x') + "..., not 1 to 200 printable bytes");
  EXPECT_EQ(parse_machine(with("name", "\"" + std::string(200, 'x') + "\""), "m.json").name, std::string(200, 'x'));
  expect_refused(with("launch_seconds", "1001"), "m.json: launch_seconds is 1001, not a number from 1e-12 to 1000");
  expect_refused(with("memory_bytes", "1152921504606846977"),
                 "m.json: memory_bytes is 1152921504606846977, not a whole number from 1 to 1152921504606846976");
  expect_refused(with_list("name", "[1, 2]"), "m.json: name is a list of 2, not a string");
  expect_refused(with_list("name", "{}"), "m.json: name is an object, not a string");
  expect_refused(with("backend", "\"tpu\""), "m.json: backend is \"tpu\", which this sheaf does not know");
  expect_refused(with("memory_bytes", "-1"),
                 "m.json: memory_bytes is -1, not a whole number from 1 to 1152921504606846976");
  expect_refused(with("cache_bytes", "1.5"),
                 "m.json: cache_bytes is 1.5, not a whole number from 1 to 1152921504606846976");
  expect_refused(with("launch_seconds", "0"), "m.json: launch_seconds is 0, not a number from 1e-12 to 1000");
  expect_refused(with("launch_seconds", "1e-320"), "m.json: launch_seconds is 1e-320, not a number from 1e-12 to 1000");
  expect_refused(with_list("digit_seconds", "-1"), "m.json: digit_seconds is -1, not a number from 1e-12 to 1000");
  expect_refused(with("copy_bytes_per_second", "\"fast\""),
                 "m.json: copy_bytes_per_second is \"fast\", not a number from 1 to 1e+18");
  expect_refused(with("copy_bytes_per_second", "null"),
                 "m.json: copy_bytes_per_second is null, not a number from 1 to 1e+18");
}

TEST(MachineJson, ProfilesOfAnotherSchemaAreRefusedWithAWayOut) {
  for (const char* version : {"1", "2", "4"}) {
    expect_refused(with("schema_version", version),
                   "m.json: has schema " + std::string(version) +
                       ", but this sheaf reads 3; sheaf machine --calibrate measures a new "
                       "profile");
  }
}

TEST(MachineJson, WrongSizesAndVersionsAreNamed) {
  const std::string range = "not a whole number from ";
  expect_refused(with_list("cache_levels", "[]"), "m.json: cache_levels is not a list of sizes");
  expect_refused(with_list("cache_levels", "4"), "m.json: cache_levels is not a list of sizes");
  expect_refused(with_list("cache_levels", "[0]"),
                 "m.json: cache_levels[0] is 0, " + range + "1 to 1152921504606846976");
  expect_refused(with_list("cache_levels", "[8, 8]"),
                 "m.json: cache_levels[1] is 8, " + range + "9 to 1152921504606846976");
  expect_refused(with_list("versions", "[]"), "m.json: versions: is not an object");
  expect_refused(with_list("versions", R"({"sheaf": 1})"), "m.json: versions: sheaf is 1, not a string");
  expect_refused(with_list("versions", R"({"a\u0007": "1"})"),
                 "m.json: versions names \"a\\u0007\", not 1 to 200 printable bytes");
  expect_refused(with_list("versions", R"({"sheaf": "\u0000"})"),
                 "m.json: versions: sheaf is \"\\u0000\", not 1 to 200 printable bytes");
}

TEST(MachineJson, WrongStreamsAndLatenciesAreNamedByPlace) {
  expect_refused(with_list("streams", "[]"), "m.json: streams is not a list of rates");
  expect_refused(with_list("streams", R"([{"footprint_bytes": 4}])"),
                 "m.json: streams[0]: bytes_per_second is missing");
  expect_refused(with_list("streams", R"([{"footprint_bytes": 8, "bytes_per_second": 1},
                                          {"footprint_bytes": 4, "bytes_per_second": 1}])"),
                 "m.json: streams[1]: is out of order: entries ascend by footprint_bytes, each once");
  expect_refused(with_list("latencies", "{}"), "m.json: latencies is not a list of latencies");
  expect_refused(with_list("latencies", R"([{"footprint_bytes": 4, "seconds": 0}])"),
                 "m.json: latencies[0]: seconds is 0, not a number from 1e-12 to 1000");
  expect_refused(with_list("latencies", R"([{"footprint_bytes": 4, "seconds": 1},
                                            {"footprint_bytes": 4, "seconds": 1}])"),
                 "m.json: latencies[1]: is out of order: entries ascend by footprint_bytes, each once");
  expect_refused(with_list("atomic_add", "[]"), "m.json: atomic_add is not a list of rates");
}

TEST(MachineJson, EveryFieldComesBack) {
  machine m = shipped_machines().front();
  m.versions = {{"sheaf", "1.2.3"}, {"cuda driver", "13.0"}};
  m.cache_levels = {1, 22, 333};
  m.step_seconds = 0.125;
  m.barrier_seconds = 0.25;
  m.digit_seconds = 0.0625;
  m.streams = {{1, 2}, {3, 4}};
  m.latencies = {{5, 0.5}, {6, 0.25}};
  m.atomic_add = {{7, 4, 8}, {9, 8, 10}};
  const machine back = parse_machine(format_machine(m), "m.json");
  EXPECT_EQ(back.versions, m.versions);
  EXPECT_EQ(back.cache_levels, m.cache_levels);
  EXPECT_EQ(back.step_seconds, 0.125);
  EXPECT_EQ(back.barrier_seconds, 0.25);
  EXPECT_EQ(back.digit_seconds, 0.0625);
  ASSERT_EQ(back.streams.size(), 2U);
  EXPECT_EQ(back.streams[1].footprint_bytes, 3U);
  EXPECT_EQ(back.streams[1].bytes_per_second, 4);
  ASSERT_EQ(back.latencies.size(), 2U);
  EXPECT_EQ(back.latencies[0].footprint_bytes, 5U);
  EXPECT_EQ(back.latencies[0].seconds, 0.5);
  ASSERT_EQ(back.atomic_add.size(), 2U);
  EXPECT_EQ(back.atomic_add[1].record_bytes, 8U);
  EXPECT_EQ(back.atomic_add[1].records_per_second, 10);
}

TEST(MachineJson, IsOneLinePerFieldAndPoint) {
  machine m = shipped_machines().front();
  const auto lines = [&] {
    const std::string text = format_machine(m);
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = lines();
  m.streams.push_back({std::uint64_t{1} << 50, 1});
  m.random_read.push_back({1, 1 << 20, 1});
  EXPECT_EQ(lines(), before + 2);
}

// The rates replaced: what follows random_read in the text.
std::string with_reads(const std::string& list) {
  const auto begin = good.find("\"random_read\": ");
  return good.substr(0, begin) + "\"random_read\": " + list + ", " + good.substr(good.find("\"random_write\": "));
}

TEST(MachineJson, WrongRatesAreNamedByPlace) {
  expect_refused(with_reads("[]"), "m.json: random_read is not a list of rates");
  expect_refused(with_reads("[4]"), "m.json: random_read[0]: is not an object");
  expect_refused(with_reads(R"([{"footprint_bytes": 4, "record_bytes": 0, "records_per_second": 1}])"),
                 "m.json: random_read[0]: record_bytes is 0, not a whole number from 1 to 1152921504606846976");
  expect_refused(with_reads(R"([{"footprint_bytes": 4, "record_bytes": 1}])"),
                 "m.json: random_read[0]: records_per_second is missing");
  expect_refused(
      with_reads(R"([{"footprint_bytes": 4, "record_bytes": 1, "records_per_second": 1},
                                {"footprint_bytes": 4, "record_bytes": 1, "records_per_second": 1}])"),
      "m.json: random_read[1]: is out of order: entries ascend by record_bytes, then footprint_bytes, each once");
}

TEST(MachineJson, CorrectionsComeBackAndWrongOnesAreNamedByPlace) {
  const std::string one =
      R"({"primitive": "gather", "variant": "cpu.direct", "order": "random", "record_bytes": 8, "count": 100, "range": 50, "factor": 1.25})";
  const machine m = parse_machine(with_list("corrections", "[" + one + "]"), "m.json");
  ASSERT_EQ(m.corrections.size(), 1U);
  EXPECT_EQ(m.corrections[0].primitive, "gather");
  EXPECT_EQ(m.corrections[0].variant, "cpu.direct");
  EXPECT_EQ(m.corrections[0].order, access_pattern::kind::random);
  EXPECT_EQ(m.corrections[0].record_bytes, 8U);
  EXPECT_EQ(m.corrections[0].count, 100U);
  EXPECT_EQ(m.corrections[0].range, 50U);
  EXPECT_EQ(m.corrections[0].factor, 1.25);
  EXPECT_EQ(format_machine(parse_machine(format_machine(m), "m.json")), format_machine(m));
  const auto with_field = [&](const std::string& from, const std::string& to) {
    std::string changed = one;
    changed.replace(changed.find(from), from.size(), to);
    return with_list("corrections", "[" + changed + "]");
  };
  expect_refused(with_field("1.25", "0"), "m.json: corrections[0]: factor is 0, not a number from 0.001 to 1000");
  expect_refused(with_field("\"random\"", "\"wild\""),
                 "m.json: corrections[0]: order is \"wild\", not a kind of access pattern");
  expect_refused(with_field("\"gather\"", "7"), "m.json: corrections[0]: primitive is 7, not a string");
  expect_refused(with_list("corrections", "[" + one + "," + one + "]"),
                 "m.json: corrections[1]: is out of order: entries ascend by primitive, variant, order, record_bytes, "
                 "count, then range, "
                 "each once");
  expect_refused(with_list("corrections", "[]"), "m.json: corrections is not a list of corrections");
}

TEST(MachineJson, LongValuesAreCut) {
  const std::string message = message_of(
      error_code::bad_input, [] { parse_machine(with("backend", "\"" + std::string(1000, 'x') + "\""), "m.json"); });
  EXPECT_LT(message.size(), 120U);
}

TEST(MachineJson, TextThatIsNoJsonIsRefusedBriefly) {
  const std::string long_text = "\"" + std::string(100000, 'x');
  const std::pair<std::string, const char*> wrong[] = {
      {"", "m.json: not JSON: "},
      {"{", "m.json: not JSON: "},
      {"nan", "m.json: not JSON: "},
      {long_text, "m.json: not JSON: "},
      {"{\"name\": \"\xff\"}", "m.json: name: not JSON: "},
      {"{\"streams\": [{}, {\"seconds\": " + long_text, "m.json: streams[1].seconds: not JSON: "},
      {good + std::string(1, '\0'), "m.json: not JSON: byte "},
      {good + "{}", "m.json: not JSON: "},
  };
  for (const auto& [text, start] : wrong) {
    const std::string message = message_of(error_code::bad_input, [&text = text] { parse_machine(text, "m.json"); });
    EXPECT_EQ(message.substr(0, std::string(start).size()), start);
    EXPECT_LT(message.size(), 280U);
  }
}

TEST(MachineJson, AFieldThatIsThereTwiceIsRefused) {
  expect_refused("{\"name\": \"a\", " + good.substr(1), "m.json: 'name' appears twice");
  expect_refused(with_reads(R"([{"footprint_bytes": 4, "footprint_bytes": 8}])"),
                 "m.json: random_read[0]: 'footprint_bytes' appears twice");
}

TEST(MachineJson, DeepNestingIsRefused) {
  expect_refused(std::string(100000, '['), "m.json: nested deeper than a machine profile is");
}

TEST(MachineJson, FilesThatAreNoProfilesAreNamed) {
  const temporary_folder folder;
  expect_error(error_code::bad_input, (folder / "none.json") + ": cannot be opened: No such file or directory",
               [&] { load_machine(folder / "none.json"); });
  expect_error(error_code::bad_input, folder.path() + ": not a regular file", [&] { load_machine(folder.path()); });
  const std::string big = folder.write("big.json", std::string((16 << 20) + 1, ' '));
  expect_error(error_code::bad_input, big + ": 16777217 bytes, but a machine profile has at most 16777216",
               [&] { load_machine(big); });
}

TEST(MachineJson, PredictionsOfAnyAcceptedProfileAreFinite) {
  machine m = shipped_machines().front();
  m.copy_bytes_per_second = 1;
  for (access_rate& rate : m.random_read) rate.records_per_second = 1;
  const machine slow = parse_machine(format_machine(m), "m.json");
  constexpr auto most = ~std::uint64_t{0};
  EXPECT_TRUE(std::isfinite(slow.random_reads(most, 65536, most)));
  EXPECT_TRUE(std::isfinite(slow.with_parallelism(1).streamed(most, most)));
}

}  // namespace
}  // namespace sheaf::tests::plan_store_machine_json_test
