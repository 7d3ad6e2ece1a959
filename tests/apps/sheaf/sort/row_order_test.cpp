#include "apps/sheaf/sort/row_order.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/checks/sort.hpp"
#include "apps/sheaf/sort/record_source.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::apps_sheaf_sort_row_order_test {
namespace {

using jobs::column_type;
using jobs::order_column;
using jobs::row_order;

constexpr std::int64_t nat = std::numeric_limits<std::int64_t>::min();

/// Rows of one number each, in ascending order as the column compares them.
struct ascending_rows {
  const char* what;
  order_column column;
  std::string bytes;
};

template <class T>
ascending_rows rows_of(const char* what, column_type type, bool big_endian, const std::vector<T>& numbers) {
  std::string bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
  if (big_endian) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) std::reverse(&bytes[at], &bytes[at] + sizeof(T));
  }
  return {what, {0, sizeof(T), type, big_endian}, bytes};
}

/// Strings of `width` characters.
ascending_rows texts_of(const char* what, bool big_endian, std::uint32_t width,
                        const std::vector<std::u32string>& texts) {
  std::vector<char32_t> all;
  for (std::u32string text : texts) {
    text.resize(width);
    all.insert(all.end(), text.begin(), text.end());
  }
  ascending_rows rows = rows_of(what, column_type::text, big_endian, all);
  rows.column.bytes = width * 4;
  return rows;
}

std::vector<ascending_rows> all_rows() {
  std::vector<ascending_rows> all;
  for (const bool big : {false, true}) {
    all.push_back(rows_of<std::uint16_t>("u2", column_type::unsigned_integer, big, {0, 1, 255, 256, 0xffff}));
    all.push_back(rows_of<std::uint64_t>("u8", column_type::unsigned_integer, big, {0, 1, 255, 256, ~0ULL}));
    all.push_back(rows_of<std::int16_t>("i2", column_type::signed_integer, big, {-32768, -256, -1, 0, 1, 255, 256}));
    all.push_back(rows_of<std::int64_t>("i8", column_type::signed_integer, big, {nat, -1, 0, 1, 256, 1LL << 40}));
    all.push_back(rows_of<float>("f4", column_type::floating, big,
                                 {-std::numeric_limits<float>::infinity(), -2, -1e-30F, -0.0F, 0.0F, 1e-30F, 3}));
    all.push_back(rows_of<double>("f8", column_type::floating, big, {-1e300, -2, -0.0, 0.0, 1e-300, 1e300}));
    all.push_back(rows_of<std::uint16_t>("f2", column_type::floating, big, {0xbc00, 0x8000, 0x0000, 0x0001, 0x3c00}));
    all.push_back(rows_of<std::int64_t>("M8", column_type::time, big,
                                        {nat + 1, -300, -1, 0, 256, std::numeric_limits<std::int64_t>::max(), nat}));
    all.push_back(texts_of("U1", big, 1, {U"", U"\x1", U"a", U"\xff", U"\x100", U"\xffff", U"\U0001f600"}));
    all.push_back(
        texts_of("U12", big, 12,
                 {U"", U"a", U"aaaaaaaaaaaa", U"aaaaaaaaaaab", U"ab", U"\x100", U"\uffff", U"\U0001f600", U"\U0010ffff",
                  U"\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff"
                  U"\U0010ffff\U0010ffff\U0010ffff\U0010ffff\U0010ffff"}));
  }
  return all;
}

TEST(RowOrder, EveryColumnComparesAsItsNumbers) {
  for (ascending_rows rows : all_rows()) {
    SCOPED_TRACE(std::string(rows.what) + (rows.column.big_endian ? ", big-endian" : ""));
    const std::uint64_t width = rows.column.bytes;
    const std::uint64_t count = rows.bytes.size() / width;
    const const_records view(rows.bytes.data(), count, width);
    EXPECT_EQ(jobs::look_at_order(jobs::source_of(view), row_order({rows.column})).breaks, 0U);
    EXPECT_EQ(jobs::look_at_order(jobs::source_of(view), row_order({rows.column})).duplicate_keys, 0U);
    rows.column.descending = true;
    EXPECT_EQ(jobs::look_at_order(jobs::source_of(view), row_order({rows.column})).breaks, count - 1);
  }
}

// The sort compares other rows than the check, by a key of the library.
TEST(RowOrder, KeysOfChangedRowsHaveTheOrderOfColumns) {
  const context cpu = context::cpu(1);
  for (const ascending_rows& rows : all_rows()) {
    SCOPED_TRACE(std::string(rows.what) + (rows.column.big_endian ? ", big-endian" : ""));
    const row_order order({rows.column});
    const std::uint64_t width = rows.column.bytes;
    const std::uint64_t count = rows.bytes.size() / width;
    std::string shuffled;
    const std::uint64_t step = count % 5 == 0 ? 3 : 5;  // prime to the count
    for (std::uint64_t i = 0; i < count; ++i) shuffled += rows.bytes.substr((i * step + 3) % count * width, width);
    const std::string before = shuffled;
    auto* const bytes = reinterpret_cast<std::byte*>(shuffled.data());
    ASSERT_FALSE(jobs::make_sortable(bytes, count, width, order.changes).has_value());
    std::string sorted(shuffled.size(), ' ');
    sort_records(cpu, {shuffled.data(), count, width}, order.key, {sorted.data(), count, width});
    jobs::restore(reinterpret_cast<std::byte*>(sorted.data()), count, width, order.changes);
    jobs::restore(bytes, count, width, order.changes);
    EXPECT_EQ(shuffled, before);
    EXPECT_EQ(sorted, rows.bytes);
  }
}

TEST(RowOrder, CharactersPastAllCodePointsAreFound) {
  std::vector<std::uint32_t> texts(6, 'a');
  texts[4] = 1U << 21;
  const row_order order({{0, 12, column_type::text}});
  const auto bad = jobs::make_sortable(reinterpret_cast<std::byte*>(texts.data()), 2, 12, order.changes);
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->row, 1U);
  EXPECT_EQ(bad->place, 1U);
  EXPECT_EQ(bad->value, 1U << 21);
}

TEST(RowOrder, ColumnsThatDecideNothingAreLeftOut) {
  const order_column date{8, 8, column_type::time};
  const order_column number{0, 4, column_type::signed_integer, true};
  const row_order order({date, number, date, {8, 2, column_type::bytes}, number});
  EXPECT_EQ(order.key.count, 2U);
  EXPECT_EQ(order.changes.size(), 2U);
  EXPECT_EQ(order.columns.size(), 5U);
}

TEST(RowOrder, BytesSideBySideAreOneField) {
  std::vector<order_column> columns;
  for (std::uint64_t i = 0; i < 32; ++i) columns.push_back({i, 1, column_type::bytes});
  const row_order order(columns);
  ASSERT_EQ(order.key.count, 1U);
  EXPECT_EQ(order.key.fields[0], (key_field{0, 32, key_type::bytes}));
  columns[7].descending = true;
  EXPECT_EQ(row_order(columns).key.count, 3U);
}

TEST(RowOrder, WhatNoKeyHoldsIsRefused) {
  const auto refused = [](const std::vector<order_column>& columns, std::string_view words) {
    expect_error(error_code::bad_argument, words, [&] { row_order order(columns); });
  };
  refused({{0, 32, column_type::bytes}, {32, 1, column_type::bytes}}, "keys of 33 bytes together, more than 32");
  std::vector<order_column> nine;
  for (std::uint64_t i = 0; i < 9; ++i) nine.push_back({i * 2, 2, column_type::unsigned_integer});
  refused(nine, "keys of 9 numbers together, more than 8");
  refused({{0, 6, column_type::bytes}, {4, 4, column_type::floating, true}},
          "--key: bytes 4:4 and 0:6 overlap, and one of them is a number in the other byte order, a date or a string "
          "of characters; give each key its own bytes");
  refused({{4, 4, column_type::floating, true}, {0, 6, column_type::bytes}},
          "--key: bytes 4:4 and 0:6 overlap, and one of them is a number in the other byte order, a date or a string "
          "of characters; give each key its own bytes");
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_sort_row_order_test
