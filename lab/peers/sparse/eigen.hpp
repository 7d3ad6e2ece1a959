#pragma once

#include <functional>

#include <sheaf/csr.hpp>

namespace sheaf::bench::peers {

/// Whether Eigen was found when this was built and takes matrices of these types and sizes: row offsets, and rows,
/// columns and entries that an int counts. The data may be null.
bool has_eigen_product(const csr_view& a);

/// y = A x, or A^T x, by Eigen with this many threads; null where there is none. Offsets and columns of 8 bytes are
/// copied when it is made. The views' arrays must outlive it.
std::function<void()> eigen_product(const csr_view& a, const_values x, values y, bool transposed, int threads);

}  // namespace sheaf::bench::peers
