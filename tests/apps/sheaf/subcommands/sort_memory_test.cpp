// sheaf sort --memory holds: what the process takes beside itself is no more, also where merges have several levels.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "support/cli_test.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_sort_memory_test {
namespace {

class CliSortMemory : public cli_test {
 protected:
  void fill_folder() override {
    if (under_address_sanitizer || under_thread_sanitizer) GTEST_SKIP() << "the sanitizer takes memory of its own";
  }

  void write_keys(const std::string& name, std::uint64_t bytes) const {
    std::vector<std::uint64_t> words(bytes / 8);
    for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = inputs::mix(i);
    folder.write(name, {reinterpret_cast<const char*>(words.data()), bytes});
  }

  /// The most memory that a sort had at a time, in bytes. Two processors: each may hold back what it has not counted.
  std::uint64_t most_bytes_of(const std::string& rest) const {
    std::vector<std::string> words{sheaf_program(), "sort", "--threads", "2",      "--backend",
                                   "cpu",           "-o",   "out",       "--quiet"};
    for (std::size_t at = 0; at < rest.size();) {
      const std::size_t end = std::min(rest.find(' ', at), rest.size());
      words.push_back(rest.substr(at, end - at));
      at = end + 1;
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      cpu_set_t processors;
      if (sched_getaffinity(0, sizeof processors, &processors) == 0) {
        for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; ++cpu) {
          if (CPU_ISSET(cpu, &processors) && ++kept > 2) CPU_CLR(cpu, &processors);
        }
        sched_setaffinity(0, sizeof processors, &processors);
      }
      if (chdir(folder.path().c_str()) == 0) execv(arguments[0], arguments.data());
      _exit(99);
    }
    std::uint64_t most = 0;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (const auto now = most_bytes_now(child)) most = now;  // what was counted before it became the command is gone
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    EXPECT_EQ(status, 0) << rest;
    return most;
  }

  static std::uint64_t most_bytes_now(pid_t process) {
    std::ifstream table(fmt::format("/proc/{}/status", process));
    for (std::string line; std::getline(table, line);) {
      if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    }
    return 0;
  }

  std::uint64_t merge_levels_of(const std::string& rest) const {
    const program_result result = run_sheaf(folder, "sort --threads 2 --backend cpu -o out --json " + rest);
    EXPECT_EQ(result.code, 0) << result.err;
    return nlohmann::json::parse(result.out).at("merge_levels").get<std::uint64_t>();
  }

  static constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
};

TEST_F(CliSortMemory, HoldsInMergesOfSeveralLevels) {
  write_keys("few", 8192);
  write_keys("many", 56 * mebibyte);
  // Records of a key, and wide ones, of which few fit in a block.
  for (const auto& [shape, limit] : {std::pair("--record-bytes 8 --key 0:8", 8),
                                     {"--record-bytes 8 --key 0:8", 4},
                                     {"--record-bytes 4096 --key 0:8", 4}}) {
    const std::string arguments = fmt::format("{} --memory {}M", shape, limit);
    SCOPED_TRACE(arguments);
    EXPECT_GE(merge_levels_of("many " + arguments), 2U);
    const std::uint64_t of_program = most_bytes_of(fmt::format("few {}", shape));
    const std::uint64_t in_all = most_bytes_of("many " + arguments);
    ASSERT_GT(of_program, mebibyte);
    // A mebibyte and a half for stacks and small blocks, which are not counted.
    EXPECT_LE(in_all, of_program + limit * mebibyte + mebibyte * 3 / 2);
    EXPECT_GE(in_all, of_program + limit * mebibyte / 2) << "the limit is to be used";
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_sort_memory_test
