// Threads that cannot start are an error that names the limit, and not the end of the process.
#include "core/startable.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/error.hpp>

#include "support/contexts.hpp"
#include "support/in_a_child.hpp"
#include "support/run_program.hpp"
#include "support/scoped_environment.hpp"

namespace sheaf::tests::core_startable_test {
namespace {

using testing::HasSubstr;

std::uint64_t address_space_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void leave_address_space(std::uint64_t bytes) {
  const rlimit limit{address_space_in_use() + bytes, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
}

std::size_t threads_of_this_process() {
  const auto begin = std::filesystem::directory_iterator("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

TEST(Startable, IsTheNumberAndLeavesNoThreadBehind) {
  EXPECT_EQ(in_a_child([] {
              std::string found;
              for (const int threads : {0, 1, 2, 5, 40, 3, 41}) found += fmt::format("{} ", core::startable(threads));
              return fmt::format("{}of {}", found, threads_of_this_process());
            }),
            "0 1 2 5 40 3 41 of 1");
}

TEST(Startable, TeamsAreThereOnceTheyAreStarted) {
  EXPECT_EQ(in_a_child([] {
              core::start_team(1);
              const std::size_t alone = threads_of_this_process();
              core::start_team(5);
              return fmt::format("{} {}", alone, threads_of_this_process());
            }),
            "1 5");
}

class StartableWithinALimit : public testing::Test {
 protected:
  void SetUp() override {
    if (under_address_sanitizer || under_thread_sanitizer) GTEST_SKIP() << "the sanitizer takes all addresses";
  }
  static constexpr std::uint64_t stack = std::uint64_t{64} << 20;
  const scoped_environment stacks{"OMP_STACKSIZE", "64M"};
};

TEST_F(StartableWithinALimit, NamesTheThreadsThatStartedAndTheLimit) {
  const std::string words = in_a_child([] {
    leave_address_space(5 * stack + stack / 2);
    return std::to_string(core::startable(20));
  });
  EXPECT_THAT(words,
              testing::StartsWith("backend_unavailable: 20 threads are wanted, but only 6 could be started: Resource "
                                  "temporarily unavailable. Limits here: "));
  EXPECT_THAT(words, HasSubstr("bytes of address space (ulimit -v), of which a thread's stack takes 67108864"));
  EXPECT_THAT(words, testing::EndsWith(". --threads N and SHEAF_THREADS=N set fewer"));
}

TEST_F(StartableWithinALimit, IsLookedAtOnceForEachNumber) {
  EXPECT_EQ(in_a_child([] {
              core::startable(4);
              leave_address_space(0);
              return fmt::format("{} {}", core::startable(4), core::startable(3));
            }),
            "4 3");
}

// OpenMP has the threads of the region before, so three are lacking.
TEST_F(StartableWithinALimit, CountsThreadsThatAreThere) {
  EXPECT_EQ(in_a_child([] {
              core::startable(6);
              leave_address_space(3 * stack + stack / 2);
              return std::to_string(core::startable(9));
            }),
            "9");
}

TEST_F(StartableWithinALimit, EndsACommandWithCodeSix) {
  if (sheaf_program().empty()) GTEST_SKIP() << "the sheaf program is neither beside the tests nor where it was built";
  const temporary_folder folder;
  folder.write("keys.bin", std::string(std::size_t{1} << 22, 'k'));
  folder.write("index.bin", std::string(std::size_t{1} << 22, '\0'));
  std::string matrix = "%%MatrixMarket matrix coordinate pattern general\n1 1 200000\n";
  for (int i = 0; i < 200'000; ++i) matrix += "1 1\n";
  folder.write("a.mtx", matrix);
  for (const std::string arguments :
       {"gather keys.bin index.bin --record-bytes 4 --index-type u32 -o out --threads 12 --backend cpu",
        "sort keys.bin --record-bytes 8 --key 0:8 -o out --threads 12 --backend cpu",
        "spmv a.mtx -o out --threads 12"}) {
    const program_result result = run_sheaf(
        folder,
        fmt::format("version >/dev/null; ulimit -v 600000; OMP_STACKSIZE=100M '{}' {}", sheaf_program(), arguments));
    EXPECT_EQ(result.code, 6) << arguments << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr("12 threads are wanted, but only ")) << arguments;
    EXPECT_THAT(result.err, HasSubstr("614400000 bytes of address space (ulimit -v)")) << arguments;
    EXPECT_EQ(result.out, "") << arguments;
    EXPECT_EQ(folder.count(), 3U) << arguments;
  }
}

}  // namespace
}  // namespace sheaf::tests::core_startable_test
