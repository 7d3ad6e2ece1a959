#pragma once

#include <array>
#include <cstring>
#include <numeric>
#include <span>

#include <sheaf/distributed/sort.hpp>
#include <sheaf/distributed/split.hpp>

#include "distributed/ranks.hpp"

// Sorts and splits of arrays where the group's context works, against those of the whole on the host. The ranks may be
// those of devices, or of the CPU.
namespace sheaf::tests {
namespace devices {

/// This rank's part of an array, where the group's context works.
class local_part {
 public:
  template <class Row>
  local_part(const distributed::group& ranks, const std::vector<Row>& whole, const distributed::layout& rows,
             std::uint64_t stride_bytes = sizeof(Row))
      : count_(rows.count(ranks.rank())), record_bytes_(sizeof(Row)), stride_bytes_(stride_bytes) {
    const std::vector<Row> mine = part_of(whole, rows, ranks.rank());
    std::vector<std::byte> spread(count_ * stride_bytes, std::byte{0xa5});
    for (std::uint64_t i = 0; i < count_; ++i) std::memcpy(spread.data() + i * stride_bytes, &mine[i], sizeof(Row));
    memory_ = buffer(ranks.local(), spread.size());
    if (!spread.empty()) copy_bytes(ranks.local(), memory_.data(), spread.data(), spread.size());
  }
  operator const_records() const { return {memory_.data(), count_, record_bytes_, stride_bytes_}; }

 private:
  buffer memory_;
  std::uint64_t count_;
  std::uint64_t record_bytes_;
  std::uint64_t stride_bytes_;
};

/// Whether rows of a result are the right ones of the whole. What is in a vector has no padding.
template <class Row>
void expect_part(const distributed::group& ranks, const distributed::owned_records& got, const std::vector<Row>& right,
                 const distributed::layout& where) {
  const std::vector<Row> expected = part_of(right, where, ranks.rank());
  ASSERT_EQ(got.count, expected.size());
  ASSERT_EQ(got.record_bytes, sizeof(Row));
  if (expected.empty()) return;
  std::vector<std::byte> bytes(expected.size() * sizeof(Row));
  copy_bytes(ranks.local(), bytes.data(), got.memory.data(), bytes.size());
  const auto right_bytes = std::as_bytes(std::span(expected));
  const auto wrong = std::mismatch(bytes.begin(), bytes.end(), right_bytes.begin()).first - bytes.begin();
  EXPECT_EQ(static_cast<std::size_t>(wrong), bytes.size()) << "row " << static_cast<std::size_t>(wrong) / sizeof(Row)
                                                           << " of " << expected.size() << " on rank " << ranks.rank();
}

/// No two ranks have rows that are equal by `less`.
template <class Row, class Less>
void expect_keys_apart(const std::vector<Row>& sorted, const distributed::layout& where, Less less) {
  ASSERT_EQ(where.count(), sorted.size());
  for (const std::uint64_t begin : where.begins()) {
    if (begin == 0 || begin == sorted.size()) continue;
    EXPECT_TRUE(less(sorted[begin - 1], sorted[begin])) << "at row " << begin;
  }
}

template <class Row, class Less>
void check_records(const distributed::group& ranks, const char* what, const std::vector<Row>& all, spread s,
                   const sort_key& key, Less less, std::uint64_t stride_bytes = sizeof(Row)) {
  SCOPED_TRACE(std::string(what) + ", " + std::to_string(all.size()) + " " + name(s));
  const distributed::layout rows = layout_of(s, all.size(), ranks.size());
  const local_part mine(ranks, all, rows, stride_bytes);
  std::vector<Row> sorted = all;
  std::stable_sort(sorted.begin(), sorted.end(), less);
  const auto exact = distributed::sort_records(ranks, mine, key);
  EXPECT_EQ(exact.where, distributed::layout::even(all.size(), ranks.size()));
  expect_part(ranks, exact.rows, sorted, exact.where);
  const auto by_key = distributed::sort_records(ranks, mine, key, distributed::balance::by_key);
  expect_keys_apart(sorted, by_key.where, less);
  expect_part(ranks, by_key.rows, sorted, by_key.where);
}

/// Sorts two arrays of values by numbers.
template <class Number, class Value>
void check_pairs(const distributed::group& ranks, const char* what, const std::vector<Number>& keys,
                 const std::vector<Value>& values, spread s) {
  SCOPED_TRACE(std::string(what) + " pairs, " + std::to_string(keys.size()) + " " + name(s));
  const distributed::layout rows = layout_of(s, keys.size(), ranks.size());
  const local_part my_keys(ranks, keys, rows);
  const local_part my_values(ranks, values, rows, sizeof(Value) + 4);
  std::vector<std::uint64_t> positions(keys.size());
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  const local_part my_positions(ranks, positions, rows);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return keys[a] < keys[b]; });
  std::vector<Number> sorted_keys;
  std::vector<Value> sorted_values;
  for (const std::uint64_t p : positions) {
    sorted_keys.push_back(keys[p]);
    sorted_values.push_back(values[p]);
  }
  const const_records arrays[] = {my_values, my_positions};
  for (const auto balanced : {distributed::balance::exact, distributed::balance::by_key}) {
    const auto got = distributed::sort_pairs(ranks, my_keys, sort_key::of<Number>(), arrays, balanced);
    if (balanced == distributed::balance::by_key) expect_keys_apart(sorted_keys, got.where, std::less<Number>());
    expect_part(ranks, got.keys, sorted_keys, got.where);
    expect_part(ranks, got.values[0], sorted_values, got.where);
    expect_part(ranks, got.values[1], positions, got.where);
  }
}

/// Sorts positions by numbers.
template <class Number>
void check_pairs_of_words(const distributed::group& ranks, const char* what, const std::vector<Number>& keys,
                          spread s) {
  SCOPED_TRACE(std::string(what) + " with positions, " + std::to_string(keys.size()) + " " + name(s));
  const distributed::layout rows = layout_of(s, keys.size(), ranks.size());
  const local_part my_keys(ranks, keys, rows);
  std::vector<std::uint64_t> positions(keys.size());
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  const local_part my_positions(ranks, positions, rows);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return keys[a] < keys[b]; });
  std::vector<Number> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  const const_records arrays[] = {my_positions};
  const auto got = distributed::sort_pairs(ranks, my_keys, sort_key::of<Number>(), arrays);
  expect_part(ranks, got.keys, sorted, got.where);
  expect_part(ranks, got.values[0], positions, got.where);
}

enum class numbers_of { uniform, zipf, all_equal, reversed, small, with_an_outlier, two_values };
constexpr std::array<numbers_of, 7> all_numbers{numbers_of::uniform,   numbers_of::zipf,  numbers_of::all_equal,
                                                numbers_of::reversed,  numbers_of::small, numbers_of::with_an_outlier,
                                                numbers_of::two_values};

inline const char* name(numbers_of n) {
  switch (n) {
    case numbers_of::uniform: return "uniform";
    case numbers_of::zipf: return "zipf";
    case numbers_of::all_equal: return "all equal";
    case numbers_of::reversed: return "reversed";
    case numbers_of::small: return "small";
    case numbers_of::with_an_outlier: return "small with an outlier";
    default: return "two values";
  }
}

template <class Number>
std::vector<Number> numbers(numbers_of kind, std::uint64_t count) {
  std::mt19937_64 random(count * 7 + sizeof(Number));
  std::vector<Number> all(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t bits = random();
    switch (kind) {
      case numbers_of::uniform: break;
      case numbers_of::zipf: bits = count / (1 + bits % count); break;
      case numbers_of::all_equal: bits = 0x123456789abcdef0U; break;
      case numbers_of::reversed: bits = (count - i) << 7; break;
      case numbers_of::small: bits = bits % 1000003; break;
      case numbers_of::with_an_outlier: bits = i == count / 3 ? bits : bits % 1000003; break;
      default: bits = bits % 3 == 0 ? ~std::uint64_t{0} : 0; break;
    }
    if constexpr (std::is_floating_point_v<Number>) {
      all[i] = static_cast<Number>(static_cast<double>(static_cast<std::int64_t>(bits)) * 1e-3);
      if (kind != numbers_of::all_equal && i % 2 == 1) all[i] = -all[i] - Number{1};
    } else if constexpr (std::is_signed_v<Number>) {
      all[i] = static_cast<Number>(i % 2 == 1 && kind != numbers_of::all_equal ? ~bits : bits);
    } else {
      all[i] = static_cast<Number>(bits);
    }
  }
  return all;
}

template <class Number>
void check_numbers(const distributed::group& ranks, const char* type, std::uint64_t count, spread s) {
  for (const numbers_of kind : all_numbers) {
    const std::string what = std::string(type) + " " + name(kind);
    const auto all = numbers<Number>(kind, count);
    check_records(ranks, what.c_str(), all, s, sort_key::of<Number>(), std::less<Number>());
    check_records(ranks, (what + " descending").c_str(), all, s, sort_key::of<Number>(true), std::greater<Number>());
  }
}

using row_of_128_bytes = std::array<unsigned char, 128>;

inline std::vector<row_of_128_bytes> rows_of_128_bytes(std::uint64_t count, bool has_few_keys) {
  std::mt19937_64 random(count);
  std::vector<row_of_128_bytes> rows(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < rows[i].size(); ++b) {
      rows[i][b] = static_cast<unsigned char>(random());
      if (has_few_keys && b < 10) rows[i][b] = static_cast<unsigned char>(b == 9 ? rows[i][b] % 3 : b);
    }
  }
  return rows;
}

inline bool is_less_by_10_bytes(const row_of_128_bytes& a, const row_of_128_bytes& b) {
  return std::memcmp(a.data(), b.data(), 10) < 0;
}

/// Splits rows of 16 bytes by a category of each.
template <class CategoryOf>
void check_split(const distributed::group& ranks, const char* what,
                 const std::vector<std::array<std::uint64_t, 2>>& all, const distributed::layout& rows,
                 const split_key& key, std::uint64_t categories, CategoryOf category_of, std::string_view report) {
  SCOPED_TRACE(std::string("split by ") + what + " of " + std::to_string(all.size()));
  const local_part mine(ranks, all, rows);
  std::vector<std::uint64_t> order;
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    if (category_of(i) < categories) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return category_of(a) < category_of(b); });
  std::vector<std::array<std::uint64_t, 2>> expected;
  std::vector<std::uint64_t> offsets(categories + 1);
  for (const std::uint64_t i : order) {
    expected.push_back(all[i]);
    ++offsets[category_of(i)];
  }
  std::exclusive_scan(offsets.begin(), offsets.end(), offsets.begin(), std::uint64_t{0});
  for (const auto balanced : {distributed::balance::exact, distributed::balance::by_key}) {
    const auto got = distributed::split(ranks, mine, key, balanced);
    EXPECT_EQ(got.offsets, offsets);
    ASSERT_EQ(got.where.count(), expected.size());
    expect_part(ranks, got.rows, expected, got.where);
    if (balanced == distributed::balance::by_key) {
      for (const std::uint64_t begin : got.where.begins())
        EXPECT_TRUE(std::binary_search(offsets.begin(), offsets.end(), begin)) << begin;
    }
    ranks.local().wait();  // has nothing to throw
    if (report.empty()) {
      ranks.wait();
    } else {
      EXPECT_EQ(message_of(error_code::bad_index, [&] { ranks.wait(); }), report);
    }
  }
}

inline void check_splits(const distributed::group& ranks, std::uint64_t count, spread s) {
  std::mt19937_64 random(count + 3);
  std::vector<std::array<std::uint64_t, 2>> all(count);
  std::vector<std::uint32_t> wide(count);
  std::vector<std::uint16_t> category(count);
  std::vector<std::uint8_t> narrow(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    all[i] = {i, random()};
    wide[i] = static_cast<std::uint32_t>(random() % 70001);
    category[i] = static_cast<std::uint16_t>(random() % 1000);
    narrow[i] = static_cast<std::uint8_t>(random());
  }
  const distributed::layout rows = layout_of(s, count, ranks.size());
  check_split(
      ranks, "12 bits of the record", all, rows, split_key::of_record({67, 12}), 4096,
      [&](std::uint64_t i) { return all[i][1] >> 3 & 4095; }, "");
  check_split(
      ranks, "5 bits of the record from the left", all, rows, split_key::of_record({65, 5, bit_order::from_left}), 32,
      [&](std::uint64_t i) { return all[i][1] >> 2 & 31; }, "");
  const local_part my_wide(ranks, wide, rows, 12);
  check_split(
      ranks, "10 bits of keys", all, rows, split_key::of(my_wide, {3, 10}), 1024,
      [&](std::uint64_t i) { return wide[i] >> 3 & 1023; }, "");
  check_split(
      ranks, "categories of 4 bytes", all, rows, split_key::category(my_wide, 70001), 70001,
      [&](std::uint64_t i) { return wide[i]; }, "");
  const local_part my_narrow(ranks, narrow, rows);
  check_split(
      ranks, "all categories of a byte", all, rows, split_key::category(my_narrow, 256), 256,
      [&](std::uint64_t i) { return narrow[i]; }, "");
  std::string report;
  if (count > 20) {
    category[count / 2] = 1000;
    category[count - 7] = 40000;
    report = "split: category[" + std::to_string(count / 2) + "] is 1000, past the 1000 categories";
  }
  const local_part my_category(ranks, category, rows);
  check_split(
      ranks, "bad categories", all, rows, split_key::category(my_category, 1000), 1000,
      [&](std::uint64_t i) { return category[i]; }, report);
}

}  // namespace devices

/// So many rows that groups of parts are sorted from where they lie.
inline void many_rows_on_devices(const distributed::group& ranks) {
  using namespace devices;
  const std::uint64_t rows = (std::uint64_t{1} << 24) + 12345;
  const auto less = std::less<std::uint64_t>();
  for (const numbers_of kind : {numbers_of::uniform, numbers_of::zipf}) {
    const auto all = numbers<std::uint64_t>(kind, rows);
    check_records(ranks, name(kind), all, spread::even, sort_key::of<std::uint64_t>(), less);
    check_pairs_of_words(ranks, name(kind), all, spread::even);
  }
}

/// Sorts and splits on the group's context, against std::stable_sort of the whole on the host. @param rows  of the
/// longest lists of numbers
inline void sorts_on_devices(const distributed::group& ranks, std::uint64_t rows = 1200000) {
  using namespace devices;
  check_numbers<std::uint64_t>(ranks, "u64", rows, spread::even);
  check_numbers<std::uint32_t>(ranks, "u32", rows / 2 + 1, spread::uneven);
  check_numbers<std::int64_t>(ranks, "i64", rows, spread::some_empty);
  check_numbers<float>(ranks, "f32", rows / 2 + 3, spread::one_has_all);
  for (const std::uint64_t count : {0, 1, 2, 5, 100}) {
    for (const spread s : all_spreads) {
      check_records(ranks, "few u64", numbers<std::uint64_t>(numbers_of::uniform, count), s,
                    sort_key::of<std::uint64_t>(), std::less<std::uint64_t>());
    }
    check_splits(ranks, count, spread::uneven);
  }
  check_records(ranks, "u16 with a stride", numbers<std::uint16_t>(numbers_of::uniform, rows / 3), spread::uneven,
                sort_key::of<std::uint16_t>(), std::less<std::uint16_t>(), 6);
  const sort_key by_10_bytes = key_field{0, 10, key_type::bytes};
  for (const bool has_few_keys : {false, true}) {
    const auto records_128 = rows_of_128_bytes(rows / 16 + 5, has_few_keys);
    check_records(ranks, "rows of 128 bytes", records_128, spread::even, by_10_bytes, is_less_by_10_bytes);
    check_records(ranks, "rows of 128 bytes", records_128, spread::one_has_all, by_10_bytes, is_less_by_10_bytes);
  }
  for (const numbers_of kind : all_numbers) {
    const auto keys = numbers<std::uint64_t>(kind, rows / 2);
    check_pairs(ranks, name(kind), keys, numbers<std::uint64_t>(numbers_of::uniform, rows / 2), spread::even);
    const auto short_keys = numbers<std::uint32_t>(kind, rows / 4 + 1);
    std::vector<std::array<std::uint32_t, 3>> values(short_keys.size());
    for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = {i, i * 3, ~i};
    check_pairs(ranks, name(kind), short_keys, values, spread::uneven);
  }
  for (const spread s : all_spreads) check_splits(ranks, rows / 4, s);
}

}  // namespace sheaf::tests
