#pragma once

#include <memory>

#include "plan/store/file_mapping.hpp"

namespace sheaf::io {

/// A file that is open for reading. Its bytes are untrusted. @throws error(bad_input) naming the file.
class input_file {
 public:
  explicit input_file(const std::string& path);
  /// A regular file that is open already, which this object closes. @param name  for messages
  input_file(int descriptor, std::string name);
  ~input_file();
  input_file(input_file&& other) noexcept;
  input_file& operator=(input_file&&) = delete;

  /// The bytes, mapped by the first call, which one thread makes. The mapping counts as address space of the process,
  /// and pages of it that are touched as memory; read_at() needs neither. @throws error(out_of_memory) naming the file
  const std::byte* data() const;
  std::uint64_t size() const noexcept { return size_; }
  const std::string& path() const noexcept { return path_; }
  /// Copies bytes that lie inside size(). @throws error(bad_input) if the file has become shorter since it was opened.
  void read_at(std::uint64_t offset, void* to, std::uint64_t bytes) const;

 private:
  void examine();

  std::string path_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
  mutable std::unique_ptr<file_mapping> mapping_;
};

}  // namespace sheaf::io
