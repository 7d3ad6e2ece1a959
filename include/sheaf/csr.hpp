#pragma once

#include <cstdint>

#include <sheaf/records.hpp>
#include <sheaf/values.hpp>

// Sparse matrices in compressed rows (CSR).
namespace sheaf {

/// A sparse matrix in the caller's arrays; a view that owns nothing. Place p of `column_indices` and `values` is one
/// entry, and row r has the places from row_begins[r] up to row_ends[r]. Columns are counted from 0; within a row they
/// may have any order, and repeat, which adds the values up. Rows may be empty. The arrays may hold more than 2^32
/// entries, with offsets of 64 bits, and places that belong to no row, whose columns and values are not read.
///
/// Two forms, by the constructor:
/// - row offsets, one more than there are rows: row r ends where row r + 1 begins;
/// - begins and ends apart (pointerB and pointerE of the NIST Sparse BLAS): rows in any order, with gaps, or shared.
struct csr_view {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  index_span row_begins;      ///< one for each row; in the first form one more, where the last row ends
  index_span row_ends;        ///< one for each row; in the first form without entries
  index_span column_indices;  ///< one for each place
  const_values values;        ///< as many, f32 or f64

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
