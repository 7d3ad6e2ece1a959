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

struct addresses {
  addresses(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
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

tcp_socket tcp_socket::listening(std::uint16_t port) {
  tcp_socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made.is_open()) fail("no socket: " + reason());
  const int one = 1;
  setsockopt(made.descriptor_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  set_up(made.descriptor_);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  if (bind(made.descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(made.descriptor_, SOMAXCONN) != 0)
    fail(fmt::format("port {}: {}", port, reason()));
  return made;
}

namespace {

/// 0: connected; else why not.
int connect_within(int descriptor, const addrinfo& to, const deadline& until) {
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
    if (until.is_over()) return ETIMEDOUT;
  }
}

}  // namespace

tcp_socket tcp_socket::connected(const std::string& host, std::uint16_t port, const deadline& until) {
  for (std::string why;; std::this_thread::sleep_for(pause)) {
    // A name may come to be known while others start.
    const addresses to(host, port);
    if (to.result != 0) why = gai_strerror(to.result);
    for (const addrinfo* at = to.first; at != nullptr; at = at->ai_next) {
      tcp_socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (!made.is_open()) fail("no socket: " + reason());
      set_up(made.descriptor_);
      const int result = connect_within(made.descriptor_, *at, until);
      // Where nobody listens, a port that the system gives out may meet itself.
      if (result == 0 && !made.has_met_itself()) return made;
      why = std::strerror(result != 0 ? result : ECONNREFUSED);
    }
    if (until.is_over()) fail(fmt::format("{}:{}: {}", host, port, why));
  }
}

tcp_socket tcp_socket::accepted() const noexcept {
  tcp_socket came(accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
  if (came.is_open()) set_up(came.descriptor_);
  return came;
}

bool tcp_socket::has_met_itself() const noexcept {
  sockaddr_in own{};
  sockaddr_in other{};
  socklen_t length = sizeof own;
  getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &length);
  length = sizeof other;
  getpeername(descriptor_, reinterpret_cast<sockaddr*>(&other), &length);
  return own.sin_port == other.sin_port && own.sin_addr.s_addr == other.sin_addr.s_addr;
}

std::uint16_t tcp_socket::port() const noexcept {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

std::string tcp_socket::peer_address() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return text.data();
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
