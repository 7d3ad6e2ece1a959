#include "bench/peers/sparse/eigen.hpp"

#if SHEAF_BENCH_HAS_EIGEN
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <Eigen/Sparse>
#endif

namespace sheaf::bench::peers {

#if SHEAF_BENCH_HAS_EIGEN
namespace {

using eigen_matrix = Eigen::Map<const Eigen::SparseMatrix<double, Eigen::RowMajor>>;

/// Eigen wants offsets and columns as int, which are as wide as the columns that it is compared with.
struct eigen_arrays {
  std::vector<int> offsets;
  std::vector<int> columns;
};

}  // namespace

std::function<void()> eigen_product(const csr_view& a, const_values x, values y, bool transposed, int threads) {
  constexpr std::uint64_t most = std::numeric_limits<int>::max();
  const bool fits = a.values.type == value_type::f64 && a.row_begins.type == index_type::u64 && !a.has_row_ends &&
                    a.column_indices.type == index_type::u32 && a.rows < most && a.columns < most &&
                    a.values.count < most;
  if (!fits) return nullptr;
  const auto arrays = std::make_shared<eigen_arrays>();
  const auto* const offset = static_cast<const std::uint64_t*>(a.row_begins.data);
  const auto* const column = static_cast<const std::uint32_t*>(a.column_indices.data);
  for (std::uint64_t r = 0; r <= a.rows; ++r) arrays->offsets.push_back(static_cast<int>(offset[r]));
  for (std::uint64_t p = 0; p < a.values.count; ++p) arrays->columns.push_back(static_cast<int>(column[p]));
  return [=] {
    Eigen::setNbThreads(threads);
    const eigen_matrix matrix(static_cast<Eigen::Index>(a.rows), static_cast<Eigen::Index>(a.columns),
                              static_cast<Eigen::Index>(a.values.count), arrays->offsets.data(), arrays->columns.data(),
                              static_cast<const double*>(a.values.data));
    const Eigen::Map<const Eigen::VectorXd> from(static_cast<const double*>(x.data),
                                                 static_cast<Eigen::Index>(x.count));
    Eigen::Map<Eigen::VectorXd> to(static_cast<double*>(y.data), static_cast<Eigen::Index>(y.count));
    if (transposed) {
      to.noalias() = matrix.transpose() * from;
    } else {
      to.noalias() = matrix * from;
    }
  };
}
#else
std::function<void()> eigen_product(const csr_view&, const_values, values, bool, int) { return nullptr; }
#endif

}  // namespace sheaf::bench::peers
