#include "apps/sheaf/files/arrays/contents.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/files/zip/archive.hpp"
#include "support/expect_error.hpp"
#include "support/npy_file.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_arrays_contents_test {
namespace {

std::string numbers(const std::vector<std::int32_t>& list) {
  return npy_file("'<i4'", "(" + std::to_string(list.size()) + ",)", bytes_of(list));
}

std::string data_of(const io::record_file& file) {
  const const_records rows = file.rows(65536);
  return {reinterpret_cast<const char*>(rows.data), rows.count * rows.record_bytes};
}

class ArrayContents : public testing::Test {
 protected:
  std::string two() {
    return folder.write("two.npz",
                        zip_file({{"a.npy", numbers({1, 2}), false, true}, {"b.npy", numbers({3, 4, 5}), true}}));
  }
  void expect_refused(const std::string& path, const std::string& words) {
    expect_error(error_code::bad_input, words, [&] { io::array_contents contents(path); });
  }
  temporary_folder folder;
};

TEST_F(ArrayContents, MembersAreReadByTheirNames) {
  const std::string path = two();
  for (const std::string ending : {"", ".npy"}) {
    EXPECT_EQ(data_of(io::record_file(path + ":a" + ending, 0)), bytes_of<std::int32_t>({1, 2}));
    EXPECT_EQ(data_of(io::record_file(path + ":b" + ending, 0)), bytes_of<std::int32_t>({3, 4, 5}));
  }
  const io::record_file file(path + ":b", 0);
  EXPECT_EQ(file.path(), path + ":b.npy");
  std::int32_t last = 0;
  file.read_rows(2, 1, reinterpret_cast<std::byte*>(&last));
  EXPECT_EQ(last, 5);
}

TEST_F(ArrayContents, AnArchiveOfOneMemberIsThatMember) {
  const std::string path = folder.write("one.npz", zip_file({{"arr_0.npy", numbers({7}), true}}));
  EXPECT_EQ(data_of(io::record_file(path, 0)), bytes_of<std::int32_t>({7}));
  EXPECT_EQ(data_of(io::record_file(path + ":arr_0", 0)), bytes_of<std::int32_t>({7}));
}

TEST_F(ArrayContents, MembersThatAreNotThereAreNamedWithThoseThatAre) {
  const std::string path = two();
  expect_refused(path, path + ": an archive of 2 members; " + path + ":NAME reads one of a, b");
  expect_refused(path + ":c", path + ": has no member c; it has a, b");
  expect_refused(path + ":", path + ": the name of a member is missing after the colon");
  expect_refused(path + ":a.npy.npy", path + ": has no member a.npy.npy; it has a, b");
  const std::string empty = folder.write("empty.npz", zip_file({}));
  expect_refused(empty, empty + ": an archive without members");
  expect_refused(empty + ":a", empty + ": an archive without members");
  const std::string twice = folder.write("twice.npz", zip_file({{"a.npy", "1"}, {"a.npy", "2"}}));
  expect_refused(twice + ":a", twice + ": has 2 members called a.npy");
  std::vector<zip_part> many;
  for (int i = 0; i < 25; ++i) many.push_back({"m" + std::to_string(i), ""});
  const std::string long_list = folder.write("many.npz", zip_file(many));
  expect_refused(long_list + ":x", long_list +
                                       ": has no member x; it has m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, "
                                       "m12, m13, m14, m15, m16, m17, m18, m19 and 5 more");
}

TEST_F(ArrayContents, FilesWhoseNamesHaveColonsComeFirst) {
  two();
  const std::string real = folder.write("two.npz:a", numbers({42}));
  EXPECT_EQ(data_of(io::record_file(real, 0)), bytes_of<std::int32_t>({42}));
  EXPECT_EQ(io::file_behind(real), real);
  std::filesystem::create_directory(folder / "x:y");
  const std::string inner = folder.write("x:y/in.npz", zip_file({{"p:q.npy", numbers({9})}, {"r.npy", numbers({8})}}));
  EXPECT_EQ(data_of(io::record_file(inner + ":p:q", 0)), bytes_of<std::int32_t>({9}));
  EXPECT_EQ(io::file_behind(inner + ":p:q"), inner);
}

TEST_F(ArrayContents, PathsOfNoArchiveAreNamed) {
  const std::string plain = folder.write("plain.npy", numbers({1}));
  expect_refused(plain + ":a", plain + ": is not an .npz archive, so it has no member a");
  expect_refused(folder / "none.npz:a", folder / "none.npz:a" + ": cannot be opened: No such file or directory");
  const std::string archive = two();
  expect_error(error_code::bad_input, archive + ":a: an array of an archive, but --record-bytes is for raw files",
               [&] { io::record_file file(archive + ":a", 4); });
  expect_error(error_code::bad_input, archive + ": an array of an archive, but --record-bytes is for raw files",
               [&] { io::record_file file(archive, 4); });
}

TEST_F(ArrayContents, MembersThatAreNoArraysAreNamed) {
  const std::string path = folder.write("t.npz", zip_file({{"text", "hello, world"}}));
  expect_error(error_code::bad_input, path + ":text: not an .npy file; raw files need --record-bytes",
               [&] { io::record_file file(path, 0); });
  const std::string cut = folder.write("c.npz", zip_file({{"a.npy", numbers({1, 2}).substr(0, 132), true}}));
  expect_error(error_code::bad_input,
               cut + ":a.npy: shape (2,) of '<i4' takes 8 bytes, but 4 follow the header: the file is cut short",
               [&] { io::record_file file(cut, 0); });
}

TEST_F(ArrayContents, DamageIsFoundBeforeAnythingIsRead) {
  const std::string path = folder.write("d.npz", zip_file({{.name = "a.npy", .data = numbers({1, 2}), .checksum = 1}}));
  const std::string words = message_of(error_code::bad_input, [&] { io::array_contents contents(path); });
  EXPECT_TRUE(words.starts_with(path + ":a.npy: the checksum of its bytes is ")) << words;
}

TEST_F(ArrayContents, LargeDeflatedMembersGoToAFile) {
  std::string data;
  for (int i = 0; i < 100000; ++i) data += static_cast<char>(i % 253);
  const std::string path = folder.write("l.npz", zip_file({{"a", data, true}}));
  const io::array_contents in_memory(path);
  EXPECT_EQ(in_memory.held_bytes(), data.size());
  const io::array_contents in_file(path, {data.size() - 1, folder.path()});
  EXPECT_EQ(in_file.held_bytes(), 0U);
  for (const io::array_contents* contents : {&in_memory, &in_file}) {
    EXPECT_EQ(contents->size(), data.size());
    std::string part(500, ' ');
    contents->read_at(99500, part.data(), 500);
    EXPECT_EQ(part, data.substr(99500));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(contents->data()), data.size()), data);
  }
  EXPECT_EQ(folder.count(), 1U) << "the file has no name";
}

TEST_F(ArrayContents, NamesSayWhatIsAnArray) {
  const std::string path = two();
  EXPECT_TRUE(io::names_array("x.npy"));
  EXPECT_TRUE(io::names_array("x.npz"));
  EXPECT_TRUE(io::names_array(path + ":a"));
  EXPECT_FALSE(io::names_array("x.su2"));
  EXPECT_FALSE(io::names_array("missing.npz:a"));
  EXPECT_EQ(io::file_behind(path + ":a"), path);
  EXPECT_EQ(io::file_behind("missing.npz:a"), "missing.npz:a");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_arrays_contents_test
