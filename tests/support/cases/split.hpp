#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sheaf/split.hpp>

#include "support/cases/movement.hpp"

namespace sheaf::tests {

/// How categories are spread over the records.
enum class spread { uniform, equal, two, sorted, reversed, zipf, huge };
constexpr spread spreads[] = {spread::uniform,  spread::equal, spread::two, spread::sorted,
                              spread::reversed, spread::zipf,  spread::huge};

inline const char* name(spread s) {
  constexpr const char* names[] = {"uniform", "equal", "two", "sorted", "reversed", "zipf", "huge"};
  return names[static_cast<int>(s)];
}

/// Bytes between records and before the first one.
struct split_layout {
  std::uint64_t in_padding = 0;
  std::uint64_t out_padding = 0;
  std::uint64_t key_padding = 0;
  std::uint64_t in_misalignment = 0;
  std::uint64_t out_misalignment = 0;
  std::uint64_t key_misalignment = 0;
};

struct split_case {
  spread categories_are = spread::uniform;
  std::uint64_t count = 0;
  std::uint64_t record_bytes = 4;
  split_key::kind from = split_key::kind::record_bits;
  bit_field bits;               ///< field of the category, for record_bits and key_bits
  std::uint64_t key_bytes = 4;  ///< width of a key that is not the record
  std::uint64_t categories = 256;
  split_layout layout;
  index_type index = index_type::u32;
  bool wants_offsets = true;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> bad;  ///< (record number, bad category)

  bool has_separate_key() const { return from != split_key::kind::record_bits; }
  std::string description() const {
    const std::string key =
        from == split_key::kind::category
            ? fmt::format("{} categories of {} bytes", categories, key_bytes)
            : fmt::format("bits {}+{}{} of {}", bits.first, bits.count,
                          bits.order == bit_order::from_left ? " from left" : "",
                          has_separate_key() ? fmt::format("{}-byte keys", key_bytes) : "the record");
    return fmt::format("{} n={} r{} by {} {} padding {}/{}/{} misaligned {}/{}/{}{}", name(categories_are), count,
                       record_bytes, key, name(index), layout.in_padding, layout.out_padding, layout.key_padding,
                       layout.in_misalignment, layout.out_misalignment, layout.key_misalignment,
                       wants_offsets ? ", offsets" : "");
  }
};

/// Makes cases. Each case advances the rotation of everything that a case can vary in by one.
class split_case_maker {
 public:
  std::vector<split_case> made;

  void add_record_bits(std::uint64_t count, std::uint64_t record_bytes, std::uint32_t bits, std::uint64_t first) {
    split_case c = next(count, record_bytes);
    c.from = split_key::kind::record_bits;
    add_bits(c, record_bytes, bits, first);
  }
  void add_key_bits(std::uint64_t count, std::uint64_t key_bytes, std::uint32_t bits, std::uint64_t first) {
    split_case c = next(count, widths_.next());
    c.from = split_key::kind::key_bits;
    c.key_bytes = key_bytes;
    add_bits(c, key_bytes, bits, first);
  }
  void add_category(std::uint64_t count, std::uint64_t key_bytes, std::uint64_t categories) {
    split_case c = next(count, widths_.next());
    c.from = split_key::kind::category;
    c.key_bytes = key_bytes;
    c.categories = categories;
    made.push_back(c);
  }
  std::uint64_t size() { return sizes_.next(); }
  std::uint64_t first_bit(std::uint64_t bits_there, std::uint32_t bits) {
    const std::uint64_t last = bits_there - bits;
    return std::min(firsts_.next(), last);
  }

 private:
  split_case next(std::uint64_t count, std::uint64_t record_bytes) {
    split_case c;
    c.categories_are = spreads_.next();
    c.record_bytes = record_bytes;
    c.count = std::min(count, std::max<std::uint64_t>(37, (std::uint64_t{256} << 10) / record_bytes));
    c.index = types_.next();
    c.layout = layouts_.next();
    c.wants_offsets = offsets_.next() == 1;
    return c;
  }
  void add_bits(split_case c, std::uint64_t bytes_there, std::uint32_t bits, std::uint64_t first) {
    c.bits = {std::min(first, bytes_there * 8 - bits), bits,
              orders_.next() == 1 ? bit_order::from_left : bit_order::little_endian};
    if (bits > 20) c.wants_offsets = false;  // 2^32 offsets take 32 GiB
    made.push_back(c);
  }

  rotation<spread> spreads_{{std::begin(spreads), std::end(spreads)}};
  rotation<index_type> types_{{std::begin(index_types), std::end(index_types)}};
  rotation<split_layout> layouts_{{{}, {1, 3, 1, 0, 0, 0}, {}, {0, 0, 0, 1, 3, 2}, {4, 8, 4, 4, 4, 4}}};
  rotation<int> offsets_{{1, 0, 1}};
  rotation<int> orders_{{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1}};
  rotation<std::uint64_t> widths_{{4, 1, 8, 16, 2, 12, 100, 3, 24, 32, 128}};
  rotation<std::uint64_t> firsts_{{0, 3, 7, 13, ~std::uint64_t{0}}};
  rotation<std::uint64_t> sizes_{{777, 1500, 4099, 300, 2500}};
};

constexpr std::uint32_t key_widths_in_bits[] = {1, 5, 8, 9, 11, 16, 17, 32};

/// Key fields of every width at every kind of start, in records and in keys of their own.
inline void add_key_cases(split_case_maker& cases) {
  for (const std::uint64_t width : {1, 2, 3, 4, 8, 12, 16, 24, 32, 100, 128, 1000, 65536}) {
    for (const std::uint32_t bits : key_widths_in_bits) {
      if (bits > 8 * width || (width == 65536 && bits != 11)) continue;
      cases.add_record_bits(cases.size(), width, bits, cases.first_bit(8 * width, bits));
      cases.add_record_bits(cases.size(), width, bits, cases.first_bit(8 * width, bits));
    }
  }
  for (const std::uint64_t width : {1, 2, 4, 8, 12}) {
    for (const std::uint32_t bits : key_widths_in_bits) {
      if (bits > 8 * width) continue;
      cases.add_key_bits(cases.size(), width, bits, cases.first_bit(8 * width, bits));
    }
  }
  for (const std::uint64_t categories : {1, 2, 3, 200, 256, 257, 1000, 2048, 2049, 65536, 70000}) {
    for (const std::uint64_t width : {1, 2, 4}) cases.add_category(cases.size(), width, categories);
  }
}

constexpr std::uint32_t wide_key_bits[] = {33, 40, 48, 63, 64, 65, 95, 96};

/// Keys of more than 32 bits, which have no offsets, at the beginning, across bytes and at the end of records and of
/// keys of their own.
inline std::vector<split_case> wide_split_cases() {
  split_case_maker cases;
  for (const std::uint32_t bits : wide_key_bits) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0}}) {
      for (const std::uint64_t width : {5, 8, 9, 12, 13, 16, 24, 32, 64, 100}) {
        if (bits > 8 * width) continue;
        cases.add_record_bits(cases.size(), width, bits, first);
        if (width <= 24) cases.add_key_bits(cases.size(), width, bits, first);
      }
    }
  }
  rotation<std::uint32_t> bits({64, 40, 33});
  for (const std::uint64_t count : {0, 1, 2, 31, 33, 257, 1025, 4097, 8193, 20011}) {
    for (const std::uint64_t width : {8, 16, 24}) {
      cases.add_record_bits(count, width, bits.next(), 0);
      cases.add_key_bits(count, width, bits.next(), 0);
    }
  }
  return cases.made;
}

/// Sizes around the edges of warps, blocks, tiles and thread shares, with every kind of key.
inline void add_split_sizes(split_case_maker& cases) {
  rotation<std::uint32_t> bits({8, 11, 5, 16});
  rotation<std::uint64_t> widths({4, 8, 1, 12, 16, 2, 3, 24});
  rotation<std::uint64_t> categories({256, 1000, 3});
  for (const std::uint64_t count : {0,    1,    2,     31,    33,   255,  257,  1023, 1025, 4095, 4096, 4097,
                                    8191, 8193, 20011, 40009, 2303, 2305, 4608, 4864, 4865, 7297, 8833}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::uint64_t width = widths.next();
      const std::uint32_t field = std::min<std::uint32_t>(bits.next(), static_cast<std::uint32_t>(8 * width));
      cases.add_record_bits(count, width, field, cases.first_bit(8 * width, field));
    }
    cases.add_key_bits(count, 4, bits.next(), 3);
    cases.add_key_bits(count, 8, bits.next(), 13);
    cases.add_category(count, 2, categories.next());
    cases.add_category(count, 1, 256);
  }
}

inline std::vector<split_case> split_cases() {
  split_case_maker cases;
  add_key_cases(cases);
  add_split_sizes(cases);
  split_case big;
  big.categories_are = spread::zipf;
  big.count = 1 << 20;
  big.from = split_key::kind::key_bits;
  big.bits = {9, 11};
  cases.made.push_back(big);
  return cases.made;
}

}  // namespace sheaf::tests
