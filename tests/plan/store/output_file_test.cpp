#include "plan/store/output_file.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/files/scratch_file.hpp"
#include "plan/store/direct.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::plan_store_output_file_test {
namespace {

using io::output_file;
using io::temporary_kind;

class EveryTemporaryKind : public testing::TestWithParam<temporary_kind> {
 protected:
  void write(const std::string& path, const std::string& bytes, std::uint64_t reserved) const {
    output_file file(path, reserved, GetParam());
    file.write(bytes.data(), bytes.size());
    file.commit();
  }
  temporary_folder folder;
};

INSTANTIATE_TEST_SUITE_P(OutputFile, EveryTemporaryKind,
                         testing::Values(temporary_kind::unnamed_where_possible, temporary_kind::named),
                         [](const auto& kind) { return kind.param == temporary_kind::named ? "Named" : "Unnamed"; });

TEST_P(EveryTemporaryKind, AppearsWhole) {
  write(folder / "out", "hello", 5);
  EXPECT_EQ(folder.read("out"), "hello");
  EXPECT_EQ(folder.count(), 1U);
}

TEST_P(EveryTemporaryKind, ReplacesAndKeepsPermissions) {
  folder.write("out", "what was there before, longer");
  ASSERT_EQ(chmod((folder / "out").c_str(), 0640), 0);
  write(folder / "out", "new", 3);
  EXPECT_EQ(folder.read("out"), "new");
  struct stat status {};
  ASSERT_EQ(stat((folder / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_P(EveryTemporaryKind, NewFilesObeyTheUmask) {
  const mode_t before = umask(027);
  write(folder / "out", "new", 3);
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat((folder / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_P(EveryTemporaryKind, WithoutCommitNothingChanges) {
  folder.write("out", "old");
  {
    output_file file(folder / "out", 1000, GetParam());
    file.write("new", 3);
    EXPECT_EQ(folder.read("out"), "old");
  }
  EXPECT_EQ(folder.read("out"), "old");
  EXPECT_EQ(folder.count(), 1U);
}

TEST_P(EveryTemporaryKind, AKilledProcessLeavesTheOldFile) {
  folder.write("out", "old");
  const pid_t child = fork();
  if (child == 0) {
    output_file file(folder / "out", 1000, GetParam());
    file.write("new", 3);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(folder.read("out"), "old");
  if (GetParam() == temporary_kind::named) return;
  const int unnamed = open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (unnamed < 0) GTEST_SKIP() << "the file system has no files without names";
  close(unnamed);
  EXPECT_EQ(folder.count(), 1U);
}

TEST_P(EveryTemporaryKind, HoldsWhatWasWrittenAndNotWhatWasReserved) {
  write(folder / "out", "short", 1 << 20);
  EXPECT_EQ(folder.read("out"), "short");
  write(folder / "out", "longer than reserved", 4);
  EXPECT_EQ(folder.read("out"), "longer than reserved");
}

TEST_P(EveryTemporaryKind, FollowsALink) {
  folder.write("target", "old");
  std::filesystem::create_symlink(folder / "target", folder / "link");
  write(folder / "link", "new", 3);
  EXPECT_EQ(folder.read("target"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
}

TEST_P(EveryTemporaryKind, FollowsLinksToAFileThatIsNotThereYet) {
  std::filesystem::create_directory(folder / "far");
  std::filesystem::create_symlink("../target", folder / "far/link");
  std::filesystem::create_symlink("far/link", folder / "link");
  {
    output_file file(folder / "link", 3, GetParam());
    file.write("new", 3);
    EXPECT_EQ(file.folder(), (folder / "far/.."));
    EXPECT_FALSE(folder.has("target"));
  }
  EXPECT_FALSE(folder.has("target")) << "without commit there is no file";
  EXPECT_EQ(folder.count(), 2U);
  write(folder / "link", "new", 3);
  EXPECT_EQ(folder.read("target"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "far/link"));
  EXPECT_EQ(folder.count(), 3U);
}

TEST_P(EveryTemporaryKind, LinksThatLeadNowhereAreNamed) {
  std::filesystem::create_symlink("two", folder / "one");
  std::filesystem::create_symlink("one", folder / "two");
  expect_error(error_code::io_failure, (folder / "one") + ": cannot be created: Too many levels of symbolic links",
               [&] { output_file file(folder / "one", 0, GetParam()); });
  std::filesystem::create_symlink("none/out", folder / "link");
  expect_error(error_code::io_failure, (folder / "link") + ": cannot be created: No such file or directory",
               [&] { output_file file(folder / "link", 0, GetParam()); });
  EXPECT_EQ(folder.count(), 3U);
}

TEST_P(EveryTemporaryKind, TakesTheLongestName) {
  const std::string longest(255, 'x');
  write(folder / longest, "fits", 4);
  EXPECT_EQ(folder.read(longest), "fits");
}

TEST_P(EveryTemporaryKind, ANameThatIsTooLongIsMetBeforeAnyWork) {
  const std::string path = folder / std::string(256, 'x');
  expect_error(error_code::io_failure, path + ": cannot be created: File name too long",
               [&] { output_file file(path, 0, GetParam()); });
  EXPECT_EQ(folder.count(), 0U);
}

TEST_P(EveryTemporaryKind, AMissingFolderIsNamed) {
  const std::string path = folder / "none/out";
  expect_error(error_code::io_failure, path + ": cannot be created: No such file or directory",
               [&] { output_file file(path, 0, GetParam()); });
}

TEST_P(EveryTemporaryKind, AnUnwritableFolderIsNamed) {
  if (geteuid() == 0) {
    const std::string path = "/proc/sheaf-output";
    const std::string message = message_of(error_code::io_failure, [&] { output_file file(path, 0, GetParam()); });
    EXPECT_EQ(message.find(path + ": cannot be created: "), 0U) << message;
    return;  // root writes to every other folder
  }
  ASSERT_EQ(chmod(folder.path().c_str(), 0500), 0);
  expect_error(error_code::io_failure, (folder / "out") + ": cannot be created: Permission denied",
               [&] { output_file file(folder / "out", 0, GetParam()); });
  chmod(folder.path().c_str(), 0700);
}

TEST_P(EveryTemporaryKind, FoldersAreLeftAlone) {
  expect_error(error_code::bad_argument, folder.path() + ": a folder; an output is a file",
               [&] { output_file file(folder.path(), 0, GetParam()); });
  EXPECT_EQ(folder.count(), 0U);
}

TEST_P(EveryTemporaryKind, MoreThanAnyFileHoldsIsNamed) {
  expect_error(error_code::io_failure, (folder / "out") + ": cannot be written: File too large",
               [&] { output_file file(folder / "out", ~std::uint64_t{0}, GetParam()); });
  EXPECT_EQ(folder.count(), 0U);
}

TEST_P(EveryTemporaryKind, AFullDiskIsMetBeforeAnyWork) {
  const std::string disk = folder / "disk";
  std::filesystem::create_directory(disk);
  if (mount("sheaf-test", disk.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "no right to mount a small disk";
  expect_error(error_code::io_failure, disk + "/out: cannot be written: 1048576 bytes are wanted, but 65536 are free",
               [&] { output_file file(disk + "/out", 1 << 20, GetParam()); });
  EXPECT_TRUE(std::filesystem::is_empty(disk));
  const std::string bytes(1 << 20, 'x');
  expect_error(error_code::io_failure, disk + "/out: cannot be written: No space left on device", [&] {
    output_file file(disk + "/out", 0, GetParam());
    file.write(bytes.data(), bytes.size());
  });
  EXPECT_TRUE(std::filesystem::is_empty(disk));
  EXPECT_EQ(umount2(disk.c_str(), MNT_DETACH), 0);
}

// Expects that what would reserve twice the free space of the folder is refused before any of it is taken: under a
// limit on file sizes, the first try to take it would be refused for that.
template <class Reserve>
void expect_no_space_taken(const std::string& folder, const std::string& words, Reserve reserve) {
  struct statvfs disk {};
  ASSERT_EQ(statvfs(folder.c_str(), &disk), 0);
  if (disk.f_blocks == 0) GTEST_SKIP() << "the file system does not say what is free";
  const std::uint64_t wanted = 2 * std::uint64_t{disk.f_bavail} * disk.f_frsize + (1 << 20);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1024, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of(error_code::io_failure, [&] { reserve(wanted); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  const std::string start = words + " cannot be written: " + std::to_string(wanted) + " bytes are wanted, ";
  EXPECT_TRUE(message.starts_with(start)) << message;
  EXPECT_TRUE(message.ends_with(" are free")) << message;
}

TEST_P(EveryTemporaryKind, MoreThanIsFreeIsRefusedBeforeAnyIsTaken) {
  expect_no_space_taken(folder.path(), (folder / "out") + ":",
                        [&](std::uint64_t bytes) { output_file file(folder / "out", bytes, GetParam()); });
  EXPECT_EQ(folder.count(), 0U);
}

TEST(ScratchFile, MoreThanIsFreeIsRefusedBeforeAnyIsTaken) {
  const temporary_folder folder;
  expect_no_space_taken(folder.path(), folder.path() + ": a temporary file there",
                        [&](std::uint64_t bytes) { io::scratch_file file(folder.path(), bytes); });
}

// Calls write() under a limit on file sizes, which stands for a disk that fills up, and returns what it throws.
template <class Write>
std::string message_under_a_size_limit(Write write) {
  rlimit before{};
  EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1024, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message = message_of(error_code::io_failure, write);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  return message;
}

TEST_P(EveryTemporaryKind, AFileSizeLimitIsNamed) {
  EXPECT_EQ(message_under_a_size_limit([&] { output_file file(folder / "out", 4096, GetParam()); }),
            (folder / "out") + ": cannot be written: File too large");
  EXPECT_EQ(folder.count(), 0U);
}

TEST_P(EveryTemporaryKind, ADiskThatIsFullBeforeTheEndIsNamed) {
  folder.write("out", "old");
  const std::string bytes(1500, 'x');
  for (const bool bypasses_cache : {false, true}) {
    output_file file(folder / "out", 0, GetParam());
    if (bypasses_cache) file.bypass_cache();
    EXPECT_EQ(message_under_a_size_limit([&] {
                file.write(bytes.data(), bytes.size());
                file.write(bytes.data(), bytes.size());
              }),
              (folder / "out") + ": cannot be written: File too large");
  }
  const io::direct_memory block = io::direct_memory_of(2 * io::direct_alignment);
  std::memset(block.get(), 1, 2 * io::direct_alignment);
  output_file file(folder / "out", 0, GetParam());
  file.bypass_cache();
  EXPECT_EQ(message_under_a_size_limit([&] { file.write(block.get(), 2 * io::direct_alignment); }),
            (folder / "out") + ": cannot be written: File too large");
  EXPECT_EQ(folder.read("out"), "old");
}

TEST_P(EveryTemporaryKind, AFolderThatTakesItsPlaceIsNamed) {
  {
    output_file file(folder / "out", 3, GetParam());
    file.write("new", 3);
    std::filesystem::create_directory(folder / "out");
    expect_error(error_code::io_failure, (folder / "out") + ": cannot be replaced: Is a directory",
                 [&] { file.commit(); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
  EXPECT_EQ(folder.count(), 1U) << "nothing else is left";
}

TEST_P(EveryTemporaryKind, AFolderThatGoesAwayMeanwhileIsNamed) {
  std::filesystem::create_directory(folder / "gone");
  output_file file(folder / "gone/out", 3, GetParam());
  file.write("new", 3);
  std::filesystem::remove_all(folder / "gone");
  const std::string message = message_of(error_code::io_failure, [&] { file.commit(); });
  EXPECT_TRUE(message == (folder / "gone/out") + ": cannot be created: No such file or directory" ||
              message == (folder / "gone/out") + ": cannot be replaced: No such file or directory")
      << message;
  EXPECT_EQ(folder.count(), 0U);
}

TEST_P(EveryTemporaryKind, InTheRootFolderIsAnOutputToo) {
  const std::string path = "/sheaf-test-output";
  if (access("/", W_OK) == 0) {
    EXPECT_EQ(output_file(path, 0, GetParam()).folder(), "/");
  } else {
    const std::string message = message_of(error_code::io_failure, [&] { output_file(path, 0, GetParam()); });
    EXPECT_TRUE(message.starts_with(path + ": cannot be created: ")) << message;
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(EveryTemporaryKind, WhatWasWrittenCanBeReadBeforeItAppears) {
  output_file file(folder / "out", 5, GetParam());
  file.write("hel", 3);
  file.write("lo", 2);
  std::string read(4, ' ');
  file.read_at(1, read.data(), 4);
  EXPECT_EQ(read, "ello");
  EXPECT_EQ(file.folder(), folder.path());
}

TEST_P(EveryTemporaryKind, HoldsTheSameBytesPastTheCache) {
  const io::direct_memory block = io::direct_memory_of(8 * io::direct_alignment);
  std::string expected;
  for (std::size_t i = 0; i < 8 * io::direct_alignment; ++i) {
    block[i] = static_cast<std::byte>(i % 251);
    expected += static_cast<char>(i % 251);
  }
  output_file file(folder / "out", 0, GetParam());
  file.bypass_cache();
  file.write(block.get(), 2 * io::direct_alignment);
  file.write(block.get() + 2 * io::direct_alignment, 3 * io::direct_alignment + 5);
  file.write(block.get() + 5 * io::direct_alignment + 5, 3 * io::direct_alignment - 5);
  std::string read(20000, ' ');
  file.read_at(4000, read.data(), read.size());
  EXPECT_EQ(read, expected.substr(4000, 20000));
  file.commit();
  EXPECT_TRUE(folder.read("out") == expected);
}

TEST(ScratchFile, HoldsBytesWithoutAName) {
  const temporary_folder folder;
  constexpr std::uint64_t block = io::direct_alignment;
  const io::direct_memory memory = io::direct_memory_of(2 * block);
  io::scratch_file file(folder.path(), 4 * block);
  std::memset(memory.get(), 'a', block);
  std::memset(memory.get() + block, 'b', block);
  file.write_at(block, memory.get(), 2 * block);
  EXPECT_EQ(folder.count(), 0U);
  file.release(block, block);
  file.read_at(2 * block, memory.get(), block);
  EXPECT_TRUE(std::string_view(reinterpret_cast<const char*>(memory.get()), block) == std::string(block, 'b'));
}

TEST(ScratchFile, WhatCannotBeIsNamed) {
  const temporary_folder folder;
  expect_error(error_code::io_failure,
               (folder / "none") + ": a temporary file there cannot be created: No such file or directory",
               [&] { io::scratch_file file(folder / "none", 0); });
  expect_error(error_code::io_failure, folder.path() + ": a temporary file there cannot be written: File too large",
               [&] { io::scratch_file file(folder.path(), ~std::uint64_t{0}); });
}

TEST(ScratchFile, ADiskThatIsFullBeforeTheEndIsNamed) {
  const temporary_folder folder;
  for (const io::cache_use cache : {io::cache_use::keep, io::cache_use::bypass}) {
    io::scratch_file file(folder.path(), 0, cache);
    const std::string bytes(100, 'x');
    EXPECT_EQ(message_under_a_size_limit([&] { file.write_at(2000, bytes.data(), bytes.size()); }),
              folder.path() + ": a temporary file there cannot be written: File too large");
  }
}

// What is not aligned as transfers past the cache have to be goes through it.
TEST(ScratchFile, HoldsBytesAtAnyPlace) {
  const temporary_folder folder;
  io::scratch_file file(folder.path(), 0, io::cache_use::bypass);
  file.write_at(3, "hello", 5);
  std::string read(4, ' ');
  file.read_at(4, read.data(), 4);
  EXPECT_EQ(read, "ello");
}

TEST(DirectMemory, SaysHowMuchIsNotToBeHad) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    expect_error(error_code::out_of_memory, std::to_string(bytes) + " bytes of memory are not available",
                 [&] { io::direct_memory_of(bytes); });
  }
  EXPECT_NE(io::direct_memory_of(1), nullptr);
}

}  // namespace
}  // namespace sheaf::tests::plan_store_output_file_test
