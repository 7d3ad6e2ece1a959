#include "apps/sheaf/sort/external.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/sort/background.hpp"
#include "apps/sheaf/sort/key.hpp"
#include "apps/sheaf/sort/loser_tree.hpp"
#include "apps/sheaf/sort/merge_key.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace sheaf::tests::apps_sheaf_sort_external_test {
namespace {

using jobs::merge_key;

TEST(LoserTree, TakesTheLowestAndOfEqualOnesTheFirstList) {
  using key = jobs::merge_key<1>;
  std::mt19937_64 random(1);
  for (std::size_t lists = 1; lists <= 20; ++lists) {
    std::vector<std::vector<std::uint64_t>> rest(lists);
    std::vector<std::pair<std::uint64_t, std::size_t>> expected;
    for (std::size_t i = 0; i < lists; ++i) {
      rest[i].resize(random() % 10);
      // Few values, the highest among them, which lists that have ended hold as well.
      for (std::uint64_t& value : rest[i]) value = random() % 4 == 0 ? ~std::uint64_t{0} : random() % 4;
      std::sort(rest[i].begin(), rest[i].end());
      for (const std::uint64_t value : rest[i]) expected.emplace_back(value, i);
      std::reverse(rest[i].begin(), rest[i].end());
    }
    std::sort(expected.begin(), expected.end());
    std::vector<key> firsts;
    firsts.reserve(rest.size());
    for (auto& list : rest) firsts.push_back(list.empty() ? key{} : key{{list.back()}});
    jobs::loser_tree<key> tree(firsts);
    for (std::uint32_t i = 0; i < lists; ++i) {
      if (rest[i].empty()) tree.end(i);
    }
    std::vector<std::pair<std::uint64_t, std::size_t>> found;
    while (!tree.all_ended()) {
      auto& list = rest[tree.winner()];
      found.emplace_back(list.back(), tree.winner());
      list.pop_back();
      list.empty() ? tree.end(tree.winner()) : tree.replace({{list.back()}});
    }
    EXPECT_EQ(found, expected) << lists;
  }
}

template <std::uint32_t Words>
bool in_order(const std::vector<std::byte>& rows, std::uint64_t width, const primitives::key_layout& layout) {
  const jobs::merge_key_reader<Words> key_of(layout, width);
  for (std::size_t i = 0; i + 1 < rows.size() / width; ++i) {
    for (std::size_t j = 0; j < rows.size() / width; ++j) {
      const std::byte* const a = rows.data() + i * width;
      const std::byte* const b = rows.data() + j * width;
      const auto expected_a = primitives::key_of(a, layout);
      const auto expected_b = primitives::key_of(b, layout);
      if ((key_of(a) < key_of(b)) != (expected_a < expected_b)) return false;
      if ((key_of(a) == key_of(b)) != (expected_a == expected_b)) return false;
    }
  }
  return true;
}

// Merges by keys of one word and by keys as numbers of 256 bits.
TEST(MergeKey, ComparesAsTheRowsDo) {
  std::mt19937_64 random(2);
  constexpr std::uint64_t width = 40;
  std::vector<std::byte> rows(60 * width);
  for (std::byte& b : rows) b = static_cast<std::byte>(random() % 2 == 0 ? 0 : 0xff);
  for (const bool descending : {false, true}) {
    for (std::uint32_t bytes = 1; bytes <= 32; ++bytes) {
      for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{3}, width - bytes}) {
        if (offset + bytes > width) continue;
        const auto layout = jobs::layout_of(key_field{offset, bytes, key_type::bytes, descending});
        const std::uint32_t words = (bytes + 7) / 8;
        EXPECT_TRUE(words == 1   ? in_order<1>(rows, width, layout)
                    : words == 2 ? in_order<2>(rows, width, layout)
                    : words == 3 ? in_order<3>(rows, width, layout)
                                 : in_order<4>(rows, width, layout))
            << offset << ":" << bytes;
      }
    }
  }
  EXPECT_TRUE(in_order<1>(rows, width, jobs::layout_of(key_field{5, 4, key_type::floating, true})));
  const sort_key two{key_field{9, 8, key_type::signed_integer}, key_field{1, 2, key_type::bytes, true}};
  EXPECT_TRUE(in_order<2>(rows, width, jobs::layout_of(two)));
}

// Rows of 6 bytes: a key of 2 bytes and the number of the row.
constexpr std::uint64_t width = 6;

std::vector<std::byte> rows_with_numbers(std::uint32_t count, unsigned keys) {
  std::mt19937_64 random(3);
  std::vector<std::byte> rows(count * width);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto key = static_cast<std::uint16_t>(random() % keys);
    std::memcpy(rows.data() + i * width, &key, 2);
    std::memcpy(rows.data() + i * width + 2, &i, 4);
  }
  return rows;
}

const sort_key by_number = key_field{0, 2, key_type::unsigned_integer};

void stable_sort_rows(const_records in, records out) {
  std::vector<std::uint64_t> order(in.count);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  const auto key = [&](std::uint64_t i) {
    std::uint16_t k = 0;
    std::memcpy(&k, in.data + i * in.stride_bytes, 2);
    return k;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) { return key(a) < key(b); });
  for (std::uint64_t i = 0; i < in.count; ++i) {
    std::memcpy(out.data + i * out.stride_bytes, in.data + order[i] * in.stride_bytes, in.record_bytes);
  }
}

TEST(SortExternal, IsTheStableSortForAnyLengthOfRunAndNumberOfLevels) {
  const temporary_folder folder;
  for (const std::uint32_t count : {1U, 2U, 1000U, 40001U}) {
    const std::vector<std::byte> rows = rows_with_numbers(count, 300);
    std::vector<std::byte> expected(rows.size());
    stable_sort_rows({rows.data(), count, width}, {expected.data(), count, width});
    for (const std::uint64_t run_rows :
         {std::uint64_t{1}, std::uint64_t{17}, std::uint64_t{999}, std::uint64_t{50000}}) {
      if (count / run_rows > 3000) continue;
      io::scratch_file file(folder.path(), jobs::run_file_bytes(count, width, run_rows));
      std::uint64_t moved = 0;
      const auto progress = [&](std::uint64_t number) { moved += number; };
      auto runs = jobs::write_runs(file, jobs::source_of(const_records(rows.data(), count, width)), run_rows,
                                   stable_sort_rows, progress);
      EXPECT_EQ(runs.size(), (count + run_rows - 1) / run_rows);
      std::vector<std::byte> found;
      // With so little memory two runs are merged at once, and with 4000 bytes each is read row by row.
      const std::uint64_t memory = run_rows != 999 ? 1 << 20 : count > 1000 ? 45'000 : 4000;
      const auto write = [&](const std::byte* from, std::uint64_t bytes) {
        found.insert(found.end(), from, from + bytes);
      };
      const auto result = jobs::merge_all(file, runs, {jobs::layout_of(by_number), width}, memory,
                                          {"", 0, width, write, false}, progress);
      EXPECT_TRUE(found == expected) << count << " rows in runs of " << run_rows;
      EXPECT_EQ(moved, count * (result.levels + 1));
      EXPECT_EQ(folder.count(), 0U);
    }
  }
}

// Rows that begin with bytes to compare, of which many are alike, and of more words the wider the key is.
TEST(SortExternal, MergesByKeysOfAnyWidth) {
  const temporary_folder folder;
  constexpr std::uint64_t count = 5000;
  constexpr std::uint64_t row_bytes = 40;
  std::mt19937_64 random(4);
  std::vector<std::byte> rows(count * row_bytes);
  for (std::byte& b : rows) b = static_cast<std::byte>(random() % 8 == 0 ? random() % 256 : 0);
  for (const std::uint32_t key_bytes : {3U, 8U, 12U, 20U, 32U}) {
    SCOPED_TRACE(key_bytes);
    const auto sort_rows = [&](const_records in, records out) {
      std::vector<const std::byte*> order(in.count);
      for (std::uint64_t i = 0; i < in.count; ++i) order[i] = in.data + i * row_bytes;
      std::stable_sort(order.begin(), order.end(),
                       [&](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, key_bytes) < 0; });
      for (std::uint64_t i = 0; i < in.count; ++i) std::memcpy(out.data + i * row_bytes, order[i], row_bytes);
    };
    std::vector<std::byte> expected(rows.size());
    sort_rows({rows.data(), count, row_bytes}, {expected.data(), count, row_bytes});
    io::scratch_file file(folder.path(), jobs::run_file_bytes(count, row_bytes, 700));
    const auto none = [](std::uint64_t) {};
    auto runs =
        jobs::write_runs(file, jobs::source_of(const_records(rows.data(), count, row_bytes)), 700, sort_rows, none);
    std::vector<std::byte> found;
    const auto write = [&](const std::byte* from, std::uint64_t bytes) {
      found.insert(found.end(), from, from + bytes);
    };
    jobs::merge_all(file, std::move(runs), {jobs::layout_of(key_field{0, key_bytes, key_type::bytes}), row_bytes},
                    1 << 20, {"", 0, row_bytes, write, false}, none);
    EXPECT_TRUE(found == expected);
  }
}

TEST(SortExternal, WritesAPartOfEachRowBehindAFront) {
  const temporary_folder folder;
  const std::vector<std::byte> rows = rows_with_numbers(30000, 300);
  std::vector<std::byte> sorted(rows.size());
  stable_sort_rows({rows.data(), 30000, width}, {sorted.data(), 30000, width});
  std::string expected = "front";
  for (std::size_t at = 0; at < sorted.size(); at += width) {
    expected.append(reinterpret_cast<const char*>(sorted.data()) + at + 2, 3);
  }
  io::scratch_file file(folder.path(), jobs::run_file_bytes(30000, width, 7000));
  const auto none = [](std::uint64_t) {};
  const auto runs =
      jobs::write_runs(file, jobs::source_of(const_records(rows.data(), 30000, width)), 7000, stable_sort_rows, none);
  std::string found;
  const auto write = [&](const std::byte* from, std::uint64_t bytes) {
    found.append(reinterpret_cast<const char*>(from), bytes);
  };
  jobs::merge_all(file, runs, {jobs::layout_of(by_number), width}, 100000, {"front", 2, 3, write, false}, none);
  EXPECT_EQ(found, expected);
}

TEST(SortExternal, MergesWithinItsMemoryAndAtLeastTwo) {
  EXPECT_EQ(jobs::most_merged_runs(65536, 1 << 20), 5U);
  EXPECT_EQ(jobs::most_merged_runs(100, 1 << 20), 24U);
  EXPECT_GT(jobs::most_merged_runs(100, std::uint64_t{1} << 30), 1000U);
  EXPECT_EQ(jobs::most_merged_runs(65536, 1), 2U);
}

TEST(SortExternal, SmallBlocksGoThroughTheCache) {
  EXPECT_EQ(jobs::cache_use_for(jobs::least_external_bytes), io::cache_use::keep);
  EXPECT_EQ(jobs::cache_use_for(std::uint64_t{64} << 20), io::cache_use::bypass);
}

TEST(SortExternal, RunsFitWithTheirScratch) {
  const auto twice = [](std::uint64_t rows) { return rows * 20; };
  EXPECT_EQ(jobs::rows_per_run(1000, 10, 50000, twice), 1000U);
  EXPECT_EQ(jobs::rows_per_run(1000, 10, 49999, twice), 500U);
  EXPECT_EQ(jobs::rows_per_run(1000, 10, 5000, twice), 100U);
  EXPECT_EQ(jobs::rows_per_run(1001, 10, 5000, twice), 91U);  // 11 runs of equal length
  EXPECT_EQ(jobs::rows_per_run(1000, 10, 1, twice), 1U);
  EXPECT_EQ(jobs::rows_per_run(0, 10, 5000, twice), 1U);
}

TEST(SortExternal, WhatFailsBesideTheWorkIsThrown) {
  const temporary_folder folder;
  const std::vector<std::byte> rows = rows_with_numbers(1000, 10);
  io::scratch_file file(folder.path(), rows.size());
  jobs::record_source source = jobs::source_of(const_records(rows.data(), 1000, width));
  const auto none = [](std::uint64_t) {};
  const auto runs = jobs::write_runs(file, source, 100, stable_sort_rows, none);
  const auto full = [](const std::byte*, std::uint64_t) { throw std::runtime_error("full"); };
  EXPECT_THROW(
      jobs::merge_all(file, runs, {jobs::layout_of(by_number), width}, 1 << 20, {"", 0, width, full, false}, none),
      std::runtime_error);
  const auto read = source.read;
  source.read = [&](std::uint64_t first, std::uint64_t number, std::byte* to) {
    if (first == 500) throw std::runtime_error("cut short");
    read(first, number, to);
  };
  EXPECT_THROW(jobs::write_runs(file, source, 100, stable_sort_rows, none), std::runtime_error);
  EXPECT_THROW(jobs::for_each_block(
                   {1000, width, [](std::uint64_t, std::uint64_t, std::byte*) { throw std::runtime_error("gone"); }},
                   [](std::uint64_t, const_records) {}),
               std::runtime_error);
}

TEST(Background, DoesWorkInOrderAndHandsOverWhatItThrows) {
  std::string done;
  jobs::background worker;
  auto first = worker.run([&] { done += "a"; });
  auto second = worker.run([&] { throw std::runtime_error("b"); });
  auto third = worker.run([&] { done += "c"; });
  third.get();
  EXPECT_EQ(done, "ac");
  first.get();
  EXPECT_THROW(second.get(), std::runtime_error);
}

TEST(SortKeyText, SaysOffsetBytesTypeAndDirection) {
  using jobs::parse_key_field;
  EXPECT_EQ(jobs::parse_key_field("0:10", false), (key_field{0, 10, key_type::bytes}));
  EXPECT_EQ(jobs::parse_key_field("3:4:u", false), (key_field{3, 4, key_type::unsigned_integer}));
  EXPECT_EQ(jobs::parse_key_field("3:16:i", true), (key_field{3, 16, key_type::signed_integer, true}));
  EXPECT_EQ(jobs::parse_key_field("3:8:f:asc", true), (key_field{3, 8, key_type::floating, false}));
  EXPECT_EQ(jobs::parse_key_field("3:8:desc", false), (key_field{3, 8, key_type::bytes, true}));
  EXPECT_EQ(jobs::parse_key_field("3:8:bytes:desc", false), (key_field{3, 8, key_type::bytes, true}));
  expect_error(
      error_code::bad_argument,
      "--key: '3:\\x00' is not OFFSET:BYTES[:TYPE][:asc|desc], two whole numbers and a TYPE of u, i, f or bytes",
      [] { jobs::parse_key_field(std::string_view("3:\0", 3), false); });
}

TEST(SortKeyText, OfAnyLengthIsCutInMessages) {
  const std::string zeros(100000, '0');
  const std::string shown = std::string(60, '0') + "...";
  expect_error(error_code::bad_argument, "--key: '" + shown + "' is 33 bytes wide, not 1 to 32",
               [&] { jobs::parse_key_field(zeros + ":33", false); });
  expect_error(error_code::bad_argument, "--key: '" + shown + "' reaches past the end of records of 3 bytes", [&] {
    jobs::key_of_texts(std::vector<std::string>{"0:1", zeros + ":4"}, 3, false);
  });
}

TEST(ByteSize, IsANumberWithAUnit) {
  using jobs::parse_byte_size;
  EXPECT_EQ(jobs::parse_byte_size("0"), 0U);
  EXPECT_EQ(jobs::parse_byte_size("1000"), 1000U);
  EXPECT_EQ(jobs::parse_byte_size("3K"), 3072U);
  EXPECT_EQ(jobs::parse_byte_size("512M"), 512U << 20);
  EXPECT_EQ(jobs::parse_byte_size("16777215T"), 16777215ULL << 40);
  for (const char* text : {"", "M", ".5G", "1.G", "1.5", "1.5B", "-1", "+1", " 1", "1KK", "1Ki", "1P", "1e9", "0x10",
                           "1,5G", "1.5.5G", "G1", "inf", "512 M B"}) {
    expect_error(error_code::bad_argument,
                 "'" + std::string(text) + "' is not a number of bytes such as 1000000, 512M, 1.5G or 4GiB",
                 [&] { jobs::parse_byte_size(text); });
  }
}

TEST(ByteSize, TakesUnitsAsTheyAreWritten) {
  for (const char* text : {"1536M", "1.5G", "1.5g", "1.5GiB", "1.5 GiB", "1.50 gib", "1572864K", "1572864 KiB"}) {
    EXPECT_EQ(jobs::parse_byte_size(text), std::uint64_t{3} << 29) << text;
  }
  for (const char* text : {"512MB", "512mb", "512 MB", "0.512GB", "512000kB", "512000000B", "512000000"}) {
    EXPECT_EQ(jobs::parse_byte_size(text), 512'000'000U) << text;
  }
  EXPECT_EQ(jobs::parse_byte_size("2T"), std::uint64_t{2} << 40);
  EXPECT_EQ(jobs::parse_byte_size("2TB"), 2'000'000'000'000U);
  EXPECT_EQ(jobs::parse_byte_size("0.0001K"), 0U) << "fractions of a byte are dropped";
  EXPECT_EQ(jobs::parse_byte_size("0.9999999999999999999999999999K"), 1023U);
}

TEST(ByteSize, MoreThanCanBeCountedIsNamed) {
  EXPECT_EQ(jobs::parse_byte_size("16777215.999999999T"), ~std::uint64_t{0} - 1099);
  EXPECT_EQ(jobs::parse_byte_size("18446744073709551615"), ~std::uint64_t{0});
  for (const char* text :
       {"16777216T", "16777216TiB", "18446744073709551616", "18446744073710TB", "99999999999999999999M"}) {
    expect_error(error_code::bad_argument, "'" + std::string(text) + "' is more bytes than 64 bits can count",
                 [&] { jobs::parse_byte_size(text); });
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_sort_external_test
