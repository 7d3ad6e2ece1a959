#pragma once

#include <cstdint>
#include <functional>
#include <span>

// PETSc doing the same work (Balay et al. 1997), for rates.cpp to time beside ours. All functions are collective over
// MPI_COMM_WORLD. Those that prepare a call run it once and end the job with exit code 1 if its answer is not
// `expected`, this rank's part of ours: to 1e-9 of the largest value of it, values that are only moved exactly. Built
// without PETSc they return empty functions.
namespace sheaf::petsc_peers {

/// This rank's rows of a square matrix that is spread over the ranks in their order, with the columns of the whole.
struct matrix_rows {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> columns;
  std::span<const double> values;
};

/// Conjugate gradient without preconditioner from 0, both the same iterations.
struct conjugate_gradient_calls {
  std::function<void()> solve;
  std::function<void()> make_and_solve;  ///< makes the matrix and the solver first, from this rank's rows
};

#ifdef SHEAF_HAS_PETSC

/// MPI is initialized before, and finalized by the caller. Options are read from PETSC_OPTIONS.
void initialize();
/// What the functions below returned is destroyed before.
void finalize();

/// Values by a list of places in the whole table: a VecScatter, made once.
std::function<void()> prepare_gather(std::span<const double> table, std::span<const std::uint32_t> list,
                                     std::span<const double> expected);
/// MatMult of a MATMPIAIJ, made once.
std::function<void()> prepare_product(const matrix_rows& a, std::span<const double> x,
                                      std::span<const double> expected);
/// KSPCG of exactly as many iterations. @param expected  the solution after them
conjugate_gradient_calls prepare_conjugate_gradient(const matrix_rows& a, std::span<const double> b, int iterations,
                                                    std::span<const double> expected);

#else

inline void initialize() {}
inline void finalize() {}
inline std::function<void()> prepare_gather(std::span<const double>, std::span<const std::uint32_t>,
                                            std::span<const double>) {
  return {};
}
inline std::function<void()> prepare_product(const matrix_rows&, std::span<const double>, std::span<const double>) {
  return {};
}
inline conjugate_gradient_calls prepare_conjugate_gradient(const matrix_rows&, std::span<const double>, int,
                                                           std::span<const double>) {
  return {};
}

#endif

}  // namespace sheaf::petsc_peers
