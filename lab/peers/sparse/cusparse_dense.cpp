#include "lab/peers/sparse/cusparse.hpp"

#if SHEAF_BENCH_HAS_CUSPARSE
#include <array>

#include <sheaf/error.hpp>

#include "lab/peers/sparse/cusparse_calls.hpp"
#endif

namespace sheaf::bench::peers {

#if SHEAF_BENCH_HAS_CUSPARSE
namespace {

constexpr cusparse_algorithm dense_algorithms[] = {
    {"cuSPARSE default", "cusparse", CUSPARSE_SPMM_ALG_DEFAULT, false},
    {"cuSPARSE ALG2", "cusparse.alg2", CUSPARSE_SPMM_CSR_ALG2, false},
    {"cuSPARSE ALG2, preprocessed", "cusparse.alg2.preprocessed", CUSPARSE_SPMM_CSR_ALG2, true},
    {"cuSPARSE ALG3", "cusparse.alg3", CUSPARSE_SPMM_CSR_ALG3, false}};

/// A product with its matrices and what an algorithm keeps of them.
class dense_product {
 public:
  dense_product(const context& ctx, cusparse_handle handle, const csr_view& a, const_value_rows x, value_rows y,
                bool transposed, const cusparse_algorithm& algorithm)
      : handle_(std::move(handle)),
        operation_(transposed ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE),
        type_(cusparse_type(a.values.type)),
        algorithm_(static_cast<cusparseSpMMAlg_t>(algorithm.algorithm)),
        matrix_(make_cusparse_matrix(a)),
        x_(dense(x.count, x.values_per_row, const_cast<void*>(x.data))),
        y_(dense(y.count, y.values_per_row, y.data)) {
    std::size_t scratch_bytes = 0;
    require(cusparseSpMM_bufferSize(handle_->handle.get(), operation_, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha(),
                                    matrix_.get(), x_.get(), beta(), y_.get(), type_, algorithm_, &scratch_bytes));
    scratch_ = buffer(ctx, std::max<std::uint64_t>(1, scratch_bytes));
    if (algorithm.preprocesses) {
      require(cusparseSpMM_preprocess(handle_->handle.get(), operation_, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha(),
                                      matrix_.get(), x_.get(), beta(), y_.get(), type_, algorithm_, scratch_.data()));
    }
    run();
    ctx.wait();
  }

  void run() const {
    require(cusparseSpMM(handle_->handle.get(), operation_, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha(), matrix_.get(),
                         x_.get(), beta(), y_.get(), type_, algorithm_, scratch_.data()));
  }

 private:
  using owned_dense = cusparse_owned<cusparseDnMatDescr_t, cusparseDestroyDnMat>;

  owned_dense dense(std::uint64_t rows, std::uint64_t width, void* data) const {
    cusparseDnMatDescr_t made = nullptr;
    require(cusparseCreateDnMat(&made, signed_size(rows), signed_size(width), signed_size(width), data, type_,
                                CUSPARSE_ORDER_ROW));
    return owned_dense(made);
  }
  const void* number(const double& wide, const float& narrow) const {
    return type_ == CUDA_R_64F ? static_cast<const void*>(&wide) : &narrow;
  }
  const void* alpha() const { return number(wide_one_, narrow_one_); }
  const void* beta() const { return number(wide_zero_, narrow_zero_); }

  cusparse_handle handle_;
  cusparseOperation_t operation_;
  cudaDataType type_;
  cusparseSpMMAlg_t algorithm_;
  const double wide_one_ = 1;
  const double wide_zero_ = 0;
  const float narrow_one_ = 1;
  const float narrow_zero_ = 0;
  buffer scratch_;  // given back after what points into it
  cusparse_matrix matrix_;
  owned_dense x_;
  owned_dense y_;
};

}  // namespace

std::span<const cusparse_algorithm> cusparse_dense_algorithms() { return dense_algorithms; }

std::function<void()> cusparse_dense_product(const context& ctx, const cusparse_handle& handle, const csr_view& a,
                                             const_value_rows x, value_rows y, bool transposed,
                                             const cusparse_algorithm& algorithm) {
  const auto made = std::make_shared<dense_product>(ctx, handle, a, x, y, transposed, algorithm);
  return [made] { made->run(); };
}

bool has_cusparse_dense_product(const context& ctx, const csr_view& a, bool transposed,
                                const cusparse_algorithm& algorithm) {
  const bool is_float = a.values.type == value_type::f32 || a.values.type == value_type::f64;
  if (!is_float || a.has_row_ends || !has_cusparse_sizes(a) || a.values.count == 0) return false;
  // One entry in column 0; row offsets of either width begin with 0 and end with 1, and values are any.
  constexpr std::uint64_t array_bytes = 256;
  std::array<std::uint32_t, 3 * array_bytes / 4> numbers{};
  numbers[bytes(a.row_begins.type) / 4] = 1;
  const buffer arrays(ctx, sizeof numbers);
  copy_bytes(ctx, arrays.data(), numbers.data(), sizeof numbers);
  std::byte* const zeros = arrays.data() + array_bytes;
  std::byte* const results = zeros + array_bytes;
  constexpr std::uint64_t width = 4;
  const csr_view one(1, 1, {arrays.data(), 2, a.row_begins.type}, {zeros, 1, a.column_indices.type},
                     {zeros, 1, a.values.type});
  try {
    cusparse_dense_product(ctx, make_cusparse_handle(ctx), one, {zeros, 1, width, a.values.type},
                           {results, 1, width, a.values.type}, transposed, algorithm);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}
#else
std::span<const cusparse_algorithm> cusparse_dense_algorithms() { return {}; }
bool has_cusparse_dense_product(const context&, const csr_view&, bool, const cusparse_algorithm&) { return false; }
std::function<void()> cusparse_dense_product(const context&, const cusparse_handle&, const csr_view&, const_value_rows,
                                             value_rows, bool, const cusparse_algorithm&) {
  throw std::runtime_error("cuSPARSE was not found when this was built");
}
#endif

}  // namespace sheaf::bench::peers
