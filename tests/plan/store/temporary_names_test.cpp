// A process that a signal ends leaves no temporary file behind, and of files that appear together all or none.
#include "plan/store/temporary_names.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "plan/store/output_file.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::plan_store_temporary_names_test {
namespace {

using io::output_file;
using io::temporary_kind;

/// A child that has called remove_temporaries_on_signals(). It runs work(tell), which may tell the parent to go on.
class ending_child {
 public:
  explicit ending_child(const std::function<void(const std::function<void()>& tell)>& work) {
    EXPECT_EQ(pipe(told_), 0);
    id_ = fork();
    if (id_ != 0) return;
    alarm(60);
    io::remove_temporaries_on_signals();
    work([this] {
      if (write(told_[1], "x", 1) != 1) _exit(2);
    });
    _exit(0);
  }
  ~ending_child() {
    close(told_[0]);
    close(told_[1]);
  }
  ending_child(const ending_child&) = delete;
  ending_child& operator=(const ending_child&) = delete;

  void wait_until_told() const {
    char byte = 0;
    EXPECT_EQ(read(told_[0], &byte, 1), 1);
  }
  void send(int signal) const { EXPECT_EQ(kill(id_, signal), 0); }
  /// The signal that ended it, or 0.
  int end() const {
    int status = 0;
    EXPECT_EQ(waitpid(id_, &status, 0), id_);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  int told_[2] = {};
  pid_t id_ = -1;
};

[[noreturn]] void wait_for_a_signal() {
  for (;;) pause();
}

void write(output_file& file, const std::string& bytes) { file.write(bytes.data(), bytes.size()); }

TEST(TemporaryNames, AreGoneWhenASignalEndsTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU}) {
    SCOPED_TRACE(strsignal(signal));
    const temporary_folder folder;
    folder.write("out", "old");
    const ending_child child([&](const auto& tell) {
      output_file first(folder / "out", 1000, temporary_kind::named);
      output_file second(folder / "other", 0, temporary_kind::named);
      write(first, "new");
      second.finish();
      tell();
      wait_for_a_signal();
    });
    child.wait_until_told();
    EXPECT_EQ(folder.count(), 3U) << "the test wants temporary files with names";
    child.send(signal);
    EXPECT_EQ(child.end(), signal);
    EXPECT_EQ(folder.count(), 1U);
    EXPECT_EQ(folder.read("out"), "old");
  }
}

// The signal comes at any moment of many outputs, to a thread that writes files or to another one.
void expect_all_or_none(temporary_kind kind, int signal) {
  using namespace std::chrono_literals;
  constexpr int trials = 60;
  for (int trial = 0; trial < trials; ++trial) {
    const temporary_folder folder;
    for (const char* const name : {"first", "second", "third"}) folder.write(name, "0");
    const ending_child child([&](const auto& tell) {
      std::thread(wait_for_a_signal).detach();
      tell();
      for (int version = 1;; ++version) {
        output_file first(folder / "first", 0, kind);
        output_file second(folder / "second", 0, kind);
        output_file third(folder / "third", 0, kind);
        for (output_file* const file : {&first, &second, &third}) write(*file, std::to_string(version));
        output_file* const files[] = {&first, &second, &third};
        output_file::commit_all(files);
      }
    });
    child.wait_until_told();
    std::this_thread::sleep_for(trial * 97us);
    child.send(signal);
    EXPECT_EQ(child.end(), signal);
    EXPECT_EQ(folder.count(), 3U) << "a temporary file is left behind";
    EXPECT_EQ(folder.read("first"), folder.read("second"));
    EXPECT_EQ(folder.read("first"), folder.read("third"));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(TemporaryNames, OfFilesThatAppearTogetherAllAreThereOrNone) {
  expect_all_or_none(temporary_kind::named, SIGTERM);
  expect_all_or_none(temporary_kind::named, SIGINT);
  expect_all_or_none(temporary_kind::unnamed_where_possible, SIGHUP);
}

TEST(TemporaryNames, SignalsThatWereIgnoredStayIgnored) {
  const temporary_folder folder;
  const auto before = std::signal(SIGHUP, SIG_IGN);
  const ending_child child([&](const auto& tell) {
    output_file file(folder / "out", 0, temporary_kind::named);
    tell();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    write(file, "new");
    file.commit();
  });
  std::signal(SIGHUP, before);
  child.wait_until_told();
  child.send(SIGHUP);
  EXPECT_EQ(child.end(), 0);
  EXPECT_EQ(folder.read("out"), "new");
  EXPECT_EQ(folder.count(), 1U);
}

TEST(TemporaryNames, BelongToTheProcessThatHasMadeTheFiles) {
  const temporary_folder folder;
  const ending_child child([&](const auto& tell) {
    output_file file(folder / "out", 0, temporary_kind::named);
    const pid_t other = fork();
    if (other == 0) {
      raise(SIGTERM);
      _exit(0);
    }
    int status = 0;
    waitpid(other, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM) _exit(3);
    write(file, "new");
    file.commit();
    tell();
  });
  child.wait_until_told();
  EXPECT_EQ(child.end(), 0);
  EXPECT_EQ(folder.read("out"), "new");
  EXPECT_EQ(folder.count(), 1U);
}

}  // namespace
}  // namespace sheaf::tests::plan_store_temporary_names_test
