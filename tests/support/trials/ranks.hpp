#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "primitives/index_reader.hpp"
#include "primitives/ranks/steps.hpp"

// The steps of calls between ranks on one context, where the parts of all ranks lie in its memory.
namespace sheaf::tests {

/// A list over rows that lie on ranks, of which every third has none.
struct routing_steps_case {
  std::uint32_t ranks;
  std::uint64_t entries;
  index_type type;
  bool is_wide;              ///< numbers of 8 bytes
  std::uint64_t width;       ///< of records
  std::uint64_t gap;         ///< bytes behind each record of a part
  std::uint64_t misaligned;  ///< bytes before the first record of each part
  bool has_bad = true;
};

class routing_steps_trial {
 public:
  explicit routing_steps_trial(const routing_steps_case& of) : c(of), begins(of.ranks + std::size_t{1}) {
    std::mt19937_64 random(c.ranks * 7 + c.entries);
    for (std::uint32_t r = 0; r < c.ranks; ++r) begins[r + 1] = begins[r] + (r % 3 == 1 ? 0 : 1 + random() % 40);
    entries.resize(c.entries);
    for (std::uint64_t& entry : entries) entry = random() % begins.back();
    if (!c.has_bad || c.entries == 0) return;
    first_bad = c.entries / 3;
    for (std::uint64_t i = first_bad; i < c.entries; i += 1 + i / 2) entries[i] = begins.back() + i;
    if (primitives::is_signed(c.type)) entries.back() = ~std::uint64_t{0};
  }

  void check_route(const context& ctx) const {
    const primitives::routing_steps& steps = primitives::routing_steps_of(ctx.backend());
    const std::uint64_t owner_bytes = primitives::owner_bytes(c.ranks);
    const std::uint64_t number = c.is_wide ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
    const buffer list = list_in(ctx);
    const buffer rows = copied(ctx, begins);
    const buffer owners(ctx, c.entries * owner_bytes);
    const buffer pairs(ctx, c.entries * 2 * number);
    const buffer bad(ctx, sizeof(std::uint64_t));
    steps.route(ctx, {list.data(), c.entries, c.type}, rows_in(rows),
                {owners.data(), pairs.data(), c.is_wide, bad.as<std::uint64_t>()});
    EXPECT_EQ(numbers(ctx, bad, sizeof(std::uint64_t)).front(), first_bad);
    const auto owner_of = numbers(ctx, owners, owner_bytes);
    const auto row_and_position = numbers(ctx, pairs, number);
    const buffer apart_rows(ctx, c.entries * number);
    const buffer apart_positions(ctx, c.entries * number);
    steps.unzip(ctx, pairs.data(), c.entries, c.is_wide, apart_rows.data(), apart_positions.data());
    const auto row = numbers(ctx, apart_rows, number);
    const auto position = numbers(ctx, apart_positions, number);
    for (std::uint64_t i = 0; i < c.entries; ++i) {
      const std::uint32_t owner = owner_of_row(entries[i]);
      ASSERT_EQ(owner_of[i], owner) << i;
      ASSERT_EQ(row_and_position[2 * i], owner == c.ranks ? 0 : entries[i] - begins[owner]) << i;
      ASSERT_EQ(row_and_position[2 * i + 1], i);
      ASSERT_EQ(row[i], row_and_position[2 * i]) << i;
      ASSERT_EQ(position[i], i);
    }
    ctx.wait();
  }

  void check_gather(const context& ctx) const {
    const std::uint64_t stride = c.width + c.gap;
    std::mt19937_64 random(5);
    std::vector<std::vector<std::byte>> host(c.ranks);
    std::vector<buffer> memory;
    std::vector<primitives::record_part> parts(c.ranks);
    std::uint64_t bits = 16 | stride | c.width | c.misaligned;
    for (std::uint32_t r = 0; r < c.ranks; ++r) {
      host[r].resize(c.misaligned + (begins[r + 1] - begins[r]) * stride);
      for (std::byte& b : host[r]) b = static_cast<std::byte>(random());
      memory.push_back(copied(ctx, host[r]));
      parts[r] = {memory.back().data() + c.misaligned, stride};
    }
    const buffer list = list_in(ctx);
    const buffer rows = copied(ctx, begins);
    const buffer part_table = copied(ctx, parts);
    const buffer bad(ctx, sizeof(std::uint64_t));
    constexpr std::byte untouched{0x5a};
    const buffer out = copied(ctx, std::vector<std::byte>(c.entries * stride, untouched));
    primitives::routing_steps_of(ctx.backend())
        .gather(ctx, {rows_in(rows),
                      part_table.as<primitives::record_part>(),
                      {list.data(), c.entries, c.type},
                      records(out.data(), c.entries, c.width, stride),
                      static_cast<std::uint32_t>(bits & -bits),
                      bad.as<std::uint64_t>()});
    EXPECT_EQ(numbers(ctx, bad, sizeof(std::uint64_t)).front(), first_bad);
    std::vector<std::byte> got(out.size());
    if (!got.empty()) copy_bytes(ctx, got.data(), out.data(), out.size());
    for (std::uint64_t i = 0; i < c.entries; ++i) {
      const std::uint32_t owner = owner_of_row(entries[i]);
      for (std::uint64_t b = 0; b < stride; ++b) {
        std::byte right = untouched;
        if (b < c.width) {
          right =
              owner == c.ranks ? std::byte{0} : host[owner][c.misaligned + (entries[i] - begins[owner]) * stride + b];
        }
        ASSERT_EQ(got[i * stride + b], right) << "record " << i << " byte " << b;
      }
    }
    ctx.wait();
  }

 private:
  std::uint32_t owner_of_row(std::uint64_t row) const {
    if (row >= begins.back()) return c.ranks;
    std::uint32_t owner = 0;
    while (row >= begins[owner + 1]) ++owner;
    return owner;
  }
  template <class T>
  static buffer copied(const context& ctx, const std::vector<T>& from) {
    buffer to(ctx, from.size() * sizeof(T));
    if (!from.empty()) copy_bytes(ctx, to.data(), from.data(), to.size());
    return to;
  }
  buffer list_in(const context& ctx) const {
    if (bytes(c.type) == sizeof(std::uint64_t)) return copied(ctx, entries);
    return copied(ctx, std::vector<std::uint32_t>(entries.begin(), entries.end()));
  }
  primitives::rows_of_ranks rows_in(const buffer& memory) const {
    return {memory.as<std::uint64_t>(), c.ranks, primitives::namable(c.type, begins.back())};
  }
  /// Unsigned numbers of any width.
  static std::vector<std::uint64_t> numbers(const context& ctx, const buffer& from, std::uint64_t width) {
    std::vector<std::byte> host(from.size());
    if (!host.empty()) copy_bytes(ctx, host.data(), from.data(), from.size());
    std::vector<std::uint64_t> all(host.size() / width);
    for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(&all[i], host.data() + i * width, width);
    return all;
  }

  routing_steps_case c;
  std::vector<std::uint64_t> begins;
  std::vector<std::uint64_t> entries;
  std::uint64_t first_bad = ~std::uint64_t{0};
};

inline std::vector<routing_steps_case> routing_steps_cases() {
  std::vector<routing_steps_case> all;
  for (const index_type type : {index_type::u32, index_type::i32, index_type::u64, index_type::i64}) {
    all.push_back({3, 3000, type, false, 8, 0, 0});
    all.push_back({8, 1025, type, true, 16, 16, 0});
  }
  // Around the least number of ranks that takes owners of two bytes, and around a block's share of entries.
  for (const std::uint32_t ranks : {1U, 2U, 254U, 255U, 300U})
    all.push_back({ranks, 2000, index_type::u32, false, 4, 0, 0});
  for (const std::uint64_t entries : {0, 1, 1023, 1024})
    all.push_back({4, entries, index_type::u32, entries % 2 == 0, 2, 0, 0, false});
  // Words of each width, and records of many.
  for (const std::uint64_t width : {1, 3, 6, 12, 40, 128, 1000, 1008})
    all.push_back({5, 700, index_type::i32, false, width, 0, 0});
  all.push_back({5, 900, index_type::u64, false, 16, 0, 4});
  all.push_back({5, 900, index_type::u64, false, 24, 5, 0});
  return all;
}

}  // namespace sheaf::tests
