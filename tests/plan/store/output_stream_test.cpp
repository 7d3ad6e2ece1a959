// Outputs that are streams.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "plan/store/output_file.hpp"
#include "plan/store/whole_transfer.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::plan_store_output_stream_test {
namespace {

class OutputStream : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  void TearDown() override { close(ends[0]); }

  /// What has come through the pipe so far.
  std::string arrived() const {
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    char part[256];
    const ssize_t bytes = read(ends[0], part, sizeof part);
    return bytes < 0 ? "nothing yet" : std::string(part, static_cast<std::size_t>(bytes));
  }
  io::output_place place() const { return {ends[1], "a pipe"}; }

  int ends[2];
  temporary_folder folder;
};

TEST_F(OutputStream, GetsBytesAsTheyAreWrittenAndEndsWithTheCommit) {
  io::output_file file(place(), 1'000'000'000'000'000);  // no disk has to have room for it
  EXPECT_TRUE(file.is_stream());
  file.write("rows", 4);
  EXPECT_EQ(arrived(), "rows");
  file.finish();
  EXPECT_EQ(arrived(), "nothing yet");
  file.commit();
  EXPECT_EQ(arrived(), "") << "the end";
}

TEST_F(OutputStream, IsHeldBackUntilTheCommit) {
  io::output_file file(place(), 0);
  file.hold(folder.path());
  const std::string long_text(60'000, 'x');
  file.write("rows", 4);
  file.write(long_text.data(), long_text.size());
  EXPECT_EQ(arrived(), "nothing yet");
  EXPECT_EQ(folder.count(), 0U);
  char text[2];
  file.read_at(2, text, 2);
  EXPECT_EQ(std::string(text, 2), "ws");
  file.commit();
  std::string all;
  for (std::string part = arrived(); !part.empty(); part = arrived()) all += part;
  EXPECT_EQ(all, "rows" + long_text);
}

TEST_F(OutputStream, GetsNothingOfWhatIsHeldAndNotCommitted) {
  {
    io::output_file file(place(), 0);
    file.hold(folder.path());
    file.write("rows", 4);
  }
  EXPECT_EQ(arrived(), "");
}

TEST_F(OutputStream, WhoseReaderIsGoneLeavesFilesBesideItAsTheyWere) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  folder.write("beside", "old");
  {
    io::output_file file(place(), 0);
    file.hold(folder.path());
    io::output_file beside(folder / "beside", 3);
    file.write("rows", 4);
    beside.write("new", 3);
    close(ends[0]);
    io::output_file* const both[] = {&beside, &file};
    expect_error(error_code::io_failure, "a pipe: cannot be written: Broken pipe",
                 [&] { io::output_file::commit_all(both); });
  }
  EXPECT_EQ(folder.read("beside"), "old");
  EXPECT_EQ(folder.count(), 1U);
  std::signal(SIGPIPE, before);
}

TEST_F(OutputStream, PipesWithNamesAreOpened) {
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string text;
  std::thread reader([&] {
    std::ifstream from(path);
    text.assign(std::istreambuf_iterator<char>(from), {});
  });
  io::write_file(path, "rows");
  reader.join();
  EXPECT_EQ(text, "rows");
  EXPECT_EQ(folder.count(), 1U) << "the pipe stays, and is not replaced";
  close(ends[1]);
}

TEST_F(OutputStream, DevicesAreWrittenTo) {
  io::output_file file("/dev/null", 1'000'000'000'000'000);
  file.write("rows", 4);
  file.commit();
  if (access("/dev/full", W_OK) == 0) {
    expect_error(error_code::io_failure, "/dev/full: cannot be written: No space left on device",
                 [] { io::write_file("/dev/full", "rows"); });
  }
  close(ends[1]);
}

TEST_F(OutputStream, ThatIsFullIsWaitedForAlsoIfItDoesNotWaitItself) {
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::string text(1'000'000, 'x');
  std::string all;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    char part[4096];
    for (ssize_t bytes = 0; (bytes = io::read_stream(ends[0], part, sizeof part)) > 0;)
      all.append(part, static_cast<std::size_t>(bytes));
  });
  {
    io::output_file file(place(), 0);
    file.write(text.data(), text.size());
    file.commit();
  }
  reader.join();
  EXPECT_EQ(all, text);
}

}  // namespace
}  // namespace sheaf::tests::plan_store_output_stream_test
