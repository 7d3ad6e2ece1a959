#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sheaf/distributed/group.hpp>

namespace sheaf::distributed {

/// Where the processes of a job meet, the same on all of them.
struct tcp_meeting {
  std::string host = "127.0.0.1";  ///< name of rank 0's host, or its address, of IPv4 or IPv6; IPv4 is tried first
  std::uint16_t port = 0;          ///< at which rank 0 listens until all have come
  std::uint64_t key = 0;           ///< told by all; others are turned away. It keeps jobs apart, and is no protection.
  double wait_seconds = 120;       ///< most seconds until all have come; 0: without end
};

/// The transport of processes that TCP connects, each with each: where no MPI starts them, and as the control transport
/// of GPUs. It carries bytes as they are, for hosts of one byte order in a network that is trusted. Collective over the
/// processes. A process that ends is noticed by whoever waits for it, and named; so is one that leaves several thousand
/// notes unread, for which no more memory is taken.
/// Ranks find each other at the addresses from which they came to rank 0, and those on its host where they meet. So
/// these addresses have to hold on all hosts: behind a translation of addresses, or where rank 0 is met by another
/// network than others can use, ranks do not find each other. Link-local addresses of IPv6 do for two ranks alone.
/// @param rank, size  of this process, and how many there are
/// @throws error(bad_argument) if rank is not below size, there are more than 65,534, port is 0, wait_seconds is below
/// 0, or a rank comes twice; error(device_failure) that names a rank that has not come in time, or has come from a
/// link-local address, or what did not connect
SHEAF_API std::shared_ptr<transport> tcp_transport(int rank, int size, const tcp_meeting& meeting);

}  // namespace sheaf::distributed
