#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/cli_test.hpp"
#include "support/contexts.hpp"
#include "support/npy_file.hpp"

namespace sheaf::tests::apps_sheaf_subcommands_sort_test {
namespace {

/// Bytes at random, of few kinds so that keys repeat.
std::string random_bytes(std::size_t bytes, unsigned kinds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random() % kinds);
  return text;
}

std::vector<std::string> records_of(std::string_view bytes, std::size_t width) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at < bytes.size(); at += width) list.emplace_back(bytes.substr(at, width));
  return list;
}

/// The stable sort by a string inside the records.
std::string sorted_bytes(std::string_view bytes, std::size_t width, std::size_t offset, std::size_t key_bytes) {
  std::vector<std::string> list = records_of(bytes, width);
  std::stable_sort(list.begin(), list.end(), [&](const std::string& a, const std::string& b) {
    return std::memcmp(a.data() + offset, b.data() + offset, key_bytes) < 0;
  });
  std::string joined;
  for (const std::string& record : list) joined += record;
  return joined;
}

class CliSort : public cli_test {
 protected:
  void fill_folder() override {
    folder.write("in.bin", "a2b1c2d0e1");
    folder.write("in.npy", npy_file("'<i2'", "(5,)", bytes_of<std::int16_t>({3, -1, 300, -1, 0})));
  }

  void expect_sorts(const std::string& arguments, const std::string& out, const std::string& expected) {
    for (const char* backend : {"auto", "cpu", "reference"}) {
      expect_success(fmt::format("sort {} -o {} --verify --backend {}", arguments, out, backend));
      EXPECT_EQ(folder.read(out), expected) << arguments << " on " << backend;
    }
  }
};

TEST_F(CliSort, SortsRecordsByKeysAsTheyAreGiven) {
  expect_sorts("in.bin --record-bytes 2 --key 1:1", "out.bin", "d0b1e1a2c2");
  expect_sorts("in.bin --record-bytes 2 --key 1:1:u --descending", "out.bin", "a2c2b1e1d0");
  expect_sorts("in.bin --record-bytes 2 --key 1:1 --key 0:1:desc", "out.bin", "d0e1b1c2a2");
  expect_sorts("in.bin --record-bytes 2 --key 1:1:bytes:asc --key 0:1 --descending", "out.bin", "d0e1b1c2a2");
  expect_sorts("--key 1:1 in.bin --record-bytes 2", "out.bin", "d0b1e1a2c2");  // --key leaves the word after it alone
  expect_sorts("in.bin --record-bytes 1 --key 0:1", "out.bin", "01122abcde");
}

TEST_F(CliSort, SortsArraysByTheirType) {
  const auto expect_array = [&](const std::string& descr, const std::string& in, const std::string& out,
                                std::size_t width) {
    const std::string shape = fmt::format("({},)", in.size() / width);
    const std::string quoted = fmt::format("'{}'", descr);
    folder.write("typed.npy", npy_file(quoted, shape, in));
    expect_sorts("typed.npy", "out.npy", npy_file(quoted, shape, out));
  };
  expect_sorts("in.npy", "out.npy", npy_file("'<i2'", "(5,)", bytes_of<std::int16_t>({-1, -1, 0, 3, 300})));
  expect_sorts("in.npy --descending", "out.npy",
               npy_file("'<i2'", "(5,)", bytes_of<std::int16_t>({300, 3, 0, -1, -1})));
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_array("<f4", bytes_of<float>({nan, 1, 0.F, -0.F, infinity, -2, -infinity, -nan}),
               bytes_of<float>({-nan, -infinity, -2, -0.F, 0.F, 1, infinity, nan}), 4);
  expect_array("<f8", bytes_of<double>({2, -1e300, 1e-300}), bytes_of<double>({-1e300, 1e-300, 2}), 8);
  expect_array("<f2", bytes_of<std::uint16_t>({0x3c00, 0xbc00, 0x0001}),
               bytes_of<std::uint16_t>({0xbc00, 0x0001, 0x3c00}), 2);
  expect_array("|b1", std::string("\1\0\1\0", 4), std::string("\0\0\1\1", 4), 1);
  expect_array("|u1", std::string("\1\xff\0", 3), std::string("\0\1\xff", 3), 1);
  expect_array("<u8", bytes_of<std::uint64_t>({~std::uint64_t{0}, 256, 1}),
               bytes_of<std::uint64_t>({1, 256, ~std::uint64_t{0}}), 8);
  expect_array(">u2", std::string("\1\0\0\2\0\1", 6), std::string("\0\1\0\2\1\0", 6), 2);
  expect_array("|S3", std::string("b\0\0abcab\0", 9), std::string("ab\0abcb\0\0", 9), 3);
}

constexpr std::int64_t nat = std::numeric_limits<std::int64_t>::min();

/// Dates in the byte order of a type, "<M8[s]" or ">M8[s]".
std::string bytes_of_dates(const std::vector<std::int64_t>& dates, const std::string& descr) {
  std::string bytes = bytes_of(dates);
  if (descr.front() == '<') return bytes;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + 8));
  }
  return bytes;
}

/// The places of dates in the order of numpy.argsort(kind='stable'): NaT after all others.
std::vector<std::uint32_t> order_of_dates(const std::vector<std::int64_t>& dates, bool descending) {
  std::vector<std::uint32_t> order(dates.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto is_before = [](std::int64_t a, std::int64_t b) { return a != nat && (b == nat || a < b); };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return descending ? is_before(dates[b], dates[a]) : is_before(dates[a], dates[b]);
  });
  return order;
}

std::vector<std::int64_t> in_order(const std::vector<std::int64_t>& dates, const std::vector<std::uint32_t>& order) {
  std::vector<std::int64_t> sorted(dates.size());
  std::transform(order.begin(), order.end(), sorted.begin(), [&](std::uint32_t i) { return dates[i]; });
  return sorted;
}

TEST_F(CliSort, SortsDatesAndDurationsAsNumpyDoes) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> dates{5, nat, -1, most, nat + 1, 0, nat, 256, -256, 5, most - 1, nat + 2, 1};
  for (const std::string descr : {"<M8[ns]", ">M8[D]", "<m8[s]", ">m8[25us]", "<M8"}) {
    const std::string quoted = "'" + descr + "'";
    folder.write("dates.npy", npy_file(quoted, "(13,)", bytes_of_dates(dates, descr)));
    for (const bool descending : {false, true}) {
      const std::vector<std::uint32_t> order = order_of_dates(dates, descending);
      const std::vector<std::int64_t> sorted = in_order(dates, order);
      EXPECT_EQ(descending ? sorted.front() : sorted.back(), nat);
      const std::string arguments = descending ? "dates.npy --descending" : "dates.npy";
      expect_sorts(arguments, "out.npy", npy_file(quoted, "(13,)", bytes_of_dates(sorted, descr)));
      expect_sorts(arguments + " --index gather", "order.npy", npy_file("'<u4'", "(13,)", bytes_of(order)));
      expect_success("sort out.npy --check" + std::string(descending ? " --descending" : ""));
    }
    expect_failure("sort dates.npy --check --quiet", 4,
                   "sheaf sort: verification failed: dates.npy: record 2 belongs before record 1");
  }
}

TEST_F(CliSort, DatesThatDoNotFitIntoMemoryAreSortedAsWell) {
  std::mt19937_64 random(11);
  std::vector<std::int64_t> dates(300'000);
  for (std::int64_t& date : dates)
    date = random() % 16 == 0 ? nat : static_cast<std::int64_t>(random() % 50'000) - 25'000;
  const std::vector<std::uint32_t> order = order_of_dates(dates, false);
  const std::vector<std::int64_t> sorted = in_order(dates, order);
  for (const std::string descr : {"<M8[us]", ">m8[us]"}) {
    const std::string quoted = "'" + descr + "'";
    folder.write("dates.npy", npy_file(quoted, "(300000,)", bytes_of_dates(dates, descr)));
    expect_success("sort dates.npy -o out.npy --memory 1M --verify --backend cpu");
    EXPECT_TRUE(folder.read("out.npy") == npy_file(quoted, "(300000,)", bytes_of_dates(sorted, descr))) << descr;
    expect_success("sort dates.npy -o order.npy --index gather --memory 1M --verify --backend cpu");
    EXPECT_TRUE(folder.read("order.npy") == npy_file("'<u4'", "(300000,)", bytes_of(order))) << descr;
  }
}

TEST_F(CliSort, SortsStringsOfUpTo8CharactersByCodePoints) {
  constexpr std::uint32_t letters[] = {'a', 'b', 0xe4, 0x100, 0xff, 0x4e2d, 0xffff, 0x10000, 0x1f600, 0x10ffff, ' '};
  std::mt19937 random(12);
  for (const std::size_t width : {1, 2, 5, 8}) {
    using string = std::vector<std::uint32_t>;
    std::vector<string> strings(60, string(width, 0));
    for (string& s : strings) {
      const std::size_t length = random() % (width + 1);
      for (std::size_t i = 0; i < length; ++i) s[i] = letters[random() % std::size(letters)];
    }
    std::vector<string> sorted = strings;
    std::stable_sort(sorted.begin(), sorted.end());
    const auto bytes_of_strings = [](const std::vector<string>& list, bool big_endian) {
      std::string bytes;
      for (const string& s : list) {
        for (const std::uint32_t c : s) {
          for (int b = 0; b < 4; ++b) bytes += static_cast<char>(c >> 8 * (big_endian ? 3 - b : b) & 0xff);
        }
      }
      return bytes;
    };
    for (const bool big_endian : {false, true}) {
      const std::string descr = fmt::format("'{}U{}'", big_endian ? '>' : '<', width);
      folder.write("strings.npy", npy_file(descr, "(60,)", bytes_of_strings(strings, big_endian)));
      expect_sorts("strings.npy", "out.npy", npy_file(descr, "(60,)", bytes_of_strings(sorted, big_endian)));
      std::vector<string> down = strings;
      std::stable_sort(down.begin(), down.end(), std::greater<>());
      expect_sorts("strings.npy --descending", "out.npy", npy_file(descr, "(60,)", bytes_of_strings(down, big_endian)));
    }
  }
}

TEST_F(CliSort, RowsAndStructuresGoByKeys) {
  folder.write("rows.npy", npy_file("'<u2'", "(3, 2)", bytes_of<std::uint16_t>({1, 30, 2, 10, 3, 20})));
  expect_sorts("rows.npy --key 2:2:u", "out.npy",
               npy_file("'<u2'", "(3, 2)", bytes_of<std::uint16_t>({2, 10, 3, 20, 1, 30})));
  const std::string descr = "[('x', '|u1'), ('y', '<i2')]";
  folder.write("structures.npy", npy_file(descr, "(2,)", std::string("\1\5\0\2\xff\xff", 6)));
  expect_sorts("structures.npy --key 1:2:i", "out.npy", npy_file(descr, "(2,)", std::string("\2\xff\xff\1\5\0", 6)));
}

TEST_F(CliSort, WritesWhereRecordsComeFrom) {
  expect_sorts("in.npy --index gather", "index.npy",
               npy_file("'<u4'", "(5,)", bytes_of<std::uint32_t>({1, 3, 4, 0, 2})));
  expect_sorts("in.npy --index gather --descending --output-type i64", "index.npy",
               npy_file("'<i8'", "(5,)", bytes_of<std::int64_t>({2, 0, 4, 1, 3})));
  expect_sorts("in.bin --record-bytes 2 --key 1:1 --index gather", "index.bin",
               bytes_of<std::uint32_t>({3, 1, 4, 0, 2}));
}

TEST_F(CliSort, OfNothingIsNothing) {
  folder.write("none.npy", npy_file("'<f4'", "(0,)", ""));
  expect_sorts("none.npy", "out.npy", folder.read("none.npy"));
  folder.write("none.bin", "");
  expect_sorts("none.bin --record-bytes 7 --key 0:7", "out.bin", "");
  expect_success("sort none.bin --record-bytes 7 --key 0:7 --check");
}

TEST_F(CliSort, LittleMemoryMakesNoDifference) {
  const std::string bytes = random_bytes(4'000'000, 3, 1);
  folder.write("raw.bin", bytes);
  expect_sorts("raw.bin --record-bytes 100 --key 3:8 --memory 1M", "out.bin", sorted_bytes(bytes, 100, 3, 8));
  expect_sorts("raw.bin --record-bytes 40000 --key 39992:8 --memory 1M", "out.bin",
               sorted_bytes(bytes, 40000, 39992, 8));
  expect_sorts("raw.bin --record-bytes 4 --key 1:2 --memory 1M", "out.bin", sorted_bytes(bytes, 4, 1, 2));
  folder.write("array.npy", npy_file("'|S20'", "(200000,)", bytes));
  expect_sorts("array.npy --memory 1M", "out.npy", npy_file("'|S20'", "(200000,)", sorted_bytes(bytes, 20, 0, 20)));
  expect_success(
      "sort raw.bin --record-bytes 10 --key 1:3:i --key 7:2:f:desc --index gather -o small.bin --memory 1M "
      "--verify --backend reference");
  expect_success(
      "sort raw.bin --record-bytes 10 --key 1:3:i --key 7:2:f:desc --index gather -o large.bin --memory 1G "
      "--backend reference");
  EXPECT_EQ(folder.read("small.bin"), folder.read("large.bin"));
}

// Sorts in memory are repeated, and one result is written; a sort of runs on a disk is not.
TEST_F(CliSort, RunsChangeNothingButTheTimes) {
  folder.write("raw.bin", random_bytes(4'000'000, 256, 3));
  for (const std::string kind : {"", " --index gather"}) {
    const std::string sort = "sort raw.bin --record-bytes 100 --key 3:8" + kind + " --quiet --verify -o ";
    expect_success(sort + "once.bin");
    expect_success(sort + "often.bin --runs 3");
    EXPECT_EQ(folder.read("often.bin"), folder.read("once.bin"));
  }
  const program_result text = run_sheaf(folder, "sort in.npy -o out.npy --runs 3");
  EXPECT_NE(text.out.find("; least of 3 runs, "), std::string::npos) << text.out;
  const auto report = nlohmann::json::parse(run_sheaf(folder, "sort in.npy -o out.npy --runs 3 --json").out);
  EXPECT_EQ(report["runs"], 3);
  EXPECT_EQ(report["sorted_runs"], 1);
  EXPECT_LE(report["seconds"], report["median_seconds"]);
  expect_failure("sort raw.bin --record-bytes 100 --key 0:10 -o disk.bin --memory 1M --runs 2", 2,
                 "sheaf sort: --runs is for sorts in memory, and raw.bin does not fit into 1 MiB of it");
}

// Which variant runs may change from run to run, and the result does not.
TEST_F(CliSort, LearningChangesNothingButTheTimes) {
  folder.write("raw.bin", random_bytes(4'000'000, 256, 3));
  for (const std::string kind : {"", " --index gather"}) {
    const std::string sort = "sort raw.bin --record-bytes 8 --key 0:4:u" + kind + " --backend cpu --quiet --verify -o ";
    expect_success(sort + "once.bin");
    expect_success(sort + "often.bin --runs 8 --learn");
    EXPECT_EQ(folder.read("often.bin"), folder.read("once.bin"));
  }
  const std::string try_help = "\nTry: sheaf sort --help";
  expect_failure("sort in.npy -o out.npy --learn", 2, "sheaf sort: --learn requires --runs" + try_help);
  expect_failure("sort in.npy -o out.npy --runs 3 --learn --variant cpu.lsd", 2,
                 "sheaf sort: --variant excludes --learn" + try_help);
}

TEST_F(CliSort, ReportsAreOneDocument) {
  const program_result result = run_sheaf(folder, "sort in.npy -o out.npy --json --verify --memory 1G --backend cpu");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["command"], "sort");
  EXPECT_EQ(report["records"], 5);
  EXPECT_EQ(report["record_bytes"], 2);
  EXPECT_EQ(report["sorted_runs"], 1);
  EXPECT_EQ(report["merge_levels"], 0);
  EXPECT_EQ(report["memory_bytes"], 1 << 30);
  EXPECT_EQ(report["verified"], true);
  EXPECT_EQ(report["output"], "out.npy");
  folder.write("raw.bin", random_bytes(4'000'000, 256, 2));
  const program_result external =
      run_sheaf(folder, "sort raw.bin --record-bytes 100 --key 0:10 -o out.bin --json --memory 1M --backend cpu");
  const auto runs = nlohmann::json::parse(external.out);
  EXPECT_GE(runs["sorted_runs"], 8);
  EXPECT_EQ(runs["merge_levels"], 1);
  EXPECT_TRUE(runs["predicted_seconds"].is_null());
  const program_result quiet = run_sheaf(folder, "sort in.npy -o out.npy --quiet --backend cpu");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(CliSort, ChecksSayWhetherAFileIsSorted) {
  folder.write("sorted.npy", npy_file("'<i2'", "(5,)", bytes_of<std::int16_t>({-1, -1, 0, 3, 300})));
  const program_result sorted = run_sheaf(folder, "sort sorted.npy --check --json");
  ASSERT_EQ(sorted.code, 0) << sorted.err;
  const auto yes = nlohmann::json::parse(sorted.out);
  EXPECT_EQ(yes["sorted"], true);
  EXPECT_EQ(yes["records"], 5);
  EXPECT_EQ(yes["duplicate_keys"], 1);
  EXPECT_TRUE(yes["first_break"].is_null());

  const program_result unsorted = run_sheaf(folder, "sort in.npy --check --json");
  EXPECT_EQ(unsorted.code, 4);
  EXPECT_EQ(unsorted.err, "sheaf sort: verification failed: in.npy: record 1 belongs before record 0\n");
  const auto no = nlohmann::json::parse(unsorted.out);
  EXPECT_EQ(no["sorted"], false);
  EXPECT_EQ(no["breaks"], 2);
  EXPECT_EQ(no["first_break"], (nlohmann::json{0, 1}));
  EXPECT_EQ(no["error"]["code"], "verification_failed");
  EXPECT_EQ(no["error"]["message"], "verification failed: in.npy: record 1 belongs before record 0");
  EXPECT_EQ(no["schema_version"], 1);
  EXPECT_FALSE(yes.contains("error"));
  EXPECT_EQ(no["checksum"], yes["checksum"]);

  const program_result text = run_sheaf(folder, "sort sorted.npy --check");
  EXPECT_TRUE(
      text.out.starts_with("sorted.npy: 5 records of 2 bytes, sorted, 1 with the key of the one before, checksum "))
      << text.out;
  EXPECT_EQ(run_sheaf(folder, "sort sorted.npy --check --descending --quiet").code, 4);
  expect_failure("sort in.npy --check --quiet", 4,
                 "sheaf sort: verification failed: in.npy: record 1 belongs before "
                 "record 0");
}

// The sum is documented, and so it stays: this one was worked out apart, by
//   def step(h, w): p = (h ^ w) * 0x9e3779b97f4a7c15; return (p ^ p >> 64) % 2**64
TEST_F(CliSort, TheChecksumStaysAsItIs) {
  folder.write("one.bin", "0123456789");
  const program_result result = run_sheaf(folder, "sort one.bin --record-bytes 10 --key 0:10 --check --json");
  EXPECT_EQ(nlohmann::json::parse(result.out)["checksum"], "7fbfb4f900cb06b7");
}

TEST_F(CliSort, UsageErrorsAreNamed) {
  const std::string try_help = "\nTry: sheaf sort --help";
  expect_failure("sort", 2, "sheaf sort: IN is required" + try_help);
  expect_failure("sort in.npy", 2, "sheaf sort: give -o FILE, or --check");
  expect_failure("sort in.npy --check -o out", 2, "sheaf sort: --check looks at IN and writes nothing");
  expect_failure("sort in.npy --check --index gather", 2, "sheaf sort: --check looks at IN and writes nothing");
  for (const std::string of_sorts : {"--backend cpu", "--threads 1", "--memory 1G", "--verify"}) {
    expect_failure("sort in.npy --check " + of_sorts, 2,
                   "sheaf sort: --check excludes " + of_sorts.substr(0, of_sorts.find(' ')) + try_help);
  }
  expect_failure("sort in.npy -o out --output-type u32", 2, "sheaf sort: --output-type is for --index");
  expect_failure("sort in.npy -o out --memory 1000K", 2, "sheaf sort: --memory: at least 1M is needed");
  for (const char* size : {"1gg", "1.G", "-1", "much"}) {
    expect_failure(
        fmt::format("sort in.npy -o out --memory={}", size), 2,
        fmt::format("sheaf sort: --memory: '{}' is not a number of bytes such as 1000000, 512M, 1.5G or 4GiB{}", size,
                    try_help));
  }
  expect_failure("sort in.npy -o out --memory 99999999T", 2,
                 "sheaf sort: --memory: '99999999T' is more bytes than 64 bits can count" + try_help);
  expect_failure("sort in.bin --record-bytes 2 -o out", 2, "sheaf sort: raw records need --key OFFSET:BYTES[:TYPE]");
  for (const char* key :
       {"8", "a:1", "1:", ":1", "-1:8", "1:2:x", "1:2:u:down", "1:2:desc:u", "0x1:2", "1:2:u:desc:"}) {
    expect_failure("sort in.npy -o out --key " + std::string(key), 2,
                   "sheaf sort: --key: '" + std::string(key) +
                       "' is not OFFSET:BYTES[:TYPE][:asc|desc], two whole numbers and a TYPE of u, i, f or bytes");
  }
  expect_failure("sort in.npy -o out --key 0:33", 2, "sheaf sort: --key: '0:33' is 33 bytes wide, not 1 to 32");
  expect_failure("sort in.npy -o out --key 0:0", 2, "sheaf sort: --key: '0:0' is 0 bytes wide, not 1 to 32");
  expect_failure("sort in.npy -o out --key 0:3:f", 2,
                 "sheaf sort: --key: '0:3:f' is 3 bytes wide, not 2, 4 or 8 as floats are");
  expect_failure("sort in.npy -o out --key 1:2", 2,
                 "sheaf sort: --key: '1:2' reaches past the end of records of 2 bytes");
  expect_failure("sort in.npy -o out --key 18446744073709551615:2", 2,
                 "sheaf sort: --key: '18446744073709551615:2' reaches past the end of records of 2 bytes");
  folder.write("wide.bin", std::string(40, 'x'));
  expect_failure("sort wide.bin --record-bytes 40 -o out --key 0:20 --key 20:20", 2,
                 "sheaf sort: keys of 40 bytes together, more than 32");
  std::string nine;
  for (int i = 0; i < 9; ++i) nine += " --key 0:1";
  expect_failure("sort in.npy -o out" + nine, 2, "sheaf sort: --key is given 9 times, more than 8");
}

TEST_F(CliSort, BadInputsAreNamed) {
  const auto expect_type_failure = [&](const std::string& descr, std::size_t width, const std::string& words) {
    folder.write("typed.npy", npy_file(fmt::format("'{}'", descr), "(1,)", std::string(width, '\0')));
    expect_failure("sort typed.npy -o out", 3, "sheaf sort: typed.npy: descr is '" + descr + "'" + words);
  };
  for (const auto& [descr, width] : {std::pair("<c8", 8), {"<f16", 16}, {"|V3", 3}}) {
    expect_type_failure(descr, static_cast<std::size_t>(width),
                        ", which has no order that sort knows; --key says what bytes to sort by");
  }
  expect_type_failure("|S33", 33, ", strings of more than 32 bytes; --key 0:32 sorts by the first 32");
  for (const char* descr : {"<U13", ">U13"}) {
    expect_type_failure(descr, 52, ", strings of more than 12 characters, which no key holds");
  }
  folder.write("rows.npy", npy_file("'|u1'", "(5, 2)", std::string(10, '\0')));
  expect_failure("sort rows.npy -o out", 3,
                 "sheaf sort: rows.npy: shape is (5, 2): --key says which bytes of a row to sort by");
  expect_failure("sort in.bin --record-bytes 3 --key 0:1 -o out", 3,
                 "sheaf sort: in.bin: 10 bytes are not a multiple of 3 bytes: 1 are left over");
  expect_failure("sort in.bin --key 0:1 -o out", 3,
                 "sheaf sort: in.bin: not an .npy file; raw files need --record-bytes");
  expect_failure("sort none.npy -o out", 3, "sheaf sort: none.npy: cannot be opened: No such file or directory");
  expect_failure("sort . -o out", 3, "sheaf sort: .: not a regular file");
}

// Files without content of their own: as many records as an index type can number, and one more.
TEST_F(CliSort, AnIndexTypeThatIsTooNarrowIsNamedBeforeAnyWork) {
  const std::pair<std::uint64_t, const char*> cases[] = {{std::uint64_t{1} << 32, "u32"},
                                                         {std::uint64_t{1} << 31, "i32"}};
  for (const auto& [records, type] : cases) {
    std::filesystem::resize_file(folder.write("many.bin", ""), records);
    expect_failure(fmt::format("sort many.bin --record-bytes 1 --key 0:1 --index gather --output-type {} -o out", type),
                   2, fmt::format("sheaf sort: {} cannot number {} records", type, records));
  }
}

TEST_F(CliSort, InputsAreNeverWritten) {
  ASSERT_EQ(symlink("in.npy", (folder / "alias.npy").c_str()), 0);
  for (const char* output : {"./in.npy", "alias.npy"}) {
    expect_failure("sort in.npy -o " + std::string(output), 2,
                   "sheaf sort: -o " + std::string(output) + " is the input in.npy; inputs are never written");
  }
}

TEST_F(CliSort, OutputsThatCannotBeWrittenAreNamed) {
  folder.write("raw.bin", random_bytes(4'000'000, 256, 3));
  for (const char* memory : {"1M", "1G"}) {
    expect_failure("sort raw.bin --record-bytes 100 --key 0:10 -o none/out --memory " + std::string(memory), 5,
                   "sheaf sort: none/out: cannot be created: No such file or directory");
  }
  expect_failure("version >/dev/null; ulimit -f 1000; '" + sheaf_program() +
                     "' sort raw.bin --backend reference --record-bytes 100 --key 0:10 -o out --memory 1M",
                 5, "sheaf sort: out: cannot be written: File too large");
}

TEST_F(CliSort, AFullDiskIsMetBeforeAnyWork) {
  const std::string disk = folder / "disk";
  std::filesystem::create_directory(disk);
  if (mount("sheaf-test", disk.c_str(), "tmpfs", 0, "size=6m") != 0) GTEST_SKIP() << "no right to mount a small disk";
  folder.write("raw.bin", random_bytes(4'000'000, 256, 4));
  const std::string sort = "sort raw.bin --record-bytes 100 --key 0:10 -o disk/out --memory 1M";
  // The output fits on the device, the merged runs do not.
  const program_result runs = run_sheaf(folder, sort);
  EXPECT_EQ(runs.code, 5);
  EXPECT_TRUE(runs.err.starts_with("sheaf sort: disk: a temporary file there cannot be written: 4")) << runs.err;
  EXPECT_TRUE(runs.err.ends_with(" bytes are wanted, but 2289664 are free\n")) << runs.err;
  EXPECT_TRUE(std::filesystem::is_empty(disk));
  folder.write("raw.bin", random_bytes(8'000'000, 256, 4));
  expect_failure(sort, 5, "sheaf sort: disk/out: cannot be written: 8000000 bytes are wanted, but 6291456 are free");
  EXPECT_TRUE(std::filesystem::is_empty(disk));
  EXPECT_EQ(umount2(disk.c_str(), MNT_DETACH), 0);
}

// The file is larger than the address space: nobody says how much memory sort may take, and it maps none of the file.
TEST_F(CliSort, AnAddressSpaceThatIsLimitedIsMemoryThatIsLimited) {
  if (under_address_sanitizer || under_thread_sanitizer) GTEST_SKIP() << "sanitizers need address space without limit";
  constexpr std::uint32_t records = 24576;
  const std::string path = folder.write("large.bin", "");
  std::filesystem::resize_file(path, std::uint64_t{65536} * records);
  const std::string sort =
      fmt::format("version >/dev/null; ulimit -v 1048576; '{}' sort --backend cpu --json ", sheaf_program());
  const program_result index =
      run_sheaf(folder, sort + "large.bin --record-bytes 65536 --key 0:8 --index gather -o index.bin");
  ASSERT_EQ(index.code, 0) << index.err;
  std::vector<std::uint32_t> in_order(records);
  std::iota(in_order.begin(), in_order.end(), 0U);
  EXPECT_TRUE(folder.read("index.bin") == bytes_of(in_order));
  const program_result small = run_sheaf(folder, sort + "in.npy -o out.npy");
  ASSERT_EQ(small.code, 0) << small.err;
  const auto memory = [](const program_result& result) {
    const std::string_view document = std::string_view(result.out).substr(result.out.find('{'));
    return nlohmann::json::parse(document)["memory_bytes"].get<std::uint64_t>();
  };
  EXPECT_LE(memory(small), std::uint64_t{1} << 29);
  EXPECT_LE(memory(index), std::uint64_t{1} << 29);
}

TEST_F(CliSort, MemoryIsGivenInAnyUnit) {
  for (const char* size : {"1.5G", "1.5GiB", "1536m", "'1.5 GiB'"}) {
    const program_result result = run_sheaf(folder, fmt::format("sort in.npy -o out.npy --json --memory {}", size));
    ASSERT_EQ(result.code, 0) << size << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out)["memory_bytes"], std::uint64_t{3} << 29) << size;
  }
}

TEST_F(CliSort, KilledAtAnyMomentItLeavesTheOldOutputOrTheNewOne) {
  const std::string bytes = random_bytes(8'000'000, 256, 5);
  folder.write("raw.bin", bytes);
  const std::string expected = sorted_bytes(bytes, 100, 0, 10);
  const int unnamed = open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (unnamed < 0) GTEST_SKIP() << "the file system has no files without names";
  close(unnamed);
  std::mt19937_64 random(6);
  for (int round = 0; round < 12; ++round) {
    folder.write("out.bin", "old");
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(folder.path().c_str()) != 0) _exit(1);
      execl(sheaf_program().c_str(), "sheaf", "sort", "raw.bin", "--record-bytes", "100", "--key", "0:10", "-o",
            "out.bin", "--memory", "1M", "--quiet", nullptr);
      _exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(folder.read("raw.bin"), bytes);
    const std::string out = folder.read("out.bin");
    EXPECT_TRUE(out == "old" || out == expected) << out.size() << " bytes";
    // Between taking a name and taking the old file's place the new file is whole, under a hidden name.
    if (out == "old" && folder.count() > 4) {
      for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(".sheaf-")) continue;
        EXPECT_EQ(folder.read(name), expected);
        std::filesystem::remove(entry.path());
      }
    }
    EXPECT_EQ(folder.count(), 4U);
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_subcommands_sort_test
