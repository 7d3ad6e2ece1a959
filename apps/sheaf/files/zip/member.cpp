#include "apps/sheaf/files/zip/member.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/zip/numbers.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

constexpr std::uint32_t member_magic = 0x04034b50;
constexpr std::uint64_t header_bytes = 30;
constexpr std::uint16_t stored = 0;
constexpr std::uint16_t deflated = 8;
constexpr std::uint16_t encrypted_flags = 0x2041;  // of the member, strongly, or of the directory
constexpr std::uint64_t most_inflation = 1032;     // 258 bytes of two codes of one bit each
constexpr std::uint64_t piece_bytes = std::uint64_t{256} << 10;
constexpr int window_bits_without_frame = -15;

template <class... Args>
[[noreturn]] void fail(const zip_bytes& archive, const zip_member& member, fmt::format_string<Args...> format,
                       Args&&... args) {
  throw error(error_code::bad_input, fmt::format("{}:{}: {}", archive.origin, core::printable(member.name),
                                                 fmt::format(format, std::forward<Args>(args)...)));
}

std::string_view name_of(std::uint16_t method) {
  switch (method) {
    case 9: return " (deflate64)";
    case 12: return " (bzip2)";
    case 14: return " (LZMA)";
    case 93: return " (Zstandard)";
    case 95: return " (xz)";
    default: return "";
  }
}

void require_readable(const zip_bytes& archive, const zip_member& member) {
  if ((member.flags & encrypted_flags) != 0) fail(archive, member, "is encrypted, and only others can be read");
  if (member.method != stored && member.method != deflated) {
    fail(archive, member,
         "is compressed by method {}{}; stored and deflated members are read, as numpy.savez and "
         "numpy.savez_compressed write them",
         member.method, name_of(member.method));
  }
  if (member.method == stored && member.stored_bytes != member.bytes) {
    fail(archive, member, "is stored, and said to be {} bytes of {}", member.bytes, member.stored_bytes);
  }
  if (member.method == deflated && member.bytes / most_inflation > member.stored_bytes) {
    fail(archive, member, "{} bytes are announced, more than {} deflated ones can make", member.bytes,
         member.stored_bytes);
  }
}

void require_checksum(const zip_bytes& archive, const zip_member& member, std::uint32_t found) {
  if (found == member.checksum) return;
  fail(archive, member, "the checksum of its bytes is {:08x}, not {:08x}: the file is damaged", found, member.checksum);
}

std::uint32_t extended(std::uint32_t checksum, std::span<const std::byte> by) {
  return static_cast<std::uint32_t>(crc32_z(checksum, reinterpret_cast<const Bytef*>(by.data()), by.size()));
}

/// A stream of zlib over the bytes of a member.
class inflater {
 public:
  inflater(const zip_bytes& archive, const zip_member& member, std::uint64_t offset)
      : archive_(archive), member_(member), offset_(offset), in_(std::min(piece_bytes, member.stored_bytes)) {
    if (inflateInit2(&stream_, window_bits_without_frame) != Z_OK) fail_for_memory();
  }
  ~inflater() { inflateEnd(&stream_); }
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;

  /// Inflates up to `room` bytes, and returns how many these are: fewer only at the end.
  std::uint64_t read(std::byte* to, std::uint64_t room) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    while (!done_ && stream_.avail_out > 0) {
      if (stream_.avail_in == 0) refill();
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_MEM_ERROR) fail_for_memory();
      done_ = status == Z_STREAM_END;
      if (status == Z_BUF_ERROR && stream_.avail_in == 0 && taken_ == member_.stored_bytes) {
        fail(archive_, member_, "the deflated data end early");
      }
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        fail(archive_, member_, "the deflated data are damaged at byte {}: {}", offset_ + taken_ - stream_.avail_in,
             stream_.msg == nullptr ? "no reason given" : stream_.msg);
      }
    }
    return room - stream_.avail_out;
  }
  std::uint64_t unread_bytes() const { return member_.stored_bytes - taken_ + stream_.avail_in; }

 private:
  void refill() {
    const std::uint64_t bytes = std::min<std::uint64_t>(in_.size(), member_.stored_bytes - taken_);
    if (bytes == 0) return;
    archive_.read(offset_ + taken_, in_.data(), bytes);
    taken_ += bytes;
    stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
    stream_.avail_in = static_cast<uInt>(bytes);
  }
  [[noreturn]] void fail_for_memory() const {
    throw error(error_code::out_of_memory, fmt::format("{}: no memory to inflate it", archive_.origin));
  }

  const zip_bytes& archive_;
  const zip_member& member_;
  std::uint64_t offset_;
  std::uint64_t taken_ = 0;
  std::vector<std::byte> in_;
  z_stream stream_{};
  bool done_ = false;
};

}  // namespace

bool is_stored(const zip_member& member) noexcept { return member.method == stored; }

std::uint64_t find_member(const zip_bytes& archive, const zip_member& member) {
  require_readable(archive, member);
  std::array<std::byte, header_bytes> header{};
  archive.read(member.header_offset, header.data(), header.size());
  if (u32_at(header, 0) != member_magic) {
    fail(archive, member, "no member begins at byte {}, where it is said to", member.header_offset);
  }
  const std::uint64_t name_bytes = u16_at(header, 26);
  const std::uint64_t before = header_bytes + name_bytes + u16_at(header, 28);
  // The bytes and the header together lie inside the file: the directory has been checked for the smallest header.
  const std::uint64_t room = archive.size - member.header_offset;
  if (before > room || member.stored_bytes > room - before) {
    fail(archive, member, "{} bytes behind the header at byte {} reach past the end of the file", member.stored_bytes,
         member.header_offset);
  }
  std::string name(name_bytes, '\0');
  archive.read(member.header_offset + header_bytes, name.data(), name.size());
  if (name != member.name) {
    fail(archive, member, "is called {} at byte {}", core::printable(name), member.header_offset);
  }
  return member.header_offset + before;
}

void check_stored(const zip_bytes& archive, const zip_member& member, std::uint64_t offset) {
  std::vector<std::byte> piece(std::min(piece_bytes, member.bytes));
  std::uint32_t checksum = 0;
  for (std::uint64_t done = 0; done < member.bytes;) {
    const std::uint64_t bytes = std::min<std::uint64_t>(piece.size(), member.bytes - done);
    archive.read(offset + done, piece.data(), bytes);
    checksum = extended(checksum, std::span(piece).first(bytes));
    done += bytes;
  }
  require_checksum(archive, member, checksum);
}

void inflate_member(const zip_bytes& archive, const zip_member& member, std::uint64_t offset,
                    const std::function<void(std::span<const std::byte>)>& take) {
  inflater data(archive, member, offset);
  std::vector<std::byte> piece(piece_bytes);
  std::uint64_t made = 0;
  std::uint32_t checksum = 0;
  for (;;) {
    const std::uint64_t bytes = data.read(piece.data(), piece.size());
    if (bytes > member.bytes - made)
      fail(archive, member, "inflates to more than the {} bytes announced", member.bytes);
    const auto found = std::span<const std::byte>(piece).first(bytes);
    checksum = extended(checksum, found);
    made += bytes;
    if (bytes > 0) take(found);
    if (bytes < piece.size()) break;
  }
  if (made < member.bytes) fail(archive, member, "inflates to {} bytes, and {} are announced", made, member.bytes);
  if (data.unread_bytes() > 0) fail(archive, member, "{} bytes follow its deflated data", data.unread_bytes());
  require_checksum(archive, member, checksum);
}

}  // namespace sheaf::io
