#pragma once

#include "plan/correction.hpp"
#include "primitives/sort/key.hpp"

namespace sheaf::primitives {

constexpr std::size_t most_sort_columns = 8;

/// Layout of one array that a sort moves: the rows that hold the keys, or an array of values.
struct sorted_array {
  std::uint64_t record_bytes = 0;
  std::uint64_t in_stride_bytes = 0;
  std::uint64_t out_stride_bytes = 0;
  std::uint32_t access_bytes = 1;  ///< widest power of two up to 16 that divides addresses, strides and record_bytes

  friend bool operator==(const sorted_array&, const sorted_array&) = default;
};

enum class sort_product : std::uint8_t { records, gather_index };

/// What plans know of a sort: sizes and layout, never data.
struct sort_problem {
  backend_kind backend = backend_kind::cpu;
  sort_product product = sort_product::records;
  std::uint64_t count = 0;
  key_layout key;
  sorted_array rows;        ///< rows that hold the keys
  bool writes_rows = true;  ///< false where only values or an index are wanted
  std::uint32_t column_count = 0;
  std::array<sorted_array, most_sort_columns> columns{};
  index_type index = index_type::u32;

  friend bool operator==(const sort_problem&, const sort_problem&) = default;
};

/// The call of this problem.
inline std::string_view name_of(const sort_problem& p) noexcept {
  if (p.product == sort_product::gather_index) return "sort_gather_index";
  return p.column_count > 0 ? "sort_pairs" : "sort_records";
}

inline plan::measured_place place_of(const sort_problem& p) noexcept {
  std::uint64_t row_bytes = p.rows.record_bytes;
  for (std::uint32_t c = 0; c < p.column_count; ++c) row_bytes += p.columns[c].record_bytes;
  return {name_of(p), access_pattern::kind::unknown, row_bytes, p.count, p.key.bits};
}

/// Sorts are stable, so that all variants give the same bits.
inline std::optional<sort_problem> learned_shape(sort_problem p) noexcept {
  p.count = std::bit_floor(p.count);
  return p;
}

struct sort_buffers {
  const_records in{};
  records out{};  ///< rows in order, if they are wanted
  std::array<sort_column, most_sort_columns> columns{};
  index_output index{};  ///< the output of sort_product::gather_index
};

using sort_variant = plan::variant<sort_problem, sort_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const sort_variant> sort_variants();

}  // namespace sheaf::primitives
