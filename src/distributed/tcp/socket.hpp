#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace sheaf::distributed {

/// A point in time until which something may take; without end where it has 0 seconds.
class deadline {
 public:
  /// @param seconds  0 or more; more than some thirty years are without end, too
  explicit deadline(double seconds)
      : has_end_(seconds > 0 && seconds < most),
        end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<duration>(std::chrono::duration<double>(has_end_ ? seconds : 0))) {}
  bool is_over() const noexcept { return has_end_ && std::chrono::steady_clock::now() > end_; }

 private:
  using duration = std::chrono::steady_clock::duration;
  static constexpr double most = 1e9;
  bool has_end_;
  std::chrono::steady_clock::time_point end_;
};

/// A socket of TCP, which does not block.
class tcp_socket {
 public:
  tcp_socket() = default;
  explicit tcp_socket(int descriptor) noexcept : descriptor_(descriptor) {}
  tcp_socket(tcp_socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  tcp_socket& operator=(tcp_socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~tcp_socket();

  /// Listens on all addresses, of IPv4 and, where the host has it, of IPv6. @param port  0: any. @throws
  /// error(device_failure)
  static tcp_socket listening(std::uint16_t port);
  /// Asks again until somebody listens there: all addresses of the host in turn, two seconds at most each. @throws
  /// error(device_failure) at the deadline
  static tcp_socket connected(const std::string& host, std::uint16_t port, const deadline& until);
  /// Somebody who came; not open where nobody has.
  tcp_socket accepted() const noexcept;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  bool has_met_itself() const noexcept;
  std::uint16_t port() const noexcept;
  /// Without the zone of a link-local address, which counts on this host alone.
  std::string peer_address() const;
  /// Whether the other end is on this host: at a loopback address, or at the one that this end has.
  bool is_from_this_host() const noexcept;

  /// Bytes that went, 0 to `bytes`. Below 0: the connection has ended.
  std::int64_t send(const void* data, std::uint64_t bytes) const noexcept;
  std::int64_t receive(void* data, std::uint64_t bytes) const noexcept;
  /// All bytes. @throws error(device_failure) at the deadline, or where the connection ends; `with` says with whom
  void send_all(const void* data, std::uint64_t bytes, const deadline& until, const std::string& with) const;
  void receive_all(void* data, std::uint64_t bytes, const deadline& until, const std::string& with) const;

 private:
  int descriptor_ = -1;
};

/// Whether an address is one of IPv6 that hosts of one link use alone, each with a zone of its own.
bool is_link_local(const std::string& address) noexcept;

}  // namespace sheaf::distributed
