#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::io {

/// A file, mapped to be read. Its bytes are untrusted. @throws error(bad_input) naming the file.
class input_file {
 public:
  explicit input_file(const std::string& path);
  ~input_file();
  input_file(input_file&& other) noexcept;
  input_file& operator=(input_file&&) = delete;

  const std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace sheaf::io
