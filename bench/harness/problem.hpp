#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/records.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/sort.hpp>

#include "bench/primitives/split_keys.hpp"
#include "inputs/pattern.hpp"

namespace sheaf::bench {

enum class primitive : std::uint8_t {
  gather,
  scatter,
  split,
  split_unstable,
  split_gather_index,
  split_scatter_index,
  scatter_reduce,
  sort_keys,
  sort_pairs,
  sort_records,
  sort_gather_index,
};

/// All primitives in the order of the enumeration.
std::vector<primitive> all_primitives();
std::string_view name(primitive p) noexcept;
std::string_view name(index_type type) noexcept;
std::string_view name(value_type type) noexcept;

constexpr bool moves_by_index(primitive p) noexcept { return p == primitive::gather || p == primitive::scatter; }
constexpr bool splits_index(primitive p) noexcept {
  return p == primitive::split_gather_index || p == primitive::split_scatter_index;
}
constexpr bool splits(primitive p) noexcept {
  return p == primitive::split || p == primitive::split_unstable || splits_index(p);
}
constexpr bool sorts(primitive p) noexcept { return p >= primitive::sort_keys; }
/// The rows of these sorts hold their key.
constexpr bool keys_in_rows(primitive p) noexcept { return p == primitive::sort_keys || p == primitive::sort_records; }
/// The output is a list of record numbers.
constexpr bool writes_index(primitive p) noexcept { return splits_index(p) || p == primitive::sort_gather_index; }

/// One call to measure: a gather or scatter of `count` records through an index list of as many entries, a split of
/// `count` records or record numbers, a scatter_reduce of `count` values, or a sort of `count` keys, pairs, records or
/// record numbers.
struct problem {
  bench::primitive primitive = bench::primitive::gather;
  inputs::pattern pattern = {};        ///< pattern of the index list; not used by splits and sorts
  std::uint64_t record_bytes = 0;      ///< bytes of an output record, index entry or value
  index_type index = index_type::u32;  ///< type of the index list, or of the record numbers that are written
  std::uint64_t count = 0;

  // Splits and sorts
  key_distribution keys = key_distribution::uniform;
  std::uint32_t bits = 8;       ///< bits of the key that decide; a split by more than 32 takes several of our calls
  std::uint64_t key_bytes = 0;  ///< bytes of a key; 0 for a split by the lowest bits of the record itself

  // Sorts
  key_type number = key_type::unsigned_integer;
  std::uint32_t first_bit = 0;  ///< lowest bit of the key that decides; 0 for splits

  // scatter_reduce
  value_type value = value_type::f32;
  std::uint64_t slots = 0;
  reduction_order order = reduction_order::deterministic;

  /// Bytes of all arrays together.
  std::uint64_t bytes() const noexcept;
  /// Bytes that bandwidth counts: records, values or record numbers read plus written, and keys in arrays of their own.
  /// The index list does not count.
  std::uint64_t moved_bytes() const noexcept;
};

/// "gather/permutation/r8/u32/n=268435456", "split/uniform:b8/r8/own/n=65536", "split/zipf:b11/r4/k32/n=65536",
/// "scatter_reduce/uniform:s1048576/r4/u32+f32/n=65536" ("u32+f32+unordered"), "sort_pairs/uniform/r4/u64/n=65536"
/// (values of 4 bytes, keys of 64 bits), "sort_keys/few:b8-15/r4/u32/n=65536" (bits 8 to 15 decide). The name of a row
/// appends the contender.
std::string name(const problem& p);
/// The second part of the name, and the fourth.
std::string pattern_name(const problem& p);
std::string type_name(const problem& p);
/// "u32", "i64", "f32", "bytes10"
std::string key_name(key_type type, std::uint64_t key_bytes);

/// These five parse parts of a name or of an option. @throws error(bad_argument)
index_type parse_index_type(std::string_view text);
primitive parse_primitive(std::string_view text);
value_type parse_value_type(std::string_view text);
reduction_order parse_reduction_order(std::string_view text);
/// Bytes of a key: 0 for "own", 4 for "k32".
std::uint64_t parse_key_type(std::string_view text);

}  // namespace sheaf::bench
