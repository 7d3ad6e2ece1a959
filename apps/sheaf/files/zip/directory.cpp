#include "apps/sheaf/files/zip/directory.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/zip/numbers.hpp"
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
constexpr std::uint64_t least_member_bytes = 30;
constexpr std::uint16_t wide_sizes_extra = 1;
/// Of the directory: some hundred thousand members.
constexpr std::uint64_t most_directory_bytes = std::uint64_t{64} << 20;

template <class... Args>
[[noreturn]] void fail(const zip_bytes& archive, std::uint64_t offset, fmt::format_string<Args...> format,
                       Args&&... args) {
  throw error(error_code::bad_input,
              fmt::format("{}: byte {}: {}", archive.origin, offset, fmt::format(format, std::forward<Args>(args)...)));
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
    fail(archive, locator_offset, "the directory's end of 64 bits is said to lie at byte {}, outside of what is before",
         offset);
  }
  const std::vector<std::byte> wide = read(archive, offset, wide_end_bytes);
  if (u32_at(wide, 0) != wide_end_magic) fail(archive, offset, "the directory's end of 64 bits does not lie here");
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
           "a directory of {} bytes from byte {} on is announced, and it would not end before "
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
  throw error(error_code::bad_input,
              fmt::format("{}: a zip archive without the directory at its end: the file is cut short", archive.origin));
}

/// The entries of the directory, one by one.
class entry_reader {
 public:
  entry_reader(const zip_bytes& archive, const directory_place& place)
      : archive_(archive), place_(place), bytes_(read(archive, place.offset, place.bytes)) {}

  zip_member next() {
    if (bytes_.size() - at_ < entry_bytes) fail(archive_, here(), "the directory ends inside of an entry");
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
    if (bytes_.size() - at_ < all) fail(archive_, here(), "the directory ends inside of an entry");
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
          if (at + 4 + bytes - from < 8)
            fail(archive_, here(), "the entry of {} lacks a size of 64 bits", shown(member));
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
    fail(archive_, here(), "{} is said to have {} bytes from byte {} on, and the directory begins at byte {}",
         shown(member), member.stored_bytes, member.header_offset, room);
  }

  static std::string shown(const zip_member& member) { return core::printable(member.name); }

  const zip_bytes& archive_;
  directory_place place_;
  std::vector<std::byte> bytes_;
  std::uint64_t at_ = 0;
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

}  // namespace sheaf::io
