#pragma once

#include <cstdint>

#include "core/index_report.hpp"
#include "primitives/sparse/spmv.hpp"

// Matrices in host memory, with offsets and columns of any type, which is looked at each time. Backends whose calls
// take host memory share this where it is not the product itself.
namespace sheaf::primitives {

/// Where the rows of a matrix lie.
class host_rows {
 public:
  host_rows(const spmv_problem& p, const csr_view& a) noexcept : a_(a), entries_(p.entries) {}

  /// The bits of an offset, sign-extended where the type is signed.
  std::uint64_t begin(std::uint64_t row) const noexcept { return offset(a_.row_begins, row); }
  std::uint64_t end(std::uint64_t row) const noexcept {
    return a_.has_row_ends ? offset(a_.row_ends, row) : offset(a_.row_begins, row + 1);
  }
  bool is_row(std::uint64_t row) const noexcept { return begin(row) <= end(row) && end(row) <= entries_; }

 private:
  static std::uint64_t offset(index_span list, std::uint64_t i) noexcept {
    switch (list.type) {
      case index_type::u32: return static_cast<const std::uint32_t*>(list.data)[i];
      case index_type::i32:
        return static_cast<std::uint64_t>(std::int64_t{static_cast<const std::int32_t*>(list.data)[i]});
      default: return static_cast<const std::uint64_t*>(list.data)[i];
    }
  }

  csr_view a_;
  std::uint64_t entries_;
};

/// Calls use(columns) with the matrix's columns as numbers that extend their sign when they become 64 bits, so that a
/// negative column lies above every limit.
template <class Use>
auto with_columns(const csr_view& a, Use use) {
  const void* const columns = a.column_indices.data;
  switch (a.column_indices.type) {
    case index_type::u32: return use(static_cast<const std::uint32_t*>(columns));
    case index_type::i32: return use(static_cast<const std::int32_t*>(columns));
    default: return use(static_cast<const std::uint64_t*>(columns));
  }
}

/// What is wrong with a matrix, the worst first, as csr_fault says; a report of nothing if nothing is. One thread reads
/// offsets and columns, which only a matrix with a fault comes to.
core::index_report find_fault(const spmv_problem& p, const csr_view& a, csr_call by, std::uint64_t call);

}  // namespace sheaf::primitives
