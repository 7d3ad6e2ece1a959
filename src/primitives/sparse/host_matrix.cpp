#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::primitives {
namespace {

core::index_report row_fault(const spmv_problem& problem, const host_rows& rows, std::uint64_t row, csr_call by,
                             std::uint64_t call) {
  core::index_report report{.call = call, .position = row, .value = rows.begin(row), .limit = problem.entries};
  report.is_signed = is_signed(problem.offset) ? 1 : 0;
  if (rows.begin(row) > problem.entries) {
    report.wording = &wording_of(by, csr_fault::row_begin);
  } else if (rows.end(row) > problem.entries) {
    report.wording = &wording_of(by, csr_fault::row_end);
    report.value = rows.end(row);
  } else {
    report.wording = &wording_of(by, csr_fault::backwards);
    report.limit = rows.end(row);
  }
  return report;
}

}  // namespace

core::index_report find_fault(const spmv_problem& problem, const csr_view& a, csr_call by, std::uint64_t call) {
  const host_rows rows(problem, a);
  for (std::uint64_t row = 0; row < problem.rows; ++row) {
    if (!rows.is_row(row)) return row_fault(problem, rows, row, by, call);
  }
  core::index_report found;
  with_entries(a.column_indices, [&](const auto* column) {
    std::uint64_t lowest = problem.entries;
    for (std::uint64_t row = 0; row < problem.rows; ++row) {
      const std::uint64_t end = std::min(lowest, rows.end(row));
      for (std::uint64_t place = rows.begin(row); place < end; ++place) {
        const auto value = static_cast<std::uint64_t>(column[place]);  // extends the sign
        if (value < problem.columns) continue;
        found = {.call = call,
                 .position = place,
                 .value = value,
                 .limit = problem.columns,
                 .wording = &wording_of(by, csr_fault::column),
                 .is_signed = is_signed(problem.column) ? 1U : 0U,
                 .row = row};
        lowest = place;
        break;
      }
    }
  });
  return found;
}

}  // namespace sheaf::primitives
