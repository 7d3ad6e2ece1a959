#include "apps/sheaf/files/scratch_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "apps/sheaf/files/failure.hpp"
#include "plan/store/direct.hpp"
#include "plan/store/reserve.hpp"
#include "plan/store/unnamed_file.hpp"
#include "plan/store/whole_transfer.hpp"

namespace sheaf::io {
namespace {

[[noreturn]] void fail(const std::string& folder, const char* what, const std::string& reason) {
  throw_error(error_code::io_failure, "{}: a temporary file there {}: {}", folder, what, reason);
}
[[noreturn]] void fail(const std::string& folder, const char* what, int reason) {
  fail(folder, what, std::string(std::strerror(reason)));
}

}  // namespace

scratch_file::scratch_file(const std::string& folder, std::uint64_t bytes, cache_use cache)
    : folder_(folder), descriptor_(open_without_name(folder)) {
  if (descriptor_ < 0) fail(folder_, "cannot be created", errno);
  if (const auto reason = reserve(descriptor_, bytes)) {
    close(descriptor_);
    fail(folder_, "cannot be written", *reason);
  }
  if (cache == cache_use::bypass) bypasses_cache_ = bypass_cache(descriptor_);
}

scratch_file::~scratch_file() { close(descriptor_); }

// Some file systems accept that transfers bypass the cache, and then refuse the transfer.
template <class Transfer>
void scratch_file::transfer(const char* failure, Transfer whole) {
  if (whole()) return;
  if (bypasses_cache_ && errno == EINVAL) {
    use_cache(descriptor_);
    bypasses_cache_ = false;
    if (whole()) return;
  }
  fail(folder_, failure, errno);
}

void scratch_file::write_at(std::uint64_t offset, const void* from, std::uint64_t bytes) {
  transfer("cannot be written", [&] { return write_whole(descriptor_, offset, from, bytes); });
}

void scratch_file::read_at(std::uint64_t offset, void* to, std::uint64_t bytes) {
  transfer("cannot be read", [&] { return read_whole(descriptor_, offset, to, bytes); });
}

void scratch_file::release(std::uint64_t offset, std::uint64_t bytes) noexcept {
#if defined(FALLOC_FL_PUNCH_HOLE)
  static_cast<void>(fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                              static_cast<off_t>(bytes)));
#else
  static_cast<void>(offset);
  static_cast<void>(bytes);
#endif
}

}  // namespace sheaf::io
