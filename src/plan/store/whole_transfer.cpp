#include "plan/store/whole_transfer.hpp"

#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sheaf::io {
namespace {

constexpr std::uint64_t most_at_once = std::uint64_t{1} << 30;  // below the 2 GiB that one system call moves at most

template <class Byte, class Transfer>
bool all(std::uint64_t offset, Byte* bytes, std::uint64_t count, Transfer transfer) noexcept {
  while (count > 0) {
    errno = 0;
    const ssize_t moved = transfer(bytes, std::min(count, most_at_once), static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes += moved;
    offset += static_cast<std::uint64_t>(moved);
    count -= static_cast<std::uint64_t>(moved);
  }
  return true;
}

// Whether a call of a stream is to be made again, if need be once the stream is ready.
bool may_try_again(int descriptor, short event) noexcept {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd ready{descriptor, event, 0};
  poll(&ready, 1, -1);
  return true;
}

}  // namespace

bool read_whole(int descriptor, std::uint64_t offset, void* to, std::uint64_t bytes) noexcept {
  return all(offset, static_cast<char*>(to), bytes,
             [&](char* place, std::uint64_t count, off_t at) { return pread(descriptor, place, count, at); });
}

bool write_whole(int descriptor, std::uint64_t offset, const void* from, std::uint64_t bytes) noexcept {
  return all(offset, static_cast<const char*>(from), bytes,
             [&](const char* place, std::uint64_t count, off_t at) { return pwrite(descriptor, place, count, at); });
}

ssize_t read_stream(int descriptor, void* to, std::uint64_t bytes) noexcept {
  for (;;) {
    const ssize_t moved = read(descriptor, to, std::min(bytes, most_at_once));
    if (moved >= 0 || !may_try_again(descriptor, POLLIN)) return moved;
  }
}

bool write_stream(int descriptor, const void* from, std::uint64_t bytes) noexcept {
  const auto* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t moved = write(descriptor, next, std::min(bytes, most_at_once));
    if (moved < 0 && !may_try_again(descriptor, POLLOUT)) return false;
    if (moved <= 0) continue;
    next += moved;
    bytes -= static_cast<std::uint64_t>(moved);
  }
  return true;
}

}  // namespace sheaf::io
