#pragma once

#include <cstdint>

#include <sheaf/records.hpp>
#include <sheaf/values.hpp>

// Sparse matrices in compressed rows (CSR).
namespace sheaf {

/// A view of a sparse matrix in the caller's arrays; it owns nothing. Place p of `column_indices` and `values` is one
/// entry, and row r has the places from row_begins[r] up to but not including row_ends[r]. Columns are counted from 0.
/// Within a row they may have any order and repeat; values of one column are added. Rows may be empty. With offsets of
/// 64 bits the arrays may hold more than 2^32 entries. Some places may belong to no row; what they hold affects neither
/// results nor errors.
///
/// The constructor decides between two forms:
/// - row offsets, one more than there are rows: row r ends where row r + 1 begins;
/// - separate begins and ends of one type (pointerB and pointerE of the NIST Sparse BLAS): rows may lie in any order,
///   leave gaps, and share places.
/// Calls throw error(bad_argument) unless counts and types agree and each array is aligned to its type.
struct csr_view {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  index_span row_begins;      ///< one for each row; in the first form one more, where the last row ends
  index_span row_ends;        ///< one for each row; empty in the first form
  index_span column_indices;  ///< one for each place
  const_values values;        ///< one for each place, f32 or f64; spmm takes f16 and bf16 too

  constexpr csr_view() = default;
  constexpr csr_view(std::uint64_t row_count, std::uint64_t column_count, index_span row_offsets, index_span columns_of,
                     const_values values_of)
      : rows(row_count),
        columns(column_count),
        row_begins(row_offsets),
        row_ends(nullptr, 0, row_offsets.type),
        column_indices(columns_of),
        values(values_of) {}
  constexpr csr_view(std::uint64_t row_count, std::uint64_t column_count, index_span begins, index_span ends,
                     index_span columns_of, const_values values_of)
      : rows(row_count),
        columns(column_count),
        row_begins(begins),
        row_ends(ends),
        column_indices(columns_of),
        values(values_of),
        has_row_ends(true) {}

  bool has_row_ends = false;  ///< whether this is the second form
};

}  // namespace sheaf
