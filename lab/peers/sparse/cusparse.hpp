#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/csr.hpp>
#include <sheaf/value_rows.hpp>

// cuSPARSE's products by matrices in compressed rows, for offsets and columns of one width in a CUDA context's memory.
// Where it was not found when this was built, there are no algorithms. Views' arrays must outlive products.
namespace sheaf::bench::peers {

/// One of cuSPARSE's algorithms, as it is or after its preprocessing.
struct cusparse_algorithm {
  std::string_view who;       ///< "cuSPARSE ALG2, preprocessed"
  std::string_view row_name;  ///< as a contender: "cusparse.alg2.preprocessed"
  int algorithm = 0;          ///< a cusparseSpMVAlg_t or cusparseSpMMAlg_t
  bool preprocesses = false;
};

std::span<const cusparse_algorithm> cusparse_algorithms();

/// What products of one context share.
using cusparse_handle = std::shared_ptr<struct cusparse_context>;
cusparse_handle make_cusparse_handle(const context& ctx);

/// Whether an algorithm takes matrices of the types and sizes of this one, whose data may be null: it is tried on one
/// of a single entry.
bool has_cusparse_product(const context& ctx, const csr_view& a, bool transposed, const cusparse_algorithm& algorithm);

/// Queues y = A x, or A^T x, on the context's stream. @throws std::runtime_error in the words of cuSPARSE
std::function<void()> cusparse_product(const context& ctx, const cusparse_handle& handle, const csr_view& a,
                                       const_values x, values y, bool transposed, const cusparse_algorithm& algorithm);

/// cuSPARSE's products with row-major matrices: the algorithms, whether one takes matrices of these types and sizes,
/// whose data may be null, and Y = A X, or A^T X, queued on the context's stream. Rows of X and Y lie side by side.
/// cusparse_dense_product throws std::runtime_error in the words of cuSPARSE.
std::span<const cusparse_algorithm> cusparse_dense_algorithms();
bool has_cusparse_dense_product(const context& ctx, const csr_view& a, bool transposed,
                                const cusparse_algorithm& algorithm);
std::function<void()> cusparse_dense_product(const context& ctx, const cusparse_handle& handle, const csr_view& a,
                                             const_value_rows x, value_rows y, bool transposed,
                                             const cusparse_algorithm& algorithm);

struct named_product {
  std::string who;
  std::function<void()> run;  ///< queues y = A x on the context's stream
};

/// The products of all algorithms that take the matrix.
std::vector<named_product> cusparse_products(const context& ctx, const csr_view& a, const_values x, values y,
                                             bool transposed);

}  // namespace sheaf::bench::peers
