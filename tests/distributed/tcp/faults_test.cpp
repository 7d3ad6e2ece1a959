#include <sys/wait.h>
#include <csignal>
#include <thread>

#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/tcp.hpp>

#include "distributed/ranks.hpp"
#include "distributed/tcp/free_port.hpp"

// Processes that TCP connects, of which one dies, stands still, or never comes.
namespace sheaf::tests::tcp_faults_test {
namespace {

using work = std::function<void(const distributed::group&)>;

/// Exit codes of processes that do this work; -1: ended by a signal, -2: still there after so many seconds, and killed.
std::vector<int> exits_of(int ranks, const work& of_rank, const distributed::limits& bounds, double seconds) {
  distributed::tcp_meeting meeting;
  meeting.port = free_port();
  meeting.wait_seconds = 20;
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      int code = 1;
      try {
        const distributed::group mine(context::cpu(1), distributed::tcp_transport(rank, ranks, meeting), bounds);
        of_rank(mine);
        code = 0;
      } catch (const error& thrown) {
        // What was thrown is the test's: 10 and the rank that it names.
        const std::string said = thrown.what();
        const std::size_t at = said.find("rank ");
        code = thrown.code() == error_code::device_failure && at != std::string::npos ? 10 + said[at + 5] - '0' : 2;
        if (code == 2) std::fprintf(stderr, "rank %d: %s\n", rank, said.c_str());
      }
      _exit(code);
    }
    children.push_back(child);
  }
  std::vector<int> codes;
  const distributed::deadline until(seconds);
  for (const pid_t child : children) {
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (until.is_over()) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        status = -1;
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    codes.push_back(status == -1 ? -2 : WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return codes;
}

void sort_without_end(const distributed::group& ranks, int faulty, const std::function<void()>& fault) {
  std::vector<std::uint64_t> keys(100'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * 0x9e3779b97f4a7c15U;
  for (int turn = 0;; ++turn) {
    if (ranks.rank() == faulty && turn == 3) {
      std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // amid a later call
        fault();
      }).detach();
    }
    distributed::sort_keys(ranks, keys);
  }
}

TEST(TcpFaults, AProcessThatIsKilledIsNamedByAllOthers) {
  for (int trial = 0; trial < 5; ++trial) {
    const auto codes = exits_of(
        4, [](const distributed::group& ranks) { sort_without_end(ranks, 2, [] { raise(SIGKILL); }); }, {}, 30);
    EXPECT_EQ(codes, (std::vector<int>{12, 12, -1, 12})) << "trial " << trial;
  }
}

TEST(TcpFaults, AProcessThatStandsStillIsNamedByAllOthers) {
  distributed::limits bounds;
  bounds.wait_seconds = 1;
  const auto codes = exits_of(
      3, [](const distributed::group& ranks) { sort_without_end(ranks, 1, [] { raise(SIGSTOP); }); }, bounds, 15);
  EXPECT_EQ(codes, (std::vector<int>{11, -2, 11}));
}

TEST(TcpFaults, AProcessThatEndsEarlyIsNamed) {
  const auto codes = exits_of(
      2,
      [](const distributed::group& ranks) {
        ranks.wait();
        if (ranks.rank() == 0) ranks.wait();
      },
      {}, 15);
  EXPECT_EQ(codes, (std::vector<int>{11, 0}));
}

TEST(TcpFaults, AProcessThatDoesNotComeIsWaitedForUntilTheLimit) {
  distributed::tcp_meeting meeting;
  meeting.port = free_port();
  meeting.wait_seconds = 0.5;
  EXPECT_EQ(message_of(error_code::device_failure, [&] { distributed::tcp_transport(0, 2, meeting); }),
            "tcp_transport: a process has not come in time");
  const std::string said = message_of(error_code::device_failure, [&] { distributed::tcp_transport(1, 2, meeting); });
  EXPECT_EQ(said, "tcp_transport: 127.0.0.1:" + std::to_string(meeting.port) + ": Connection refused");
}

TEST(TcpFaults, WhoIsOfAnotherJobIsTurnedAway) {
  distributed::tcp_meeting meeting;
  meeting.port = free_port();
  meeting.wait_seconds = 10;
  distributed::tcp_meeting other = meeting;
  other.key = 7;
  other.wait_seconds = 0.5;
  std::thread stranger(
      [&] { message_of(error_code::device_failure, [&] { distributed::tcp_transport(1, 2, other); }); });
  std::thread first([&] { EXPECT_EQ(distributed::tcp_transport(0, 2, meeting)->size(), 2); });
  stranger.join();
  EXPECT_EQ(distributed::tcp_transport(1, 2, meeting)->rank(), 1);
  first.join();
}

TEST(TcpFaults, RanksThatAreNoneAreRefused) {
  EXPECT_EQ(message_of(error_code::bad_argument, [] { distributed::tcp_transport(2, 2, {}); }),
            "tcp_transport: rank 2 of 2");
  EXPECT_EQ(message_of(error_code::bad_argument, [] { distributed::tcp_transport(0, 2, {}); }),
            "tcp_transport: port 0");
  EXPECT_EQ(distributed::tcp_transport(0, 1, {})->size(), 1);
}

}  // namespace
}  // namespace sheaf::tests::tcp_faults_test
