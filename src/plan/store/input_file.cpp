#include "plan/store/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "plan/store/whole_transfer.hpp"

namespace sheaf::io {
namespace {

[[noreturn]] void fail_reading(const std::string& path, const char* what, int reason) {
  throw error(error_code::bad_input, fmt::format("{}: {}: {}", path, what, std::strerror(reason)));
}

}  // namespace

input_file::input_file(const std::string& path) : path_(path) {
  // Without O_NONBLOCK a named pipe would wait for its writer.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) fail_reading(path, "cannot be opened", errno);
  examine();
}

input_file::input_file(int descriptor, std::string name) : path_(std::move(name)), descriptor_(descriptor) {
  examine();
}

void input_file::examine() {
  struct stat status {};
  const int reason = fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (reason == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  close(std::exchange(descriptor_, -1));  // no destructor follows a constructor that throws
  if (reason != 0) fail_reading(path_, "cannot be examined", reason);
  throw error(error_code::bad_input, fmt::format("{}: not a regular file", path_));
}

input_file::input_file(input_file&& other) noexcept
    : path_(std::move(other.path_)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      mapping_(std::move(other.mapping_)) {}

input_file::~input_file() {
  if (descriptor_ >= 0) close(descriptor_);
}

const std::byte* input_file::data() const {
  if (size_ == 0) return nullptr;
  if (mapping_ == nullptr) mapping_ = std::make_unique<file_mapping>(path_, descriptor_, size_);
  return mapping_->data();
}

void input_file::read_at(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  if (read_whole(descriptor_, offset, to, bytes)) return;
  if (errno != 0) fail_reading(path_, "cannot be read", errno);
  throw error(error_code::bad_input, fmt::format("{}: was cut short while it was read", path_));
}

}  // namespace sheaf::io
