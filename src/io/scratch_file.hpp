#pragma once

#include <cstdint>
#include <string>

namespace sheaf::io {

/// A file for what does not fit into memory. It has no name, so nothing is left of it however the process ends, and it
/// goes past the system's cache where it can: offsets, addresses and lengths are multiples of direct_alignment.
/// @throws error(io_failure) naming the folder and the system's words.
class scratch_file {
 public:
  /// Space for `bytes` is reserved at once, so that a full disk is met before any work.
  scratch_file(const std::string& folder, std::uint64_t bytes);
  ~scratch_file();
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;

  void write_at(std::uint64_t offset, const void* from, std::uint64_t bytes);
  void read_at(std::uint64_t offset, void* to, std::uint64_t bytes);
  /// Gives the space of bytes back that will not be read again, where the file system can do that.
  void release(std::uint64_t offset, std::uint64_t bytes) noexcept;

 private:
  template <class Transfer>
  void transfer(const char* failure, Transfer whole);

  std::string folder_;
  int descriptor_ = -1;
  bool bypasses_cache_ = false;
};

}  // namespace sheaf::io
