#pragma once

#include <functional>

#include <sheaf/csr.hpp>
#include <sheaf/value_rows.hpp>

namespace sheaf::bench::peers {

/// Whether Eigen was found when this was built and takes matrices of these types and sizes: row offsets, and rows,
/// columns and entries that an int counts. The data may be null.
bool has_eigen_product(const csr_view& a);

/// y = A x, or A^T x, by Eigen with this many threads; null where there is none. Offsets and columns of 8 bytes are
/// copied when it is made. The views' arrays must outlive it.
std::function<void()> eigen_product(const csr_view& a, const_values x, values y, bool transposed, int threads);

/// Y = A X, or A^T X, by Eigen with this many threads, where rows of X and Y lie side by side; else as eigen_product().
std::function<void()> eigen_dense_product(const csr_view& a, const_value_rows x, value_rows y, bool transposed,
                                          int threads);

/// What a solver of A x = b is asked for.
struct solver_terms {
  bool has_jacobi = false;
  double tolerance = 0;
  std::uint64_t limit = 0;
  int threads = 1;
};

/// Solves by Eigen's ConjugateGradient from x = 0 and returns the number of iterations, for offsets of 64 bits and
/// columns of 32 bits, ascending in each row; null where Eigen was not found when this was built, or for other
/// matrices. The views' arrays must outlive it.
std::function<std::uint64_t()> eigen_solver(const csr_view& a, const_values b, values x, const solver_terms& terms);

}  // namespace sheaf::bench::peers
