#include "cpu/sparse/row_reader.hpp"
#include "cpu/sparse/vector_steps.hpp"

namespace sheaf::cpu {
namespace {

template <class Value, class Column, class Offset>
void read(const primitives::spmv_problem& p, const csr_view& a, void* diagonal, value_range_of_block at,
          std::uint64_t first_row) {
  const row_places<Offset> rows(a, p.entries);
  const auto* const columns = static_cast<const Column*>(a.column_indices.data);
  const auto* const numbers = static_cast<const Value*>(a.values.data);
  for (std::uint64_t row = at.first; row < at.last; ++row) {
    Value sum = 0;
    if (rows.is_row(row)) {
      for (std::uint64_t place = rows.begins[row]; place < rows.ends[row]; ++place) {
        if (columns[place] == first_row + row) sum += numbers[place];
      }
    }
    static_cast<Value*>(diagonal)[row] = sum;
  }
}

}  // namespace

void read_diagonal(const primitives::spmv_problem& p, const csr_view& a, void* diagonal, value_range_of_block at,
                   std::uint64_t first_row) {
  with_index_width(p.column, [&](auto column) {
    with_index_width(p.offset, [&](auto offset) {
      p.value == value_type::f64 ? read<double, decltype(column), decltype(offset)>(p, a, diagonal, at, first_row)
                                 : read<float, decltype(column), decltype(offset)>(p, a, diagonal, at, first_row);
    });
  });
}

}  // namespace sheaf::cpu
