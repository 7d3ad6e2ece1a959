#pragma once

#include <cstdint>
#include <functional>

#include <sheaf/csr.hpp>

namespace sheaf::bench::peers {

/// What a solver of A x = b is asked for.
struct solver_terms {
  bool has_jacobi = false;
  double tolerance = 0;
  std::uint64_t limit = 0;
  int threads = 1;
};

/// Solves by Eigen's ConjugateGradient from x = 0 and returns the number of iterations, for values of f64, offsets of
/// 64 bits and columns that fit 32; null where Eigen was not found when this was built, or for other matrices. The
/// views' arrays must outlive it.
std::function<std::uint64_t()> eigen_solver(const csr_view& a, const_values b, values x, const solver_terms& terms);

}  // namespace sheaf::bench::peers
