#include "apps/sheaf/checks/movement.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sheaf::tests::apps_sheaf_checks_all_test {
namespace {

using jobs::repeated_records;
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
  const auto difference = [&](const list& out, repeated_records allowed) {
    return jobs::first_scatter_difference(rows(in), through(index), rows(out), nullptr, allowed);
  };
  EXPECT_EQ(difference({11, 0, 12, 0}, repeated_records::last), std::nullopt);
  for (const repeated_records allowed : {repeated_records::whole, repeated_records::mixed}) {
    EXPECT_EQ(difference({11, 0, 12, 0}, allowed), std::nullopt);
    EXPECT_EQ(difference({11, 0, 12, 9}, allowed), 3U);
    EXPECT_EQ(difference({11, 1, 13, 9}, allowed), 1U);
  }
}

// A bad index is reported by the call; here it counts by what it does to the records.
TEST(Verify, BadIndicesCountByTheirEffectOnTheRecords) {
  const list values{10, 11, 12};
  const list bad{2, 7, 0};
  EXPECT_EQ(jobs::first_gather_difference(rows(values), through(bad), rows({12, 0, 10})), std::nullopt);
  EXPECT_EQ(jobs::first_gather_difference(rows(values), through(bad), rows({12, 1, 10})), 1U);
  for (const repeated_records allowed : {repeated_records::last, repeated_records::whole}) {
    const auto difference = [&](const list& out) {
      return jobs::first_scatter_difference(rows(values), through(bad), rows(out), nullptr, allowed);
    };
    EXPECT_EQ(difference({12, 0, 10}), std::nullopt);
    EXPECT_EQ(difference({12, 11, 10}), 1U);
  }
}

TEST(Verify, AnyWriterWillDoUnlessTheLastIsAskedFor) {
  const list in{10, 11, 12};
  const auto difference = [&](const list& out, repeated_records allowed) {
    return jobs::first_scatter_difference(rows(in), through(index), rows(out), nullptr, allowed);
  };
  EXPECT_EQ(difference({11, 0, 10, 0}, repeated_records::last), 2U);
  EXPECT_EQ(difference({11, 0, 10, 0}, repeated_records::whole), std::nullopt);
  EXPECT_EQ(difference({11, 0, 10, 0}, repeated_records::mixed), std::nullopt);
  EXPECT_EQ(difference({11, 0, 11, 0}, repeated_records::whole), 2U);
  EXPECT_EQ(difference({11, 0, 11, 0}, repeated_records::mixed), 2U);
}

// Three records of three bytes, of which the first and the last go to one place.
TEST(Verify, MixedRecordsHaveEachByteFromAWriterOfThatByte) {
  const std::string in = "abcxyzABC";
  const std::string before = "---------";
  const auto difference = [&](const std::string& out, repeated_records allowed) {
    return jobs::first_scatter_difference({in.data(), 3, 3}, through(index), {out.data(), 3, 3},
                                          reinterpret_cast<const std::byte*>(before.data()), allowed);
  };
  for (const char* mixed : {"xyz---aBc", "xyz---Abc", "xyz---ABc", "xyz---abC"}) {
    EXPECT_EQ(difference(mixed, repeated_records::mixed), std::nullopt) << mixed;
    EXPECT_EQ(difference(mixed, repeated_records::whole), 2U) << mixed;
    EXPECT_EQ(difference(mixed, repeated_records::last), 2U) << mixed;
  }
  EXPECT_EQ(difference("xyz---bAC", repeated_records::mixed), 2U) << "a writer's byte, from another place";
  EXPECT_EQ(difference("xyz---Ab-", repeated_records::mixed), 2U) << "what was there before";
  EXPECT_EQ(difference("xyz---Abz", repeated_records::mixed), 2U) << "a byte of another record";
  EXPECT_EQ(difference("xYz---ABC", repeated_records::mixed), 0U) << "a record with one writer";
  EXPECT_EQ(difference("xyz-a-ABC", repeated_records::mixed), 1U) << "a record without a writer";
}

// As include/sheaf/scatter.hpp promises: 1, 2, 4, 8 or 16 bytes at addresses and strides that are multiples of those.
TEST(Verify, OnlyAlignedWordsAreWhole) {
  alignas(16) static std::byte memory[256];
  const auto allowed = [](std::uint64_t width, std::uint64_t in_place, std::uint64_t out_place,
                          duplicates repeats = duplicates::any) {
    return jobs::allowed_by(repeats, {memory + in_place, 2, width}, {memory + out_place, 2, width});
  };
  for (const std::uint64_t width : {1, 2, 4, 8, 16}) {
    EXPECT_EQ(allowed(width, 0, 128), repeated_records::whole) << width;
    EXPECT_EQ(allowed(width, width, 128 + width), repeated_records::whole) << width;
    if (width > 1) {
      EXPECT_EQ(allowed(width, 1, 128), repeated_records::mixed) << width;
      EXPECT_EQ(allowed(width, 0, 128 + width / 2), repeated_records::mixed) << width;
    }
    EXPECT_EQ(allowed(width, 0, 128, duplicates::last), repeated_records::last) << width;
  }
  for (const std::uint64_t width : {3, 5, 12, 20, 32, 64}) {
    EXPECT_EQ(allowed(width, 0, 128), repeated_records::mixed) << width;
    EXPECT_EQ(allowed(width, 0, 128, duplicates::last), repeated_records::last) << width;
  }
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_checks_all_test
