#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/cli_test.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::apps_sheaf_main_test {
namespace {

class CliMain : public cli_test {
 protected:
  void fill_folder() override {}

  /// The names that stand first in the lists of `sheaf --help`.
  std::vector<std::string> subcommands() const {
    std::vector<std::string> names;
    std::istringstream help(run_sheaf(folder, "--help").out);
    for (std::string line; std::getline(help, line) && !line.starts_with("Checks and reports:");) {
      if (line.starts_with("  ") && line.size() > 2 && line[2] != ' ')
        names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
    return names;
  }
};

// A command line that begins with a subcommand is read by a program that has no other; with --json before it, by one
// that has all.
TEST_F(CliMain, CommandLinesMeanTheSameWithOneSubcommandAsWithAll) {
  if (under_address_sanitizer) GTEST_SKIP() << "other tests start each subcommand";
  const std::vector<std::string> names = subcommands();
  ASSERT_GE(names.size(), 19U);
  for (const std::string& name : names) {
    if (name == "help") continue;  // has no --json, and needs all others
    for (const char* rest : {"--help", "--no-such-option", "--transposed --tranposed", "-o", "gather"}) {
      const std::string line = name + " " + rest;
      const program_result alone = run_sheaf(folder, line);
      const program_result among_all = run_sheaf(folder, "--json " + line);
      EXPECT_EQ(alone.code, among_all.code) << line;
      EXPECT_EQ(alone.err, among_all.err) << line;
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_main_test
