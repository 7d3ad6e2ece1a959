#pragma once

#include "primitives/index_reader.hpp"
#include "primitives/sparse/spmv.hpp"

// Matrices in host memory, with offsets and columns of any type, which is looked at each time. Backends whose calls
// take host memory share this where it is not the product itself.
namespace sheaf::primitives {

/// Where the rows of a matrix lie.
class host_rows {
 public:
  host_rows(const spmv_problem& p, const csr_view& a) noexcept : a_(a), entries_(p.entries) {}

  /// The bits of an offset, sign-extended where the type is signed.
  std::uint64_t begin(std::uint64_t row) const noexcept { return bits_at(a_.row_begins, row); }
  std::uint64_t end(std::uint64_t row) const noexcept {
    return a_.has_row_ends ? bits_at(a_.row_ends, row) : bits_at(a_.row_begins, row + 1);
  }
  bool is_row(std::uint64_t row) const noexcept { return begin(row) <= end(row) && end(row) <= entries_; }

 private:
  csr_view a_;
  std::uint64_t entries_;
};

/// What is wrong with a matrix, the worst first, as csr_fault says; a report of nothing if nothing is. One thread reads
/// offsets and columns, which only a matrix with a fault comes to.
core::index_report find_fault(const spmv_problem& problem, const csr_view& a, csr_call by, std::uint64_t call);

}  // namespace sheaf::primitives
