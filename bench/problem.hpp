#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/records.hpp>
#include <sheaf/scatter_reduce.hpp>

#include "inputs/pattern.hpp"
#include "split_keys.hpp"

namespace sheaf::bench {

enum class primitive : std::uint8_t {
  gather,
  scatter,
  split,
  split_unstable,
  split_gather_index,
  split_scatter_index,
  scatter_reduce,
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

/// One call to measure: a movement of `count` records through an index list of as many entries into as many records, a
/// split of `count` records or of their numbers, or `count` values added to slots through an index list.
struct problem {
  bench::primitive primitive = bench::primitive::gather;
  inputs::pattern pattern = {};    ///< of the index list; none for splits
  std::uint64_t record_bytes = 0;  ///< of what is written: of an index or value where those are
  index_type index =
      index_type::u32;  ///< of the list, or of what a split of numbers writes; none for splits of records
  std::uint64_t count = 0;

  // Of splits.
  key_shape keys = key_shape::uniform;
  std::uint32_t bits = 8;       ///< the lowest of the key; over 32 takes several calls of ours
  std::uint64_t key_bytes = 0;  ///< of keys apart; 0: the key is in the record

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
/// "scatter_reduce/uniform:s1048576/r4/u32+f32/n=65536" ("u32+f32+unordered"); a row's name adds who ran it.
std::string name(const problem& p);
/// The second and the fourth part of the name.
std::string pattern_name(const problem& p);
std::string type_name(const problem& p);

/// @throws error(bad_argument), these five
index_type parse_index_type(std::string_view text);
primitive parse_primitive(std::string_view text);
value_type parse_value_type(std::string_view text);
reduction_order parse_reduction_order(std::string_view text);
/// "own" is 0, "k32" 4: bytes of a key.
std::uint64_t parse_key_type(std::string_view text);

}  // namespace sheaf::bench
