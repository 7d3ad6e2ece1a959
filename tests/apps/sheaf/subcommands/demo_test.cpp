#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/version.hpp>

#include "core/backends.hpp"
#include "core/host.hpp"
#include "lab/description/entry.hpp"
#include "support/cli_test.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_demo_test {
namespace {

class CliDemo : public cli_test {
 protected:
  void fill_folder() override {}
};

TEST_F(CliDemo, EndsWithASummaryByFamilyAndWritesAPage) {
  const program_result result = run_sheaf(folder, "demo --size small --threads 2 --report report.html");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const core::backend& b : core::backends()) {
    const bool is_shown = result.out.find(fmt::format("\n{}: ", b.name)) != std::string::npos ||
                          result.out.starts_with(fmt::format("{}: ", b.name));
    EXPECT_EQ(is_shown, b.has_device()) << b.name;
  }
  EXPECT_NE(result.out.find("\npredictions: the shipped profile of "), std::string::npos) << result.out;
  // The CPU comes first and has every family.
  const std::string summary = result.out.substr(result.out.find("family "));
  for (const std::string_view family : primitives::families()) {
    EXPECT_NE(summary.find("\n" + std::string(family) + " "), std::string::npos) << summary;
  }
  EXPECT_TRUE(result.out.ends_with("problems, every answer is right\n\n")) << summary;
  const std::string page = folder.read("report.html");
  EXPECT_NE(page.find("problems, every answer is right"), std::string::npos);
  EXPECT_NE(page.find("<svg class=\"plot\""), std::string::npos);
  // Predictions of another machine are called that, and its rates are not drawn as this one's.
  EXPECT_EQ(page.find("aria-label=\"Random reads"), std::string::npos);
}

TEST_F(CliDemo, PrintsADocumentWithRowsAndFamilies) {
  const program_result result = run_sheaf(folder, "demo --size small --backend reference --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto demo = nlohmann::json::parse(result.out)["backends"][0];
  EXPECT_EQ(demo["backend"], "reference");
  EXPECT_EQ(demo["families"].size(), primitives::families().size());
  std::size_t problems = 0;
  for (const auto& family : demo["families"]) {
    problems += family["problems"].get<std::size_t>();
    EXPECT_EQ(family["wrong"], 0) << family;
  }
  EXPECT_EQ(problems, demo["rows"].size());
  for (const auto& row : demo["rows"]) {
    EXPECT_GT(row["limit_bytes_per_second"], 0) << row;
    EXPECT_GT(row["factor_over_plain_loop"], 0) << row;
  }
  EXPECT_GE(demo["copy_limits"].size(), 1U);
  EXPECT_GE(problems, primitives::entries().size());
}

// One of both ways with sanitizers, the other without: a demo takes its time.
TEST_F(CliDemo, QuietPrintsNothing) {
  const char* const format = under_address_sanitizer ? "" : " --json";
  const program_result result =
      run_sheaf(folder, fmt::format("demo --size small --backend cpu --threads 2 --quiet{}", format));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "") << format;
}

// The folder has a profile of this machine, so that nothing is measured.
TEST_F(CliDemo, PredictsFromTheRatesKeptInAFolder) {
  const context ctx = context::cpu(2);
  machine m = ctx.profile();
  m.name = core::host_name();
  m.parallelism = 2;
  m.versions["sheaf"] = SHEAF_VERSION;
  ASSERT_TRUE(std::filesystem::create_directory(folder / "kept"));
  save_machine(m, folder / "kept/cpu-2-threads.json");
  const std::string before = folder.read("kept/cpu-2-threads.json");
  const program_result result = run_sheaf(folder, "demo --size small --backend cpu --threads 2 --profiles kept --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto demo = nlohmann::json::parse(result.out)["backends"][0];
  EXPECT_EQ(demo["rates"], "rates kept as kept/cpu-2-threads.json");
  EXPECT_EQ(demo["rates_of_this_machine"], true);
  EXPECT_EQ(demo["doubts"], nlohmann::json::array());
  EXPECT_EQ(demo["software_renderer"], false);
  EXPECT_EQ(folder.read("kept/cpu-2-threads.json"), before);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_demo_test
