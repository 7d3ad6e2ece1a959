// The command under signals, where the file system has no files without a name: it leaves no file behind, and ends by
// the signal.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

#include "core/context_state.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"
#include "support/scoped_environment.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_signals_test {
namespace {

/// From now on, for this process and what it becomes, opening a file without a name fails as on file systems that have
/// none. False where the system has no such filters.
bool forbid_files_without_names() {
  constexpr unsigned without_name = O_TMPFILE & ~O_DIRECTORY;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),  // its lower half on little-endian hosts
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, without_name, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

constexpr int no_filter = 99;

class CliSignals : public cli_test {
 protected:
  void fill_folder() override {
    // A few runs of 1 MiB, and many matches.
    std::string keys;
    for (std::uint32_t i = 0; i < 1 << 20; ++i) {
      const std::uint32_t key = i * 2654435761U;
      keys.append(reinterpret_cast<const char*>(&key), sizeof key);
    }
    folder.write("keys.npy", npy_file("'<u4'", "(1048576,)", keys));
    folder.write("table.npy", npy_file("'<u4'", "(16384,)", keys.substr(0, 65536)));
    std::string matrix = "%%MatrixMarket matrix coordinate real symmetric\n3000 3000 5999\n";
    for (int i = 1; i <= 3000; ++i) {
      matrix += std::to_string(i) + " " + std::to_string(i) + " 2.001\n";
      if (i > 1) matrix += std::to_string(i) + " " + std::to_string(i - 1) + " -1\n";
    }
    folder.write("a.mtx", matrix);
  }

  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }

  pid_t start(std::vector<std::string> words) const {
    words.insert(words.begin(), sheaf_program());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    if (!forbid_files_without_names() || chdir(folder.path().c_str()) != 0) _exit(no_filter);
    execv(arguments[0], arguments.data());
    _exit(no_filter);
  }

  static int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  /// Runs until the end, and then with signals at moments all over that time.
  void expect_no_trace(const std::vector<std::string>& words, const std::vector<std::string>& outputs) {
    using clock = std::chrono::steady_clock;
    const std::set<std::string> before = names();
    const auto begin = clock::now();
    const int whole = status_of(start(words));
    const auto time = clock::now() - begin;
    if (WIFEXITED(whole) && WEXITSTATUS(whole) == no_filter) GTEST_SKIP() << "system calls cannot be filtered here";
    ASSERT_EQ(whole, 0);
    std::set<std::string> after = before;
    after.insert(outputs.begin(), outputs.end());
    ASSERT_EQ(names(), after);
    std::size_t had_names = 0;
    std::size_t ended_by_signal = 0;
    constexpr int trials = 30;
    for (int trial = 0; trial < trials; ++trial) {
      for (const std::string& output : outputs) std::filesystem::remove(folder / output);
      const int signal = (std::vector<int>{SIGINT, SIGTERM, SIGHUP})[trial % 3];
      const pid_t child = start(words);
      std::this_thread::sleep_for(time * trial / trials);
      had_names += names().size() > before.size() ? 1 : 0;
      kill(child, signal);
      const int status = status_of(child);
      if (WIFSIGNALED(status)) {
        ++ended_by_signal;
        EXPECT_EQ(WTERMSIG(status), signal);
        const std::set<std::string> left = names();
        EXPECT_TRUE(left == before || left == after) << "a file is left behind, or some outputs are";
      } else {
        EXPECT_EQ(status, 0);
        EXPECT_EQ(names(), after);
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(ended_by_signal, 0U);
    EXPECT_GT(had_names, 0U) << "the test wants temporary files with names";
  }
};

TEST_F(CliSignals, LeaveNothingOfASort) {
  expect_no_trace({"sort", "keys.npy", "-o", "out.npy", "--memory", "1M", "--quiet"}, {"out.npy"});
}

TEST_F(CliSignals, LeaveNothingOfASearchOrAllOfIt) {
  expect_no_trace({"search", "keys.npy", "table.npy", "-o", "found", "--quiet"},
                  {"found.offsets.npy", "found.ids.npy"});
}

TEST_F(CliSignals, LeaveNothingOfASolutionOrItsHistoryToo) {
  expect_no_trace({"solve", "a.mtx", "-o", "x.npy", "--history", "h.csv", "--quiet"}, {"x.npy", "h.csv"});
}

TEST_F(CliSignals, LeaveTheProfileThatWasStoredBeforeACalibration) {
  const scoped_environment cache("XDG_CACHE_HOME", folder / "cache");
  const std::string stored_as = default_machine_path(backend_kind::cpu, context::cpu(1).state().device_name);
  std::filesystem::create_directories(std::filesystem::path(stored_as).parent_path());
  const std::string name = stored_as.substr(folder.path().size() + 1);
  folder.write(name, "what was stored before");
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = start({"machine", "--calibrate", "--backend", "cpu", "--threads", "1", "--seconds", "600"});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(child, signal);
    const int status = status_of(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_filter) GTEST_SKIP() << "system calls cannot be filtered here";
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(folder.read(name), "what was stored before");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::filesystem::path(stored_as).parent_path()), {}),
              1);
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_signals_test
