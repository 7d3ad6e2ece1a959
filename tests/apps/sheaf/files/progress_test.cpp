#include "apps/sheaf/files/progress.hpp"

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "support/in_a_child.hpp"
#include "support/terminal.hpp"

namespace sheaf::tests::apps_sheaf_files_progress_test {
namespace {

using std::chrono::seconds;

TEST(Progress, LinesHaveWhatIsDoneTheRateAndTheTimeLeft) {
  io::progress_step step("reading a.mtx", io::progress_unit::bytes, 3e9);
  EXPECT_EQ(step.line(seconds(2), 99), "reading a.mtx: 0:02");
  step.add(500'000'000);
  step.add(250'000'000);
  EXPECT_EQ(step.line(seconds(5), 99), "reading a.mtx: 750 MB of 3.0 GB, 150 MB/s, 25 %, 0:15 left");
  step.say("zone 1");
  EXPECT_EQ(step.line(seconds(1), 99), "reading a.mtx: 750 MB of 3.0 GB, 750 MB/s, 25 %, 0:03 left, zone 1");
  EXPECT_EQ(step.line(seconds(1), 64), "reading a.mtx: 750 MB of 3.0 GB, 750 MB/s, 25 %, 0:03 left")
      << "no room for words";
}

TEST(Progress, WithoutATotalThereIsNoTimeLeftUntilThereIsOne) {
  io::progress_step step("reading standard input", io::progress_unit::bytes);
  step.add(1200);
  EXPECT_EQ(step.line(seconds(2), 99), "reading standard input: 1.2 kB, 600 B/s");
  step.expect(12'000);
  EXPECT_EQ(step.line(seconds(400), 99), "reading standard input: 1.2 kB of 12.0 kB, 3 B/s, 10 %, 1:00:00 left");
}

TEST(Progress, SharesAndPredictionsAreShownAsSuch) {
  io::progress_step measuring("cpu: measuring");
  measuring.reach(0.25);
  EXPECT_EQ(measuring.line(seconds(30), 99), "cpu: measuring: 25 %, 1:30 left");
  const io::progress_step predicted("gather", io::progress_unit::seconds, 12.5);
  EXPECT_EQ(predicted.line(seconds(3), 99), "gather: 0:03 of 0:13 predicted");
  const io::progress_step unknown("gather", io::progress_unit::seconds);
  EXPECT_EQ(unknown.line(seconds(3), 99), "gather: 0:03");
  io::progress_step rows("rows", io::progress_unit::items, 60);
  rows.add(30);
  EXPECT_EQ(rows.line(seconds(60), 99), "rows: 30 of 60, 0.5/s, 50 %, 1:00 left");
}

TEST(Progress, NamesAreShownWithoutControlCharacters) {
  const io::progress_step step("reading \x1b[2Ja\n");
  EXPECT_EQ(step.line(seconds(1), 99).find('\x1b'), std::string::npos);
  EXPECT_EQ(step.line(seconds(1), 99).find('\n'), std::string::npos);
}

TEST(Progress, LongLinesKeepTheirEnds) {
  EXPECT_EQ(io::fitted("reading a: 5", 12), "reading a: 5");
  EXPECT_EQ(io::fitted("reading a long name: 5", 12), "rea...ame: 5");
  EXPECT_EQ(io::fitted("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 5), "...\u00f6\u00fc");
  EXPECT_EQ(io::fitted("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 6), "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc");
  EXPECT_EQ(io::fitted("words", 2), "..");
  EXPECT_EQ(io::fitted("words", 0), "");
}

// The width is read before each line, so a window may change its size.
TEST(Progress, IsDrawnOnATerminalAfterASecondAndVanishes) {
  const terminal screen(30);
  if (!screen.is_there()) GTEST_SKIP() << "no terminal to be had";
  const std::string done = in_a_child([&] {
    dup2(screen.descriptor(), STDERR_FILENO);
    io::show_progress();
    {
      const io::progress_step outer("outer work");
      std::this_thread::sleep_for(std::chrono::milliseconds(1300));
      {
        const io::progress_step inner("inner work that is too short to be shown");
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
      screen.set_columns(9);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      io::clear_progress();
    }
    return std::string("done");
  });
  EXPECT_EQ(done, "done");
  const std::string text = screen.shown();
  EXPECT_TRUE(text.starts_with("\router work: 0:01\x1b[K")) << text;
  EXPECT_EQ(text.find("inner"), std::string::npos) << text;
  EXPECT_NE(text.find("\ro...0:01\x1b[K"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
}

TEST(Progress, IsNotDrawnUnlessItIsAskedFor) {
  const terminal screen;
  if (!screen.is_there()) GTEST_SKIP() << "no terminal to be had";
  in_a_child([&] {
    dup2(screen.descriptor(), STDERR_FILENO);
    const io::progress_step step("work");
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    return std::string();
  });
  EXPECT_EQ(screen.shown(), "");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_progress_test
