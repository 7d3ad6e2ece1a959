#pragma once

#include <sheaf/scatter_reduce.hpp>

#include "primitives/movement/problem.hpp"
#include "primitives/operators/row_value.hpp"

namespace sheaf::primitives {

/// Rows that are combined in one go where order matters: the rows of a slot, in the order of their positions, are cut
/// into pieces of so many, each piece is combined from its first row to its last, beginning with the identity element,
/// and the results are combined in the order of the pieces. What out held takes the identity element's place in the
/// first piece. All deterministic variants of the CPU keep this tree, so that neither the variant nor the number of
/// threads changes a bit. Rows of one value are one piece, as in the reduction of numbers.
constexpr std::uint64_t rows_per_piece(std::uint64_t values_per_row) noexcept {
  return values_per_row == 1 ? ~std::uint64_t{0} : 1024;
}

/// The input is the sequential side, the output the indexed side. record_bytes and word_bytes are those of in's rows.
struct scatter_reduce_rows_problem : movement {
  value_type in = value_type::f32;
  value_type out = value_type::f32;
  std::uint64_t values_per_row = 1;
  reduction op = reduction::add;
  reduction_order order = reduction_order::deterministic;
  reduction_start start = reduction_start::out;
  bool has_counts = false;
  value_type counts = value_type::u32;  ///< the type of counts, if there are any
  std::uint32_t out_word_bytes = 1;     ///< widest power of two up to 16 that divides out's address, stride and row

  std::uint64_t out_row_bytes() const noexcept { return values_per_row * bytes(out); }
  /// The type in which rows are combined.
  value_type sum() const noexcept { return sum_type(out, op); }
  std::uint64_t sum_row_bytes() const noexcept { return values_per_row * bytes(sum()); }
  bool order_matters() const noexcept { return primitives::order_matters(out, op); }
  /// Whether rows of in are read.
  bool reads_in() const noexcept { return op != reduction::count; }
  bool reads_out() const noexcept { return start == reduction_start::out; }
  /// Whether the number of rows that came to a row of out has to be known.
  bool needs_counts() const noexcept { return has_counts || op == reduction::mean || op == reduction::count; }

  friend bool operator==(const scatter_reduce_rows_problem&, const scatter_reduce_rows_problem&) = default;
};

inline plan::measured_place place_of(const scatter_reduce_rows_problem& p) noexcept {
  return place_of_movement("scatter_reduce_rows", p);
}

/// How a bad index is reported.
inline constexpr core::index_wording scatter_reduce_rows_wording{"scatter_reduce", "index", "the output's", "rows"};

/// Views of a checked call. If index has no entries, the rows of out are still written unless they keep their values.
struct scatter_reduce_rows_buffers {
  const_value_rows in;  ///< data may be null for a count
  index_span index;
  value_rows out;
  values counts;  ///< data is null if there are none
};

/// Counts for these buffers. Those without values are not written wherever their data points.
inline values counts_of_buffers(values counts) noexcept { return counts.count == 0 ? values() : counts; }

/// The deterministic variants of the CPU keep one tree (see rows_per_piece).
inline std::optional<scatter_reduce_rows_problem> learned_shape(const scatter_reduce_rows_problem& p) noexcept {
  const bool is_free = !p.order_matters() || p.order == reduction_order::unordered;
  if (!is_free && p.backend != backend_kind::cpu) return std::nullopt;
  scatter_reduce_rows_problem shape = p;
  static_cast<movement&>(shape) = shape_of_movement(p);
  return shape;
}
inline access_pattern::kind sampled_order(const context& ctx, const scatter_reduce_rows_problem& p,
                                          const scatter_reduce_rows_buffers& b) {
  return sampled_order(ctx, p, b.index);
}

using scatter_reduce_rows_variant = plan::variant<scatter_reduce_rows_problem, scatter_reduce_rows_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const scatter_reduce_rows_variant> scatter_reduce_rows_variants();

/// What SHEAF_VARIANT calls this primitive.
constexpr std::string_view scatter_reduce_rows_call = "scatter_reduce_rows";

inline const_records records_of(const_value_rows rows) noexcept {
  return {rows.data, rows.count, rows.values_per_row * bytes(rows.type), rows.stride_bytes};
}

/// Throws bad_argument, naming the call, unless rows have a known type, 1 to `most_values` values, and a stride that
/// fits. Data may be null.
void require_rows(std::string_view call, const_value_rows rows, std::string_view what,
                  std::uint64_t most_values = 65536);
/// Rows whose shape was checked are aligned and in ctx's memory.
void require_rows_memory(std::string_view call, const context& ctx, const_value_rows rows, std::string_view what);
/// Throws bad_argument unless rows of the one type may be combined into rows of the other, and are of one width.
void require_combinable(std::string_view call, const_value_rows in, std::string_view in_name, const_value_rows out,
                        reduction op);
/// Widest power of two up to 16 that divides the address, stride and width of rows.
std::uint32_t word_bytes_of(const_value_rows rows) noexcept;

/// Checks and describes a call with rows for `call`, which is scatter_reduce or a preparation's run.
void require_reduction_shapes(std::string_view call, const_value_rows in, index_span index, const_value_rows out,
                              reduction op, reduction_start start, const_values counts);
void require_reduction_memory(std::string_view call, const context& ctx, const_value_rows in, index_span index,
                              const_value_rows out, reduction op, const_values counts);
scatter_reduce_rows_problem describe_rows(const context& ctx, const_value_rows in, index_span index,
                                          const_value_rows out, reduction op,
                                          const scatter_reduce_rows_options& options);

}  // namespace sheaf::primitives
