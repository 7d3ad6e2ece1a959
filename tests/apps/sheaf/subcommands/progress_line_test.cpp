#include "apps/sheaf/progress_line.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace sheaf::tests::apps_sheaf_subcommands_progress_line_test {
namespace {

/// A terminal in the place of standard error until the end of the scope.
class terminal {
 public:
  terminal() : main_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (main_ < 0 || grantpt(main_) != 0 || unlockpt(main_) != 0) return;
    const int screen = open(ptsname(main_), O_RDWR | O_NOCTTY);
    if (screen < 0) return;
    std::fflush(stderr);
    before_ = dup(STDERR_FILENO);
    dup2(screen, STDERR_FILENO);
    close(screen);
  }
  ~terminal() {
    if (before_ >= 0) {
      std::fflush(stderr);
      dup2(before_, STDERR_FILENO);
      close(before_);
    }
    if (main_ >= 0) close(main_);
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  bool is_there() const { return before_ >= 0; }
  /// What was written since the last call.
  std::string shown() const {
    std::fflush(stderr);
    std::string text;
    char part[256];
    for (pollfd ready{main_, POLLIN, 0}; poll(&ready, 1, 100) > 0 && (ready.revents & POLLIN) != 0;) {
      const ssize_t bytes = read(main_, part, sizeof part);
      if (bytes <= 0) break;
      text.append(part, static_cast<std::size_t>(bytes));
    }
    return text;
  }

 private:
  int main_;
  int before_ = -1;
};

TEST(ProgressLine, ShowsTheLatestWordsAfterASecondAndVanishes) {
  const terminal screen;
  if (!screen.is_there()) GTEST_SKIP() << "no terminal to be had";
  const std::string empty_line = "\r" + std::string(78, ' ') + "\r";
  {
    cli::progress_line unwanted(false);
    cli::progress_line line(true);
    line.show("too early");
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    unwanted.show("not wanted");
    line.show("half");
    line.show(std::string(100, 'x'));
    EXPECT_EQ(screen.shown(), "\rhalf" + std::string(74, ' ') + "\r" + std::string(78, 'x'));
  }
  EXPECT_EQ(screen.shown(), empty_line);
  { cli::progress_line short_work(true); }
  EXPECT_EQ(screen.shown(), "") << "what was never shown does not vanish";
}

TEST(ProgressLine, IsForTerminalsAlone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  {
    cli::progress_line line(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    line.show("words");
  }
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "nothing was written";
  close(ends[0]);
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_progress_line_test
