#include "lab/peers/sparse/cusparse.hpp"

#if SHEAF_BENCH_HAS_CUSPARSE
#include <algorithm>
#include <array>

#include <sheaf/error.hpp>

#include "lab/peers/sparse/cusparse_calls.hpp"
#endif

namespace sheaf::bench::peers {

#if SHEAF_BENCH_HAS_CUSPARSE
namespace {

constexpr cusparse_algorithm algorithms[] = {
    {"cuSPARSE default", "cusparse", CUSPARSE_SPMV_ALG_DEFAULT, false},
    {"cuSPARSE default, preprocessed", "cusparse.preprocessed", CUSPARSE_SPMV_ALG_DEFAULT, true},
    {"cuSPARSE ALG1", "cusparse.alg1", CUSPARSE_SPMV_CSR_ALG1, false},
    {"cuSPARSE ALG1, preprocessed", "cusparse.alg1.preprocessed", CUSPARSE_SPMV_CSR_ALG1, true},
    {"cuSPARSE ALG2", "cusparse.alg2", CUSPARSE_SPMV_CSR_ALG2, false},
    {"cuSPARSE ALG2, preprocessed", "cusparse.alg2.preprocessed", CUSPARSE_SPMV_CSR_ALG2, true}};

/// One matrix of cuSPARSE's, with its vectors and what an algorithm keeps of it.
class matrix_product {
 public:
  matrix_product(const context& ctx, cusparse_handle handle, const csr_view& a, const_values x, values y,
                 bool transposed, const cusparse_algorithm& algorithm)
      : handle_(std::move(handle)),
        operation_(transposed ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE),
        type_(cusparse_type(a.values.type)),
        algorithm_(static_cast<cusparseSpMVAlg_t>(algorithm.algorithm)),
        matrix_(make_cusparse_matrix(a)) {
    x_ = vector_of(x.count, const_cast<void*>(x.data));
    y_ = vector_of(y.count, y.data);
    std::size_t scratch_bytes = 0;
    require(cusparseSpMV_bufferSize(handle_->handle.get(), operation_, alpha(), matrix_.get(), x_.get(), beta(),
                                    y_.get(), type_, algorithm_, &scratch_bytes));
    scratch_ = buffer(ctx, std::max<std::uint64_t>(1, scratch_bytes));
    if (algorithm.preprocesses) {
      require(cusparseSpMV_preprocess(handle_->handle.get(), operation_, alpha(), matrix_.get(), x_.get(), beta(),
                                      y_.get(), type_, algorithm_, scratch_.data()));
    }
    run();
    ctx.wait();
  }

  void run() const {
    require(cusparseSpMV(handle_->handle.get(), operation_, alpha(), matrix_.get(), x_.get(), beta(), y_.get(), type_,
                         algorithm_, scratch_.data()));
  }

 private:
  using owned_vector = cusparse_owned<cusparseDnVecDescr_t, cusparseDestroyDnVec>;

  owned_vector vector_of(std::uint64_t count, void* data) const {
    cusparseDnVecDescr_t vector = nullptr;
    require(cusparseCreateDnVec(&vector, signed_size(count), data, type_));
    return owned_vector(vector);
  }
  const void* number(const double& wide, const float& narrow) const {
    return type_ == CUDA_R_64F ? static_cast<const void*>(&wide) : &narrow;
  }
  const void* alpha() const { return number(wide_one_, narrow_one_); }
  const void* beta() const { return number(wide_zero_, narrow_zero_); }

  cusparse_handle handle_;
  cusparseOperation_t operation_;
  cudaDataType type_;
  cusparseSpMVAlg_t algorithm_;
  const double wide_one_ = 1;
  const double wide_zero_ = 0;
  const float narrow_one_ = 1;
  const float narrow_zero_ = 0;
  buffer scratch_;  // given back after what points into it
  cusparse_matrix matrix_;
  owned_vector x_;
  owned_vector y_;
};

}  // namespace

std::span<const cusparse_algorithm> cusparse_algorithms() { return algorithms; }

cusparse_handle make_cusparse_handle(const context& ctx) {
  cusparseHandle_t handle = nullptr;
  require(cusparseCreate(&handle));
  auto made = std::make_shared<cusparse_context>();
  made->handle.reset(handle);
  require(cusparseSetStream(handle, ctx.stream()));
  return made;
}

std::function<void()> cusparse_product(const context& ctx, const cusparse_handle& handle, const csr_view& a,
                                       const_values x, values y, bool transposed, const cusparse_algorithm& algorithm) {
  const auto made = std::make_shared<matrix_product>(ctx, handle, a, x, y, transposed, algorithm);
  return [made] { made->run(); };
}

bool has_cusparse_product(const context& ctx, const csr_view& a, bool transposed, const cusparse_algorithm& algorithm) {
  if (a.has_row_ends || !has_cusparse_sizes(a) || a.values.count == 0) return false;
  // Row offsets of either width begin with 0 and end with 1, a column is 0, and values are any.
  constexpr std::uint64_t array_bytes = 256;
  std::array<std::uint32_t, array_bytes / 4> numbers{};
  numbers[bytes(a.row_begins.type) / 4] = 1;
  const buffer arrays(ctx, 2 * array_bytes);
  copy_bytes(ctx, arrays.data(), numbers.data(), array_bytes);
  numbers = {};
  std::byte* const zeros = arrays.data() + array_bytes;
  copy_bytes(ctx, zeros, numbers.data(), array_bytes);
  const csr_view one(1, 1, {arrays.data(), 2, a.row_begins.type}, {zeros, 1, a.column_indices.type},
                     {zeros, 1, a.values.type});
  try {
    cusparse_product(ctx, make_cusparse_handle(ctx), one, {zeros, 1, a.values.type},
                     {zeros + array_bytes / 2, 1, a.values.type}, transposed, algorithm);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}
#else
std::span<const cusparse_algorithm> cusparse_algorithms() { return {}; }
cusparse_handle make_cusparse_handle(const context&) { return nullptr; }
bool has_cusparse_product(const context&, const csr_view&, bool, const cusparse_algorithm&) { return false; }
std::function<void()> cusparse_product(const context&, const cusparse_handle&, const csr_view&, const_values, values,
                                       bool, const cusparse_algorithm&) {
  throw std::runtime_error("cuSPARSE was not found when this was built");
}
#endif

std::vector<named_product> cusparse_products(const context& ctx, const csr_view& a, const_values x, values y,
                                             bool transposed) {
  std::vector<named_product> all;
  if (a.has_row_ends) return all;
  for (const cusparse_algorithm& algorithm : cusparse_algorithms()) {
    try {
      const cusparse_handle handle = make_cusparse_handle(ctx);
      all.push_back({std::string(algorithm.who), cusparse_product(ctx, handle, a, x, y, transposed, algorithm)});
    } catch (const std::runtime_error&) {
      continue;  // an algorithm that does not take this matrix is not a peer
    }
  }
  return all;
}

}  // namespace sheaf::bench::peers
