#pragma once

#include "core/cpu_state.hpp"
#include "cpu/sparse/row_reader.hpp"
#include "cpu/sparse/row_sums.hpp"
#include "primitives/sparse/host_matrix.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// What preparations share that bring a matrix's entries into an order of their own.
namespace sheaf::cpu {

/// Counts the entries of the rows [first, last) in each of `groups` groups, and says what is wrong with them.
/// @param group_of  of a column
template <class Column, class GroupOf>
row_faults count_entries(const primitives::spmv_problem& p, const csr_view& a, const row_reader& rows,
                         std::uint64_t first, std::uint64_t last, std::uint64_t* counts, std::uint64_t groups,
                         GroupOf group_of) {
  const auto* const column = static_cast<const Column*>(a.column_indices.data);
  const std::uint64_t limit = column_limit_of(p);
  std::fill_n(counts, groups, std::uint64_t{0});
  for (std::uint64_t row = first; row < last; ++row) {
    const std::uint64_t end = rows.end(row);
    if (!rows.is_row(row)) return {.in_rows = true};
    for (std::uint64_t place = rows.begin(row); place < end; ++place) {
      if (column[place] >= limit) return {.in_columns = true};
      ++counts[group_of(column[place])];
    }
  }
  return {};
}

/// The run of a preparation: puts what group(value, column, faults) makes where it goes, with numbers of the types of
/// the matrix's values and columns, or reports what is wrong with the matrix.
template <class Group>
void prepare_grouped(const context& ctx, const primitives::spmv_problem& problem,
                     const primitives::prepare_spmv_buffers& buffers, Group group) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  row_faults faults;
  with_index_width(problem.column, [&](auto column) {
    *buffers.made = problem.value == value_type::f64 ? group(double{}, column, faults) : group(float{}, column, faults);
  });
  if (faults.found())
    state.keep_first(primitives::find_fault(problem, buffers.a, primitives::csr_call::prepare_spmv, call));
}

}  // namespace sheaf::cpu
