#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/cli_test.hpp"
#include "support/contexts.hpp"

// An empty value is what a shell makes of a variable that is not set. No option takes it for one that was left out.
namespace sheaf::tests::apps_sheaf_subcommands_empty_values_test {
namespace {

using testing::HasSubstr;

/// What the help of a subcommand lists.
struct listed_option {
  std::string name;  ///< "--output"; of a positional its name, "TABLE"
  bool takes_value = false;
};

// What stands before the examples, which have options, too.
std::vector<std::string> lines_of(const std::string& help) {
  std::vector<std::string> lines;
  std::istringstream in(help);
  for (std::string line; std::getline(in, line) && line != "Examples:";) lines.push_back(line);
  return lines;
}

class CliEmptyValues : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("pairs.bin", "a2b1c2d0e1");
    folder.write("keys.bin", std::string(5, '\0'));
  }

  std::string help_of(const std::string& subcommand) { return run_sheaf(folder, subcommand + " --help").out; }

  std::vector<std::string> subcommands() {
    std::vector<std::string> names;
    for (const std::string& line : lines_of(help_of(""))) {
      std::smatch found;
      if (std::regex_search(line, found, std::regex("^  ([a-z][a-z-]*) {2,}[A-Z]"))) names.push_back(found[1]);
    }
    return names;
  }

  // "  -o, --output FILE    Where ...": behind the name of a flag are two spaces or the line's end.
  std::vector<listed_option> options_of(const std::string& help) {
    std::vector<listed_option> options;
    for (const std::string& line : lines_of(help)) {
      std::smatch found;
      if (std::regex_search(line, found, std::regex("^  (?:-[a-zA-Z], |    )(--[a-z0-9-]+)( [^ ])?")))
        options.push_back({found[1], found[2].matched});
      if (std::regex_search(line, found, std::regex("^  ([A-Z][A-Z0-9]*) {2,}[A-Z]")))
        options.push_back({found[1], true});
    }
    return options;
  }

  void expect_refused(const std::string& subcommand, const std::string& arguments, const std::string& option) {
    const std::size_t files = folder.count();
    const program_result result = run_sheaf(folder, subcommand + " " + arguments);
    EXPECT_EQ(result.code, 2) << subcommand << " " << arguments;
    EXPECT_EQ(result.err, fmt::format("sheaf {}: {}: the value is empty, as when a shell variable is not set\n"
                                      "Try: sheaf {} --help\n",
                                      subcommand, option, subcommand))
        << subcommand << " " << arguments;
    EXPECT_EQ(result.out, "") << subcommand << " " << arguments;
    EXPECT_EQ(folder.count(), files) << subcommand << " " << arguments;
  }
};

TEST_F(CliEmptyValues, OfEveryOptionOfEverySubcommandAreUsageErrorsThatNameIt) {
  std::size_t options = 0;
  const std::vector<std::string> all = subcommands();
  EXPECT_THAT(all, testing::IsSupersetOf({"gather", "split", "machine", "npb-cg", "version"}));
  for (const std::string& subcommand : all) {
    std::string before;  // so that later positionals are reached
    for (const listed_option& option : options_of(help_of(subcommand))) {
      ++options;
      if (!option.name.starts_with("--")) {
        expect_refused(subcommand, before + "''", option.name);
        before += "name ";
        continue;
      }
      expect_refused(subcommand, option.name + "=", option.name);
      if (option.takes_value && !under_address_sanitizer) {  // which makes each start slow, and would see the same
        expect_refused(subcommand, option.name + " ''", option.name);
        expect_refused(subcommand, option.name + "= x", option.name);
      }
    }
  }
  EXPECT_GT(options, 150U) << "too few to be all options";
}

TEST_F(CliEmptyValues, AreNotTakenForOptionsThatWereLeftOut) {
  expect_refused("split", "pairs.bin --record-bytes 2 --bits 0:8 --keys '' -o out.bin", "--keys");
  expect_refused("split", "pairs.bin --record-bytes 2 --bits 0:8 --index '' -o out.bin", "--index");
  expect_refused("split", "pairs.bin --record-bytes 2 --bits 0:8 -o ''", "--output");
  expect_refused("split", "pairs.bin --record-bytes 2 --bits 0:8 -o=", "--output");
  expect_refused("machine", "--calibrate --backend cpu --save ''", "--save");
  // CLI11 would read on, and write the file "--quiet".
  expect_refused("machine", "--save= --quiet", "--save");
  expect_refused("demo", "--size small --report ''", "--report");
}

TEST_F(CliEmptyValues, AreDocumentsWithJson) {
  const program_result result = run_sheaf(folder, "machine --save= --json");
  const auto document = nlohmann::json::parse(result.out.empty() ? "null" : result.out);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(document["error"]["code"], "usage");
  EXPECT_THAT(document["error"]["message"].get<std::string>(), HasSubstr("--save: the value is empty"));
}

TEST_F(CliEmptyValues, ArePassedAsTextBehindTwoDashesAndInsideOfOtherValues) {
  folder.write("--json=", "a2b1");
  expect_success("sort --record-bytes 2 --key 0:1 -o ./--x= --quiet -- --json=");
  EXPECT_EQ(folder.read("--x="), "a2b1");
  expect_success("sort pairs.bin --record-bytes 2 --key 0:1 -o --json= --quiet");
  EXPECT_EQ(folder.read("--json="), "a2b1c2d0e1") << "the value of -o, whatever it looks like";
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_empty_values_test
