#include "bench/peers/sparse/cusparse.hpp"

#if SHEAF_BENCH_HAS_CUSPARSE
#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <sheaf/memory.hpp>
#endif

namespace sheaf::bench::peers {

#if SHEAF_BENCH_HAS_CUSPARSE
namespace {

/// One matrix of cuSPARSE's, with its vectors and what an algorithm keeps of it.
class cusparse_product {
 public:
  cusparse_product(const context& ctx, const csr_view& a, const_values x, values y, bool transposed,
                   cusparseSpMVAlg_t algorithm, bool preprocesses)
      : operation_(transposed ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE),
        type_(a.values.type == value_type::f64 ? CUDA_R_64F : CUDA_R_32F),
        algorithm_(algorithm) {
    const auto signed_size = [](std::uint64_t size) { return static_cast<std::int64_t>(size); };
    const auto width = [](index_type type) { return bytes(type) == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I; };
    require(cusparseCreate(&handle_));
    require(cusparseSetStream(handle_, ctx.stream()));
    require(cusparseCreateCsr(&matrix_, signed_size(a.rows), signed_size(a.columns), signed_size(a.values.count),
                              const_cast<void*>(a.row_begins.data), const_cast<void*>(a.column_indices.data),
                              const_cast<void*>(a.values.data), width(a.row_begins.type), width(a.column_indices.type),
                              CUSPARSE_INDEX_BASE_ZERO, type_));
    require(cusparseCreateDnVec(&x_, signed_size(x.count), const_cast<void*>(x.data), type_));
    require(cusparseCreateDnVec(&y_, signed_size(y.count), y.data, type_));
    std::size_t scratch_bytes = 0;
    require(cusparseSpMV_bufferSize(handle_, operation_, alpha(), matrix_, x_, beta(), y_, type_, algorithm_,
                                    &scratch_bytes));
    scratch_ = buffer(ctx, std::max<std::uint64_t>(1, scratch_bytes));
    if (preprocesses) {
      require(cusparseSpMV_preprocess(handle_, operation_, alpha(), matrix_, x_, beta(), y_, type_, algorithm_,
                                      scratch_.data()));
    }
    run();
    ctx.wait();
  }
  ~cusparse_product() {
    if (x_ != nullptr) cusparseDestroyDnVec(x_);
    if (y_ != nullptr) cusparseDestroyDnVec(y_);
    if (matrix_ != nullptr) cusparseDestroySpMat(matrix_);
    if (handle_ != nullptr) cusparseDestroy(handle_);
  }
  cusparse_product(const cusparse_product&) = delete;
  cusparse_product& operator=(const cusparse_product&) = delete;

  void run() const {
    require(cusparseSpMV(handle_, operation_, alpha(), matrix_, x_, beta(), y_, type_, algorithm_, scratch_.data()));
  }

 private:
  static void require(cusparseStatus_t status) {
    if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
  }
  const void* number(const double& wide, const float& narrow) const {
    return type_ == CUDA_R_64F ? static_cast<const void*>(&wide) : &narrow;
  }
  const void* alpha() const { return number(wide_one_, narrow_one_); }
  const void* beta() const { return number(wide_zero_, narrow_zero_); }

  cusparseOperation_t operation_;
  cudaDataType type_;
  cusparseSpMVAlg_t algorithm_;
  const double wide_one_ = 1;
  const double wide_zero_ = 0;
  const float narrow_one_ = 1;
  const float narrow_zero_ = 0;
  cusparseHandle_t handle_ = nullptr;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnVecDescr_t x_ = nullptr;
  cusparseDnVecDescr_t y_ = nullptr;
  buffer scratch_;
};

}  // namespace

std::vector<named_product> cusparse_products(const context& ctx, const csr_view& a, const_values x, values y,
                                             bool transposed) {
  std::vector<named_product> all;
  if (a.has_row_ends) return all;
  const std::pair<const char*, cusparseSpMVAlg_t> algorithms[] = {
      {"default", CUSPARSE_SPMV_ALG_DEFAULT}, {"ALG1", CUSPARSE_SPMV_CSR_ALG1}, {"ALG2", CUSPARSE_SPMV_CSR_ALG2}};
  for (const auto& [name, algorithm] : algorithms) {
    for (const bool preprocesses : {false, true}) {
      try {
        const auto made = std::make_shared<cusparse_product>(ctx, a, x, y, transposed, algorithm, preprocesses);
        all.push_back(
            {std::string("cuSPARSE ") + name + (preprocesses ? ", preprocessed" : ""), [made] { made->run(); }});
      } catch (const std::runtime_error&) {
        continue;  // an algorithm that does not take this matrix is no peer
      }
    }
  }
  return all;
}
#else
std::vector<named_product> cusparse_products(const context&, const csr_view&, const_values, values, bool) { return {}; }
#endif

}  // namespace sheaf::bench::peers
