#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
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

/// Whether the member's bytes lie in the archive as they are.
bool is_stored(const zip_member& member) noexcept;

/// Where the bytes of a member begin, behind a header of its own, which has to agree with the directory.
/// @throws error(bad_input) for a header that does not, an encrypted member, one that is neither stored nor deflated,
/// and sizes that the method cannot make of the bytes that are there
std::uint64_t find_member(const zip_bytes& archive, const zip_member& member);

/// Reads a stored member once. @param offset  where it begins
/// @throws error(bad_input) if its checksum is wrong
void check_stored(const zip_bytes& archive, const zip_member& member, std::uint64_t offset);

/// Inflates a deflated member, and calls `take` with its bytes in order, a piece at a time. No piece goes past the
/// bytes that the directory announces. @param offset  where it begins
/// @throws error(bad_input) for data that are damaged, or make more bytes or fewer, or whose checksum is wrong
void inflate_member(const zip_bytes& archive, const zip_member& member, std::uint64_t offset,
                    const std::function<void(std::span<const std::byte>)>& take);

}  // namespace sheaf::io
