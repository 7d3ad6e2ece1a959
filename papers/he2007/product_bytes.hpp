#pragma once

#include "plan/he2007.hpp"

// The paper estimates the bandwidth of its applications by what they move, of which random accesses move whole blocks
// where the model says that they miss. It gives such a figure for the radix sort and the hash search, for sparse
// products none.
namespace sheaf::bench::papers::he2007 {

/// A product by a matrix in compressed rows, with its widths in bytes.
struct product_sizes {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t entries = 0;
  std::uint64_t value_bytes = 0;   ///< of the matrix and of both vectors
  std::uint64_t column_bytes = 0;  ///< of a column's number
  std::uint64_t offset_bytes = 0;  ///< of pointerB and pointerE each, whose values are one list of offsets here
};

/// Its gather, of V by the columns, as the model takes it.
plan::he2007::sizes gather_of(const product_sizes& sizes) noexcept;

/// Section 4.3: the number of passes that the model chooses for the gather, in case I.
std::uint64_t modelled_passes(const product_sizes& sizes, const plan::he2007::parameters& parameters) noexcept;

/// Bytes that a product in two steps moves to and from memory, by the model, whose gather is in case I.
double moved_by_product(const product_sizes& sizes, double passes, const plan::he2007::parameters& parameters) noexcept;

}  // namespace sheaf::bench::papers::he2007
