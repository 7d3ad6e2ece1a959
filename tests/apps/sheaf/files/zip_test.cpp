#include "apps/sheaf/files/zip.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "apps/sheaf/files/zip/archive.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::apps_sheaf_files_zip_test {
namespace {

io::zip_bytes bytes_of_archive(const std::string& file) {
  return {file.size(),
          [&file](std::uint64_t offset, void* to, std::uint64_t bytes) {
            ASSERT_LE(offset, file.size());
            ASSERT_LE(bytes, file.size() - offset);
            if (bytes > 0) std::memcpy(to, file.data() + offset, bytes);
          },
          "x.npz"};
}

std::vector<io::zip_member> members_of(const std::string& file) {
  return io::read_zip_directory(bytes_of_archive(file));
}

/// What a member holds.
std::string unpacked(const std::string& file, const io::zip_member& member) {
  const io::zip_bytes archive = bytes_of_archive(file);
  const std::uint64_t offset = io::find_member(archive, member);
  std::string data;
  if (io::is_stored(member)) {
    io::check_stored(archive, member, offset);
    return file.substr(offset, member.bytes);
  }
  io::inflate_member(archive, member, offset, [&](std::span<const std::byte> piece) {
    data.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return data;
}

void expect_directory_refused(const std::string& file, std::string_view words) {
  expect_error(error_code::bad_input, words, [&] { members_of(file); });
}
void expect_member_refused(const std::vector<zip_part>& parts, std::string_view words) {
  const std::string file = zip_file(parts);
  expect_error(error_code::bad_input, words, [&] { unpacked(file, members_of(file).at(0)); });
}

TEST(Zip, MembersAreWhatWasStored) {
  const std::string zeros(1 << 20, '\0');
  std::string mixed;
  for (unsigned i = 0; i < 300000; ++i) mixed += static_cast<char>(i * i % 251);
  for (const bool wide : {false, true}) {
    const std::vector<zip_part> parts{{"a.npy", "stored", false, wide},
                                      {"b.npy", mixed, true, wide},
                                      {"empty", "", false, wide},
                                      {"empty deflated", "", true, wide},
                                      {"zeros", zeros, true, wide}};
    for (const std::string comment : {"", "a comment", "PK\5\6"}) {
      const std::string file = zip_file(parts, wide, comment);
      const auto members = members_of(file);
      ASSERT_EQ(members.size(), parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(members[i].name, parts[i].name);
        EXPECT_EQ(members[i].bytes, parts[i].data.size());
        EXPECT_TRUE(unpacked(file, members[i]) == parts[i].data) << parts[i].name << ", wide " << wide;
      }
    }
  }
  EXPECT_TRUE(members_of(zip_file({})).empty());
}

TEST(Zip, DamagedDirectoriesAreNamed) {
  const std::string file = zip_file({{"a", "data"}});
  const std::size_t directory = file.find("PK\1\2");
  const std::size_t end = file.find("PK\5\6");
  const auto with = [&](std::size_t at, std::string_view bytes) {
    return std::string(file).replace(at, bytes.size(), bytes);
  };
  expect_directory_refused(file.substr(0, end),
                           "x.npz: a zip archive without the directory at its end: the file is cut short");
  expect_directory_refused("PK\3\4", "x.npz: a zip archive without the directory at its end: the file is cut short");
  expect_directory_refused(with(directory, "PX"), "x.npz: byte 35: no entry of the directory begins here");
  expect_directory_refused(with(end + 10, "\2"),
                           "x.npz: byte 82: 2 members are announced, more than the 47 bytes of their directory name");
  expect_directory_refused(
      with(end + 12, little_endian(48, 4)),
      "x.npz: byte 82: a directory of 48 bytes from byte 35 on is announced, but it would not end before byte 82");
  expect_directory_refused(with(end + 16, little_endian(0xfffffff0, 4)),
                           "x.npz: byte 82: a directory of 47 bytes from byte 4294967280 on is announced, but it would "
                           "not end before byte 82");
  expect_directory_refused(with(directory + 28, little_endian(99, 2)),
                           "x.npz: byte 35: the directory ends inside an entry");
  expect_directory_refused(with(end + 4, "\1"), "x.npz: byte 82: the archive is one of several parts");
  expect_directory_refused(
      with(directory + 20, little_endian(6, 4)),
      "x.npz: byte 35: a is said to have 6 bytes from byte 0 on, but the directory begins at byte 35");
  expect_directory_refused(
      with(directory + 42, little_endian(6, 4)),
      "x.npz: byte 35: a is said to have 4 bytes from byte 6 on, but the directory begins at byte 35");
  expect_directory_refused(
      with(directory + 42, little_endian(0xffffffff, 4)),
      "x.npz: byte 35: a is said to have 4 bytes from byte 4294967295 on, but the directory begins at byte 35");
}

TEST(Zip, DamagedWideDirectoriesAreNamed) {
  const std::string file = zip_file({{"a", "data", false, true}}, true);
  const std::size_t wide = file.find("PK\6\6");
  const std::size_t locator = file.find("PK\6\7");
  const auto with = [&](std::size_t at, std::string_view bytes) {
    return std::string(file).replace(at, bytes.size(), bytes);
  };
  expect_directory_refused(with(locator + 8, little_endian(file.size(), 8)),
                           "x.npz: byte " + std::to_string(locator) +
                               ": the directory's 64-bit end is said to lie at byte " + std::to_string(file.size()) +
                               ", where it does not fit");
  expect_directory_refused(with(wide, "PX"),
                           "x.npz: byte " + std::to_string(wide) + ": the directory's 64-bit end does not lie here");
  expect_directory_refused(with(wide + 32, little_endian(~std::uint64_t{0}, 8)),
                           "x.npz: byte " + std::to_string(locator + 20) +
                               ": 18446744073709551615 members are announced, more than the 81 bytes of their "
                               "directory name");
  const std::size_t sizes = file.find(little_endian(24, 2), file.find("PK\1\2") + 46);
  expect_directory_refused(with(sizes, little_endian(16, 2)), "x.npz: byte 55: the entry of a lacks a 64-bit size");
  expect_directory_refused(with(sizes, little_endian(99, 2)),
                           "x.npz: byte 55: an extra part of the entry of a ends too early");
}

TEST(Zip, MembersThatCannotBeReadAreNamed) {
  const std::string data(5000, 'd');
  expect_member_refused({{.name = "a", .data = data, .checksum = 7}},
                        "x.npz:a: the checksum of its bytes is 332aada9, not 00000007: the file is damaged");
  expect_member_refused({{.name = "a", .data = data, .deflated = true, .checksum = 7}},
                        "x.npz:a: the checksum of its bytes is 332aada9, not 00000007: the file is damaged");
  expect_member_refused({{.name = "a", .data = data, .flags = 1}},
                        "x.npz:a: is encrypted; only members that are not can be read");
  expect_member_refused({{.name = "a", .data = data, .method = 14}},
                        "x.npz:a: is compressed by method 14 (LZMA); stored and deflated members are read, as "
                        "numpy.savez and numpy.savez_compressed write them");
  expect_member_refused({{.name = "a", .data = data, .method = 77}},
                        "x.npz:a: is compressed by method 77; stored and deflated members are read, as numpy.savez and "
                        "numpy.savez_compressed write them");
  expect_member_refused({{.name = "a", .data = data, .announced_bytes = 4999}},
                        "x.npz:a: is stored, and said to be 4999 bytes of 5000");
  expect_member_refused({{.name = "a", .data = data, .header_name = "b"}}, "x.npz:a: is called b at byte 0");
  expect_member_refused({{.name = "a", .data = "not deflated", .method = 8}},
                        "x.npz:a: the deflated data are damaged at byte 32: invalid block type");
}

// The bytes that a member announces bound what is taken for it.
TEST(Zip, DeflatedMembersAreWhatTheyAnnounce) {
  const std::string data(5000, 'd');
  expect_member_refused({{.name = "a", .data = data, .deflated = true, .announced_bytes = 4999}},
                        "x.npz:a: inflates to more than the 4999 bytes announced");
  expect_member_refused({{.name = "a", .data = data, .deflated = true, .announced_bytes = 5001}},
                        "x.npz:a: inflates to 5000 bytes, but 5001 are announced");
  expect_member_refused({{.name = "a", .data = data, .deflated = true, .announced_bytes = 0}},
                        "x.npz:a: inflates to more than the 0 bytes announced");
}

TEST(Zip, MembersThatAreCutShortAreNamed) {
  const std::string data(100000, 'd');
  const std::string file = zip_file({{.name = "a", .data = data, .deflated = true}});
  io::zip_member member = members_of(file).at(0);
  --member.stored_bytes;
  expect_error(error_code::bad_input, "x.npz:a: the deflated data end early", [&] { unpacked(file, member); });
  member = members_of(file).at(0);
  ++member.stored_bytes;
  expect_error(error_code::bad_input, "x.npz:a: 1 bytes follow its deflated data", [&] { unpacked(file, member); });
  member.bytes = std::uint64_t{1} << 62;
  expect_error(error_code::bad_input,
               "x.npz:a: 4611686018427387904 bytes are announced, more than " + std::to_string(member.stored_bytes) +
                   " deflated ones can make",
               [&] { unpacked(file, member); });
  member.header_offset = 1;
  member.bytes = data.size();
  expect_error(error_code::bad_input, "x.npz:a: no member begins at byte 1, where it is said to",
               [&] { unpacked(file, member); });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_zip_test
