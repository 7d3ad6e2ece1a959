#pragma once

#include <limits>

#include "apps/sheaf/files/memory_limit.hpp"
#include "apps/sheaf/files/scratch_file.hpp"
#include "plan/store/input_file.hpp"

namespace sheaf::io {

/// Where the bytes of a deflated member go.
struct unpacking {
  std::uint64_t most_memory_bytes = std::numeric_limits<std::uint64_t>::max();
  std::string folder;  ///< where a file without a name takes those that are more
};

/// The bytes of an array: of a file, or of a member of an archive (.npz), which `file.npz:name` names, with or without
/// its ending .npy, and `file.npz` alone where it has one. A file of that name comes before a member of an archive.
class array_contents {
 public:
  /// Checks the checksum of a member, for which all of it is read. @param path  of an .npy or .npz file, or a member
  /// @throws error(bad_input) naming the file, and members that there are where the one that is named is not
  explicit array_contents(const std::string& path, const unpacking& where = {});
  /// A file of bytes that are not an array. @param option  the option that says so, for messages
  array_contents(const std::string& path, const char* option);

  /// The name for messages: of the file, or file and member.
  const std::string& path() const noexcept { return name_; }
  std::uint64_t size() const noexcept { return size_; }
  /// The bytes in memory or mapped by the first call, which one thread makes. May have any alignment.
  const std::byte* data() const;
  /// Copies bytes that lie inside size().
  void read_at(std::uint64_t offset, void* to, std::uint64_t bytes) const;
  /// Memory that unpacked bytes take, which is not the system's cache.
  std::uint64_t held_bytes() const noexcept { return unpacked_ != nullptr ? size_ : 0; }

 private:
  void open_member(const std::string& member, const unpacking& where);

  input_file file_;
  std::string name_;
  std::uint64_t offset_ = 0;
  std::uint64_t size_ = 0;
  mutable std::unique_ptr<std::byte[]> unpacked_;
  held_memory held_;
  std::unique_ptr<scratch_file> scratch_;
};

/// Before an array that is unpacked or transposed takes memory. @throws error(out_of_memory)
void require_memory_for_copy(const std::string& name, std::uint64_t bytes);

/// Whether a path is that of an array, by its name: it ends in .npy or .npz, or is that of a member. Of a stream, whose
/// name says nothing, by its first bytes.
bool names_array(const std::string& path);
/// The file that a path reads: the path itself, or the archive of a member.
std::string file_behind(const std::string& path);

}  // namespace sheaf::io
