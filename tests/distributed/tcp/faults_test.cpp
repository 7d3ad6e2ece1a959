#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "distributed/ranks.hpp"
#include "distributed/tcp/processes.hpp"

// Processes that TCP connects, of which one dies, stands still, or never comes.
namespace sheaf::tests::distributed_tcp_faults_test {
namespace {

group_maker with(const distributed::limits& bounds) {
  return [bounds](int, std::shared_ptr<distributed::transport> over_tcp) {
    return distributed::group(context::cpu(1), std::move(over_tcp), bounds);
  };
}

void sort_until(const distributed::group& ranks, int faulty, const std::function<void()>& fault) {
  std::vector<std::uint64_t> keys(100'000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * 0x9e3779b97f4a7c15U;
  tests::sort_until(ranks, keys, faulty, fault);
}

TEST(TcpFaults, AProcessThatIsKilledIsNamedByAllOthers) {
  for (int trial = 0; trial < 5; ++trial) {
    const auto codes = exits_of(
        4, with({}), [](const distributed::group& ranks) { sort_until(ranks, 2, [] { kill(getpid(), SIGKILL); }); },
        30);
    EXPECT_EQ(codes, (std::vector<int>{named(2), named(2), ended_by_signal, named(2)})) << "trial " << trial;
  }
}

TEST(TcpFaults, AProcessThatStandsStillIsNamedByAllOthers) {
  distributed::limits bounds;
  bounds.wait_seconds = 1;
  const auto codes = exits_of(
      3, with(bounds), [](const distributed::group& ranks) { sort_until(ranks, 1, [] { kill(getpid(), SIGSTOP); }); },
      15);
  EXPECT_EQ(codes, (std::vector<int>{named(1), still_there, named(1)}));
}

TEST(TcpFaults, AProcessThatEndsEarlyIsNamed) {
  const auto codes = exits_of(
      2, with({}),
      [](const distributed::group& ranks) {
        ranks.wait();
        if (ranks.rank() == 0) ranks.wait();
      },
      15);
  EXPECT_EQ(codes, (std::vector<int>{named(1), 0}));
}

TEST(TcpFaults, AProcessThatDoesNotComeIsWaitedForUntilTheLimit) {
  distributed::tcp_meeting meeting;
  meeting.port = free_port();
  meeting.wait_seconds = 0.5;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(message_of(error_code::device_failure, [&] { distributed::tcp_transport(0, 2, meeting); }),
            "tcp_transport: rank 1 has not come in time");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(450));
  const std::string said = message_of(error_code::device_failure, [&] { distributed::tcp_transport(1, 2, meeting); });
  EXPECT_EQ(said, "tcp_transport: 127.0.0.1:" + std::to_string(meeting.port) + ": Connection refused");
}

TEST(TcpFaults, WhoIsOfAnotherJobIsTurnedAway) {
  distributed::tcp_meeting meeting;
  meeting.port = free_port();
  meeting.wait_seconds = 10;
  distributed::tcp_meeting other = meeting;
  other.key = 7;
  std::thread stranger([&] {
    EXPECT_EQ(message_of(error_code::device_failure, [&] { distributed::tcp_transport(1, 2, other); }),
              "tcp_transport: rank 0 has ended the connection");
  });
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
  distributed::tcp_meeting meeting;
  meeting.wait_seconds = -1;
  EXPECT_EQ(message_of(error_code::bad_argument, [&] { distributed::tcp_transport(0, 2, meeting); }),
            "tcp_transport: a wait of -1 seconds, not of 0 or more");
}

/// The transports of two ranks that meet at this host.
std::vector<std::shared_ptr<distributed::transport>> two_at(const std::string& host) {
  distributed::tcp_meeting meeting;
  meeting.host = host;
  meeting.port = free_port();
  meeting.wait_seconds = 20;
  std::vector<std::shared_ptr<distributed::transport>> ends(2);
  std::thread first([&] { ends[0] = distributed::tcp_transport(0, 2, meeting); });
  ends[1] = distributed::tcp_transport(1, 2, meeting);
  first.join();
  return ends;
}

TEST(TcpFaults, WhoNeverReadsItsNotesIsTakenForEnded) {
  const auto ends = two_at("127.0.0.1");
  constexpr std::uint64_t most = 1'000'000;
  std::uint64_t posted = 0;
  for (; posted < most && !ends[0]->has_ended(1); ++posted) ends[0]->post(1, {.kind = 3, .number = posted});
  ASSERT_LT(posted, most) << "264 MB of notes and more are kept";
  ends[0]->post(1, {});
  const std::byte word{1};
  const distributed::outgoing_message out{1, &word, 1};
  const std::uint64_t started = ends[0]->start({&out, 1}, {});
  const distributed::transfer_state state = ends[0]->poll(started);
  EXPECT_EQ(state.state, distributed::transfer_state::kind::failed);
  EXPECT_EQ(state.rank, 1);
  // What had gone before comes in order, and then the end.
  distributed::control_note note;
  std::uint64_t came = 0;
  for (; !ends[1]->has_ended(0); came += ends[1]->take(note) ? 1 : 0) ASSERT_TRUE(came == 0 || note.number == came - 1);
  EXPECT_GT(came, 0U);
  EXPECT_LT(came, posted);
}

/// A socket of the system's, bound to a loopback address; below 0 where the host has none of the family.
class bound_socket {
 public:
  /// @param port  0: any
  bound_socket(int family, std::uint16_t port) : descriptor_(::socket(family, SOCK_STREAM, 0)) {
    sockaddr_storage address{};
    socklen_t length = sizeof(sockaddr_in);
    if (family == AF_INET6) {
      auto& wide = reinterpret_cast<sockaddr_in6&>(address);
      wide.sin6_family = AF_INET6;
      wide.sin6_addr = in6addr_loopback;
      wide.sin6_port = htons(port);
      length = sizeof wide;
    } else {
      auto& narrow = reinterpret_cast<sockaddr_in&>(address);
      narrow.sin_family = AF_INET;
      narrow.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      narrow.sin_port = htons(port);
    }
    if (descriptor_ >= 0 && bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), length) == 0) return;
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  bound_socket(const bound_socket&) = delete;
  bound_socket& operator=(const bound_socket&) = delete;
  ~bound_socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  bool is_open() const noexcept { return descriptor_ >= 0; }
  std::uint16_t port() const noexcept {
    sockaddr_in6 address{};
    socklen_t length = sizeof address;
    getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
    return ntohs(address.sin6_port);  // where sockaddr_in has it
  }
  bool listens(int backlog) const noexcept { return listen(descriptor_, backlog) == 0; }

 private:
  int descriptor_;
};

bool has_ipv6() { return bound_socket(AF_INET6, 0).is_open(); }

/// Whether localhost has addresses of both families here.
bool localhost_has_both() {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo("localhost", "1", &hints, &first) != 0) return false;
  bool narrow = false;
  bool wide = false;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) (at->ai_family == AF_INET6 ? wide : narrow) = true;
  freeaddrinfo(first);
  return narrow && wide;
}

TEST(TcpFaults, AnAddressThatDoesNotAnswerLeavesOthersTheirTurn) {
  if (!has_ipv6() || !localhost_has_both()) GTEST_SKIP() << "localhost has addresses of one family";
  // A queue that is full drops who comes, as a filter would.
  const bound_socket silent(AF_INET, 0);
  const bound_socket answers(AF_INET6, silent.port());
  ASSERT_TRUE(silent.is_open() && silent.listens(0));
  ASSERT_TRUE(answers.is_open() && answers.listens(8));
  std::vector<distributed::tcp_socket> queued;
  try {
    for (int i = 0; i < 8; ++i)
      queued.push_back(distributed::tcp_socket::connected("127.0.0.1", silent.port(), distributed::deadline(0.2)));
    GTEST_SKIP() << "the queue does not fill";
  } catch (const error&) {
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto met = distributed::tcp_socket::connected("localhost", silent.port(), distributed::deadline(30));
  EXPECT_EQ(met.peer_address(), "::1");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(TcpFaults, HostsOfBothFamiliesAreMetByIpv4) {
  if (!has_ipv6() || !localhost_has_both()) GTEST_SKIP() << "localhost has addresses of one family";
  const distributed::tcp_socket door = distributed::tcp_socket::listening(0);
  const auto met = distributed::tcp_socket::connected("localhost", door.port(), distributed::deadline(20));
  EXPECT_EQ(met.peer_address(), "127.0.0.1");
  EXPECT_TRUE(met.is_from_this_host());
}

TEST(TcpFaults, LinkLocalAddressesAreToldApart) {
  for (const char* const address : {"fe80::1", "febf:ffff::2"}) EXPECT_TRUE(distributed::is_link_local(address));
  for (const char* const address : {"fec0::1", "::1", "2001:db8::fe80", "169.254.1.1", "127.0.0.1", ""})
    EXPECT_FALSE(distributed::is_link_local(address)) << address;
}

TEST(TcpFaults, MeetingsAreOfIpv6WhereTheHostHasIt) {
  if (!has_ipv6()) GTEST_SKIP() << "the host has no IPv6";
  for (const char* const host : {"::1", "localhost", "127.0.0.1"}) {
    SCOPED_TRACE(host);
    const auto ends = two_at(host);
    EXPECT_EQ(ends[0]->size(), 2);
    EXPECT_FALSE(ends[0]->has_ended(1));
  }
}

TEST(TcpFaults, AnAddressOfIpv6IsToldFromItsPort) {
  distributed::tcp_meeting meeting;
  meeting.host = "::1";
  meeting.port = free_port();
  meeting.wait_seconds = 0.1;
  const std::string said = message_of(error_code::device_failure, [&] { distributed::tcp_transport(1, 2, meeting); });
  EXPECT_TRUE(said.starts_with("tcp_transport: [::1]:" + std::to_string(meeting.port) + ": ")) << said;
}

// Each process is in its next meeting as soon as it has left the one before.
TEST(TcpFaults, MeetingsFollowOneAnotherAtOnePort) {
  distributed::tcp_meeting meeting;
  meeting.port = free_port();
  meeting.wait_seconds = 20;
  const auto meet = [&](int rank) {
    for (int turn = 0; turn < 100; ++turn) ASSERT_EQ(distributed::tcp_transport(rank, 3, meeting)->rank(), rank);
  };
  std::thread first(meet, 0);
  std::thread last(meet, 2);
  meet(1);
  first.join();
  last.join();
}

}  // namespace
}  // namespace sheaf::tests::distributed_tcp_faults_test
