#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// Zip archives, as numpy.savez writes them (.npz), by their central directory.
namespace sheaf::io {

/// The bytes of an archive. They are untrusted.
struct zip_bytes {
  std::uint64_t size = 0;
  /// Copies bytes that lie inside `size`.
  std::function<void(std::uint64_t offset, void* to, std::uint64_t bytes)> read;
  std::string origin;  ///< name of the file, for messages
};

/// What the central directory says of a member.
struct zip_member {
  std::string name;
  std::uint64_t header_offset = 0;
  std::uint64_t stored_bytes = 0;  ///< as they lie in the archive
  std::uint64_t bytes = 0;         ///< of the member itself
  std::uint32_t checksum = 0;      ///< CRC-32
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
};

/// Whether a file that begins with these bytes is a zip archive.
bool starts_as_zip(const std::byte* front, std::size_t bytes) noexcept;
constexpr std::size_t zip_magic_bytes = 4;

/// Reads the central directory of an archive of one part, with 64-bit sizes where it has them. Every entry lies inside
/// the file, and so do the bytes of every member.
/// @throws error(bad_input) naming origin, byte offset and what is wrong
std::vector<zip_member> read_zip_directory(const zip_bytes& archive);

}  // namespace sheaf::io
