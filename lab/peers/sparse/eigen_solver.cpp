#include "lab/peers/sparse/eigen_solver.hpp"

#if SHEAF_BENCH_HAS_EIGEN
#include <limits>
#include <memory>
#include <vector>

#include <Eigen/Sparse>
#endif

namespace sheaf::bench::peers {

#if SHEAF_BENCH_HAS_EIGEN
namespace {

using matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using vector = Eigen::Map<const Eigen::VectorXd>;

/// Both triangles are stored, which is the form that Eigen multiplies by in parallel.
constexpr int both = Eigen::Lower | Eigen::Upper;

template <class Solver>
std::uint64_t solve(const matrix& a, const vector& b, values x, const solver_terms& terms) {
  Eigen::setNbThreads(terms.threads);
  Solver solver;
  solver.setTolerance(terms.tolerance);
  solver.setMaxIterations(static_cast<Eigen::Index>(terms.limit));
  solver.compute(a);
  Eigen::Map<Eigen::VectorXd>(static_cast<double*>(x.data), static_cast<Eigen::Index>(x.count)) = solver.solve(b);
  // Where it converges, Eigen does not count the last iteration.
  const bool has_converged = solver.info() == Eigen::Success;
  return static_cast<std::uint64_t>(solver.iterations()) + (has_converged ? 1 : 0);
}

}  // namespace

std::function<std::uint64_t()> eigen_solver(const csr_view& a, const_values b, values x, const solver_terms& terms) {
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  const bool fits = a.values.type == value_type::f64 && a.row_begins.type == index_type::u64 && !a.has_row_ends &&
                    a.column_indices.type == index_type::u32 && a.rows < most && a.values.count < most;
  if (!fits) return nullptr;
  const auto* const offset = static_cast<const std::uint64_t*>(a.row_begins.data);
  const auto* const column = static_cast<const std::uint32_t*>(a.column_indices.data);
  const std::vector<int> offsets(offset, offset + a.rows + 1);
  const std::vector<int> columns(column, column + a.values.count);
  const auto n = static_cast<Eigen::Index>(a.rows);
  const auto copy =
      std::make_shared<matrix>(Eigen::Map<const matrix>(n, n, static_cast<Eigen::Index>(a.values.count), offsets.data(),
                                                        columns.data(), static_cast<const double*>(a.values.data)));
  return [=] {
    const vector right(static_cast<const double*>(b.data), n);
    using plain = Eigen::ConjugateGradient<matrix, both, Eigen::IdentityPreconditioner>;
    using scaled = Eigen::ConjugateGradient<matrix, both, Eigen::DiagonalPreconditioner<double>>;
    return terms.has_jacobi ? solve<scaled>(*copy, right, x, terms) : solve<plain>(*copy, right, x, terms);
  };
}
#else
std::function<std::uint64_t()> eigen_solver(const csr_view&, const_values, values, const solver_terms&) {
  return nullptr;
}
#endif

}  // namespace sheaf::bench::peers
