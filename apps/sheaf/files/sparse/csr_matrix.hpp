#pragma once

#include <variant>
#include <vector>

#include <sheaf/records.hpp>

namespace sheaf::io {

/// Columns of the entries of a matrix, counted from 0: of 32 bits where the matrix has at most 2^32 columns.
using csr_columns = std::variant<std::vector<std::uint32_t>, std::vector<std::uint64_t>>;

/// A sparse matrix in host memory, in compressed rows: the entries of row r are row_offsets[r] to row_offsets[r + 1] of
/// column_indices and values. Columns ascend within a row, and no place has two entries. Value is float or double.
template <class Value>
struct csr_matrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::vector<std::uint64_t> row_offsets{0};  ///< rows + 1 of them
  csr_columns column_indices;
  std::vector<Value> values;

  std::uint64_t entries() const noexcept { return values.size(); }
  /// Memory of its arrays.
  std::uint64_t held_bytes() const {
    const index_span columns_there = columns_of_entries();
    return row_offsets.size() * sizeof(std::uint64_t) + columns_there.count * bytes(columns_there.type) +
           values.size() * sizeof(Value);
  }
  index_span columns_of_entries() const {
    return std::visit([](const auto& list) { return index_span(list); }, column_indices);
  }
};

/// The matrix with values of another type.
template <class To, class From>
csr_matrix<To> with_values(const csr_matrix<From>& m) {
  return {m.rows, m.columns, m.row_offsets, m.column_indices, {m.values.begin(), m.values.end()}};
}

/// The columns that a matrix has whose column numbers are kept in 32 bits, at most.
constexpr std::uint64_t most_columns_of_32_bits = std::uint64_t{1} << 32;

}  // namespace sheaf::io
