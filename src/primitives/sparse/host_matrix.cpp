#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::primitives {
namespace {

core::index_report row_fault(const spmv_problem& p, const host_rows& rows, std::uint64_t row, csr_call by,
                             std::uint64_t call) {
  core::index_report r{.call = call, .position = row, .value = rows.begin(row), .limit = p.entries};
  r.is_signed = is_signed(p.offset) ? 1 : 0;
  if (rows.begin(row) > p.entries) {
    r.wording = &wording_of(by, csr_fault::row_begin);
  } else if (rows.end(row) > p.entries) {
    r.wording = &wording_of(by, csr_fault::row_end);
    r.value = rows.end(row);
  } else {
    r.wording = &wording_of(by, csr_fault::backwards);
    r.limit = rows.end(row);
  }
  return r;
}

}  // namespace

core::index_report find_fault(const spmv_problem& p, const csr_view& a, csr_call by, std::uint64_t call) {
  const host_rows rows(p, a);
  for (std::uint64_t row = 0; row < p.rows; ++row) {
    if (!rows.is_row(row)) return row_fault(p, rows, row, by, call);
  }
  core::index_report found;
  with_entries(a.column_indices, [&](const auto* column) {
    std::uint64_t lowest = p.entries;
    for (std::uint64_t row = 0; row < p.rows; ++row) {
      const std::uint64_t end = std::min(lowest, rows.end(row));
      for (std::uint64_t place = rows.begin(row); place < end; ++place) {
        const auto value = static_cast<std::uint64_t>(column[place]);  // extends the sign
        if (value < p.columns) continue;
        found = {.call = call,
                 .position = place,
                 .value = value,
                 .limit = p.columns,
                 .wording = &wording_of(by, csr_fault::column),
                 .is_signed = is_signed(p.column) ? 1U : 0U,
                 .row = row};
        lowest = place;
        break;
      }
    }
  });
  return found;
}

}  // namespace sheaf::primitives
