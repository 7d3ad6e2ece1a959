#pragma once

#include "cpu/reduce/row_segments.hpp"
#include "cpu/reduce/slot_order.hpp"
#include "primitives/sparse/spmm.hpp"

// Products with a dense matrix: each row of Y is the weighted sum of rows of X, as segments of a list are.
namespace sheaf::cpu {

/// The shape of a product whose rows of Y are segments of a list.
segment_shape shape_of_product(const primitives::spmm_problem& p);
/// Y by segments: rows of X that `list` names, times `weights`.
/// @returns whether there was a fault, of the bounds or of the list
bool multiply_segments(const primitives::spmm_problem& p, const primitives::spmm_buffers& b,
                       const segment_bounds& bounds, index_span list, const_values weights, bool trusts_list,
                       const segment_decision& decided, std::byte* scratch);
/// The plan's terms of it, without the matrix's order.
void price_segments(const primitives::spmm_problem& p, const machine& machine, plan::planned& plan);

/// The transposed matrix: the entries of column c are those from begins[c] up to begins[c + 1], in the order of the
/// rows that they come from.
struct transposed_arrays {
  transposed_arrays(const primitives::spmv_problem& p, core::scratch_arrays& arrays);

  std::uint64_t* begins;
  std::byte* rows;  ///< u32, or u64 if row numbers need them
  std::byte* values;
  index_type row_type;
};
/// What transposing takes beside them.
struct transposing_arrays {
  transposing_arrays(const primitives::spmv_problem& p, const slot_order_decision& d, core::scratch_arrays& arrays);

  std::byte* columns;       ///< of each entry of a row, and what no column is of the others
  std::byte* row_of_entry;  ///< as in transposed_arrays
  slot_order_arrays order;
};

slot_order_decision decide_transposing(const primitives::spmv_problem& p, const machine& machine);
double transposing_seconds(const primitives::spmv_problem& p, const machine& machine);

enum class transposing_result : std::uint8_t { done, left_bad_columns_out, found_bad_rows };

/// Transposes a matrix of row offsets by a counting sort. Where a row is bad, others may overlap, and nothing is
/// written.
transposing_result transpose(const context& ctx, const primitives::spmv_problem& p, const csr_view& a,
                             const slot_order_decision& decided, const transposed_arrays& to,
                             const transposing_arrays& from, std::byte* scratch);

/// Bytes of scratch of multiply_by_value().
std::uint64_t by_value_scratch_bytes(const primitives::spmm_problem& p);
/// The transposed product by columns of X and Y: each thread goes over the whole matrix. For rows of any form, which
/// may overlap. @returns whether there was a fault
bool multiply_by_value(const context& ctx, const primitives::spmm_problem& p, const primitives::spmm_buffers& b,
                       std::byte* scratch);

}  // namespace sheaf::cpu
