#include "apps/sheaf/files/output_check.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_output_check_test {
namespace {

class OutputCheck : public testing::Test {
 protected:
  void refused(const std::string& path, const std::string& reason,
               io::missing_folders folders = io::missing_folders::are_errors) {
    expect_error(error_code::io_failure, path + ": " + reason, [&] { io::require_creatable(path, folders); });
  }

  temporary_folder folder;
};

TEST_F(OutputCheck, LeavesNothingBehindAndTouchesNoFile) {
  folder.write("old", "as it was");
  std::filesystem::permissions(folder / "old", std::filesystem::perms::owner_read);
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(stat((folder / "old").c_str(), &before), 0);
  io::require_creatable(folder / "old");
  io::require_creatable(folder / "new");
  io::require_creatable(folder / "cache/sheaf/new", io::missing_folders::are_made);
  ASSERT_EQ(stat((folder / "old").c_str(), &after), 0);
  EXPECT_EQ(folder.read("old"), "as it was");
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(before.st_mode, after.st_mode);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_EQ(folder.count(), 1U);
}

TEST_F(OutputCheck, FindsWhatIsInTheWay) {
  folder.write("file", "");
  std::filesystem::create_directory(folder / "folder");
  refused(folder / "none/out", "cannot be created: No such file or directory");
  refused(folder / "file/out", "cannot be created: Not a directory");
  expect_error(error_code::bad_argument, (folder / "folder") + ": a folder; an output is a file",
               [&] { io::require_creatable(folder / "folder"); });
  refused(folder / std::string(300, 'x'), "cannot be created: File name too long");
  refused(folder / "none/out/", "cannot be created: No such file or directory");
  expect_error(error_code::bad_argument, "an empty name names no file", [] { io::require_creatable(""); });
}

// A folder of the system in which nobody makes files, root neither.
TEST_F(OutputCheck, FindsFoldersThatCannotBeWrittenTo) {
  for (const io::missing_folders folders : {io::missing_folders::are_errors, io::missing_folders::are_made}) {
    const std::string message =
        message_of(error_code::io_failure, [&] { io::require_creatable("/proc/out", folders); });
    EXPECT_TRUE(message.starts_with("/proc/out: cannot be created: ")) << message;
  }
  if (geteuid() == 0) return;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  refused(folder / "out", "cannot be created: Permission denied");
  refused(folder / "none/out", "cannot be created: Permission denied", io::missing_folders::are_made);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

TEST_F(OutputCheck, LooksBehindFoldersThatAreYetToBeMade) {
  folder.write("file", "");
  constexpr auto are_made = io::missing_folders::are_made;
  EXPECT_NO_THROW(io::require_creatable(folder / "a/b/c/out", are_made));
  refused(folder / "file/sheaf/out", "cannot be created: Not a directory", are_made);
  refused(folder / (std::string(300, 'x') + "/out"), "cannot be created: File name too long", are_made);
  std::filesystem::create_directories(folder / "there/out");
  expect_error(error_code::bad_argument, (folder / "there/out") + ": a folder; an output is a file",
               [&] { io::require_creatable(folder / "there/out", are_made); });
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_NO_THROW(io::require_creatable("a/out", are_made));
  EXPECT_NO_THROW(io::require_creatable("out", are_made));
  std::filesystem::current_path(before);
  EXPECT_EQ(folder.count(), 2U);
}

TEST_F(OutputCheck, FollowsLinks) {
  std::filesystem::create_directory(folder / "far");
  std::filesystem::create_symlink("far/target", folder / "link");
  std::filesystem::create_symlink("none/target", folder / "broken");
  std::filesystem::create_symlink("circle", folder / "circle");
  EXPECT_NO_THROW(io::require_creatable(folder / "link"));
  refused(folder / "broken", "cannot be created: No such file or directory");
  refused(folder / "circle", "cannot be created: Too many levels of symbolic links");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "far"));
}

// Opened, a pipe would wait for its reader here.
TEST_F(OutputCheck, StreamsAreNotOpened) {
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NO_THROW(io::require_creatable(pipe));
  EXPECT_NO_THROW(io::require_creatable("/dev/null"));
  EXPECT_TRUE(io::name_one_file(pipe, folder / "./pipe"));
  EXPECT_FALSE(io::name_one_file("/dev/null", "/dev/null")) << "it takes any number of outputs";
  EXPECT_TRUE(io::name_one_file("-", "/dev/stdout"));
  EXPECT_TRUE(io::name_one_file("/dev/fd/1", "-"));
  EXPECT_FALSE(io::name_one_file("-", folder / "none"));
  const std::vector<std::string> inputs{pipe, "/dev/null"};
  EXPECT_NO_THROW(io::require_not_an_input("/dev/null", inputs, "-o"));
  expect_error(error_code::bad_argument, "-o " + pipe + " is the input " + pipe + "; inputs are never written",
               [&] { io::require_not_an_input(pipe, inputs, "-o"); });
}

TEST_F(OutputCheck, KnowsOneFileByTwoNames) {
  folder.write("a", "");
  std::filesystem::create_symlink("a", folder / "link");
  EXPECT_TRUE(io::name_one_file(folder / "a", folder / "./link"));
  EXPECT_TRUE(io::name_one_file(folder / "new", folder / "none/../new"));
  EXPECT_FALSE(io::name_one_file(folder / "a", folder / "b"));
}

TEST_F(OutputCheck, RefusesInputs) {
  const std::vector<std::string> inputs{"", folder.write("in", "")};
  std::filesystem::create_symlink("in", folder / "link");
  EXPECT_NO_THROW(io::require_not_an_input(folder / "out", inputs, "-o"));
  expect_error(error_code::bad_argument,
               "--json " + (folder / "link") + " is the input " + (folder / "in") + "; inputs are never written",
               [&] { io::require_not_an_input(folder / "link", inputs, "--json"); });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_output_check_test
