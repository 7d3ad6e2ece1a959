// --memory is for scratch and buffers: results, copies and what is read from text. What is needed is said.
#include <cstdint>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "support/cli_test.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_memory_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t items = 50'000;

class CliMemory : public cli_test {
 protected:
  void fill_folder() override {
    std::vector<double> table(items);
    std::vector<std::uint32_t> index(items);
    std::vector<std::int64_t> list(items);
    std::vector<std::uint64_t> keys(items);
    std::string categories(items, '\0');
    std::vector<std::uint64_t> rows(items + 1);
    std::vector<std::uint32_t> edges(2 * items);
    std::string matrix =
        fmt::format("%%MatrixMarket matrix coordinate real symmetric\n{} {} {}\n", items, items, items);
    for (std::uint64_t i = 0; i < items; ++i) {
      table[i] = static_cast<double>(i) / 8;
      index[i] = static_cast<std::uint32_t>((i * 7919 + 5) % items);  // a permutation
      list[i] = i + 1 == items ? -1 : static_cast<std::int64_t>(i + 1);
      keys[i] = inputs::mix(i);
      categories[i] = static_cast<char>(inputs::mix(i) % 7);
      rows[i + 1] = i + 1;
      edges[2 * i] = static_cast<std::uint32_t>(i);
      edges[2 * i + 1] = static_cast<std::uint32_t>((i + 1) % items);
      matrix += fmt::format("{} {} {}\n", i + 1, i + 1, 1 + i % 5);
    }
    const std::string shape = fmt::format("({},)", items);
    folder.write("table.npy", npy_file("'<f8'", shape, bytes_of(table)));
    folder.write("index.npy", npy_file("'<u4'", shape, bytes_of(index)));
    folder.write("list.npy", npy_file("'<i8'", shape, bytes_of(list)));
    folder.write("keys.npy", npy_file("'<u8'", shape, bytes_of(keys)));
    folder.write("of.npy", npy_file("'|u1'", shape, categories));
    folder.write("rows.npy", npy_file("'<u8'", fmt::format("({},)", items + 1), bytes_of(rows)));
    folder.write("edges.npy", npy_file("'<u4'", fmt::format("({}, 2)", items), bytes_of(edges)));
    folder.write("a.mtx", matrix);
    std::string swapped = bytes_of(index);
    for (std::size_t i = 0; i < swapped.size(); i += 4) {
      std::swap(swapped[i], swapped[i + 3]);
      std::swap(swapped[i + 1], swapped[i + 2]);
    }
    folder.write("big.npy", npy_file("'>u4'", shape, swapped));
    folder.write("few.npy", npy_file("'<u4'", "(3,)", bytes_of<std::uint32_t>({7, 0, 4})));
    folder.write("narrow.npy", npy_file("'<u2'", shape, std::string(2 * items, '\1')));
  }

  program_result run(const std::string& arguments) { return run_sheaf(folder, arguments); }

  // What a message says is needed.
  static std::uint64_t needed_by(const std::string& message) {
    std::smatch found;
    const bool is_said = std::regex_search(message, found, std::regex("(?:need|but) ([0-9]+)(?: are needed)?:"));
    return is_said ? std::stoull(found[1]) : 0;
  }

  const std::vector<std::string> commands{
      "gather table.npy index.npy -o OUT.npy",
      "scatter table.npy index.npy --table 60000 -o OUT.npy",
      "split table.npy --keys of.npy --categories 7 -o OUT.npy",
      "split table.npy --bits 0:8 -o OUT.npy --index gather",
      "multi-split table.npy --row-offsets rows.npy --keys of.npy --categories 7 -o OUT.npy",
      "search keys.npy keys.npy -o OUT",
      "search keys.npy keys.npy -o OUT --matches first",
      "rank list.npy -o OUT.npy",
      "scan list.npy table.npy -o OUT.npy",
      "spmv a.mtx -o OUT.npy",
      "spmv a.mtx -o OUT.npy --runs 3",
      "solve a.mtx -o OUT.npy",
      "edges edges.npy table.npy -o OUT.npy --runs 2",
      "npb-cg S",
  };
  static std::string named(std::string command, const std::string& name) {
    const std::size_t at = command.find("OUT");
    return at == command.npos ? command : command.replace(at, 3, name);
  }
};

// Whoever gives as much as the message says has enough after a few messages, and gets the same.
TEST_F(CliMemory, WhatIsNeededIsSaidAndEnough) {
  for (const std::string& command : commands) {
    const std::string line = command + " --backend cpu --threads 2 --quiet --memory ";
    for (const std::string ending : {".npy", ".ids.npy", ".offsets.npy"}) {
      for (const std::string name : {"limited", "free"}) std::filesystem::remove(folder / (name + ending));
    }
    std::uint64_t memory = 1;
    program_result result;
    int messages = 0;
    for (; messages < 12; ++messages) {
      result = run(fmt::format("{}{}", named(line, "limited"), memory));
      if (result.code == 0) break;
      ASSERT_EQ(result.code, 5) << line << memory << result.err;
      EXPECT_FALSE(folder.has("limited.npy")) << line;
      if (result.err.find("--memory allows " + std::to_string(memory)) == std::string::npos) {
        // A text that is read, and scratch of calls around a call.
        EXPECT_THAT(result.err, testing::AnyOf(HasSubstr("but --memory leaves "),
                                               HasSubstr(fmt::format("of the {} bytes that --memory allows", memory))))
            << line;
        memory = 2 * memory + 4'000'000;
        continue;
      }
      EXPECT_THAT(result.err, HasSubstr(fmt::format("--memory allows {} bytes, but ", memory))) << line;
      const std::uint64_t needed = needed_by(result.err);
      ASSERT_GT(needed, memory) << result.err;
      memory = needed;
    }
    EXPECT_EQ(result.code, 0) << line << memory << result.err;
    EXPECT_GT(messages, 0) << line << " takes no buffer";
    const program_result free = run(named(command, "free") + " --backend cpu --threads 2 --quiet");
    EXPECT_EQ(free.code, 0) << free.err;
    for (const std::string ending : {".npy", ".ids.npy", ".offsets.npy"}) {
      if (folder.has("free" + ending)) EXPECT_EQ(folder.read("limited" + ending), folder.read("free" + ending)) << line;
    }
  }
}

TEST_F(CliMemory, BuffersAreNamedWithTheirBytes) {
  const std::uint64_t result = items * 8;
  expect_failure(
      "gather table.npy index.npy -o out.npy --memory 1000 --backend cpu", 5,
      fmt::format("sheaf gather: --memory allows 1000 bytes, but buffers need {}: the result {}", result, result));
  expect_failure("scatter table.npy index.npy --table 100000 -o out.npy --memory 1000 --backend cpu", 5,
                 "sheaf scatter: --memory allows 1000 bytes, but buffers need 800000: the result 800000");
  expect_failure("gather table.npy big.npy -o out.npy --memory 1000 --backend cpu", 5,
                 "sheaf gather: --memory allows 1000 bytes, but buffers need 200000: numbers in this machine's order "
                 "of bytes 200000");
  expect_failure("gather table.npy narrow.npy -o out.npy --memory 300000 --backend cpu", 5,
                 "sheaf gather: --memory allows 300000 bytes, but buffers need 600000: narrow.npy as numbers of this "
                 "machine 200000, the result 400000");
  expect_failure(
      "gather table.npy index.npy -o out.npy --memory 500000 --backend cpu --verify", 5,
      "sheaf gather: --memory allows 500000 bytes, but buffers need 800000: the result 400000, what --verify "
      "checks by 400000");
}

TEST_F(CliMemory, MappedFilesDoNotCount) {
  // The table of 400000 bytes is read where it lies.
  expect_success("gather table.npy few.npy -o out.npy --memory 100 --backend cpu --quiet");
  EXPECT_EQ(folder.read("out.npy"), npy_file("'<f8'", "(3,)", bytes_of<double>({7.0 / 8, 0, 0.5})));
}

TEST_F(CliMemory, ScratchBesideBuffersIsSaid) {
  const std::string split = "split table.npy --bits 0:8 -o out.npy --backend cpu --memory ";
  const program_result result = run(split + "400001");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, StartsWith("sheaf split: --memory allows 400001 bytes, but "));
  EXPECT_THAT(result.err, HasSubstr(" are needed: scratch of cpu."));
  EXPECT_THAT(result.err, EndsWith(", the result 400000\n"));
  EXPECT_FALSE(folder.has("out.npy"));
}

// A plan counts what the run would.
TEST_F(CliMemory, PlansCountTheSameBuffers) {
  for (const std::string& command : commands) {
    for (const std::string memory : {"1000", "700000", "3M", "50M"}) {
      const std::string line = named(command, "out") + " --backend cpu --threads 2 --json --memory " + memory;
      const program_result plan = run("plan --like " + line);
      const program_result ran = run(line);
      if (ran.code == 0) {
        ASSERT_EQ(plan.code, 0) << line << plan.err;
        const auto planned = nlohmann::json::parse(plan.out);
        const auto report = nlohmann::json::parse(ran.out);
        if (line.starts_with("edges") || line.find("--runs") != line.npos) continue;  // which time what was planned
        EXPECT_EQ(planned["variant"], report["variant"]) << line;
      } else if (plan.code == 0) {
        // No variant fits, which a plan says without failing; or what only a run finds does not fit.
        const auto planned = nlohmann::json::parse(plan.out);
        EXPECT_TRUE(planned["variant"].is_null() || line.starts_with("search") || line.find("--runs") != line.npos)
            << line << ran.err;
      } else {
        EXPECT_EQ(plan.code, ran.code) << line << plan.err << ran.err;
      }
    }
  }
}

TEST_F(CliMemory, HelpSaysWhatCounts) {
  for (const std::string subcommand : {"gather", "scatter", "split", "multi-split", "sort", "search", "rank", "scan",
                                       "spmv", "edges", "solve", "npb-cg", "plan", "demo"}) {
    const std::string help = run("help " + subcommand).out;
    EXPECT_THAT(help, HasSubstr("--memory SIZE")) << subcommand;
    EXPECT_THAT(help, HasSubstr("scratch and buffers")) << subcommand;
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_memory_test
