#include "lab/peers/sparse/eigen.hpp"

#if SHEAF_BENCH_HAS_EIGEN
#include <algorithm>
#include <cstdint>
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

template <class Value>
std::function<void()> product(const csr_view& a, const_values x, values y, bool transposed, int threads) {
  using eigen_matrix = Eigen::Map<const Eigen::SparseMatrix<Value, Eigen::RowMajor>>;
  using eigen_vector = Eigen::Matrix<Value, Eigen::Dynamic, 1>;
  const std::shared_ptr<const matrix_lists> lists(new matrix_lists{int_list(a.row_begins), int_list(a.column_indices)});
  return [=] {
    Eigen::setNbThreads(threads);
    const eigen_matrix matrix(static_cast<Eigen::Index>(a.rows), static_cast<Eigen::Index>(a.columns),
                              static_cast<Eigen::Index>(a.values.count), lists->offsets.first, lists->columns.first,
                              static_cast<const Value*>(a.values.data));
    const Eigen::Map<const eigen_vector> from(static_cast<const Value*>(x.data), static_cast<Eigen::Index>(x.count));
    Eigen::Map<eigen_vector> to(static_cast<Value*>(y.data), static_cast<Eigen::Index>(y.count));
    if (transposed) {
      to.noalias() = matrix.transpose() * from;
    } else {
      to.noalias() = matrix * from;
    }
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
#else
bool has_eigen_product(const csr_view&) { return false; }
std::function<void()> eigen_product(const csr_view&, const_values, values, bool, int) { return nullptr; }
#endif

}  // namespace sheaf::bench::peers
