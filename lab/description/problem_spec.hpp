#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <sheaf/edge_sum.hpp>
#include <sheaf/list_scan.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/split.hpp>
#include <sheaf/spmv.hpp>

#include "lab/inputs/input_pattern.hpp"

namespace sheaf::primitives {

/// A call of any primitive, in words: sizes, widths, types, and what generated inputs look like. A primitive ignores
/// the members that its entry does not take.
struct problem_spec {
  std::string_view primitive = {};     ///< name of an entry, which lives as long as the program
  input_pattern pattern = {};          ///< order of a generated index list, or of a list's nodes
  std::uint64_t record_bytes = 0;      ///< bytes of an output record, index entry or value
  index_type index = index_type::u32;  ///< type of the index list, or of the record numbers that are written
  std::uint64_t count = 0;             ///< records, keys, values or index entries that the call goes through

  // Keys
  key_distribution keys = key_distribution::uniform;
  std::uint32_t bits = 8;       ///< bits of the key that decide; a split by more than 32 takes several calls
  std::uint64_t key_bytes = 0;  ///< bytes of a key; 0 for a split by bits of the record itself
  key_type number = key_type::unsigned_integer;
  std::uint32_t first_bit = 0;  ///< lowest bit of the key that decides

  // Values
  value_type value = value_type::f32;
  std::optional<std::uint64_t> table = {};  ///< records that an index may name; as many as `count` unless given
  reduction_order order = reduction_order::deterministic;
  reduction op = reduction::add;

  // Linked lists, whose nodes lie in the order of `pattern`; their values have type `value`
  scan_operator scan_op = scan_operator::add;
  bool is_exclusive = false;
  bool is_packed = false;  ///< values lie beside successors, in nodes of 8 bytes; ends of edges beside each other
  list_count lists = list_count::one;

  // Hash search: probes ask for the keys of a table of `table` records, in the order of `pattern`
  std::uint64_t repeats = 1;        ///< records that share a key, or power_law_repeats
  std::uint32_t hit_percent = 100;  ///< probes that ask for a key of the table; the others find nothing
  std::uint32_t load_percent = 0;   ///< load factor of the hash table; 0: what the backend finds best

  // Sums over the edges of a graph of `table` nodes, which lie in the order of `pattern`
  edge_function of_edges = edge_function::weighted_difference;
  bool has_weights = false;

  // Sparse matrices of `count` entries whose columns have type `index`, with a row for every `repeats` entries, or
  // power_law_repeats, unless `table` says how many rows there are
  nonzero_pattern nonzeros = nonzero_pattern::banded;
  std::optional<std::uint64_t> columns = {};  ///< as many as rows unless given
  index_type offset = index_type::u32;        ///< type of the row offsets
  bool is_transposed = false;
  spmv_sums sums = spmv_sums::as_values;
  bool has_row_ends = false;  ///< rows have ends of their own

  // What a caller can say beyond a generated problem
  sheaf::duplicates duplicates = sheaf::duplicates::any;
  sheaf::bounds bounds = sheaf::bounds::check;
  access_pattern access = {};                        ///< what the planner is told of the index list
  bit_order bits_from = bit_order::little_endian;    ///< end of a record at which bit 0 of a split's key is
  std::uint64_t categories = 0;                      ///< of a split whose keys are category numbers; 0: bits decide
  std::vector<key_field> key_fields = {};            ///< a sort's key; empty: the members above say what it is
  std::vector<std::uint64_t> more_value_bytes = {};  ///< sort_pairs: widths of the second and further arrays of values

  /// Records that an index may name.
  std::uint64_t indexed_count() const noexcept { return table.value_or(count); }
};

}  // namespace sheaf::primitives
