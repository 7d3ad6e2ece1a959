#include "lab/peers/sparse/eigen.hpp"

#if SHEAF_BENCH_HAS_EIGEN
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include <Eigen/Sparse>
#endif

namespace sheaf::bench::peers {

#if SHEAF_BENCH_HAS_EIGEN
namespace {

/// A list as ints, which Eigen wants: where it lies if it is as wide.
struct int_list {
  std::vector<int> copied;
  const int* first;

  explicit int_list(index_span list) : first(static_cast<const int*>(list.data)) {
    if (bytes(list.type) == sizeof(int)) return;
    const auto* const wide = static_cast<const std::uint64_t*>(list.data);
    copied.resize(list.count);
    std::transform(wide, wide + list.count, copied.begin(),
                   [](std::uint64_t number) { return static_cast<int>(number); });
    first = copied.data();
  }
  int_list(const int_list&) = delete;  // it may point into itself
  int_list& operator=(const int_list&) = delete;
};

struct matrix_lists {
  int_list offsets;
  int_list columns;
};

std::shared_ptr<const matrix_lists> lists_of(const csr_view& a) {
  return std::shared_ptr<const matrix_lists>(new matrix_lists{int_list(a.row_begins), int_list(a.column_indices)});
}

template <class Value>
using matrix_map = Eigen::Map<const Eigen::SparseMatrix<Value, Eigen::RowMajor>>;

template <class Value>
matrix_map<Value> map_of(const csr_view& a, const matrix_lists& lists) {
  return {static_cast<Eigen::Index>(a.rows),
          static_cast<Eigen::Index>(a.columns),
          static_cast<Eigen::Index>(a.values.count),
          lists.offsets.first,
          lists.columns.first,
          static_cast<const Value*>(a.values.data)};
}

template <class Value>
std::function<void()> product(const csr_view& a, const_values x, values y, bool transposed, int threads) {
  using eigen_vector = Eigen::Matrix<Value, Eigen::Dynamic, 1>;
  const auto lists = lists_of(a);
  return [=] {
    Eigen::setNbThreads(threads);
    const matrix_map<Value> matrix = map_of<Value>(a, *lists);
    const Eigen::Map<const eigen_vector> from(static_cast<const Value*>(x.data), static_cast<Eigen::Index>(x.count));
    Eigen::Map<eigen_vector> to(static_cast<Value*>(y.data), static_cast<Eigen::Index>(y.count));
    if (transposed) {
      to.noalias() = matrix.transpose() * from;
    } else {
      to.noalias() = matrix * from;
    }
  };
}

template <class Value>
std::function<void()> dense_product(const csr_view& a, const_value_rows x, value_rows y, bool transposed, int threads) {
  using eigen_rows = Eigen::Matrix<Value, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto lists = lists_of(a);
  return [=] {
    Eigen::setNbThreads(threads);
    const matrix_map<Value> matrix = map_of<Value>(a, *lists);
    const auto width = static_cast<Eigen::Index>(x.values_per_row);
    const Eigen::Map<const eigen_rows> from(static_cast<const Value*>(x.data), static_cast<Eigen::Index>(x.count),
                                            width);
    Eigen::Map<eigen_rows> to(static_cast<Value*>(y.data), static_cast<Eigen::Index>(y.count), width);
    if (transposed) {
      to.noalias() = matrix.transpose() * from;
    } else {
      to.noalias() = matrix * from;
    }
  };
}

template <class Value>
using solved_matrix = Eigen::SparseMatrix<Value, Eigen::RowMajor>;
template <class Value>
using solved_vector = Eigen::Matrix<Value, Eigen::Dynamic, 1>;
template <class Value>
using vector_view = Eigen::Map<const solved_vector<Value>>;

/// Both triangles are stored, which is the form that Eigen multiplies by in parallel.
constexpr int both = Eigen::Lower | Eigen::Upper;

template <class Solver, class Value>
std::uint64_t solve(const solved_matrix<Value>& a, const vector_view<Value>& b, values x, const solver_terms& terms) {
  Eigen::setNbThreads(terms.threads);
  Solver solver;
  solver.setTolerance(static_cast<Value>(terms.tolerance));
  solver.setMaxIterations(static_cast<Eigen::Index>(terms.limit));
  solver.compute(a);
  Eigen::Map<solved_vector<Value>>(static_cast<Value*>(x.data), static_cast<Eigen::Index>(x.count)) = solver.solve(b);
  // Where it converges, Eigen does not count the last iteration.
  const bool has_converged = solver.info() == Eigen::Success;
  return static_cast<std::uint64_t>(solver.iterations()) + (has_converged ? 1 : 0);
}

template <class Value>
std::function<std::uint64_t()> solver_of(const csr_view& a, const_values b, values x, const solver_terms& terms) {
  const auto* const offset = static_cast<const std::uint64_t*>(a.row_begins.data);
  const auto* const column = static_cast<const std::uint32_t*>(a.column_indices.data);
  const std::vector<int> offsets(offset, offset + a.rows + 1);
  const std::vector<int> columns(column, column + a.values.count);
  const auto n = static_cast<Eigen::Index>(a.rows);
  const auto copy = std::make_shared<solved_matrix<Value>>(
      Eigen::Map<const solved_matrix<Value>>(n, n, static_cast<Eigen::Index>(a.values.count), offsets.data(),
                                             columns.data(), static_cast<const Value*>(a.values.data)));
  return [=] {
    const vector_view<Value> right(static_cast<const Value*>(b.data), n);
    using plain = Eigen::ConjugateGradient<solved_matrix<Value>, both, Eigen::IdentityPreconditioner>;
    using scaled = Eigen::ConjugateGradient<solved_matrix<Value>, both, Eigen::DiagonalPreconditioner<Value>>;
    return terms.has_jacobi ? solve<scaled, Value>(*copy, right, x, terms)
                            : solve<plain, Value>(*copy, right, x, terms);
  };
}

}  // namespace

bool has_eigen_product(const csr_view& a) {
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  return !a.has_row_ends && a.rows < most && a.columns < most && a.values.count < most;
}

std::function<void()> eigen_product(const csr_view& a, const_values x, values y, bool transposed, int threads) {
  if (!has_eigen_product(a)) return nullptr;
  return a.values.type == value_type::f64 ? product<double>(a, x, y, transposed, threads)
                                          : product<float>(a, x, y, transposed, threads);
}

std::function<void()> eigen_dense_product(const csr_view& a, const_value_rows x, value_rows y, bool transposed,
                                          int threads) {
  if (!has_eigen_product(a)) return nullptr;
  return a.values.type == value_type::f64 ? dense_product<double>(a, x, y, transposed, threads)
                                          : dense_product<float>(a, x, y, transposed, threads);
}

std::function<std::uint64_t()> eigen_solver(const csr_view& a, const_values b, values x, const solver_terms& terms) {
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  const bool fits = a.row_begins.type == index_type::u64 && !a.has_row_ends &&
                    a.column_indices.type == index_type::u32 && a.rows < most && a.values.count < most;
  if (!fits) return nullptr;
  return a.values.type == value_type::f64 ? solver_of<double>(a, b, x, terms) : solver_of<float>(a, b, x, terms);
}
#else
bool has_eigen_product(const csr_view&) { return false; }
std::function<void()> eigen_product(const csr_view&, const_values, values, bool, int) { return nullptr; }
std::function<void()> eigen_dense_product(const csr_view&, const_value_rows, value_rows, bool, int) { return nullptr; }
std::function<std::uint64_t()> eigen_solver(const csr_view&, const_values, values, const solver_terms&) {
  return nullptr;
}
#endif

}  // namespace sheaf::bench::peers
