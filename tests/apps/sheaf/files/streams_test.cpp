#include "apps/sheaf/files/streams.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/sheaf/files/arrays/contents.hpp"
#include "apps/sheaf/files/record_file.hpp"
#include "support/expect_error.hpp"
#include "support/in_a_child.hpp"
#include "support/npy_file.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_files_streams_test {
namespace {

class Streams : public testing::Test {
 protected:
  /// A pipe with a name, and a thread that writes these pieces to it, with a pause behind each.
  std::string fed_pipe(const std::string& name, std::vector<std::string> pieces) {
    std::string path = folder / name;
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    writers.emplace_back([path, pieces = std::move(pieces)] {
      std::ofstream to(path, std::ios::binary);
      for (const std::string& piece : pieces) {
        to.write(piece.data(), static_cast<std::streamsize>(piece.size()));
        to.flush();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    return path;
  }
  ~Streams() override {
    for (std::thread& writer : writers) writer.join();
  }
  static std::string text_of(const io::input_file& file) {
    return {reinterpret_cast<const char*>(file.data()), file.size()};
  }

  temporary_folder folder;
  std::vector<std::thread> writers;
};

TEST_F(Streams, HaveNames) {
  EXPECT_TRUE(io::names_stream("-"));
  EXPECT_TRUE(io::names_stream("/dev/stdin"));
  EXPECT_TRUE(io::names_stream("/dev/fd/17"));
  EXPECT_TRUE(io::names_stream("/dev/null"));
  EXPECT_FALSE(io::names_stream("/dev/fd/x"));
  EXPECT_FALSE(io::names_stream("/dev/fd/1x"));
  EXPECT_FALSE(io::names_stream(folder.path()));
  EXPECT_FALSE(io::names_stream(folder / "none"));
  EXPECT_FALSE(io::names_stream(folder.write("-", "")));
  EXPECT_EQ(io::shown_input("-"), "standard input");
  EXPECT_EQ(io::shown_input("./-"), "./-");
  EXPECT_TRUE(io::is_standard_output("-"));
  EXPECT_TRUE(io::is_standard_output("/proc/self/fd/1"));
  EXPECT_FALSE(io::is_standard_output("/dev/stderr"));
}

TEST_F(Streams, AreReadWholeAndCanBeOpenedAgain) {
  const std::string path = fed_pipe("pipe", {"one", "two", std::string(300'000, 'x')});
  const io::input_file file = io::open_input(path);
  EXPECT_EQ(text_of(file), "onetwo" + std::string(300'000, 'x'));
  EXPECT_EQ(text_of(io::open_input(path)), text_of(file)) << "the pipe itself has nothing more";
  EXPECT_EQ(file.path(), path);
  EXPECT_EQ(folder.count(), 1U) << "what is kept has no name";
}

TEST_F(Streams, OfNothingAreEmptyFiles) {
  EXPECT_EQ(io::open_input(fed_pipe("pipe", {})).size(), 0U);
  EXPECT_EQ(io::open_input("/dev/null").size(), 0U);
}

TEST_F(Streams, ThatDoNotWaitAreWaitedFor) {
  const std::string answer = in_a_child([&] {
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) != 0) return std::string("no pipe");
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (write(ends[1], "late", 4) != 4) return;
      close(ends[1]);
    });
    const io::input_file file = io::open_input(fmt::format("/dev/fd/{}", ends[0]));
    writer.join();
    return text_of(file);
  });
  EXPECT_EQ(answer, "late");
}

TEST_F(Streams, FilesBehindDescriptorsAreReadFromWhereTheyStand) {
  const std::string path = folder.write("in", "0123456789");
  const auto read_from = [&](off_t offset) {
    return in_a_child([&] {
      const int file = open(path.c_str(), O_RDONLY);
      lseek(file, offset, SEEK_SET);
      return text_of(io::open_input(fmt::format("/dev/fd/{}", file)));
    });
  };
  EXPECT_EQ(read_from(0), "0123456789");
  EXPECT_EQ(read_from(4), "456789");
  EXPECT_EQ(read_from(10), "");
}

TEST_F(Streams, ThatAreNotThereAreNamed) {
  expect_error(error_code::bad_input, "/dev/fd/9999: cannot be opened: Bad file descriptor",
               [] { io::open_input("/dev/fd/9999"); });
  expect_error(error_code::bad_input, (folder / "none") + ": cannot be opened: No such file or directory",
               [&] { io::open_input(folder / "none"); });
  expect_error(error_code::bad_input, folder.path() + ": not a regular file", [&] { io::open_input(folder.path()); });
}

TEST_F(Streams, OfArraysSayWhatIsMissingOrTooMuch) {
  const std::string array = npy_file("'<i4'", "(3,)", bytes_of<std::int32_t>({3, 1, 2}));
  const std::string whole = fed_pipe("whole", {array.substr(0, 5), array.substr(5, 100), array.substr(105)});
  EXPECT_EQ(io::record_file(whole, 0).rows(8).count, 3U);
  EXPECT_TRUE(io::names_array(whole)) << "by its first bytes";
  EXPECT_FALSE(io::names_array(fed_pipe("text", {"NDIME= 2"})));
  const std::string cut = fed_pipe("cut", {array.substr(0, 130)});
  expect_error(error_code::bad_input,
               cut + ": shape (3,) of '<i4' takes 12 bytes, but 2 follow the header: the file is cut short",
               [&] { io::record_file file(cut, 0); });
  const std::string in_header = fed_pipe("header", {array.substr(0, 60)});
  expect_error(error_code::bad_input, in_header + ": byte 8: a header of 118 bytes is announced, but 50 bytes follow",
               [&] { io::record_file file(in_header, 0); });
  const std::string longer = fed_pipe("longer", {array, "x"});
  expect_error(error_code::bad_input,
               longer + ": shape (3,) of '<i4' takes 12 bytes, but 13 follow the header: the file is too long",
               [&] { io::record_file file(longer, 0); });
  const std::string records = fed_pipe("records", {"12345"});
  expect_error(error_code::bad_input, records + ": 5 bytes are not a multiple of 2 bytes: 1 are left over",
               [&] { io::record_file file(records, 2); });
}

// What is not there cannot be waited for, and what does not fit need not be read.
TEST_F(Streams, OfArraysThatAreTooLargeForTheDiskAreNotRead) {
  const std::string header = npy_file("'<i4'", "(1000000000000000,)", "abc");
  const std::string path = fed_pipe("huge", {header});
  const std::string message = message_of(error_code::io_failure, [&] { io::open_input(path); });
  EXPECT_TRUE(message.starts_with(path + ": 131 bytes are read, and the temporary file for them in ")) << message;
  EXPECT_NE(message.find(" cannot be written: 4000000000000128 bytes are wanted, but "), std::string::npos) << message;
}

TEST_F(Streams, ThatAreOneAreFound) {
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto found = [](const std::vector<std::string>& inputs) {
    return message_of(error_code::bad_argument, [&] { io::require_streams_apart(inputs); });
  };
  EXPECT_EQ(found({"-", "", "-"}), "standard input is two of the inputs, but a stream can be read only once");
  EXPECT_EQ(found({"a", "-", "/dev/stdin"}),
            "standard input (also /dev/stdin) is two of the inputs, but a stream can be read only once");
  EXPECT_EQ(found({pipe, folder / "./pipe"}),
            pipe + " (also " + (folder / "./pipe") + ") is two of the inputs, but a stream can be read only once");
  EXPECT_NO_THROW(io::require_streams_apart(std::vector<std::string>{"", "", "-", pipe, "a", "a"}));
  EXPECT_NO_THROW(io::require_streams_apart(std::vector<std::string>{"/dev/null", "/dev/null"}));
}

TEST_F(Streams, AreKeptWhereTheyAreToBe) {
  const std::string path = fed_pipe("pipe", {});
  const std::string words = in_a_child([&] {
    io::use_temporary_folder(folder / "none");
    io::open_input(path);
    return std::string();
  });
  EXPECT_EQ(words, "io_failure: " + path + ": 0 bytes are read, and the temporary file for them in " +
                       (folder / "none") +
                       " cannot be written: No such file or directory; --temporary or TMPDIR names another folder");
  EXPECT_EQ(in_a_child([&] {
              setenv("TMPDIR", folder.path().c_str(), 1);
              const std::string given = io::temporary_folder();
              setenv("TMPDIR", (folder / "none").c_str(), 1);
              return given + " " + io::temporary_folder();
            }),
            folder.path() + " /tmp");
}

TEST_F(Streams, StandardOutputIsForTheOutputAlone) {
  const std::string out = folder.write("out", "before ");
  const std::string err = folder / "err";
  std::fflush(stdout);  // what this process has printed is not the child's
  EXPECT_EQ(in_a_child([&] {
              dup2(open(out.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
              dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
              io::output_file file(io::place_of_output("-"), 4);
              fmt::print("a report\n");
              std::fflush(stdout);
              file.write("rows", 4);
              file.commit();
              return std::string(io::is_standard_output_taken() ? "taken" : "not taken");
            }),
            "taken");
  EXPECT_EQ(folder.read("out"), "before rows");
  EXPECT_EQ(folder.read("err"), "a report\n");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_files_streams_test
