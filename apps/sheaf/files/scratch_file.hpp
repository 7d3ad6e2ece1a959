#pragma once

#include <string>

#include "plan/store/direct.hpp"

namespace sheaf::io {

/// A temporary file for data that do not fit into memory. It has no name, so that nothing is left of it however the
/// process ends. Transfers bypass the system's cache if asked to and the file system can; offsets, addresses and
/// lengths are multiples of direct_alignment. @throws error(io_failure) with the folder and the system's message.
class scratch_file {
 public:
  /// Reserves space for `bytes` at once, so that a full disk is found before any work; what is free stays free then.
  scratch_file(const std::string& folder, std::uint64_t bytes, cache_use cache = cache_use::bypass);
  ~scratch_file();
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;

  void write_at(std::uint64_t offset, const void* from, std::uint64_t bytes);
  void read_at(std::uint64_t offset, void* to, std::uint64_t bytes);
  /// Frees the space of bytes that will not be read again, if the file system can.
  void release(std::uint64_t offset, std::uint64_t bytes) noexcept;

 private:
  template <class Transfer>
  void transfer(const char* failure, Transfer whole);

  std::string folder_;
  int descriptor_ = -1;
  bool bypasses_cache_ = false;
};

}  // namespace sheaf::io
