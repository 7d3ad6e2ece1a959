#pragma once

#include <cstdint>
#include <fstream>
#include <random>

#include <sheaf/error.hpp>

#include "distributed/tcp/socket.hpp"

namespace sheaf::tests {

/// A port at which nobody listens now. It is none of those that the kernel hands out, so it stays free: a test beside
/// this one that asks for any port, or connects, takes none that was looked at here.
inline std::uint16_t free_port() {
  constexpr std::uint32_t first = 10'000;
  std::uint32_t handed_out = 32'768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> handed_out;
  if (handed_out > first && handed_out <= 65'536) {
    std::random_device any;
    std::uniform_int_distribution<std::uint32_t> port(first, handed_out - 1);
    for (int tries = 0; tries < 100; ++tries) {
      try {
        return distributed::tcp_socket::listening(static_cast<std::uint16_t>(port(any))).port();
      } catch (const error&) {
        // Somebody listens there.
      }
    }
  }
  return distributed::tcp_socket::listening(0).port();
}

}  // namespace sheaf::tests
