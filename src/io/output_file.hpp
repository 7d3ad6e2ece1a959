#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sheaf::io {

/// Where the bytes are until commit(): without a name, so that even a killed process leaves nothing behind, or, on file
/// systems that cannot do this, under a hidden name beside the output.
enum class temporary_kind : std::uint8_t { unnamed_where_possible, named };

/// A file that appears whole or not at all: bytes go to a temporary file in the same folder, which commit() syncs and
/// renames. Without commit() nothing is left behind and an existing file stays as it was; with it the new file has the
/// old one's permissions. A symbolic link is followed. @throws error(io_failure) naming the file and the system's
/// words.
class output_file {
 public:
  /// Space for `bytes` is reserved at once, so that a full disk is met before any work; 0 reserves none.
  output_file(const std::string& path, std::uint64_t bytes,
              temporary_kind kind = temporary_kind::unnamed_where_possible);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(const void* from, std::uint64_t bytes);
  /// Writes of aligned bytes (io/direct.hpp) go past the system's cache from now on, where they can.
  void bypass_cache() noexcept;
  /// Bytes that were written, once more. Ends bypass_cache().
  void read_at(std::uint64_t offset, void* to, std::uint64_t bytes);
  void commit();
  /// Where the output will lie, links followed.
  std::string folder() const;

 private:
  void open_temporary(temporary_kind kind);
  void reserve();
  void name_temporary();
  void use_cache() noexcept;
  void discard() noexcept;

  std::string path_;       ///< as the caller names it, for messages
  std::string target_;     ///< behind symbolic links
  std::string temporary_;  ///< empty while the file has no name
  std::uint64_t reserved_ = 0;
  std::uint64_t written_ = 0;
  int descriptor_ = -1;
  bool bypasses_cache_ = false;
};

}  // namespace sheaf::io
