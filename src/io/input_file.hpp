#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::io {

/// A file that is mapped for reading. Its bytes are untrusted. @throws error(bad_input) naming the file.
///
/// Pages of the mapping that are touched count as memory of the process; read_at() touches none.
class input_file {
 public:
  explicit input_file(const std::string& path);
  ~input_file();
  input_file(input_file&& other) noexcept;
  input_file& operator=(input_file&&) = delete;

  const std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  const std::string& path() const noexcept { return path_; }
  /// Copies bytes that lie inside size(). @throws error(bad_input) if the file has become shorter since it was opened.
  void read_at(std::uint64_t offset, void* to, std::uint64_t bytes) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace sheaf::io
