#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/csr.hpp>

namespace sheaf::bench::peers {

struct named_product {
  std::string who;
  std::function<void()> run;  ///< queues y = A x on the context's stream
};

/// y = A x, or A^T x, by each algorithm of cuSPARSE's, as it is and after cusparseSpMV_preprocess, for offsets and
/// columns of one width in a CUDA context's memory; none where cuSPARSE was not found when this was built, or does not
/// take the matrix. The views' arrays must outlive them.
std::vector<named_product> cusparse_products(const context& ctx, const csr_view& a, const_values x, values y,
                                             bool transposed);

}  // namespace sheaf::bench::peers
