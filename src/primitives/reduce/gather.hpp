#pragma once

#include <sheaf/gather_reduce.hpp>

#include "primitives/reduce/rows.hpp"

namespace sheaf::primitives {

/// The table is the indexed side; there is no sequential side: count is that of index, record_bytes and word_bytes
/// those of table's rows, and sequential_stride_bytes is 0.
struct gather_reduce_problem : movement {
  std::uint64_t segments = 0;
  index_type offset = index_type::u64;
  value_type in = value_type::f32;
  value_type out = value_type::f32;
  std::uint64_t values_per_row = 1;
  std::uint64_t out_stride_bytes = 0;
  reduction op = reduction::add;
  reduction_start start = reduction_start::identity;
  bool has_weights = false;
  value_type weight = value_type::f32;  ///< the type of the weights, if there are any
  std::uint32_t out_word_bytes = 1;     ///< widest power of two up to 16 that divides out's address, stride and row

  std::uint64_t out_row_bytes() const noexcept { return values_per_row * bytes(out); }
  value_type sum() const noexcept { return sum_type(out, op); }
  std::uint64_t sum_row_bytes() const noexcept { return values_per_row * bytes(sum()); }
  bool reads_in() const noexcept { return op != reduction::count; }
  bool reads_out() const noexcept { return start == reduction_start::out; }

  friend bool operator==(const gather_reduce_problem&, const gather_reduce_problem&) = default;
};

inline plan::measured_place place_of(const gather_reduce_problem& p) noexcept {
  return place_of_movement("gather_reduce", p);
}

/// What may be wrong with a call, the worst first.
enum class segment_fault : std::uint8_t {
  begin,      ///< segment `position` begins at `value`, past the `limit` entries: the lowest such segment of all three
  end,        ///< segment `position` ends at `value`, past the `limit` entries
  backwards,  ///< segment `position` begins at `value` and ends at `limit`, before it begins
  index,      ///< entry `position` of index is `value`, and table has `limit` rows: the lowest such entry of a segment
};

/// How a fault is reported. `value`, and `limit` of backwards, are sign-extended where is_signed says that they are.
const core::index_wording& wording_of(segment_fault fault) noexcept;

/// Views of a checked call.
struct gather_reduce_buffers {
  const_value_rows table;  ///< data may be null for a count
  index_span index;
  index_span offsets;
  value_rows out;
  const_values weights;  ///< data is null if there are none
};

using gather_reduce_variant = plan::variant<gather_reduce_problem, gather_reduce_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const gather_reduce_variant> gather_reduce_variants();

constexpr std::string_view gather_reduce_call = "gather_reduce";

/// What is wrong with offsets and index in host memory, the worst first; a report of nothing if nothing is.
core::index_report find_segment_fault(const gather_reduce_problem& p, const gather_reduce_buffers& b,
                                      std::uint64_t call);

}  // namespace sheaf::primitives
