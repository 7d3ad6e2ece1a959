#pragma once

#include <functional>

#include <sheaf/csr.hpp>

namespace sheaf::bench::peers {

/// y = A x, or A^T x, by Eigen with this many threads, for values of f64, offsets of 64 bits and columns that fit 32;
/// null where Eigen was not found when this was built, or for other matrices. The views' arrays must outlive it.
std::function<void()> eigen_product(const csr_view& a, const_values x, values y, bool transposed, int threads);

}  // namespace sheaf::bench::peers
