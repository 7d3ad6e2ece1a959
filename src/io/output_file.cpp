#include "io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::io {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int reason) {
  throw error(error_code::io_failure, fmt::format("{}: {}: {}", path, what, std::strerror(reason)));
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

output_file::output_file(const std::string& path, std::uint64_t bytes)
    : path_(path), temporary_(path + ".XXXXXX") {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw error(error_code::io_failure, fmt::format("{}: cannot be replaced: not a regular file", path));
  }
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail(path_, "cannot be created", errno);
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor_, 0666 & ~mask);
  if (bytes == 0) return;
  const int reason = posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  if (reason != 0 && reason != EOPNOTSUPP && reason != EINVAL) {
    close(descriptor_);
    unlink(temporary_.c_str());
    fail(path_, "cannot be written", reason);
  }
}

output_file::~output_file() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void output_file::write(const void* from, std::uint64_t bytes) {
  const auto* next = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, next, std::min<std::uint64_t>(bytes, 1 << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, "cannot be written", errno);
    next += written;
    bytes -= static_cast<std::uint64_t>(written);
  }
}

void output_file::commit() {
  if (fsync(descriptor_) != 0) fail(path_, "cannot be synced", errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be replaced", errno);
  close(descriptor_);
  descriptor_ = -1;
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);  // makes the new name last; the bytes are safe already
    close(folder);
  }
}

}  // namespace sheaf::io
