// Progress as the command shows it on a terminal, or not.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cli_test.hpp"
#include "support/npy_file.hpp"
#include "support/terminal.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_progress_test {
namespace {

class CliProgress : public cli_test {
 protected:
  void fill_folder() override { folder.write("a.npy", npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({3, 1, 2}))); }

  /// What a command shows on a terminal while an input comes in slowly. It has ended when this returns.
  std::string shown(const terminal& screen, std::string_view options) {
    const std::string line = fmt::format(
        "cd '{}' && (head -c 130 a.npy; sleep 1.6; tail -c +131 a.npy) | '{}' sort - -o out.npy {} >/dev/null 2>'{}' &",
        folder.path(), sheaf_program(), options, screen.path());
    EXPECT_EQ(std::system(line.c_str()), 0);
    std::string text = screen.shown(2500);
    EXPECT_TRUE(folder.has("out.npy")) << text;
    return text;
  }
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\r', at), text.size());
    std::string line(text.substr(at, end - at));
    constexpr std::string_view to_the_end = "\x1b[K";
    if (line.ends_with(to_the_end)) line.resize(line.size() - to_the_end.size());
    if (!line.empty()) lines.push_back(line);
    at = end + 1;
  }
  return lines;
}

TEST_F(CliProgress, SaysHowFarItIsAndWhatIsLeftInTheWidthOfTheTerminal) {
  const terminal wide(200);
  if (!wide.is_there()) GTEST_SKIP() << "no terminal to be had";
  const std::string text = shown(wide, "");
  const std::vector<std::string> lines = lines_of(text);
  ASSERT_GE(lines.size(), 2U) << text;
  EXPECT_THAT(lines.front(), testing::MatchesRegex("reading standard input: 130 B of 140 B, .* B/s, 93 %, 0:0. left"));
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << "the line goes with the work: " << text;

  const terminal narrow(40);
  const std::vector<std::string> cut = lines_of(shown(narrow, ""));
  ASSERT_GE(cut.size(), 2U);
  for (const std::string& line : cut) EXPECT_EQ(line.size(), 39U) << line;
  EXPECT_THAT(cut.front(), testing::MatchesRegex("reading stan\\.\\.\\..* B/s, 93 %, 0:0. left"));
}

TEST_F(CliProgress, IsNotShownWhereItIsNotWanted) {
  const terminal screen;
  if (!screen.is_there()) GTEST_SKIP() << "no terminal to be had";
  EXPECT_EQ(shown(screen, "--quiet"), "");
}

TEST_F(CliProgress, IsForTerminalsAlone) {
  const program_result result = run_sheaf(
      folder,
      fmt::format("version >/dev/null; ((head -c 130 a.npy; sleep 1.6; tail -c +131 a.npy) | '{}' sort - -o x.npy)",
                  sheaf_program()));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_progress_test
