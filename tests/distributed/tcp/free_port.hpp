#pragma once

#include <unistd.h>

#include "distributed/tcp/socket.hpp"

namespace sheaf::tests {

/// A port at which nobody listens now.
inline std::uint16_t free_port() { return distributed::tcp_socket::listening(0).port(); }

}  // namespace sheaf::tests
