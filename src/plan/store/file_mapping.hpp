#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::io {

/// The bytes of an open file, mapped for reading.
class file_mapping {
 public:
  /// @throws error(out_of_memory) naming the file if memory or the address space that the process may use is too small;
  /// error(bad_input) if the file system cannot map files.
  file_mapping(const std::string& path, int descriptor, std::uint64_t size);
  ~file_mapping();
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;

  const std::byte* data() const noexcept { return data_; }
  bool holds(const void* address) const noexcept;
  const char* path() const noexcept { return path_.c_str(); }

 private:
  std::string path_;
  const std::byte* data_;
  std::uint64_t size_;
};

/// The path of the mapped file that the address lies in, or null. A handler of SIGBUS may call this: the signal means
/// that a file was cut short after it was mapped.
const char* path_of_mapped(const void* address) noexcept;

}  // namespace sheaf::io
