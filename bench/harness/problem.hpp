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

/// In the order of the enumeration.
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
/// Of these, rows hold their key.
constexpr bool keys_in_rows(primitive p) noexcept { return p == primitive::sort_keys || p == primitive::sort_records; }
/// What is written are numbers of records.
constexpr bool writes_index(primitive p) noexcept { return splits_index(p) || p == primitive::sort_gather_index; }

/// One call to measure: a movement of `count` records through an index list of as many entries into as many records, a
/// split of `count` records or of their numbers, `count` values added to slots through an index list, or a sort of
/// `count` keys, pairs or records, or of their numbers.
struct problem {
  bench::primitive primitive = bench::primitive::gather;
  inputs::pattern pattern = {};    ///< of the index list; none for splits
  std::uint64_t record_bytes = 0;  ///< of what is written: of an index or value where those are
  index_type index =
      index_type::u32;  ///< of the list, or of what a split of numbers writes; none for splits of records
  std::uint64_t count = 0;

  // Of splits and sorts.
  key_shape keys = key_shape::uniform;
  std::uint32_t bits = 8;       ///< of the key; a split by over 32 takes several calls of ours
  std::uint64_t key_bytes = 0;  ///< of keys apart, or of a sort's; 0: a split by the record's own lowest bits

  // Of sorts.
  key_type number = key_type::unsigned_integer;
  std::uint32_t first_bit = 0;  ///< of those that decide; a split's is 0

  // Of scatter_reduce.
  value_type value = value_type::f32;
  std::uint64_t slots = 0;
  reduction_order order = reduction_order::deterministic;

  /// All arrays together.
  std::uint64_t bytes() const noexcept;
  /// What bandwidth counts: records (values, entries of a written index) read plus written, and keys apart; not the
  /// index list.
  std::uint64_t moved_bytes() const noexcept;
};

/// "gather/permutation/r8/u32/n=268435456", "split/uniform:b8/r8/own/n=65536", "split/zipf:b11/r4/k32/n=65536",
/// "scatter_reduce/uniform:s1048576/r4/u32+f32/n=65536" ("u32+f32+unordered"), "sort_pairs/uniform/r4/u64/n=65536"
/// (values of 4 bytes by keys of 64 bits), "sort_keys/few:b8-15/r4/u32/n=65536" (by bits 8 to 15); a row's name adds
/// who ran it.
std::string name(const problem& p);
/// The second and the fourth part of the name.
std::string pattern_name(const problem& p);
std::string type_name(const problem& p);
/// "u32", "i64", "f32", "bytes10"
std::string key_name(key_type type, std::uint64_t key_bytes);

/// @throws error(bad_argument), these five
index_type parse_index_type(std::string_view text);
primitive parse_primitive(std::string_view text);
value_type parse_value_type(std::string_view text);
reduction_order parse_reduction_order(std::string_view text);
/// "own" is 0, "k32" 4: bytes of a key.
std::uint64_t parse_key_type(std::string_view text);

}  // namespace sheaf::bench
