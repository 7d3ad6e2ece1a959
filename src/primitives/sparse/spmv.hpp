#pragma once

#include <sheaf/spmv.hpp>

#include "primitives/movement/problem.hpp"

namespace sheaf::primitives {

/// The call that reads a matrix.
enum class csr_call : std::uint8_t { spmv, prepare_spmv, conjugate_gradient, spmm, prepare_spmm };

/// What is known of a matrix of which a problem's rows are a part.
struct whole_matrix {
  std::uint64_t rows = 0;         ///< 0: the problem's rows are the whole
  std::uint64_t entries = 0;      ///< of its rows
  std::uint64_t longest_row = 0;  ///< most entries of one of the problem's rows
  std::uint64_t places = 0;  ///< of the problem's arrays, from its first row on; columns before may be of another x

  friend bool operator==(const whole_matrix&, const whole_matrix&) = default;
};

/// What plans know of a product: sizes and types, never data. The result has at least one value.
struct spmv_problem {
  backend_kind backend = backend_kind::cpu;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t entries = 0;  ///< places of the arrays, of which some may belong to no row
  value_type value = value_type::f64;
  index_type offset = index_type::u64;
  index_type column = index_type::u32;
  bool has_row_ends = false;  ///< rows may overlap and lie in any order
  bool transposed = false;
  spmv_sums sums = spmv_sums::as_values;
  reduction_order order = reduction_order::deterministic;  ///< of the sums of a transposed product
  bool reads_y = false;            ///< beta is not 0. Plans may price this, and decide nothing by it
  access_pattern pattern;          ///< of the columns, row by row
  csr_call call = csr_call::spmv;  ///< in whose wording run() of a spmv_variant reports faults
  /// Of a part, the order in which a row is summed follows from the sizes of the whole and from that row alone, so that
  /// any parts have the same bits. Variants of other orders do not take it.
  whole_matrix whole;

  bool is_part() const noexcept { return whole.rows > 0; }
  std::uint64_t value_bytes() const noexcept { return bytes(value); }
  std::uint64_t sum_bytes() const noexcept { return sums == spmv_sums::f64 ? 8 : value_bytes(); }
  std::uint64_t x_count() const noexcept { return transposed ? rows : columns; }
  std::uint64_t y_count() const noexcept { return transposed ? columns : rows; }
  /// Bytes of the matrix's arrays.
  std::uint64_t matrix_bytes() const noexcept {
    return entries * (value_bytes() + bytes(column)) + rows * bytes(offset) * (has_row_ends ? 2 : 1);
  }
  /// Bytes that a product reads of y and writes to it.
  std::uint64_t y_bytes() const noexcept { return y_count() * value_bytes() * (reads_y ? 2 : 1); }

  friend bool operator==(const spmv_problem&, const spmv_problem&) = default;
};

/// Why a variant does not take a part of a matrix.
constexpr const char* other_order_of_parts = "sums rows of a part in another order than those of the whole matrix";

inline plan::measured_place place_of(const spmv_problem& p) noexcept {
  return {"spmv", p.pattern.shape, p.value_bytes(), p.entries, p.columns};
}

/// x[column_indices[p]] for each place p, as a gather.
movement gather_of_columns(const spmv_problem& problem) noexcept;

/// What may be wrong with a matrix, the worst first.
enum class csr_fault : std::uint8_t {
  row_begin,  ///< row `position` begins at `value`, past the `limit` entries; the lowest such row of all three
  row_end,    ///< row `position` ends at `value`, past the `limit` entries
  backwards,  ///< row `position` begins at `value` and ends at `limit`, before it begins
  column,  ///< the entry of place `position`, of row `row`, has column `value` of `limit`: the lowest such place, and
           ///< the lowest row that has it
};

/// How a fault is reported. `value`, and `limit` of backwards, are sign-extended where is_signed says that they are.
const core::index_wording& wording_of(csr_call call, csr_fault fault) noexcept;

/// Views of a checked call.
struct spmv_buffers {
  csr_view a;
  const void* x = nullptr;
  void* y = nullptr;
  double alpha = 1;
  double beta = 0;
};

/// run() reports faults in the wording of the problem's call.
using spmv_variant = plan::variant<spmv_problem, spmv_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const spmv_variant> spmv_variants();

constexpr std::string_view spmv_call = "spmv";

/// Throws bad_argument, naming the call, unless the matrix's lengths and types fit together, and its values are f32 or
/// f64. Data may be null.
void require_csr_shape(std::string_view call, const csr_view& a);
/// The same, of values of any type.
void require_csr_lists(std::string_view call, const csr_view& a);
/// The arrays of a matrix whose shape was checked are aligned and in ctx's memory.
void require_csr_memory(std::string_view call, const context& ctx, const csr_view& a);
/// x and y fit the problem, are in ctx's memory, and y overlaps nothing.
void require_vectors(std::string_view call, const context& ctx, const spmv_problem& problem, const csr_view& a,
                     const_values x, values y);
/// Throws bad_argument, naming the call, if a vector that is written has a byte in common with the matrix.
void require_apart(std::string_view call, const_values values, std::string_view what, const csr_view& a);
/// The product by a matrix whose shape was checked.
spmv_problem describe_spmv(std::string_view call, const context& ctx, const csr_view& a, bool transposed,
                           spmv_sums sums, access_pattern pattern);

}  // namespace sheaf::primitives
