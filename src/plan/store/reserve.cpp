#include "plan/store/reserve.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace sheaf::io {
namespace {

// Bytes that are free where the file lies; none where the file system has no limit or does not say.
std::optional<std::uint64_t> free_bytes(int descriptor) {
  struct statvfs status {};
  if (fstatvfs(descriptor, &status) != 0 || status.f_blocks == 0) return std::nullopt;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(std::uint64_t{status.f_bavail}, std::uint64_t{status.f_frsize}, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::optional<std::string> reserve(int descriptor, std::uint64_t bytes) {
  if (bytes == 0) return std::nullopt;
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) return std::strerror(EFBIG);
  if (const auto free = free_bytes(descriptor); free && bytes > *free) {
    return fmt::format("{} bytes are wanted, but {} are free", bytes, *free);
  }
  const int reason = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  if (reason != 0 && reason != EOPNOTSUPP && reason != EINVAL) return std::strerror(reason);
  return std::nullopt;
}

}  // namespace sheaf::io
