#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "primitives/ranks/steps.hpp"

// The steps of a sort between ranks on one context: rows are told apart by edges, moved chunk by chunk to runs of
// parts, and sorted from there.
namespace sheaf::tests {

enum class numbers_in_parts { uniform, skewed, few, one };

struct parts_case {
  std::uint64_t count;
  std::uint32_t parts;
  std::uint64_t chunks;
  numbers_in_parts numbers;
  bool is_descending = false;
  std::uint64_t value_bytes = 0;  ///< of an array beside the numbers; 0: there is none
  std::uint64_t gap = 0;          ///< bytes behind each number
  bool has_one_key = false;       ///< a part for each number, where numbers have no sign
  std::uint32_t first_bit = 0;    ///< of the key, where numbers are integers
  std::uint32_t bit_count = 0;    ///< 0: all bits
};

inline std::string name(const parts_case& c) {
  return std::to_string(c.count) + " rows in " + std::to_string(c.parts) + " parts and " + std::to_string(c.chunks) +
         " chunks, numbers " + std::to_string(static_cast<int>(c.numbers)) + (c.is_descending ? " descending" : "") +
         ", values of " + std::to_string(c.value_bytes) + ", gaps of " + std::to_string(c.gap) + ", " +
         std::to_string(c.bit_count) + " bits from " + std::to_string(c.first_bit);
}

template <class Number>
class parts_trial {
 public:
  explicit parts_trial(const parts_case& of) : c(of) {
    std::mt19937_64 random(c.count + c.parts);
    c.has_one_key = c.has_one_key && std::is_unsigned_v<Number>;
    key_field& field = key.fields[key.field_count++];
    field = sort_key::of<Number>(c.is_descending).fields[0];
    if (std::is_integral_v<Number> && c.bit_count > 0 && c.first_bit + c.bit_count <= 8 * sizeof(Number)) {
      field.first_bit = c.first_bit;
      field.bit_count = c.bit_count;
    }
    key.bits = primitives::bits_of(field);
    stride = sizeof(Number) + c.gap;
    rows.resize(c.count * stride);
    for (std::uint64_t i = 0; i < c.count; ++i) {
      const Number n = number(random);
      std::memcpy(rows.data() + i * stride, &n, sizeof n);
      numbers.push_back(primitives::number_of_row(rows.data() + i * stride, key, 0));
    }
    values.resize(c.count * c.value_bytes);
    for (std::byte& b : values) b = static_cast<std::byte>(random());
    set_edges();
    for (const std::uint64_t n : numbers)
      part_of.push_back(static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), n) - edges.begin()));
    parts = static_cast<std::uint32_t>(edges.size() + 1);
  }

  void check(const context& ctx) {
    const primitives::routing_steps& steps = primitives::routing_steps_of(ctx.backend());
    const buffer in = copied(ctx, rows);
    const buffer values_in = copied(ctx, values);
    const buffer list = copied(ctx, edges);
    const const_records keys(in.data(), c.count, sizeof(Number), stride);
    const primitives::rows_by_number by{keys, key, 0, list.as<std::uint64_t>(),
                                        static_cast<std::uint32_t>(edges.size())};
    check_sample(ctx, steps, by);
    tiles.rows = c.count;
    tiles.tiles = (c.count + steps.tile_rows - 1) / steps.tile_rows;
    tiles.chunks = c.chunks;
    tiles.chunk_tiles = std::max<std::uint64_t>(1, (tiles.tiles + c.chunks - 1) / c.chunks);
    tiles.parts = parts;
    const buffer part(ctx, c.count * sizeof(std::uint16_t));
    const buffer before(ctx, tiles.tiles * parts * sizeof(std::uint32_t));
    const buffer counts(ctx, c.chunks * parts * sizeof(std::uint64_t));
    tiles.part = part.as<std::uint16_t>();
    tiles.before = before.as<std::uint32_t>();
    tiles.counts = counts.as<std::uint64_t>();
    steps.find_parts(ctx, by, tiles);
    const auto got_parts = read<std::uint16_t>(ctx, part);
    for (std::uint64_t i = 0; i < c.count; ++i) ASSERT_EQ(got_parts[i], part_of[i]) << i;
    chunk_rows = tiles.chunk_tiles * steps.tile_rows;
    std::vector<std::uint64_t> right_counts(c.chunks * parts);
    for (std::uint64_t i = 0; i < c.count; ++i) ++right_counts[i / chunk_rows * parts + part_of[i]];
    ASSERT_EQ(read<std::uint64_t>(ctx, counts), right_counts);
    const buffer moved(ctx, c.count * sizeof(Number));
    const buffer moved_values(ctx, values.size());
    move(ctx, steps, keys, values_in, moved, moved_values, right_counts);
    if (c.value_bytes == 0) {
      const buffer in_any_order(ctx, moved.size());
      move(ctx, steps, keys, values_in, in_any_order, moved_values, right_counts, false);
    }
    const bool are_sorted =
        primitives::are_words(keys) && (c.value_bytes == 0 || c.value_bytes == 4 || c.value_bytes == 8);
    if (are_sorted) check_sorted(ctx, steps, moved, moved_values, right_counts);
  }

 private:
  Number number(std::mt19937_64& random) const {
    std::uint64_t bits = random();
    if (c.has_one_key) bits = bits % c.parts;
    switch (c.numbers) {
      case numbers_in_parts::uniform: break;
      case numbers_in_parts::skewed: bits = random() >> (bits % (8 * sizeof(Number))); break;
      case numbers_in_parts::few: bits = (bits % 1000) * (bits % 3); break;
      default: bits = 77;
    }
    if constexpr (std::is_floating_point_v<Number>) {
      return static_cast<Number>(static_cast<double>(static_cast<std::int64_t>(bits)) * 1e-3);
    } else {
      return static_cast<Number>(bits);
    }
  }

  void set_edges() {
    if (c.has_one_key) {
      for (std::uint64_t n = 1; n < c.parts; ++n) edges.push_back(n);
      return;
    }
    std::vector<std::uint64_t> sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    for (std::uint64_t p = 1; p < c.parts && c.count > 0; ++p) {
      const std::uint64_t edge = sorted[c.count * p / c.parts];
      if (edge > (edges.empty() ? 0 : edges.back())) edges.push_back(edge);
    }
  }

  void check_sample(const context& ctx, const primitives::routing_steps& steps, const primitives::rows_by_number& by) {
    const std::uint64_t samples = std::min<std::uint64_t>(c.count, 1000);
    const buffer sample(ctx, samples * sizeof(std::uint64_t));
    steps.sample_numbers(ctx, by, samples, sample.as<std::uint64_t>());
    const auto got = read<std::uint64_t>(ctx, sample);
    for (std::uint64_t i = 0; i < samples; ++i) {
      const std::uint64_t row = primitives::sampled_row(i, samples, c.count);
      ASSERT_GE(row, i * c.count / samples);
      ASSERT_LT(row, (i + 1) * c.count / samples);
      ASSERT_EQ(got[i], numbers[row]) << i;
    }
  }

  /// Runs of all parts lie chunk by chunk.
  void move(const context& ctx, const primitives::routing_steps& steps, const const_records& keys,
            const buffer& values_in, const buffer& moved, const buffer& moved_values,
            const std::vector<std::uint64_t>& counts, bool keeps_order = true) {
    std::uint64_t place = 0;
    for (std::uint64_t chunk = 0; chunk < c.chunks; ++chunk) {
      std::vector<std::byte*> to_keys;
      std::vector<std::byte*> to_values;
      for (std::uint32_t p = 0; p < parts; ++p) {
        to_keys.push_back(moved.data() + place * sizeof(Number));
        to_values.push_back(moved_values.data() + place * c.value_bytes);
        place += counts[chunk * parts + p];
      }
      const buffer keys_to = copied(ctx, to_keys);
      const buffer values_to = copied(ctx, to_values);
      std::vector<primitives::rows_to_parts> arrays{
          {keys, keys_to.as<std::byte*>(), primitives::word_bytes_of(keys, to_keys)}};
      if (c.value_bytes > 0) {
        const const_records from(values_in.data(), c.count, c.value_bytes);
        arrays.push_back({from, values_to.as<std::byte*>(), primitives::word_bytes_of(from, to_values)});
      }
      steps.move_rows(ctx, tiles, chunk, arrays, keeps_order);
    }
    if (!keeps_order) return check_any_order(read<Number>(ctx, moved), counts);
    const auto got = read<std::byte>(ctx, moved);
    const auto got_values = read<std::byte>(ctx, moved_values);
    place = 0;
    for (std::uint64_t chunk = 0; chunk < c.chunks; ++chunk) {
      std::vector<std::uint64_t> order(std::min(c.count - std::min(c.count, chunk * chunk_rows), chunk_rows));
      std::iota(order.begin(), order.end(), chunk * chunk_rows);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::uint64_t a, std::uint64_t b) { return part_of[a] < part_of[b]; });
      for (const std::uint64_t row : order) {
        ASSERT_EQ(std::memcmp(got.data() + place * sizeof(Number), rows.data() + row * stride, sizeof(Number)), 0)
            << place;
        if (c.value_bytes > 0) {
          ASSERT_EQ(std::memcmp(got_values.data() + place * c.value_bytes, values.data() + row * c.value_bytes,
                                c.value_bytes),
                    0)
              << place;
        }
        ++place;
      }
    }
  }

  /// Each part of a chunk has its numbers, in whatever order.
  void check_any_order(const std::vector<Number>& moved, const std::vector<std::uint64_t>& counts) const {
    const auto number_at = [](const Number& n) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &n, sizeof n);
      return bits;
    };
    std::vector<std::vector<std::uint64_t>> right(c.chunks * parts);
    for (std::uint64_t i = 0; i < c.count; ++i) {
      Number n;
      std::memcpy(&n, rows.data() + i * stride, sizeof n);
      right[i / chunk_rows * parts + part_of[i]].push_back(number_at(n));
    }
    auto next = moved.begin();
    for (std::uint64_t run = 0; run < right.size(); ++run) {
      std::vector<std::uint64_t> got;
      for (std::uint64_t i = 0; i < counts[run]; ++i) got.push_back(number_at(*next++));
      std::sort(got.begin(), got.end());
      std::sort(right[run].begin(), right[run].end());
      ASSERT_EQ(got, right[run]) << "run " << run;
    }
  }

  void check_sorted(const context& ctx, const primitives::routing_steps& steps, const buffer& moved,
                    const buffer& moved_values, const std::vector<std::uint64_t>& counts) {
    std::vector<primitives::row_part> list;
    std::vector<primitives::row_run> runs;
    std::uint32_t before = 0;
    for (std::uint32_t p = 0; p < parts; ++p) {
      const std::uint64_t greatest = ~std::uint64_t{0} >> (64 - key.bits);
      list.push_back({p == 0 ? 0 : edges[p - 1], p < edges.size() ? edges[p] - 1 : greatest,
                      static_cast<std::uint32_t>(runs.size()), before});
      if (c.has_one_key) list.back().last_number = list.back().first_number;
      std::uint64_t place = 0;
      for (std::uint64_t chunk = 0; chunk < c.chunks; ++chunk) {
        for (std::uint32_t q = 0; q < parts; ++q) {
          const std::uint64_t count = counts[chunk * parts + q];
          if (q == p && count > 0) {
            runs.push_back({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(count), p, before});
            before += static_cast<std::uint32_t>(count);
          }
          place += count;
        }
      }
    }
    list.push_back({0, 0, static_cast<std::uint32_t>(runs.size()), before});
    const buffer parts_there = copied(ctx, list);
    const buffer runs_there = copied(ctx, runs);
    const buffer out(ctx, moved.size());
    const buffer values_out(ctx, moved_values.size());
    std::vector<const_records> in{const_records(moved.data(), c.count, sizeof(Number))};
    std::vector<records> to{records(out.data(), c.count, sizeof(Number))};
    if (c.value_bytes > 0) {
      in.emplace_back(moved_values.data(), c.count, c.value_bytes);
      to.emplace_back(values_out.data(), c.count, c.value_bytes);
    }
    const bool is_taken = steps.sort_parts(
        ctx, {in, to, sort_key{key.fields[0]}, parts_there.as<primitives::row_part>(), parts,
              runs_there.as<primitives::row_run>(), static_cast<std::uint32_t>(runs.size()), c.has_one_key});
    EXPECT_TRUE(is_taken || c.count < std::uint64_t{1} << 22);
    if (!is_taken) return;
    std::vector<std::uint32_t> order(c.count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return numbers[a] < numbers[b]; });
    const auto got = read<std::byte>(ctx, out);
    const auto got_values = read<std::byte>(ctx, values_out);
    for (std::uint64_t i = 0; i < c.count; ++i) {
      ASSERT_EQ(std::memcmp(got.data() + i * sizeof(Number), rows.data() + order[i] * stride, sizeof(Number)), 0) << i;
      if (c.value_bytes == 0) continue;
      ASSERT_EQ(
          std::memcmp(got_values.data() + i * c.value_bytes, values.data() + order[i] * c.value_bytes, c.value_bytes),
          0)
          << i;
    }
    ctx.wait();
  }

  template <class T>
  static buffer copied(const context& ctx, const std::vector<T>& from) {
    buffer to(ctx, from.size() * sizeof(T));
    if (!from.empty()) copy_bytes(ctx, to.data(), from.data(), to.size());
    return to;
  }
  template <class T>
  static std::vector<T> read(const context& ctx, const buffer& from) {
    std::vector<T> host(from.size() / sizeof(T));
    if (!host.empty()) copy_bytes(ctx, host.data(), from.data(), from.size());
    return host;
  }

  parts_case c;
  primitives::key_layout key;
  std::uint64_t stride = 0;
  std::vector<std::byte> rows;
  std::vector<std::byte> values;
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> edges;
  std::vector<std::size_t> part_of;
  std::uint32_t parts = 0;
  primitives::tiled_parts tiles;
  std::uint64_t chunk_rows = 0;
};

/// Around tiles of the CPU and of devices.
inline std::vector<parts_case> few_rows_in_parts() {
  std::vector<parts_case> all;
  for (const std::uint64_t count : {0, 1, 63, 64, 65, 8191, 8192, 8193}) {
    all.push_back({count, 5, 1, numbers_in_parts::uniform});
    all.push_back({count, 512, 3, numbers_in_parts::skewed, true, 4});
  }
  all.push_back({30000, 512, 4, numbers_in_parts::uniform, false, 8});
  all.push_back({30000, 100, 2, numbers_in_parts::few, false, 8});
  all.push_back({20000, 7, 2, numbers_in_parts::one, true, 4});
  all.push_back({20000, 300, 2, numbers_in_parts::skewed, false, 0, 8});
  all.push_back({20000, 300, 2, numbers_in_parts::uniform, false, 0, 3});
  all.push_back({20000, 1, 4, numbers_in_parts::uniform});
  all.push_back({20000, 200, 3, numbers_in_parts::uniform, false, 4, 0, true});
  // Rows that are no words, wider than a block reads at once among them, and of one byte at last.
  all.push_back({20000, 300, 2, numbers_in_parts::uniform, false, 128});
  all.push_back({9000, 512, 2, numbers_in_parts::skewed, false, 12});
  all.push_back({8500, 3, 1, numbers_in_parts::few, true, 8208, 8});
  all.push_back({20000, 100, 2, numbers_in_parts::uniform, false, 3});
  all.push_back({20000, 100, 2, numbers_in_parts::one, false, 1, 1});
  // Some bits of numbers; rows in order.
  all.push_back({30000, 256, 2, numbers_in_parts::uniform, false, 8, 0, false, 0, 8});
  all.push_back({20000, 300, 2, numbers_in_parts::uniform, true, 4, 8, false, 5, 9});
  all.push_back({20000, 30, 2, numbers_in_parts::skewed, false, 0, 4, false, 11, 20});
  all.push_back({20000, 16, 2, numbers_in_parts::uniform, true, 0, 3, false, 3, 4});
  return all;
}

/// As many as CUDA sorts from where they lie.
inline std::vector<parts_case> many_rows_in_parts() {
  constexpr std::uint64_t least = std::uint64_t{1} << 22;
  return {{least + 77, 40, 3, numbers_in_parts::uniform},
          {least + 5000, 512, 4, numbers_in_parts::skewed, true},
          {least, 64, 2, numbers_in_parts::few, false, 4},
          {least + 1, 3, 1, numbers_in_parts::skewed, false, 8},
          {least, 16, 2, numbers_in_parts::one, false, 8}};
}

}  // namespace sheaf::tests
