#include "plan/store/input_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::plan_store_input_file_test {
namespace {

TEST(InputFile, ReadsAtAnyPlaceAndSaysWhenItBecameShorter) {
  const temporary_folder folder;
  const std::string path = folder.write("in", "hello");
  const io::input_file file(path);
  std::string read(3, ' ');
  file.read_at(2, read.data(), 3);
  EXPECT_EQ(read, "llo");
  ASSERT_EQ(truncate(path.c_str(), 4), 0);
  expect_error(error_code::bad_input, path + ": was cut short while it was read",
               [&] { file.read_at(2, read.data(), 3); });
}

TEST(InputFile, HoldsTheBytes) {
  const temporary_folder folder;
  const io::input_file file(folder.write("in", "hello"));
  EXPECT_EQ(file.size(), 5U);
  EXPECT_EQ(static_cast<char>(file.data()[4]), 'o');
  EXPECT_EQ(io::input_file(folder.write("empty", "")).size(), 0U);
}

TEST(InputFile, WhatCannotBeReadIsNamed) {
  const temporary_folder folder;
  expect_error(error_code::bad_input, (folder / "none") + ": cannot be opened: No such file or directory",
               [&] { io::input_file file(folder / "none"); });
  expect_error(error_code::bad_input, folder.path() + ": not a regular file",
               [&] { io::input_file file(folder.path()); });
}

// A file without a disk can be longer than any address space, on any machine.
TEST(InputFile, WhatCannotBeMappedIsOutOfMemoryAndStillRead) {
  const int descriptor = memfd_create("sheaf-test", MFD_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  constexpr std::uint64_t bytes = std::uint64_t{1} << 50;
  ASSERT_EQ(ftruncate(descriptor, bytes), 0);
  ASSERT_EQ(pwrite(descriptor, "end", 3, bytes - 3), 3);
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const io::input_file file(path);
  expect_error(error_code::out_of_memory, path + ": cannot be mapped, 1125899906842624 bytes: Cannot allocate memory",
               [&] { file.data(); });
  std::string read(3, ' ');
  file.read_at(bytes - 3, read.data(), 3);
  EXPECT_EQ(read, "end");
  close(descriptor);
}

TEST(InputFile, WhatIsNoFileInAFileSystemIsNamed) {
  const std::string memory = "/proc/self/mem";  // whose first page is never there
  char byte = 0;
  if (access(memory.c_str(), R_OK) == 0) {
    expect_error(error_code::bad_input, memory + ": cannot be read: Input/output error",
                 [&] { io::input_file(memory).read_at(0, &byte, 1); });
  }
  const std::string setting = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (access(setting.c_str(), R_OK) != 0) GTEST_SKIP() << "no " << setting;
  const io::input_file file(setting);
  expect_error(error_code::bad_input,
               setting + ": cannot be mapped, " + std::to_string(file.size()) + " bytes: No such device",
               [&] { file.data(); });
}

// The signal handler of the command knows the files of a command, which are few.
TEST(InputFile, ThatIsOneOfManyIsMappedAllTheSame) {
  const temporary_folder folder;
  constexpr std::size_t many = 40;
  std::vector<io::input_file> files;
  for (std::size_t i = 0; i < many; ++i) {
    files.emplace_back(folder.write(std::to_string(i), std::string(1, static_cast<char>('a' + i % 26))));
    EXPECT_EQ(static_cast<char>(*files.back().data()), 'a' + static_cast<int>(i % 26));
  }
  std::size_t found = 0;
  for (const io::input_file& file : files) {
    const char* const path = io::path_of_mapped(file.data());
    if (path == nullptr) continue;
    ++found;
    EXPECT_EQ(path, file.path());
  }
  EXPECT_GE(found, 1U);
  EXPECT_LT(found, many);
  const std::byte* const first = files.front().data();
  files.clear();
  EXPECT_EQ(io::path_of_mapped(first), nullptr);
}

TEST(InputFile, IsFoundByItsAddressesWhileItIsMapped) {
  const temporary_folder folder;
  const std::string path = folder.write("in", "hello");
  const std::byte* first = nullptr;
  {
    io::input_file file(path);
    first = file.data();
    const io::input_file moved(std::move(file));
    EXPECT_EQ(moved.data(), first);
    ASSERT_NE(io::path_of_mapped(first + 4), nullptr);
    EXPECT_EQ(io::path_of_mapped(first + 4), path);
    EXPECT_EQ(io::path_of_mapped(first + 5), nullptr);
    EXPECT_EQ(io::path_of_mapped(first - 1), nullptr);
  }
  EXPECT_EQ(io::path_of_mapped(first), nullptr);
}

TEST(InputFile, ANamedPipeIsRefusedWithoutWaiting) {
  const temporary_folder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(error_code::bad_input, (folder / "pipe") + ": not a regular file",
               [&] { io::input_file file(folder / "pipe"); });
}

}  // namespace
}  // namespace sheaf::tests::plan_store_input_file_test
