#pragma once

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/tcp.hpp>
#include <sheaf/error.hpp>

#include "distributed/tcp/free_port.hpp"

// Processes of a group that a test starts, and how they end.
namespace sheaf::tests {

/// What became of a process, where it is not its exit code.
constexpr int ended_by_signal = -1;
constexpr int still_there = -2;
/// The exit code of a process to which error(device_failure) was thrown that names this rank.
constexpr int named(int rank) { return 10 + rank; }

/// A rank's group, of a transport over TCP.
using group_maker = std::function<distributed::group(int rank, std::shared_ptr<distributed::transport> over_tcp)>;

inline int exit_code_of(const error& thrown) {
  const std::string said = thrown.what();
  std::fprintf(stderr, "process %d: %s\n", static_cast<int>(getpid()), said.c_str());
  const std::size_t at = said.find("rank ");
  if (thrown.code() == error_code::device_failure && at != std::string::npos) return named(said[at + 5] - '0');
  return 2;
}

/// Starts processes that do this work, and returns their exit codes: 0 where nothing was thrown. Those that are there
/// after so many seconds are killed.
inline std::vector<int> exits_of(int ranks, const group_maker& make,
                                 const std::function<void(const distributed::group&)>& work, double seconds) {
  distributed::tcp_meeting meeting;
  meeting.port = free_port();
  meeting.wait_seconds = 20;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      int code = 1;
      try {
        work(make(rank, distributed::tcp_transport(rank, ranks, meeting)));
        code = 0;
      } catch (const error& thrown) {
        code = exit_code_of(thrown);
      } catch (const std::exception& thrown) {
        std::fprintf(stderr, "%s\n", thrown.what());
      }
      _exit(code);
    }
    children.push_back(child);
  }
  std::vector<int> codes;
  const distributed::deadline until(seconds);
  for (const pid_t child : children) {
    int status = 0;
    bool is_late = false;
    while (!is_late && waitpid(child, &status, WNOHANG) == 0) {
      is_late = until.is_over();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (is_late) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
    }
    codes.push_back(is_late ? still_there : WIFEXITED(status) ? WEXITSTATUS(status) : ended_by_signal);
  }
  return codes;
}

/// Sorts rows of the group's memory again and again; one rank does something else amid the fourth sort or a later one.
inline void sort_until(const distributed::group& ranks, const_records rows, int faulty,
                       const std::function<void()>& fault) {
  for (int turn = 0;; ++turn) {
    if (ranks.rank() == faulty && turn == 3) {
      std::thread([fault] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        fault();
      }).detach();
    }
    distributed::sort_records(ranks, rows, sort_key::of<std::uint64_t>());
  }
}

}  // namespace sheaf::tests
