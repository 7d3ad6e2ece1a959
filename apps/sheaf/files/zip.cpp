#include "apps/sheaf/files/zip.hpp"

#include <algorithm>
#include <array>

#include <zlib.h>

#include "apps/sheaf/files/failure.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

constexpr std::uint32_t member_magic = 0x04034b50;
constexpr std::uint32_t entry_magic = 0x02014b50;
constexpr std::uint32_t end_magic = 0x06054b50;
constexpr std::uint32_t wide_end_magic = 0x06064b50;
constexpr std::uint32_t wide_locator_magic = 0x07064b50;
constexpr std::uint64_t entry_bytes = 46;
constexpr std::uint64_t end_bytes = 22;
constexpr std::uint64_t wide_end_bytes = 56;
constexpr std::uint64_t wide_locator_bytes = 20;
constexpr std::uint64_t most_comment_bytes = 0xffff;
constexpr std::uint64_t least_member_bytes = 30;  // of its own header
constexpr std::uint16_t wide_sizes_extra = 1;
/// Of the directory: some hundred thousand members.
constexpr std::uint64_t most_directory_bytes = std::uint64_t{64} << 20;

constexpr std::uint16_t stored = 0;
constexpr std::uint16_t deflated = 8;
constexpr std::uint16_t encrypted_flags = 0x2041;  // of the member, strongly, or of the directory
constexpr std::uint64_t most_inflation = 1032;     // 258 bytes of two codes of one bit each
constexpr std::uint64_t piece_bytes = std::uint64_t{256} << 10;
constexpr int window_bits_without_frame = -15;

// Little-endian numbers at any byte of an archive's records.

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::uint64_t at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number | std::to_integer<Number>(bytes[at + i]) << (8 * i));
  }
  return number;
}

inline std::uint16_t u16_at(std::span<const std::byte> bytes, std::uint64_t at) {
  return number_at<std::uint16_t>(bytes, at);
}
inline std::uint32_t u32_at(std::span<const std::byte> bytes, std::uint64_t at) {
  return number_at<std::uint32_t>(bytes, at);
}
inline std::uint64_t u64_at(std::span<const std::byte> bytes, std::uint64_t at) {
  return number_at<std::uint64_t>(bytes, at);
}

template <class... Args>
[[noreturn]] void fail(const zip_bytes& archive, std::uint64_t offset, fmt::format_string<Args...> format,
                       Args&&... args) {
  io::fail(archive.origin, "byte {}: {}", offset, fmt::format(format, std::forward<Args>(args)...));
}

std::vector<std::byte> read(const zip_bytes& archive, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> front(bytes);
  archive.read(offset, front.data(), bytes);
  return front;
}

/// Where the entries of the directory lie, and how many there are.
struct directory_place {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  std::uint64_t end = 0;  ///< the first byte behind that is not the directory's
};

// The record at the end of an archive has 16 and 32 bits for what may need more. Where it does, a record of 64 bits
// lies before it, and a locator of fixed size between them says where.
void widen(const zip_bytes& archive, std::uint64_t end_offset, directory_place& place) {
  if (end_offset < wide_locator_bytes) return;
  const std::uint64_t locator_offset = end_offset - wide_locator_bytes;
  const std::vector<std::byte> locator = read(archive, locator_offset, wide_locator_bytes);
  if (u32_at(locator, 0) != wide_locator_magic) return;
  const std::uint64_t offset = u64_at(locator, 8);
  if (offset > locator_offset || locator_offset - offset < wide_end_bytes) {
    fail(archive, locator_offset, "the directory's 64-bit end is said to lie at byte {}, where it does not fit",
         offset);
  }
  const std::vector<std::byte> wide = read(archive, offset, wide_end_bytes);
  if (u32_at(wide, 0) != wide_end_magic) fail(archive, offset, "the directory's 64-bit end does not lie here");
  if (u32_at(wide, 16) != 0 || u32_at(wide, 20) != 0 || u32_at(locator, 16) > 1) {
    fail(archive, offset, "the archive is one of several parts");
  }
  place = {u64_at(wide, 48), u64_at(wide, 40), u64_at(wide, 32), offset};
}

directory_place find_directory(const zip_bytes& archive) {
  const std::uint64_t most = std::min(archive.size, end_bytes + most_comment_bytes);
  const std::uint64_t first = archive.size - most;
  const std::vector<std::byte> back = read(archive, first, most);
  // A comment of the archive follows, and may hold anything: the record that counts is the one whose comment ends where
  // the file ends.
  for (std::uint64_t at = most >= end_bytes ? most - end_bytes + 1 : 0; at-- > 0;) {
    if (u32_at(back, at) != end_magic || u16_at(back, at + 20) != most - at - end_bytes) continue;
    directory_place place{u32_at(back, at + 16), u32_at(back, at + 12), u16_at(back, at + 10), first + at};
    const bool parts = u16_at(back, at + 4) != 0 || u16_at(back, at + 6) != 0;
    widen(archive, first + at, place);
    if (parts && place.end == first + at) fail(archive, first + at, "the archive is one of several parts");
    if (place.offset > place.end || place.bytes > place.end - place.offset) {
      fail(archive, first + at,
           "a directory of {} bytes from byte {} on is announced, but it would not end before "
           "byte {}",
           place.bytes, place.offset, place.end);
    }
    if (place.entries > place.bytes / entry_bytes) {
      fail(archive, first + at, "{} members are announced, more than the {} bytes of their directory name",
           place.entries, place.bytes);
    }
    if (place.bytes > most_directory_bytes) {
      fail(archive, first + at, "a directory of {} bytes, more than the {} that are read", place.bytes,
           most_directory_bytes);
    }
    return place;
  }
  io::fail(archive.origin, "a zip archive without the directory at its end: the file is cut short");
}

/// The entries of the directory, one by one.
class entry_reader {
 public:
  entry_reader(const zip_bytes& archive, const directory_place& place)
      : archive_(archive), place_(place), bytes_(read(archive, place.offset, place.bytes)) {}

  zip_member next() {
    if (bytes_.size() - at_ < entry_bytes) fail(archive_, here(), "the directory ends inside an entry");
    if (u32_at(bytes_, at_) != entry_magic) fail(archive_, here(), "no entry of the directory begins here");
    zip_member member;
    member.flags = u16_at(bytes_, at_ + 8);
    member.method = u16_at(bytes_, at_ + 10);
    member.checksum = u32_at(bytes_, at_ + 16);
    member.stored_bytes = u32_at(bytes_, at_ + 20);
    member.bytes = u32_at(bytes_, at_ + 24);
    member.header_offset = u32_at(bytes_, at_ + 42);
    const std::uint64_t name_bytes = u16_at(bytes_, at_ + 28);
    const std::uint64_t extra_bytes = u16_at(bytes_, at_ + 30);
    const std::uint64_t all = entry_bytes + name_bytes + extra_bytes + u16_at(bytes_, at_ + 32);
    if (bytes_.size() - at_ < all) fail(archive_, here(), "the directory ends inside an entry");
    member.name.assign(reinterpret_cast<const char*>(bytes_.data()) + at_ + entry_bytes, name_bytes);
    take_wide_sizes(member, at_ + entry_bytes + name_bytes, extra_bytes);
    require_inside(member);
    at_ += all;
    return member;
  }

 private:
  std::uint64_t here() const { return place_.offset + at_; }

  // An extra part has the numbers of 64 bits whose 32 bits are all set, in this order.
  void take_wide_sizes(zip_member& member, std::uint64_t at, std::uint64_t left) const {
    constexpr std::uint64_t unknown = 0xffffffff;
    while (left >= 4) {
      const std::uint64_t bytes = u16_at(bytes_, at + 2);
      if (bytes > left - 4) fail(archive_, here(), "an extra part of the entry of {} ends too early", shown(member));
      if (u16_at(bytes_, at) == wide_sizes_extra) {
        std::uint64_t from = at + 4;
        for (std::uint64_t* const number : {&member.bytes, &member.stored_bytes, &member.header_offset}) {
          if (*number != unknown) continue;
          if (at + 4 + bytes - from < 8) fail(archive_, here(), "the entry of {} lacks a 64-bit size", shown(member));
          *number = u64_at(bytes_, from);
          from += 8;
        }
        return;
      }
      at += 4 + bytes;
      left -= 4 + bytes;
    }
  }

  void require_inside(const zip_member& member) const {
    const std::uint64_t room = place_.offset;  // members lie before the directory
    const bool inside = member.header_offset <= room && least_member_bytes <= room - member.header_offset &&
                        member.stored_bytes <= room - member.header_offset - least_member_bytes;
    if (inside) return;
    fail(archive_, here(), "{} is said to have {} bytes from byte {} on, but the directory begins at byte {}",
         shown(member), member.stored_bytes, member.header_offset, room);
  }

  static std::string shown(const zip_member& member) { return core::printable(member.name); }

  const zip_bytes& archive_;
  directory_place place_;
  std::vector<std::byte> bytes_;
  std::uint64_t at_ = 0;
};

template <class... Args>
[[noreturn]] void fail(const zip_bytes& archive, const zip_member& member, fmt::format_string<Args...> format,
                       Args&&... args) {
  throw_error(error_code::bad_input, "{}:{}: {}", archive.origin, core::printable(member.name),
              fmt::format(format, std::forward<Args>(args)...));
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
  if ((member.flags & encrypted_flags) != 0)
    fail(archive, member, "is encrypted; only members that are not can be read");
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
    throw_error(error_code::out_of_memory, "{}: no memory to inflate it", archive_.origin);
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

bool starts_as_zip(const std::byte* front, std::size_t bytes) noexcept {
  if (bytes < zip_magic_bytes) return false;
  std::uint32_t magic = 0;
  for (std::size_t i = 0; i < zip_magic_bytes; ++i) magic |= std::to_integer<std::uint32_t>(front[i]) << (8 * i);
  return magic == member_magic || magic == end_magic;  // an archive without members is its end
}

std::vector<zip_member> read_zip_directory(const zip_bytes& archive) {
  const directory_place place = find_directory(archive);
  entry_reader reader(archive, place);
  std::vector<zip_member> members;
  members.reserve(place.entries);
  for (std::uint64_t i = 0; i < place.entries; ++i) members.push_back(reader.next());
  return members;
}

bool is_stored(const zip_member& member) noexcept { return member.method == stored; }

std::uint64_t find_member(const zip_bytes& archive, const zip_member& member) {
  require_readable(archive, member);
  std::array<std::byte, least_member_bytes> header{};
  archive.read(member.header_offset, header.data(), header.size());
  if (u32_at(header, 0) != member_magic) {
    fail(archive, member, "no member begins at byte {}, where it is said to", member.header_offset);
  }
  const std::uint64_t name_bytes = u16_at(header, 26);
  const std::uint64_t before = least_member_bytes + name_bytes + u16_at(header, 28);
  // The bytes and the header together lie inside the file: the directory has been checked for the smallest header.
  const std::uint64_t room = archive.size - member.header_offset;
  if (before > room || member.stored_bytes > room - before) {
    fail(archive, member, "{} bytes after the header at byte {} reach past the end of the file", member.stored_bytes,
         member.header_offset);
  }
  std::string name(name_bytes, '\0');
  archive.read(member.header_offset + least_member_bytes, name.data(), name.size());
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
  if (made < member.bytes) fail(archive, member, "inflates to {} bytes, but {} are announced", made, member.bytes);
  if (data.unread_bytes() > 0) fail(archive, member, "{} bytes follow its deflated data", data.unread_bytes());
  require_checksum(archive, member, checksum);
}

}  // namespace sheaf::io
