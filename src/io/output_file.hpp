#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::io {

/// A file that appears whole or not at all: bytes go to a temporary file in the same folder, which commit() syncs and
/// renames. Without commit() nothing is left behind. @throws error(io_failure) naming the file and the system's words.
class output_file {
 public:
  /// Space for `bytes` is reserved at once, so that a full disk is met before any work; 0 reserves none.
  output_file(const std::string& path, std::uint64_t bytes);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(const void* from, std::uint64_t bytes);
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace sheaf::io
