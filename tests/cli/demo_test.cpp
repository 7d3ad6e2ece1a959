#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "primitives/entries/entry.hpp"
#include "support/cli_test.hpp"

namespace sheaf::tests {
namespace {

class CliDemo : public cli_test {
 protected:
  void fill_folder() override {}
};

TEST_F(CliDemo, EndsWithASummaryByFamilyAndWritesAPage) {
  const program_result result = run_sheaf(folder, "demo --size small --backend cpu --threads 2 --report report.html");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string summary = result.out.substr(result.out.rfind("family "));
  for (const std::string_view family : primitives::families()) {
    EXPECT_NE(summary.find("\n" + std::string(family) + " "), std::string::npos) << summary;
  }
  EXPECT_TRUE(summary.ends_with("problems, every answer is right\n\n")) << summary;
  EXPECT_NE(folder.read("report.html").find("problems, every answer is right"), std::string::npos);
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
  EXPECT_GE(problems, primitives::entries().size());
}

}  // namespace
}  // namespace sheaf::tests
