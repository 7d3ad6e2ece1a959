#include "jobs/verify.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace sheaf::tests {
namespace {

using jobs::first_gather_difference;
using jobs::first_scatter_difference;
using list = std::vector<std::uint32_t>;

const list index{2, 0, 2};

index_span through(const list& entries) { return std::span<const std::uint32_t>(entries); }
const_records rows(const list& values, std::uint64_t record_bytes = 4) {
  return {values.data(), values.size() * 4 / record_bytes, record_bytes};
}

TEST(Verify, FindsTheFirstWrongRecordOfAGather) {
  const list table{10, 11, 12};
  EXPECT_EQ(jobs::first_gather_difference(rows(table), through(index), rows({12, 10, 12})), std::nullopt);
  EXPECT_EQ(jobs::first_gather_difference(rows(table), through(index), rows({12, 11, 10})), 1U);
}

TEST(Verify, FindsTheFirstWrongRecordOfAScatter) {
  const list in{10, 11, 12};
  const auto difference = [&](const list& out, duplicates repeats) {
    return jobs::first_scatter_difference(rows(in), through(index), rows(out), nullptr, repeats);
  };
  EXPECT_EQ(difference({11, 0, 12, 0}, duplicates::last), std::nullopt);
  EXPECT_EQ(difference({11, 0, 12, 0}, duplicates::any), std::nullopt);
  EXPECT_EQ(difference({11, 0, 12, 9}, duplicates::any), 3U);
  EXPECT_EQ(difference({11, 1, 13, 9}, duplicates::any), 1U);
}

TEST(Verify, AnyWriterWillDoUnlessTheLastIsAskedFor) {
  const list in{10, 11, 12};
  const list out{11, 0, 10, 0};
  EXPECT_EQ(jobs::first_scatter_difference(rows(in), through(index), rows(out), nullptr, duplicates::last), 2U);
  EXPECT_EQ(jobs::first_scatter_difference(rows(in), through(index), rows(out), nullptr, duplicates::any),
            std::nullopt);
  EXPECT_EQ(jobs::first_scatter_difference(rows(in), through(index), rows({11, 0, 11, 0}), nullptr, duplicates::any),
            2U);
}

TEST(Verify, OnlyWideRecordsMayMixTheirWriters) {
  const list in{1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 2, 2, 2, 2, 2};
  const list mixed{9, 9, 9, 9, 9, 7, 7, 7, 7, 7, 1, 2, 2, 1, 2};
  const std::vector<std::uint32_t> before(15, 7);
  const auto* old = reinterpret_cast<const std::byte*>(before.data());
  EXPECT_EQ(jobs::first_scatter_difference(rows(in, 20), through(index), rows(mixed, 20), old, duplicates::any),
            std::nullopt);
  EXPECT_EQ(jobs::first_scatter_difference(rows(in, 20), through(index), rows(mixed, 20), old, duplicates::last), 2U);
  const list narrow_in{1, 1, 9, 9, 2, 2};
  EXPECT_EQ(jobs::first_scatter_difference(rows(narrow_in, 8), through(index), rows({9, 9, 7, 7, 1, 2}, 8), old,
                                           duplicates::any),
            2U);
}

}  // namespace
}  // namespace sheaf::tests
