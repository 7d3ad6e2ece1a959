#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sheaf/machine.hpp>

#include "core/backends.hpp"
#include "core/host.hpp"
#include "lab/description/entry.hpp"
#include "support/cli_test.hpp"
#include "support/scoped_environment.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_plan_test {
namespace {

class CliPlan : public cli_test {
 protected:
  void fill_folder() override {}
};

constexpr const char* small_gather = "plan gather --count 9 --table 9 --record-bytes 4 --backend cpu";

TEST_F(CliPlan, SaysWhichProfileItDoesNotUse) {
  const scoped_environment cache("XDG_CACHE_HOME", folder / "cache");
  const machine cuda = nearest_machine(backend_kind::cuda, "");
  save_machine(cuda, folder / "cuda.json");
  const std::string small = small_gather;
  EXPECT_EQ(run_sheaf(folder, small).out.find("not used"), std::string::npos);
  EXPECT_FALSE(nlohmann::json::parse(run_sheaf(folder, small + " --json").out).contains("ignored"));

  const scoped_environment profile("SHEAF_PROFILE", "cuda.json");
  const std::string words =
      fmt::format("SHEAF_PROFILE: cuda.json: is for cuda '{}', but this is cpu '{}'", cuda.name, core::host_name());
  const program_result plan = run_sheaf(folder, small);
  EXPECT_NE(plan.out.find("\nnot used: " + words + "\n"), std::string::npos) << plan.out;
  EXPECT_EQ(plan.err, "");
  EXPECT_EQ(nlohmann::json::parse(run_sheaf(folder, small + " --json").out)["ignored"].get<std::string>(), words);
  const program_result shown = run_sheaf(folder, "machine --backend cpu");
  EXPECT_NE(shown.out.find("\n  not used          " + words + "\n"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.err, "");
  const auto machines = nlohmann::json::parse(run_sheaf(folder, "machine --backend cpu --json").out)["machines"];
  EXPECT_EQ(machines[0]["ignored"].get<std::string>(), words);

  // Commands whose output has no place for it warn, once.
  folder.write("in.bin", "ba");
  const std::string sort = "sort in.bin --record-bytes 1 --key 0:1 -o out.bin --backend cpu";
  EXPECT_EQ(run_sheaf(folder, sort).err, "sheaf: warning: not used: " + words + "\n");
  EXPECT_EQ(run_sheaf(folder, sort + " --quiet").err, "");
}

// As OpenMP reads it when a process begins.
TEST_F(CliPlan, HasTheThreadsOfTheEnvironment) {
  const auto threads = [&](const std::string& environment, const std::string& arguments = "") {
    const program_result plan = run_sheaf(
        folder,
        fmt::format("version >/dev/null; env -u SHEAF_THREADS -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT {} '{}' {} "
                    "--json {}",
                    environment, sheaf_program(), small_gather, arguments));
    EXPECT_EQ(plan.code, 0) << environment << "\n" << plan.err;
    return plan.code == 0 ? nlohmann::json::parse(plan.out)["threads"].get<int>() : 0;
  };
  const int processors = threads("");
  EXPECT_GE(processors, 1);
  EXPECT_EQ(threads("SHEAF_THREADS= OMP_NUM_THREADS="), processors) << "empty is not set";
  EXPECT_EQ(threads("OMP_NUM_THREADS=3"), 3);
  EXPECT_EQ(threads("OMP_NUM_THREADS=3,2"), 3);
  EXPECT_EQ(threads("OMP_NUM_THREADS=100000"), 4096);
  EXPECT_EQ(threads("OMP_NUM_THREADS=none"), processors) << "which OpenMP ignores, with a warning";
  EXPECT_EQ(threads("OMP_THREAD_LIMIT=1"), 1);
  EXPECT_EQ(threads("OMP_NUM_THREADS=3 OMP_THREAD_LIMIT=2"), 2);
  EXPECT_EQ(threads("OMP_NUM_THREADS=3 SHEAF_THREADS=5"), 5);
  EXPECT_EQ(threads("OMP_NUM_THREADS=3 SHEAF_THREADS=5", "--threads 7"), 7);
}

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
  std::string help = run_sheaf(folder, "plan --help").out;
  for (std::size_t at = help.find(" \\\n    "); at != help.npos; at = help.find(" \\\n    ", at))
    help.replace(at, 7, " ");
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
  EXPECT_EQ(named, plan("gather --count 1048576 --table 1048576 --record-bytes 8 --pattern random"));
  EXPECT_EQ(plan("sort_pairs/uniform/r16/u64/n=4096"), plan("sort_pairs --count 4096 --key-bytes 8 --value-bytes 16"));
  EXPECT_EQ(plan("spmv/uniform:c70000:x16/r8/u32+u64+f64+transposed+row_ends/n=1600000"),
            plan("spmv --count 1600000 --rows 100000 --columns 70000 --value-type f64 --offset-type u64 --transposed "
                 "--row-ends "
                 "--pattern random"));
  EXPECT_EQ(plan("spmv/zipf:s1000/r4/u32+f32+f64_sums/n=9"),
            plan("spmv --count 9 --rows 1000 --sums f64 --pattern skewed"));
  expect_failure("plan gather/permutation/r8/u32/n=9 --count 9", 2,
                 "sheaf plan: --count is for a primitive, not for a whole problem\nTry: sheaf plan --help");
  expect_failure("plan gather/permutation/r8/f32/n=9", 2,
                 "sheaf plan: problem 'gather/permutation/r8/f32/n=9', character 23: 'f32' is not an index type: u32, "
                 "u64, i32, i64\nTry: sheaf plan --help");
}

// The terms of a variant's line: numbers and units behind their names, and factors.
double sum_of_terms(const std::string& text) {
  double sum = 0;
  double group = 0;
  for (std::size_t at = text.find_first_of("0123456789"); at != std::string::npos;
       at = text.find_first_of("0123456789", at)) {
    std::size_t length = 0;
    const double number = std::stod(text.substr(at), &length);
    const std::string_view unit = std::string_view(text).substr(at + length);
    const bool is_factor = at > 2 && text.substr(at - 2, 2) == "x ";
    const double scale = unit.starts_with(" ns")   ? 1e-9
                         : unit.starts_with(" us") ? 1e-6
                         : unit.starts_with(" ms") ? 1e-3
                                                   : 1;
    const bool is_in_group = text.rfind('(', at) != std::string::npos &&
                             (text.rfind(')', at) == std::string::npos || text.rfind(')', at) < text.rfind('(', at));
    if (is_factor) {
      sum += group * number;
      group = 0;
    } else {
      (is_in_group ? group : sum) += number * scale;
    }
    at += length;
  }
  return sum;
}

TEST_F(CliPlan, ShowsTermsThatOverlapTimesAFactorAndNothingBelowZero) {
  for (const primitives::entry* const e : primitives::entries()) {
    const std::string arguments = fmt::format("plan {} {} --backend cpu", e->name, e->example);
    const program_result shown = run_sheaf(folder, arguments);
    ASSERT_EQ(shown.code, 0) << shown.err;
    EXPECT_EQ(shown.out.find("overlap"), std::string::npos) << shown.out;
    const auto plan = nlohmann::json::parse(run_sheaf(folder, arguments + " --json").out);
    for (const auto& variant : plan["variants"]) {
      if (!variant["applicable"].get<bool>()) continue;
      const std::size_t line = shown.out.find(fmt::format(" {} ", variant["variant"].get<std::string>()));
      ASSERT_NE(line, std::string::npos) << variant << "\n" << shown.out;
      const std::size_t first = shown.out.find("  = ", line) + 4;
      const std::string terms = shown.out.substr(first, shown.out.find_first_of(";\n", first) - first);
      EXPECT_EQ(terms.find(" -"), std::string::npos) << terms;
      EXPECT_NEAR(sum_of_terms(terms) / variant["predicted_seconds"].get<double>(), 1, 0.02) << terms;
    }
  }
  const std::string gather =
      run_sheaf(folder,
                "plan gather --count 1048576 --table 1048576 --record-bytes 8 --pattern sequential --backend cpu")
          .out;
  EXPECT_NE(gather.find(") x 0."), std::string::npos) << gather;
}

TEST_F(CliPlan, AListOfUnknownOrderTakesBetweenOneInOrderAndOneAtRandom) {
  const std::string gather = "plan gather --count 1048576 --table 1048576 --record-bytes 8 --backend cpu";
  const auto plan = [&](const std::string& more) {
    return nlohmann::json::parse(run_sheaf(folder, gather + more + " --json").out);
  };
  const auto unknown = plan("");
  const auto in_order = plan(" --pattern sequential");
  const auto at_random = plan(" --pattern random");
  std::size_t ranges = 0;
  for (std::size_t v = 0; v < unknown["variants"].size(); ++v) {
    const auto& variant = unknown["variants"][v];
    ASSERT_EQ(variant["variant"], in_order["variants"][v]["variant"]);
    EXPECT_FALSE(in_order["variants"][v].contains("seconds_in_order"));
    if (!variant.contains("seconds_in_order")) continue;
    ++ranges;
    EXPECT_EQ(variant["seconds_in_order"], in_order["variants"][v]["predicted_seconds"]);
    EXPECT_EQ(variant["seconds_at_random"], at_random["variants"][v]["predicted_seconds"]);
  }
  EXPECT_GE(ranges, 1U) << unknown;
  const std::string shown = run_sheaf(folder, gather).out;
  EXPECT_NE(shown.find("times: from a list in order to one at random"), std::string::npos) << shown;
  const std::size_t line = shown.find("* cpu.direct");
  ASSERT_NE(line, std::string::npos) << shown;
  const std::string row = shown.substr(line, shown.find('\n', line) - line);
  EXPECT_LT(row.find(" to "), row.find(", planned as ")) << row;
  EXPECT_EQ(run_sheaf(folder, gather + " --pattern random").out.find(", planned as "), std::string::npos);
  EXPECT_EQ(run_sheaf(folder, "plan sort_keys --count 1000 --record-bytes 8").out.find("times: "), std::string::npos);
}

TEST_F(CliPlan, NamesBackendsThatAreNotHereOnOneLine) {
  // Nobody looks for a device of a backend that runs by name only.
  const auto is_passed_over = [](const core::backend& b) {
    return !b.is_built() || (b.is_taken_by_itself && !b.has_device());
  };
  std::string missing;
  for (const core::backend& b : core::backends()) {
    if (is_passed_over(b)) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", b.name);
  }
  const std::string shown = run_sheaf(folder, "plan sort_keys --count 1000 --record-bytes 8").out;
  const std::size_t line = shown.find("not here: ");
  EXPECT_EQ(line != std::string::npos, !missing.empty()) << shown;
  for (const core::backend& b : core::backends()) {
    if (!is_passed_over(b)) continue;
    EXPECT_EQ(shown.find(fmt::format("{}.", b.name)), std::string::npos) << shown;
    EXPECT_NE(shown.find(fmt::format("{} ({})", b.name, b.is_built() ? "no device" : "not built in"), line),
              std::string::npos)
        << shown;
  }
  const std::string cpu = run_sheaf(folder, "plan sort_keys --count 1000 --record-bytes 8 --backend cpu").out;
  EXPECT_EQ(cpu.find("not here: "), std::string::npos) << cpu;
}

TEST_F(CliPlan, ShowsTimesOfAnyLengthInUnitsOfTheirOwn) {
  const auto time_of = [&](const char* count) {
    const std::string gather =
        fmt::format("plan gather --count {} --table 1000 --record-bytes 4 --pattern random", count);
    const std::string out = run_sheaf(folder, gather + " --backend cpu --threads 1").out;
    const std::size_t line = out.find("* cpu.direct");
    EXPECT_NE(line, std::string::npos) << out;
    return out.substr(line, out.find("  = ", line) - line);
  };
  EXPECT_TRUE(time_of("100000").ends_with(" us")) << time_of("100000");
  EXPECT_TRUE(time_of("10000000").ends_with(" ms")) << time_of("10000000");
  EXPECT_TRUE(time_of("10000000000").ends_with(" s")) << time_of("10000000000");
  const std::string days = time_of("100000000000000");
  EXPECT_TRUE(days.ends_with(" s")) << days;
  EXPECT_EQ(days.find_first_of(".e", days.find("direct") + 6), std::string::npos) << days << " is a whole number";
}

TEST_F(CliPlan, SaysSoWhereNothingCanRun) {
  const std::string split = "plan split --count 1000000 --record-bytes 8 --key-bytes 4 --backend cpu --memory 1";
  const program_result shown = run_sheaf(folder, split);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(shown.out.ends_with("\nno variant can run this\n")) << shown.out;
  EXPECT_NE(shown.out.find("limit"), std::string::npos) << shown.out;
  const auto document = nlohmann::json::parse(run_sheaf(folder, split + " --json").out);
  EXPECT_TRUE(document["choice"].is_null());
  for (const auto& variant : document["variants"]) EXPECT_NE(variant["reason"], "") << variant;
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
  expect_failure("plan gather --count 1 --table 1 --record-bytes 0", 2,
                 "sheaf plan: --record-bytes: '0' is not a whole number from 1" + help);
  expect_failure("plan split --count 1 --record-bytes 4 --key-bytes 65537", 2,
                 "sheaf plan: --key-bytes: '65537' is not a whole number from 1 to 65536" + help);
  expect_failure("plan split --count 1 --record-bytes 16 --bits 0:97", 2,
                 "sheaf plan: --bits: '0:97' has 97 bits, not 1 to 96" + help);
  expect_failure("plan scatter --count 1 --table 1 --record-bytes 4 --duplicates first", 2,
                 "sheaf plan: 'first' is not a rule for duplicates: any, last" + help);
  expect_failure("plan gather --count 1 --table 1 --record-bytes 4 --bounds maybe", 2,
                 "sheaf plan: 'maybe' is not a way to treat bad indices: check, trust" + help);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_plan_test
