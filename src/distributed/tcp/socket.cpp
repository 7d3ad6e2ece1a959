#include "distributed/tcp/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::distributed {
namespace {

constexpr auto pause = std::chrono::milliseconds(1);

[[noreturn]] void fail(const std::string& text) { throw error(error_code::device_failure, "tcp_transport: " + text); }

std::string reason() { return std::strerror(errno); }

void set_up(int descriptor) noexcept {
  const int one = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

bool is_to_wait() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/// Of IPv4 or IPv6, as the name has them.
struct addresses {
  addresses(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    result = getaddrinfo(host.c_str(), fmt::to_string(port).c_str(), &hints, &first);
  }
  addresses(const addresses&) = delete;
  addresses& operator=(const addresses&) = delete;
  ~addresses() {
    if (first != nullptr) freeaddrinfo(first);
  }

  int result = 0;  ///< 0: there are some
  addrinfo* first = nullptr;
};

}  // namespace

tcp_socket::~tcp_socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

namespace {

/// Either end of a connection.
struct end_point {
  using name_of = int (*)(int, sockaddr*, socklen_t*);

  end_point(int descriptor, name_of name) noexcept {
    socklen_t length = sizeof storage;
    if (name(descriptor, generic(), &length) != 0) storage = {};
  }
  sockaddr* generic() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  bool is_narrow() const noexcept { return storage.ss_family == AF_INET; }
  /// The address' bytes; those of IPv4 as IPv6 has them.
  in6_addr bytes() const noexcept {
    in6_addr all{};
    if (!is_narrow()) {
      std::memcpy(&all, &reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr, sizeof all);
      return all;
    }
    all.s6_addr[10] = all.s6_addr[11] = 0xff;
    std::memcpy(all.s6_addr + 12, &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, sizeof(in_addr));
    return all;
  }
  std::uint16_t port() const noexcept {
    return ntohs(is_narrow() ? reinterpret_cast<const sockaddr_in&>(storage).sin_port
                             : reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
  }

  sockaddr_storage storage{};
};

/// Listens on all addresses of a family, of both where it is IPv6; not open where that cannot be, as errno says.
tcp_socket listening_on(int family, std::uint16_t port) {
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  tcp_socket made(descriptor);
  if (!made.is_open()) return made;
  const int one = 1;
  const int zero = 0;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  set_up(descriptor);
  sockaddr_storage address{};
  if (family == AF_INET6) {
    auto& wide = reinterpret_cast<sockaddr_in6&>(address);
    wide.sin6_family = AF_INET6;
    wide.sin6_addr = in6addr_any;
    wide.sin6_port = htons(port);
  } else {
    auto& narrow = reinterpret_cast<sockaddr_in&>(address);
    narrow.sin_family = AF_INET;
    narrow.sin_addr.s_addr = htonl(INADDR_ANY);
    narrow.sin_port = htons(port);
  }
  const socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), length) == 0 && listen(descriptor, SOMAXCONN) == 0)
    return made;
  const int why = errno;
  made = {};
  errno = why;
  return made;
}

}  // namespace

tcp_socket tcp_socket::listening(std::uint16_t port) {
  tcp_socket made = listening_on(AF_INET6, port);
  // Hosts may have no IPv6; a port that is taken is so for both.
  if (!made.is_open() && errno != EADDRINUSE) made = listening_on(AF_INET, port);
  if (!made.is_open()) fail(fmt::format("port {}: {}", port, reason()));
  return made;
}

namespace {

/// 0: connected; else why not. Where nothing answers, as behind a filter, it is over in two seconds, which is also when
/// a lost packet has been sent again: other addresses have their turn.
int connect_within(int descriptor, const addrinfo& to, const deadline& until) {
  const deadline turn(2);
  if (connect(descriptor, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  for (;;) {
    constexpr int milliseconds = 20;
    pollfd waits{descriptor, POLLOUT, 0};
    if (poll(&waits, 1, milliseconds) > 0) {
      int result = 0;
      socklen_t length = sizeof result;
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &result, &length);
      return result;
    }
    if (turn.is_over() || until.is_over()) return ETIMEDOUT;
  }
}

/// Those of IPv4 come first: a rank is told to others by the address from which it came here, and of a job's hosts more
/// reach each other by IPv4.
std::vector<const addrinfo*> in_order(const addrinfo* first) {
  std::vector<const addrinfo*> all;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) all.push_back(at);
  std::stable_partition(all.begin(), all.end(), [](const addrinfo* at) { return at->ai_family == AF_INET; });
  return all;
}

}  // namespace

tcp_socket tcp_socket::connected(const std::string& host, std::uint16_t port, const deadline& until) {
  for (std::string why;; std::this_thread::sleep_for(pause)) {
    // A name may come to be known while others start.
    const addresses to(host, port);
    if (to.result != 0) why = gai_strerror(to.result);
    for (const addrinfo* const at : in_order(to.first)) {
      tcp_socket made(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (!made.is_open()) {
        if (errno != EAFNOSUPPORT) fail("no socket: " + reason());
        why = reason();
        continue;
      }
      set_up(made.descriptor_);
      const int result = connect_within(made.descriptor_, *at, until);
      // Where nobody listens, a port that the system gives out may meet itself.
      if (result == 0 && !made.has_met_itself()) return made;
      why = std::strerror(result != 0 ? result : ECONNREFUSED);
    }
    const bool is_wide = host.find(':') != host.npos;
    if (until.is_over()) fail(fmt::format("{}{}{}:{}: {}", is_wide ? "[" : "", host, is_wide ? "]" : "", port, why));
  }
}

tcp_socket tcp_socket::accepted() const noexcept {
  tcp_socket came(accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
  if (came.is_open()) set_up(came.descriptor_);
  return came;
}

bool tcp_socket::has_met_itself() const noexcept {
  const end_point own(descriptor_, getsockname);
  const end_point other(descriptor_, getpeername);
  const in6_addr here = own.bytes();
  const in6_addr there = other.bytes();
  return own.port() == other.port() && std::memcmp(&here, &there, sizeof here) == 0;
}

std::uint16_t tcp_socket::port() const noexcept { return end_point(descriptor_, getsockname).port(); }

std::string tcp_socket::peer_address() const {
  const in6_addr address = end_point(descriptor_, getpeername).bytes();
  std::array<char, INET6_ADDRSTRLEN> text{};
  // Who comes by IPv4 to a socket of both is told apart by a prefix that other hosts need not understand.
  IN6_IS_ADDR_V4MAPPED(&address) ? inet_ntop(AF_INET, address.s6_addr + 12, text.data(), text.size())
                                 : inet_ntop(AF_INET6, &address, text.data(), text.size());
  return text.data();
}

bool tcp_socket::is_from_this_host() const noexcept {
  const in6_addr here = end_point(descriptor_, getsockname).bytes();
  const in6_addr there = end_point(descriptor_, getpeername).bytes();
  const bool is_loopback =
      IN6_IS_ADDR_V4MAPPED(&there) ? there.s6_addr[12] == IN_LOOPBACKNET : IN6_IS_ADDR_LOOPBACK(&there);
  return is_loopback || std::memcmp(&here, &there, sizeof here) == 0;
}

bool is_link_local(const std::string& address) noexcept {
  in6_addr bytes{};
  return inet_pton(AF_INET6, address.c_str(), &bytes) == 1 && IN6_IS_ADDR_LINKLOCAL(&bytes);
}

std::int64_t tcp_socket::send(const void* data, std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  const auto sent = ::send(descriptor_, data, std::min(bytes, most), MSG_NOSIGNAL);
  return sent >= 0 ? sent : is_to_wait() ? 0 : -1;
}

std::int64_t tcp_socket::receive(void* data, std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  const auto got = recv(descriptor_, data, std::min(bytes, most), 0);
  if (got == 0) return -1;
  return got > 0 ? got : is_to_wait() ? 0 : -1;
}

void tcp_socket::send_all(const void* data, std::uint64_t bytes, const deadline& until, const std::string& with) const {
  for (std::uint64_t sent = 0; sent < bytes;) {
    const std::int64_t more = send(static_cast<const std::byte*>(data) + sent, bytes - sent);
    if (more < 0) fail(with + " has ended the connection");
    if (more == 0 && until.is_over()) fail(with + " is late");
    if (more == 0) std::this_thread::sleep_for(pause);
    sent += static_cast<std::uint64_t>(more);
  }
}

void tcp_socket::receive_all(void* data, std::uint64_t bytes, const deadline& until, const std::string& with) const {
  for (std::uint64_t got = 0; got < bytes;) {
    const std::int64_t more = receive(static_cast<std::byte*>(data) + got, bytes - got);
    if (more < 0) fail(with + " has ended the connection");
    if (more == 0 && until.is_over()) fail(with + " is late");
    if (more == 0) std::this_thread::sleep_for(pause);
    got += static_cast<std::uint64_t>(more);
  }
}

}  // namespace sheaf::distributed
