#pragma once

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::tests {

/// A member of an archive by hand. What is not set is what a right archive has.
struct zip_part {
  std::string name;
  std::string data;
  bool deflated = false;
  bool wide = false;  ///< sizes of 64 bits, as numpy.savez writes them in headers
  std::optional<std::uint32_t> checksum = {};
  std::optional<std::uint64_t> announced_bytes = {};
  std::optional<std::uint16_t> method = {};
  std::uint16_t flags = 0;
  std::optional<std::string> header_name = {};  ///< in the member's own header
};

inline std::string little_endian(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

/// Deflated data without a frame.
inline std::string deflated(const std::string& data) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

/// A zip archive, independent of the reader. @param wide_end  the directory's place in 64 bits, with all bits set in 32
inline std::string zip_file(const std::vector<zip_part>& parts, bool wide_end = false, std::string_view comment = "") {
  constexpr std::uint64_t unknown = 0xffffffff;
  std::string file;
  std::string directory;
  for (const zip_part& p : parts) {
    const std::string stored = p.deflated ? deflated(p.data) : p.data;
    const std::uint64_t bytes = p.announced_bytes.value_or(p.data.size());
    const auto found = crc32(0, reinterpret_cast<const Bytef*>(p.data.data()), static_cast<uInt>(p.data.size()));
    const std::string numbers =
        little_endian(p.flags, 2) + little_endian(p.method.value_or(p.deflated ? 8 : 0), 2) + std::string(4, '\0') +
        little_endian(p.checksum.value_or(static_cast<std::uint32_t>(found)), 4) +
        little_endian(p.wide ? unknown : stored.size(), 4) + little_endian(p.wide ? unknown : bytes, 4);
    const std::string sizes = little_endian(bytes, 8) + little_endian(stored.size(), 8);
    const std::string extra = p.wide ? little_endian(1, 2) + little_endian(16, 2) + sizes : "";
    const std::string offset = little_endian(file.size(), 8);
    const std::string all =
        p.wide ? joined({{"\x63\x78\x02\0ab", 6}, little_endian(1, 2), little_endian(24, 2), sizes, offset}) : "";
    directory += joined({"PK\1\2", little_endian(45, 2), little_endian(45, 2), numbers, little_endian(p.name.size(), 2),
                         little_endian(all.size(), 2), std::string(10, '\0'),
                         p.wide ? little_endian(unknown, 4) : offset.substr(0, 4), p.name, all});
    const std::string name = p.header_name.value_or(p.name);
    file += joined({"PK\3\4", little_endian(45, 2), numbers, little_endian(name.size(), 2),
                    little_endian(extra.size(), 2), name, extra, stored});
  }
  const std::uint64_t begin = file.size();
  file += directory;
  if (wide_end) {
    const std::uint64_t end = file.size();
    file += "PK\6\6" + little_endian(44, 8) + little_endian(45, 2) + little_endian(45, 2) + std::string(8, '\0') +
            little_endian(parts.size(), 8) + little_endian(parts.size(), 8) + little_endian(directory.size(), 8) +
            little_endian(begin, 8);
    file += "PK\6\7" + std::string(4, '\0') + little_endian(end, 8) + little_endian(1, 4);
  }
  const std::uint64_t count = wide_end ? 0xffff : parts.size();
  return file + "PK\5\6" + std::string(4, '\0') + little_endian(count, 2) + little_endian(count, 2) +
         little_endian(wide_end ? unknown : directory.size(), 4) + little_endian(wide_end ? unknown : begin, 4) +
         little_endian(comment.size(), 2) + std::string(comment);
}

}  // namespace sheaf::tests
