#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "primitives/entries/entry.hpp"
#include "support/cli_test.hpp"

namespace sheaf::tests {
namespace {

class CliPlan : public cli_test {
 protected:
  void fill_folder() override {}
};

TEST_F(CliPlan, NamesEveryPrimitiveAndOptionInItsHelp) {
  const program_result help = run_sheaf(folder, "plan --help");
  for (const primitives::entry* const e : primitives::entries()) {
    EXPECT_NE(help.out.find(e->name), std::string::npos) << e->name;
    for (const primitives::field_use& use : e->fields) {
      EXPECT_NE(help.out.find(use.field->option), std::string::npos) << use.field->option;
    }
  }
}

TEST_F(CliPlan, TakesTheExampleOfEveryPrimitive) {
  const std::string help = run_sheaf(folder, "plan --help").out;
  for (const primitives::entry* const e : primitives::entries()) {
    const std::string arguments = fmt::format("plan {} {}", e->name, e->example);
    EXPECT_NE(help.find("\n  sheaf " + arguments + "\n"), std::string::npos) << help;
    const program_result result = run_sheaf(folder, arguments + " --json --backend cpu");
    ASSERT_EQ(result.code, 0) << result.err;
    const auto plan = nlohmann::json::parse(result.out);
    EXPECT_EQ(plan["primitive"], e->name);
    EXPECT_EQ(plan["count"], 100000000);
    EXPECT_FALSE(plan["choice"].is_null()) << arguments;
  }
}

TEST_F(CliPlan, TakesTheNameOfAProblem) {
  const auto plan = [&](const std::string& arguments) {
    const program_result result = run_sheaf(folder, "plan " + arguments + " --json --backend cpu");
    EXPECT_EQ(result.code, 0) << result.err;
    return nlohmann::json::parse(result.out);
  };
  const auto named = plan("gather/permutation/r8/u32/n=1048576");
  EXPECT_EQ(named["primitive"], "gather");
  EXPECT_EQ(named["pattern"], "random");
  EXPECT_EQ(named, plan("gather --count 1048576 --table 1048576 --bytes 8 --pattern random"));
  EXPECT_EQ(plan("sort_pairs/uniform/r16/u64/n=4096"), plan("sort_pairs --count 4096 --key-bytes 8 --bytes 16"));
  expect_failure("plan gather/permutation/r8/u32/n=9 --count 9", 2,
                 "sheaf plan: --count is for a primitive, not for a whole problem\nTry: sheaf plan --help");
  expect_failure("plan gather/permutation/r8/f32/n=9", 2,
                 "sheaf plan: problem 'gather/permutation/r8/f32/n=9', character 23: 'f32' is not an index type: u32, "
                 "u64, i32, i64\nTry: sheaf plan --help");
}

TEST_F(CliPlan, RefusesWhatIsNoPrimitive) {
  const program_result result = run_sheaf(folder, "plan gathers --count 1");
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(result.err.starts_with("sheaf plan: 'gathers' is not a primitive; there are gather, scatter, "))
      << result.err;
  EXPECT_TRUE(result.err.ends_with("\nTry: sheaf plan --help\n")) << result.err;
}

TEST_F(CliPlan, RefusesNumbersAndWordsThatAreNone) {
  const std::string help = "\nTry: sheaf plan --help";
  expect_failure("plan gather --count ten", 2, "sheaf plan: --count: 'ten' is not a whole number" + help);
  expect_failure("plan gather --count 1 --table 1 --bytes 0", 2,
                 "sheaf plan: --bytes: '0' is not a whole number from 1" + help);
  expect_failure("plan split --count 1 --bytes 4 --key-bytes 65537", 2,
                 "sheaf plan: --key-bytes: '65537' is not a whole number from 1 to 65536" + help);
  expect_failure("plan split --count 1 --bytes 8 --key 0:33", 2,
                 "sheaf plan: --key: '0:33' has 33 bits, not 1 to 32" + help);
  expect_failure("plan scatter --count 1 --table 1 --bytes 4 --duplicates first", 2,
                 "sheaf plan: 'first' is not a rule for duplicates: any, last" + help);
  expect_failure("plan gather --count 1 --table 1 --bytes 4 --bounds maybe", 2,
                 "sheaf plan: 'maybe' is not a way to treat bad indices: check, trust" + help);
}

}  // namespace
}  // namespace sheaf::tests
