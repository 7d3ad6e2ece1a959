#pragma once

#include "core/scratch_offsets.hpp"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/sparse/sums/sum_rows.hpp"
#include "primitives/sparse/spmm.hpp"

// Products of a sparse matrix and a dense one: each row of Y is a weighted sum of the rows of X that its entries name,
// which the kernels of reduce/rows add.
namespace sheaf::cuda {

using primitives::spmm_buffers;
using primitives::spmm_problem;

/// The types in which a product is computed.
inline row_types types_of_product(const spmm_problem& p) noexcept {
  return row_types_of(p.x, p.sum(), p.x_word_bytes, p.y, p.y_word_bytes);
}

/// The scratch of a product by rows.
struct product_rows_scratch {
  long_list_scratch longs;
  std::uint32_t* in_turn;  ///< the word of reduced_rows::in_turn

  product_rows_scratch(const spmm_problem& p, std::uint64_t rows, core::scratch_arrays& place)
      : longs(p.matrix.entries, rows, p.sum_row_bytes(), place), in_turn(place.take<std::uint32_t>(1)) {}
};

/// A matrix whose rows are summed: the caller's, or one that was transposed.
struct summed_rows {
  const void* begins = nullptr;
  const void* ends = nullptr;
  bool has_wide_offsets = false;
  std::uint64_t limit = 0;  ///< the largest offset that is right
  const void* columns = nullptr;
  bool has_wide_columns = false;
  std::uint64_t column_limit = 0;  ///< the least number that is no column
  const void* values = nullptr;
  value_type value = value_type::f32;
  bool may_be_wrong = true;
};

/// The caller's matrix, row by row.
summed_rows rows_of(const spmm_problem& p, const csr_view& a) noexcept;
/// The rows of X as the entries of a matrix name them.
listed_rows rows_of_x(const summed_rows& a, const const_value_rows& x) noexcept;
/// A matrix's rows as segments of its entries. Kernels set *faults where a row begins or ends past the entries, or an
/// entry names no row of X; none may where faults is null.
listed_segments segments_of(const summed_rows& a, std::uint32_t* faults) noexcept;

/// Queues Y = alpha A X + beta Y row by row. Where the matrix may be wrong, sets scratch.longs.faults() if it is.
void multiply_by_rows(const context& ctx, const spmm_problem& p, const summed_rows& a, const spmm_buffers& b,
                      const product_rows_scratch& scratch);
/// Queues the report of what is wrong with the caller's matrix, which looks at it if *faults is not 0.
void report_matrix_faults(const context& ctx, const spmm_problem& p, const csr_view& a, const csr_guard& guard,
                          const std::uint32_t* faults);
/// Adds the cost of a product by rows, which reads X where the columns say.
void price_product_rows(const spmm_problem& p, const machine& m, plan::planned& plan);

}  // namespace sheaf::cuda
