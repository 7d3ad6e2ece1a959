#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sheaf/sort.hpp>

#include "support/cases/movement.hpp"

namespace sheaf::tests {

/// How the keys of the rows are distributed.
enum class key_spread {
  uniform,   ///< random bytes
  equal,     ///< one key
  two,       ///< two keys
  few,       ///< 10 keys
  sorted,    ///< ascending
  reversed,  ///< descending
  zipf,      ///< small numbers by a Zipf distribution
  huge,      ///< one key in 15 of 16 rows
  nested,    ///< the highest byte is 0 in most rows, in most of those the next byte is 0 as well, and so on
  heavy,     ///< heavy keys: two in half of the rows, 40 in an eighth; another eighth is near the highest key
  special,  ///< zeros, infinities, denormal numbers and NaN of both signs, if they are floats; ends of a number's range
};
constexpr key_spread key_spreads[] = {key_spread::uniform,  key_spread::equal, key_spread::two,    key_spread::few,
                                      key_spread::sorted,   key_spread::zipf,  key_spread::huge,   key_spread::nested,
                                      key_spread::reversed, key_spread::heavy, key_spread::special};

inline const char* name(key_spread s) {
  constexpr const char* names[] = {"uniform", "equal", "two",    "few",   "sorted", "reversed",
                                   "zipf",    "huge",  "nested", "heavy", "special"};
  return names[static_cast<int>(s)];
}

/// Bytes between rows, between values of a column, and before the first of each.
struct sort_layout {
  std::uint64_t in_padding = 0;
  std::uint64_t out_padding = 0;
  std::uint64_t in_misalignment = 0;
  std::uint64_t out_misalignment = 0;
};

enum class sort_call { records, pairs, pairs_without_keys, gather_index };

struct sort_case {
  sort_call call = sort_call::records;
  key_spread keys_are = key_spread::uniform;
  std::uint64_t count = 0;
  std::uint64_t row_bytes = 4;
  std::vector<key_field> fields;
  sort_layout layout;
  std::vector<std::uint64_t> column_bytes;
  index_type index = index_type::u32;

  sort_key key() const {
    sort_key all(fields.front());
    for (std::size_t i = 0; i < fields.size(); ++i) all.fields[i] = fields[i];
    all.count = fields.size();
    return all;
  }
  std::string description() const {
    constexpr const char* calls[] = {"records", "pairs", "pairs without keys", "gather index"};
    constexpr const char* types[] = {"unsigned", "signed", "floating", "bytes"};
    std::string by;
    for (const key_field& f : fields) {
      by += fmt::format(" {}{}@{}{}", types[static_cast<int>(f.type)], f.bytes, f.offset, f.descending ? " down" : "");
      if (f.first_bit != 0 || f.bit_count != 0) by += fmt::format(" bits {}+{}", f.first_bit, f.bit_count);
    }
    return fmt::format("{} {} n={} r{} by{} padding {}/{} misaligned {}/{} {} columns of {}",
                       calls[static_cast<int>(call)], name(keys_are), count, row_bytes, by, layout.in_padding,
                       layout.out_padding, layout.in_misalignment, layout.out_misalignment, name(index),
                       fmt::join(column_bytes, ", "));
  }
};

/// Makes cases. Each case advances the rotation of everything that a case can vary in by one.
class sort_case_maker {
 public:
  std::vector<sort_case> made;

  /// One case for each of the four calls, each with its own layout and spread.
  void add(std::uint64_t row_bytes, const std::vector<key_field>& fields) {
    for (const sort_call call :
         {sort_call::records, sort_call::pairs, sort_call::gather_index, sort_call::pairs_without_keys}) {
      add(call, sizes_.next(), row_bytes, fields, spreads_.next());
    }
  }
  void add(sort_call call, std::uint64_t count, std::uint64_t row_bytes, const std::vector<key_field>& fields,
           key_spread keys_are) {
    sort_case c;
    c.call = call;
    c.keys_are = keys_are;
    c.count = std::min(count, std::max<std::uint64_t>(37, (std::uint64_t{8} << 20) / row_bytes));
    c.row_bytes = row_bytes;
    c.fields = fields;
    c.layout = layouts_.next();
    c.index = types_.next();
    if (call == sort_call::pairs) c.column_bytes = columns_.next();
    if (call == sort_call::pairs_without_keys) c.column_bytes = columns_without_keys_.next();
    made.push_back(c);
  }

  /// Keys and one column of values, all side by side; keys alone where column_bytes is 0.
  void add_side_by_side(sort_call call, std::uint64_t count, const key_field& field, key_spread keys_are,
                        std::uint64_t column_bytes) {
    std::vector<std::uint64_t> columns;
    if (column_bytes != 0) columns.push_back(column_bytes);
    made.push_back({call, keys_are, count, field.bytes, {field}, {}, columns, index_type::u32});
  }

 private:
  rotation<key_spread> spreads_{{std::begin(key_spreads), std::end(key_spreads)}};
  rotation<index_type> types_{{std::begin(index_types), std::end(index_types)}};
  rotation<sort_layout> layouts_{{{}, {}, {1, 3, 0, 0}, {}, {0, 0, 1, 3}, {4, 8, 4, 4}, {0, 0, 8, 16}}};
  rotation<std::vector<std::uint64_t>> columns_{
      {{4}, {8}, {4, 8}, {}, {2}, {1, 4, 12}, {16}, {100}, {3}, {1}, {8, 8, 8, 8, 8, 8, 8, 8}}};
  rotation<std::vector<std::uint64_t>> columns_without_keys_{{{8}, {4}, {12}, {1, 2, 3}, {2}}};
  rotation<std::uint64_t> sizes_{{1000, 4099, 300, 9001, 2, 20011, 777}};
};

inline key_field field(std::uint64_t offset, std::uint32_t bytes, key_type type, bool descending = false,
                       std::uint32_t first_bit = 0, std::uint32_t bit_count = 0) {
  return {offset, bytes, type, descending, first_bit, bit_count};
}

inline void add_whole_rows(sort_case_maker& cases) {
  using enum key_type;
  // The whole row is the key.
  for (const bool down : {false, true}) {
    for (const std::uint32_t bytes : {1, 2, 4, 8, 16, 12, 3}) {
      cases.add(bytes, {field(0, bytes, unsigned_integer, down)});
      cases.add(bytes, {field(0, bytes, signed_integer, down)});
      cases.add(bytes, {field(0, bytes, key_type::bytes, down)});
    }
    for (const std::uint32_t bytes : {2, 4, 8}) {
      for (int repeat = 0; repeat < 3; ++repeat) cases.add(bytes, {field(0, bytes, floating, down)});
      cases.add(sort_call::records, 5000, bytes, {field(0, bytes, floating, down)}, key_spread::special);
    }
    for (const std::uint32_t bytes : {10, 16, 25, 32}) {
      cases.add(bytes, {field(0, bytes, key_type::bytes, down)});
      cases.add(bytes, {field(0, bytes, signed_integer, down)});
    }
  }
}

inline void add_keys_inside_rows(sort_case_maker& cases) {
  using enum key_type;
  // Keys inside of wider rows, at odd offsets too.
  for (const std::uint64_t row : {8, 12, 16, 20, 100, 128}) {
    cases.add(row, {field(4, 4, unsigned_integer)});
    cases.add(row, {field(1, 4, floating, true)});
    cases.add(row, {field(3, 5, key_type::bytes)});
    cases.add(row, {field(0, 3, signed_integer)});
  }
  cases.add(16, {field(8, 8, floating)});
  cases.add(16, {field(2, 10, signed_integer, true)});
  cases.add(1000, {field(990, 10, key_type::bytes)});
  cases.add(65536, {field(65528, 8, unsigned_integer)});
  // Several fields, which may leave gaps and may overlap.
  cases.add(8, {field(4, 4, signed_integer), field(0, 4, unsigned_integer, true)});
  cases.add(4, {field(2, 2, floating, true), field(0, 1, unsigned_integer), field(1, 1, signed_integer, true)});
  cases.add(20, {field(0, 4, signed_integer, true), field(4, 8, floating), field(12, 8, key_type::bytes, true)});
  cases.add(20, {field(16, 2, floating), field(0, 16, unsigned_integer, true), field(16, 4, key_type::bytes)});
  cases.add(100, {field(0, 10, key_type::bytes), field(90, 10, key_type::bytes, true), field(50, 4, floating)});
  cases.add(8, {field(0, 1, unsigned_integer), field(1, 1, signed_integer), field(2, 1, key_type::bytes, true),
                field(3, 1, unsigned_integer, true), field(4, 1, signed_integer), field(5, 1, signed_integer, true),
                field(6, 1, key_type::bytes), field(7, 1, unsigned_integer)});
  cases.add(32, {field(0, 31, key_type::bytes), field(31, 1, unsigned_integer, true)});
  // Some bits of a field.
  cases.add(1, {field(0, 1, unsigned_integer, false, 3, 2)});
  cases.add(4, {field(0, 4, unsigned_integer, false, 5, 11)});
  cases.add(4, {field(0, 4, signed_integer, true, 31, 1)});
  cases.add(8, {field(0, 8, key_type::bytes, false, 30, 0)});
  cases.add(8, {field(0, 8, floating, true, 50, 14)});
  cases.add(16, {field(0, 16, unsigned_integer, true, 60, 10)});
  cases.add(25, {field(0, 25, key_type::bytes, true, 7, 133)});
  cases.add(32, {field(0, 32, signed_integer, false, 63, 130)});
  cases.add(24, {field(8, 8, unsigned_integer, false, 3, 61), field(0, 8, floating, false, 1, 0),
                 field(16, 3, unsigned_integer, true, 1, 21)});
}

inline void add_sort_sizes(sort_case_maker& cases) {
  using enum key_type;
  // Sizes around the edges of blocks, tiles and shares of threads.
  const std::vector<std::pair<std::uint64_t, std::vector<key_field>>> shapes{{4, {field(0, 4, unsigned_integer)}},
                                                                             {8, {field(0, 8, floating)}},
                                                                             {16, {field(0, 16, signed_integer)}},
                                                                             {1, {field(0, 1, signed_integer)}},
                                                                             {12, {field(4, 8, unsigned_integer)}}};
  rotation<key_spread> some_spreads{{key_spread::uniform, key_spread::zipf, key_spread::few, key_spread::nested}};
  for (const std::uint64_t count : {0, 1, 2, 24, 25, 31, 1000, 4095, 4096, 4097, 8191, 8192, 8193}) {
    for (const auto& [row, fields] : shapes) {
      cases.add(sort_call::records, count, row, fields, some_spreads.next());
      cases.add(sort_call::pairs, count, row, fields, some_spreads.next());
      cases.add(sort_call::gather_index, count, row, fields, some_spreads.next());
      some_spreads.next();
    }
  }
  // Every spread, with rows enough for several threads and several passes.
  for (const key_spread spread : key_spreads) {
    cases.add(sort_call::records, 100003, 4, {field(0, 4, unsigned_integer)}, spread);
    cases.add(sort_call::records, 200003, 8, {field(0, 8, floating)}, spread);
    cases.add(sort_call::records, 100003, 2, {field(0, 2, signed_integer)}, spread);
    cases.add(sort_call::records, 100003, 16, {field(0, 16, key_type::bytes)}, spread);
    cases.add(sort_call::pairs, 100003, 8, {field(0, 8, unsigned_integer)}, spread);
    cases.add(sort_call::gather_index, 60000, 25, {field(0, 25, key_type::bytes)}, spread);
    cases.add(sort_call::records, 60000, 20, {field(4, 4, signed_integer, true), field(0, 4, floating)}, spread);
  }
}

/// What the cases of keys with values go through in turn.
struct value_rotations {
  rotation<key_spread> any{{key_spread::uniform, key_spread::few, key_spread::zipf, key_spread::equal}};
  rotation<std::uint64_t> lengths{{1000, 4608, 4609, 30011, 100003}};
  rotation<sort_call> with_and_without{{sort_call::pairs, sort_call::pairs, sort_call::pairs_without_keys}};
};

inline void add_keys_with_values(sort_case_maker& cases, value_rotations& of) {
  using enum key_type;
  // Keys with one array of values, by all bits and by some.
  for (const key_field& f :
       {field(0, 4, unsigned_integer), field(0, 4, unsigned_integer, false, 8, 8),
        field(0, 4, unsigned_integer, false, 3, 10), field(0, 4, unsigned_integer, false, 20, 12),
        field(0, 4, signed_integer), field(0, 4, floating, true), field(0, 8, unsigned_integer),
        field(0, 8, unsigned_integer, false, 8, 8), field(0, 8, unsigned_integer, false, 16, 24),
        field(0, 8, unsigned_integer, false, 5, 9), field(0, 8, signed_integer, true), field(0, 8, floating)}) {
    for (const std::uint64_t column : {4, 8, 4, 8, 16}) {
      cases.add_side_by_side(of.with_and_without.next(), of.lengths.next(), f, of.any.next(), column);
    }
  }
  // Rows that hold a key and something else, as structures do.
  for (const std::uint64_t offset : {0, 4}) {
    for (const key_type type : {unsigned_integer, signed_integer, floating}) {
      for (const bool down : {false, true}) {
        const std::vector<key_field> key{field(offset, 4, type, down)};
        cases.add(sort_call::records, of.lengths.next(), 8, key, of.any.next());
        cases.add(sort_call::records, of.lengths.next(), 8, key, key_spread::special);
        cases.add(sort_call::records, of.lengths.next(), 16, key, of.any.next());
      }
    }
    cases.add(sort_call::records, 300007, 8, {field(offset, 4, floating)}, key_spread::uniform);
  }
  // Some bits of numbers that are no unsigned ones, side by side and inside of rows.
  for (const key_field& f : {field(0, 4, signed_integer, false, 4, 20), field(0, 4, floating, false, 23, 9),
                             field(0, 4, floating, true, 0, 31), field(0, 8, signed_integer, true, 40, 24),
                             field(0, 8, floating, true, 3, 50)}) {
    for (const key_spread spread : {key_spread::uniform, key_spread::special, key_spread::few}) {
      cases.add_side_by_side(sort_call::records, of.lengths.next(), f, spread, 0);
      cases.add_side_by_side(of.with_and_without.next(), of.lengths.next(), f, spread, 4);
      cases.add_side_by_side(sort_call::gather_index, of.lengths.next(), f, spread, 0);
    }
  }
  cases.add(16, {field(4, 8, unsigned_integer, false, 3, 40)});
  cases.add(12, {field(8, 4, floating, true, 5, 27)});
}

inline void add_tiles_of_cub(sort_case_maker& cases, value_rotations& of) {
  using enum key_type;
  // Lists that fill the tiles of CUB's sort, and lists of a key less or more, of numbers of every type.
  const std::vector<key_field> numbers{
      field(0, 4, unsigned_integer), field(0, 4, signed_integer, true), field(0, 4, floating),
      field(0, 4, floating, true),   field(0, 8, unsigned_integer),     field(0, 8, signed_integer),
      field(0, 8, floating),         field(0, 8, floating, true),       field(0, 2, unsigned_integer),
      field(0, 2, floating, true),   field(0, 1, signed_integer),
  };
  rotation<key_spread> of_numbers{{key_spread::special, key_spread::zipf, key_spread::special, key_spread::uniform}};
  rotation<std::uint64_t> values{{4, 8, 8}};
  for (const std::uint64_t tile : {2304, 4608, 4864, 5760, 7296, 8832}) {
    for (const std::uint64_t count : {tile - 1, tile, tile + 1}) {
      for (const key_field& f : numbers) {
        cases.add_side_by_side(sort_call::records, count, f, of_numbers.next(), 0);
        cases.add_side_by_side(sort_call::pairs, count, f, of_numbers.next(), values.next());
      }
      cases.add_side_by_side(sort_call::gather_index, count, numbers[count % numbers.size()], of_numbers.next(), 0);
    }
  }
  for (const key_field& f : {field(0, 4, unsigned_integer, false, 8, 8), field(0, 4, unsigned_integer, false, 7, 18)}) {
    for (const std::uint64_t count : {1, 5000, 8064, 8065, 100003})
      cases.add(sort_call::records, count, 4, {f}, of.any.next());
  }
}

inline void add_long_lists(sort_case_maker& cases) {
  using enum key_type;
  constexpr std::uint64_t million = 1 << 20;
  cases.add_side_by_side(sort_call::pairs, million + 77, field(0, 8, signed_integer), key_spread::zipf, 4);
  cases.add_side_by_side(sort_call::pairs, million + 77, field(0, 4, floating), key_spread::uniform, 8);
  cases.add(sort_call::records, million, 8, {field(0, 8, unsigned_integer)}, key_spread::uniform);
  cases.add(sort_call::records, million, 4, {field(0, 4, floating)}, key_spread::zipf);
  cases.add(sort_call::pairs, million, 4, {field(0, 4, unsigned_integer)}, key_spread::nested);
  cases.add(sort_call::records, million, 4, {field(0, 4, signed_integer)}, key_spread::heavy);
  cases.add(sort_call::records, million, 8, {field(0, 8, unsigned_integer)}, key_spread::heavy);
  cases.add_side_by_side(sort_call::pairs, million, field(0, 4, unsigned_integer), key_spread::heavy, 4);
  cases.add_side_by_side(sort_call::pairs, 300007, field(0, 8, unsigned_integer), key_spread::heavy, 8);
  cases.add(sort_call::gather_index, million, 8, {field(0, 8, key_type::bytes)}, key_spread::huge);
}

inline std::vector<sort_case> sort_cases() {
  sort_case_maker cases;
  add_whole_rows(cases);
  add_keys_inside_rows(cases);
  add_sort_sizes(cases);
  value_rotations rotations;
  add_keys_with_values(cases, rotations);
  add_tiles_of_cub(cases, rotations);
  add_long_lists(cases);
  return cases.made;
}

}  // namespace sheaf::tests
