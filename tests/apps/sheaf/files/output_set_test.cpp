// Several outputs that appear together.
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "plan/store/output_file.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_output_set_test {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class OutputSet : public testing::Test {
 protected:
  temporary_folder folder;
  const std::string first = (std::filesystem::path(folder.path()) / "first").string();
  const std::string second = (std::filesystem::path(folder.path()) / "second").string();
};

TEST_F(OutputSet, AppearsWhole) {
  std::ofstream(first) << "old";
  io::output_file one(first, 0);
  io::output_file two(second, 0);
  one.write("new", 3);
  one.finish();
  EXPECT_EQ(content(first), "old");
  EXPECT_EQ(entries_in(folder.path()), 1U) << "finished files have no names yet";
  two.write("other", 5);
  io::output_file* const both[] = {&one, &two};
  io::output_file::commit_all(both);
  EXPECT_EQ(content(first), "new");
  EXPECT_EQ(content(second), "other");
  EXPECT_EQ(entries_in(folder.path()), 2U);
}

TEST_F(OutputSet, AFileThatCannotHaveItsNameLeavesTheOthersAsTheyWere) {
  for (const bool was_there : {false, true}) {
    if (was_there) std::ofstream(first) << "old";
    {
      io::output_file one(first, 0);
      io::output_file two(second, 0);
      one.write("new", 3);
      two.write("other", 5);
      std::filesystem::create_directory(second);
      io::output_file* const both[] = {&one, &two};
      EXPECT_TRUE(message_of(error_code::io_failure, [&] {
                    io::output_file::commit_all(both);
                  }).starts_with(second + ": cannot be replaced"));
    }
    EXPECT_EQ(std::filesystem::exists(first), was_there);
    EXPECT_EQ(content(first), was_there ? "old" : "");
    EXPECT_EQ(entries_in(folder.path()), was_there ? 2U : 1U) << "nothing is left behind";
    std::filesystem::remove(second);
  }
}

TEST_F(OutputSet, SpaceIsReservedWhenBytesAreKnown) {
  io::output_file one(first, 0);
  one.reserve(1 << 20);
  one.write("few", 3);
  one.commit();
  EXPECT_EQ(content(first), "few");
  io::output_file two(second, 0);
  const std::string said = message_of(error_code::io_failure, [&] { two.reserve(std::uint64_t{1} << 62); });
  EXPECT_TRUE(said.starts_with(second + ": cannot be written")) << said;
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_output_set_test
