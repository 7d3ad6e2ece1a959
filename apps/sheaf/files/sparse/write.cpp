#include <cmath>

#include <fmt/format.h>
#include <sheaf/error.hpp>

#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "apps/sheaf/files/text/pieces.hpp"
#include "plan/store/output_file.hpp"

namespace sheaf::io {
namespace {

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw error(error_code::bad_argument, "matrix: " + fmt::format(format, std::forward<Args>(args)...));
}

template <class Value>
void require_row_offsets(const csr_matrix<Value>& matrix) {
  const auto& offsets = matrix.row_offsets;
  if (offsets.empty() || offsets.size() - 1 != matrix.rows) {
    fail("{} row offsets for {} rows, not one more", offsets.size(), matrix.rows);
  }
  if (offsets.front() != 0) fail("row offset 0 is {}, not 0", offsets.front());
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    if (offsets[row] > offsets[row + 1]) fail("row offset {} is {}, below {}", row + 1, offsets[row + 1], offsets[row]);
  }
  if (offsets.back() != matrix.entries()) {
    fail("the last row offset is {}, but there are {} values", offsets.back(), matrix.entries());
  }
}

template <class Value, class Column>
void require_columns(const csr_matrix<Value>& matrix, const std::vector<Column>& columns) {
  if (columns.size() != matrix.entries()) fail("{} columns but {} values", columns.size(), matrix.entries());
  for (std::uint64_t row = 0; row < matrix.rows; ++row) {
    for (std::uint64_t i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i) {
      if (columns[i] >= matrix.columns) fail("row {}: column {} is not below {}", row, columns[i], matrix.columns);
      if (i > matrix.row_offsets[row] && columns[i] <= columns[i - 1]) {
        fail("row {}: column {} follows column {}", row, columns[i], columns[i - 1]);
      }
    }
  }
}

template <class Value>
void require_whole_values(const csr_matrix<Value>& matrix) {
  constexpr Value past = static_cast<Value>(std::uint64_t{1} << 63);
  for (std::uint64_t i = 0; i < matrix.entries(); ++i) {
    const Value value = matrix.values[i];
    if (!(value >= -past && value < past && std::trunc(value) == value)) {
      fail("value {} is {}, not a whole number of 64 bits", i, value);
    }
  }
}

constexpr const char* name_of(matrix_market_field field) {
  return field == matrix_market_field::real ? "real" : field == matrix_market_field::integer ? "integer" : "pattern";
}

template <class Value, class Column>
void write_entries(const csr_matrix<Value>& matrix, const std::vector<Column>& columns, matrix_market_field field,
                   piece_writer& out) {
  for (std::uint64_t row = 0; row < matrix.rows; ++row) {
    for (std::uint64_t i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i) {
      out.number(row + 1);
      out.mark(' ');
      out.number(std::uint64_t{columns[i]} + 1);
      if (field != matrix_market_field::pattern) out.mark(' ');
      if (field == matrix_market_field::real) out.number(matrix.values[i]);
      if (field == matrix_market_field::integer) out.number(static_cast<std::int64_t>(matrix.values[i]));
      out.end_line();
    }
  }
}

template <class Value>
void require_matrix(const csr_matrix<Value>& matrix, matrix_market_field field) {
  require_row_offsets(matrix);
  std::visit([&](const auto& columns) { require_columns(matrix, columns); }, matrix.column_indices);
  if (field == matrix_market_field::integer) require_whole_values(matrix);
}

}  // namespace

template <class Value>
void format_matrix_market(const csr_matrix<Value>& matrix, matrix_market_field field,
                          const std::function<void(std::string_view)>& take) {
  require_matrix(matrix, field);
  take(fmt::format("%%MatrixMarket matrix coordinate {} general\n{} {} {}\n", name_of(field), matrix.rows,
                   matrix.columns, matrix.entries()));
  piece_writer out(take);
  std::visit([&](const auto& columns) { write_entries(matrix, columns, field, out); }, matrix.column_indices);
  out.flush();
}

template <class Value>
void write_matrix_market(const std::string& path, const csr_matrix<Value>& matrix, matrix_market_field field) {
  require_matrix(matrix, field);
  output_file file(path, 0);
  format_matrix_market(matrix, field, [&](std::string_view piece) { file.write(piece.data(), piece.size()); });
  file.commit();
}

template void format_matrix_market(const csr_matrix<float>&, matrix_market_field,
                                   const std::function<void(std::string_view)>&);
template void format_matrix_market(const csr_matrix<double>&, matrix_market_field,
                                   const std::function<void(std::string_view)>&);
template void write_matrix_market(const std::string&, const csr_matrix<float>&, matrix_market_field);
template void write_matrix_market(const std::string&, const csr_matrix<double>&, matrix_market_field);

}  // namespace sheaf::io
