#pragma once

#include "core/index_report.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::cpu {

/// What is wrong with a matrix, the worst first, as primitives::csr_fault says; a report of nothing if nothing is. One
/// thread reads offsets and columns, which only a matrix with a fault comes to.
core::index_report find_fault(const primitives::spmv_problem& p, const csr_view& a, primitives::csr_call by,
                              std::uint64_t call);

/// The least number that is no column, to be compared with a column's bits as an unsigned number of its width: negative
/// columns lie above it.
std::uint64_t column_limit_of(const primitives::spmv_problem& p) noexcept;

}  // namespace sheaf::cpu
