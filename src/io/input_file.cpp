#include "io/input_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::io {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw error(error_code::bad_input, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

input_file::input_file(const std::string& path) : path_(path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "cannot be opened");
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    close(descriptor);
    if (!known) fail(path, "cannot be looked at");
    throw error(error_code::bad_input, fmt::format("{}: not a regular file", path));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  void* mapped = size_ == 0 ? nullptr : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (mapped == MAP_FAILED) {
    size_ = 0;
    fail(path, "cannot be mapped");
  }
  data_ = static_cast<const std::byte*>(mapped);
}

input_file::input_file(input_file&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

input_file::~input_file() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace sheaf::io
