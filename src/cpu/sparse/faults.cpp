#include "cpu/sparse/faults.hpp"

#include <algorithm>

#include "cpu/sparse/row_reader.hpp"
#include "cpu/threads/checked_parts.hpp"
#include "primitives/multipass.hpp"

namespace sheaf::cpu {
namespace {

using primitives::csr_call;
using primitives::csr_fault;
using primitives::spmv_problem;

core::index_report row_fault(const spmv_problem& p, const row_reader& rows, std::uint64_t row, csr_call by,
                             std::uint64_t call) {
  core::index_report r{.call = call, .position = row, .value = rows.begin(row), .limit = p.entries};
  r.is_signed = p.offset == index_type::i32 || p.offset == index_type::i64 ? 1 : 0;
  if (rows.begin(row) > p.entries) {
    r.words = &words_of(by, csr_fault::row_begin);
  } else if (rows.end(row) > p.entries) {
    r.words = &words_of(by, csr_fault::row_end);
    r.value = rows.end(row);
  } else {
    r.words = &words_of(by, csr_fault::backwards);
    r.limit = rows.end(row);
  }
  return r;
}

}  // namespace

core::index_report find_fault(const spmv_problem& p, const csr_view& a, csr_call by, std::uint64_t call) {
  const row_reader rows(a, p.entries);
  for (std::uint64_t row = 0; row < p.rows; ++row) {
    if (!rows.is_row(row)) return row_fault(p, rows, row, by, call);
  }
  core::index_report found;
  const std::uint64_t limit = column_limit_of(p);
  const auto search = [&](const auto* column) {
    std::uint64_t lowest = p.entries;
    for (std::uint64_t row = 0; row < p.rows; ++row) {
      const std::uint64_t end = std::min(lowest, rows.end(row));
      for (std::uint64_t place = rows.begin(row); place < end; ++place) {
        if (column[place] < limit) continue;
        found = report_of(a.column_indices, place, call, p.columns, words_of(by, csr_fault::column));
        found.row = row;
        lowest = place;
        break;
      }
    }
  };
  if (bytes(p.column) == 8) {
    search(static_cast<const std::uint64_t*>(a.column_indices.data));
  } else {
    search(static_cast<const std::uint32_t*>(a.column_indices.data));
  }
  return found;
}

std::uint64_t column_limit_of(const spmv_problem& p) noexcept {
  return primitives::reachable_records(gather_of_columns(p));
}

}  // namespace sheaf::cpu
