#pragma once

#include <optional>
#include <string>

#include <sheaf/csr.hpp>

// Checks of linear systems in host memory, entry by entry. Matrices have rows one after another, columns ascending.
namespace sheaf::jobs {

/// What is wrong with |b - A x| as a solver said it is: null if exact sums explain it, up to what rounding may make of
/// each row's terms. It may say NaN where the square of the exact one overflows or vanishes in f64.
std::optional<std::string> solution_mistake(const csr_view& a, const_values b, const_values x, double residual,
                                            int threads = 1);

/// |b - A x|, by long sums.
double residual_of(const csr_view& a, const_values b, const_values x, int threads = 1);

/// The first entry that is not finite, "row 2, column 2 is nan", or whose mirror image is another number, by more
/// than 1e-10 of it: "the matrix is not symmetric: row 2, column 5 has 1, row 5, column 2 has 0". Rows and columns are
/// counted from 1 as MatrixMarket files count.
std::optional<std::string> asymmetry_of(const csr_view& a);
/// The same in rows first_row and on of a matrix. @param transposed  these rows of the transposed one
std::optional<std::string> asymmetry_of(const csr_view& a, const csr_view& transposed, std::uint64_t first_row);

/// The first row whose value on the diagonal is not above 0: "row 2 has -1 on the diagonal", "row 2 has no value on the
/// diagonal".
/// @param first_row  of the matrix that the view is of
std::optional<std::string> diagonal_mistake(const csr_view& a, std::uint64_t first_row = 0);

}  // namespace sheaf::jobs
