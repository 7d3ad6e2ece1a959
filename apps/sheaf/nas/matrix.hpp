#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "apps/sheaf/files/sparse/csr_matrix.hpp"

// The matrices of the conjugate gradient benchmark of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007, section
// CG).
namespace sheaf::jobs {

/// A size of the benchmark, with the answer that it must give.
struct nas_class {
  std::string_view name;  ///< "S"
  std::uint64_t rows;
  std::uint64_t vector_entries;  ///< nonzeros of the random vectors that the matrix is made of
  std::uint64_t iterations;      ///< of the inverse power method
  double shift;
  double zeta;             ///< the estimate of an eigenvalue after the last iteration
  std::uint64_t nonzeros;  ///< of the matrix
};

/// S, W, A, B, C.
std::span<const nas_class> nas_classes();
/// @throws error(bad_argument) for a name that is none
const nas_class& nas_class_named(std::string_view name);

/// The negative of the benchmark's matrix, which is negative definite: the sum of omega_i v_i v_i^T over random sparse
/// vectors v_i, whose weights omega_i fall geometrically from 1 to 0.1, less (shift - 0.1) on the diagonal. Solutions
/// change their sign with the matrix, and nothing else. Sums have the order of i, so every bit is the benchmark's.
io::csr_matrix<double> nas_matrix(const nas_class& of, int threads);

}  // namespace sheaf::jobs
