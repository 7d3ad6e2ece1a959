// Archives of arrays are untrusted: whatever the bytes, the reader names members that lie in the file and unpacks no
// more than they announce, with the checksum that they announce, or throws sheaf::error.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include <sheaf/error.hpp>

#include "apps/sheaf/files/zip.hpp"

namespace {

constexpr std::size_t most_members_unpacked = 16;
constexpr std::uint64_t most_bytes_unpacked = std::uint64_t{8} << 20;

void require(bool kept) {
  if (!kept) std::abort();
}

void unpack(const sheaf::io::zip_bytes& archive, const sheaf::io::zip_member& member) {
  if (member.bytes > most_bytes_unpacked) return;
  const std::uint64_t offset = sheaf::io::find_member(archive, member);
  require(offset <= archive.size && member.stored_bytes <= archive.size - offset);
  if (sheaf::io::is_stored(member)) {
    require(member.bytes == member.stored_bytes);
    return sheaf::io::check_stored(archive, member, offset);
  }
  std::uint64_t made = 0;
  auto checksum = static_cast<uLong>(0);
  sheaf::io::inflate_member(archive, member, offset, [&](std::span<const std::byte> piece) {
    made += piece.size();
    require(made <= member.bytes);
    checksum = crc32(checksum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
  });
  require(made == member.bytes && checksum == member.checksum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const sheaf::io::zip_bytes archive{size,
                                     [&](std::uint64_t offset, void* to, std::uint64_t bytes) {
                                       require(offset <= size && bytes <= size - offset);
                                       if (bytes > 0) std::memcpy(to, data + offset, bytes);
                                     },
                                     "input"};
  const auto attempt = [](auto&& call) {
    try {
      call();
    } catch (const sheaf::error& e) {
      require(e.code() == sheaf::error_code::bad_input);
    }
  };
  attempt([&] {
    const auto members = sheaf::io::read_zip_directory(archive);
    for (std::size_t i = 0; i < std::min(members.size(), most_members_unpacked); ++i) {
      require(members[i].header_offset <= size && members[i].stored_bytes <= size);
      attempt([&] { unpack(archive, members[i]); });
    }
  });
  return 0;
}
