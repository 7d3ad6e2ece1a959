#include "lab/peers/sparse/cublas_solver.hpp"

#if SHEAF_BENCH_HAS_CUBLAS
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <cublas_v2.h>
#include <cusparse.h>
#include <fmt/format.h>

#include "lab/peers/sparse/cublas_scalars.hpp"
#endif

namespace sheaf::bench::peers {

#if SHEAF_BENCH_HAS_CUBLAS
namespace {

void require(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
void require(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(cusparseGetErrorString(status));
}
void require(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

// cuBLAS names the type of its values in the name of a call.
cublasStatus_t dot(cublasHandle_t h, int n, const float* x, const float* y, float* sum) {
  return cublasSdot(h, n, x, 1, y, 1, sum);
}
cublasStatus_t dot(cublasHandle_t h, int n, const double* x, const double* y, double* sum) {
  return cublasDdot(h, n, x, 1, y, 1, sum);
}
cublasStatus_t axpy(cublasHandle_t h, int n, const float* alpha, const float* x, float* y) {
  return cublasSaxpy(h, n, alpha, x, 1, y, 1);
}
cublasStatus_t axpy(cublasHandle_t h, int n, const double* alpha, const double* x, double* y) {
  return cublasDaxpy(h, n, alpha, x, 1, y, 1);
}
cublasStatus_t scal(cublasHandle_t h, int n, const float* alpha, float* x) { return cublasSscal(h, n, alpha, x, 1); }
cublasStatus_t scal(cublasHandle_t h, int n, const double* alpha, double* x) { return cublasDscal(h, n, alpha, x, 1); }

enum class dots_are { read_by_host, left_on_device, in_a_graph };

template <class Value>
class cublas_solver {
  static constexpr cudaDataType data_type = sizeof(Value) == sizeof(double) ? CUDA_R_64F : CUDA_R_32F;

 public:
  cublas_solver(const context& ctx, const csr_view& a, const_values b, values x, const solver_terms& terms,
                dots_are dots)
      : ctx_(ctx),
        terms_(terms),
        dots_(dots),
        n_(static_cast<int>(a.rows)),
        b_(static_cast<const Value*>(b.data)),
        x_(static_cast<Value*>(x.data)),
        r_memory_(ctx, a.rows * sizeof(Value)),
        p_memory_(ctx, a.rows * sizeof(Value)),
        q_memory_(ctx, a.rows * sizeof(Value)),
        z_memory_(ctx, terms.has_jacobi ? a.rows * sizeof(Value) : 0),
        diagonal_memory_(ctx, terms.has_jacobi ? a.rows * sizeof(Value) : 0),
        scalar_memory_(ctx, sizeof(cublas_scalars<Value>)),
        workspace_(ctx, workspace_bytes),
        r_(r_memory_.as<Value>()),
        p_(p_memory_.as<Value>()),
        q_(q_memory_.as<Value>()),
        z_(terms.has_jacobi ? z_memory_.as<Value>() : r_),
        scalars_(scalar_memory_.as<cublas_scalars<Value>>()) {
    const auto size = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
    const auto width = [](index_type type) { return bytes(type) == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I; };
    require(cusparseCreate(&sparse_));
    require(cusparseSetStream(sparse_, ctx.stream()));
    require(cublasCreate(&dense_));
    require(cublasSetStream(dense_, ctx.stream()));
    require(cublasSetWorkspace(dense_, workspace_.data(), workspace_bytes));
    require(cusparseCreateCsr(&matrix_, size(a.rows), size(a.columns), size(a.values.count),
                              const_cast<void*>(a.row_begins.data), const_cast<void*>(a.column_indices.data),
                              const_cast<void*>(a.values.data), width(a.row_begins.type), width(a.column_indices.type),
                              CUSPARSE_INDEX_BASE_ZERO, data_type));
    require(cusparseCreateDnVec(&from_, size(a.rows), p_, data_type));
    require(cusparseCreateDnVec(&to_, size(a.rows), q_, data_type));
    std::size_t scratch_bytes = 0;
    require(cusparseSpMV_bufferSize(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, from_, &zero_, to_,
                                    data_type, CUSPARSE_SPMV_ALG_DEFAULT, &scratch_bytes));
    scratch_ = buffer(ctx, std::max<std::uint64_t>(1, scratch_bytes));
    require(cusparseSpMV_preprocess(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, from_, &zero_, to_,
                                    data_type, CUSPARSE_SPMV_ALG_DEFAULT, scratch_.data()));
    if (terms.has_jacobi) place_diagonal(a);
    run();
    if (dots != dots_are::in_a_graph) return;
    require(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeGlobal));
    queue_iteration();
    require(cudaStreamEndCapture(ctx.stream(), &graph_));
    require(cudaGraphInstantiate(&iteration_, graph_, 0));
  }
  ~cublas_solver() {
    if (iteration_ != nullptr) cudaGraphExecDestroy(iteration_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    if (from_ != nullptr) cusparseDestroyDnVec(from_);
    if (to_ != nullptr) cusparseDestroyDnVec(to_);
    if (matrix_ != nullptr) cusparseDestroySpMat(matrix_);
    if (sparse_ != nullptr) cusparseDestroy(sparse_);
    if (dense_ != nullptr) cublasDestroy(dense_);
  }
  cublas_solver(const cublas_solver&) = delete;
  cublas_solver& operator=(const cublas_solver&) = delete;

  std::uint64_t run() {
    const std::uint64_t bytes = static_cast<std::uint64_t>(n_) * sizeof(Value);
    require(cudaMemsetAsync(x_, 0, bytes, ctx_.stream()));
    require(cudaMemcpyAsync(r_, b_, bytes, cudaMemcpyDeviceToDevice, ctx_.stream()));
    precondition();
    require(cudaMemcpyAsync(p_, z_, bytes, cudaMemcpyDeviceToDevice, ctx_.stream()));
    require(cublasSetPointerMode(dense_, CUBLAS_POINTER_MODE_HOST));
    Value squared = 0;
    require(dot(dense_, n_, r_, r_, &squared));
    Value size = squared;
    if (terms_.has_jacobi) require(dot(dense_, n_, r_, z_, &size));
    target_ = terms_.tolerance * std::sqrt(static_cast<double>(squared));
    return dots_ == dots_are::read_by_host ? run_by_host(squared, size) : run_on_device(squared, size);
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  void multiply() const {
    require(cusparseSpMV(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_, matrix_, from_, &zero_, to_, data_type,
                         CUSPARSE_SPMV_ALG_DEFAULT, scratch_.data()));
  }

  /// Copies the matrix's diagonal to the device, from the host, which is not timed.
  void place_diagonal(const csr_view& a) const {
    std::vector<Value> numbers(a.values.count);
    copy_bytes(ctx_, numbers.data(), a.values.data, numbers.size() * sizeof(Value));
    const std::vector<std::uint64_t> begins = numbers_on_host(a.row_begins);
    const std::vector<std::uint64_t> columns = numbers_on_host(a.column_indices);
    std::vector<Value> diagonal(a.rows);
    for (std::uint64_t row = 0; row < a.rows; ++row) {
      for (std::uint64_t place = begins[row]; place < begins[row + 1]; ++place) {
        if (columns[place] == row) diagonal[row] += numbers[place];
      }
    }
    copy_bytes(ctx_, diagonal_memory_.data(), diagonal.data(), diagonal.size() * sizeof(Value));
  }

  std::vector<std::uint64_t> numbers_on_host(const index_span& of) const {
    if (bytes(of.type) == 8) {
      std::vector<std::uint64_t> wide(of.count);
      copy_bytes(ctx_, wide.data(), of.data, of.count * 8);
      return wide;
    }
    std::vector<std::uint32_t> narrow(of.count);
    copy_bytes(ctx_, narrow.data(), of.data, of.count * 4);
    return {narrow.begin(), narrow.end()};
  }

  /// z of r; without a preconditioner r itself.
  void precondition() const {
    if (!terms_.has_jacobi) return;
    queue_division(ctx_.stream(), r_, diagonal_memory_.as<Value>(), z_, static_cast<std::uint64_t>(n_));
  }

  std::uint64_t run_by_host(Value squared, Value size) const {
    std::uint64_t i = 0;
    while (i < terms_.limit && std::sqrt(static_cast<double>(squared)) > target_) {
      multiply();
      Value curvature = 0;
      require(dot(dense_, n_, p_, q_, &curvature));
      const Value alpha = size / curvature;
      const Value minus_alpha = -alpha;
      require(axpy(dense_, n_, &alpha, p_, x_));
      require(axpy(dense_, n_, &minus_alpha, q_, r_));
      require(dot(dense_, n_, r_, r_, &squared));
      Value next = squared;
      precondition();
      if (terms_.has_jacobi) require(dot(dense_, n_, r_, z_, &next));
      const Value beta = next / size;
      size = next;
      require(scal(dense_, n_, &beta, p_));
      require(axpy(dense_, n_, &one_, z_, p_));
      ++i;
    }
    require(cudaStreamSynchronize(ctx_.stream()));
    return i;
  }

  void queue_iteration() const {
    multiply();
    require(cublasSetPointerMode(dense_, CUBLAS_POINTER_MODE_DEVICE));
    require(dot(dense_, n_, p_, q_, &scalars_->curvature));
    queue_alpha(ctx_.stream(), scalars_);
    require(axpy(dense_, n_, &scalars_->alpha, p_, x_));
    require(axpy(dense_, n_, &scalars_->minus_alpha, q_, r_));
    precondition();
    require(dot(dense_, n_, r_, z_, &scalars_->next_size));
    if (terms_.has_jacobi) require(dot(dense_, n_, r_, r_, &scalars_->squared));
    queue_beta(ctx_.stream(), scalars_);
    require(scal(dense_, n_, &scalars_->beta, p_));
    require(axpy(dense_, n_, &scalars_->one, z_, p_));
  }

  /// The host looks at the residual after every 16 iterations.
  std::uint64_t run_on_device(Value squared, Value size) const {
    constexpr std::uint64_t batch = 16;
    cublas_scalars<Value> scalars{};
    scalars.size = size;
    scalars.one = 1;
    require(cudaMemcpyAsync(scalars_, &scalars, sizeof scalars, cudaMemcpyHostToDevice, ctx_.stream()));
    std::uint64_t i = 0;
    while (i < terms_.limit && std::sqrt(static_cast<double>(squared)) > target_) {
      const std::uint64_t end = std::min(terms_.limit, i + batch);
      for (; i < end; ++i) {
        if (iteration_ != nullptr) {
          require(cudaGraphLaunch(iteration_, ctx_.stream()));
        } else {
          queue_iteration();
        }
      }
      const Value* const found = terms_.has_jacobi ? &scalars_->squared : &scalars_->size;
      require(cudaMemcpyAsync(&squared, found, sizeof squared, cudaMemcpyDeviceToHost, ctx_.stream()));
      require(cudaStreamSynchronize(ctx_.stream()));
    }
    return i;
  }

  context ctx_;
  solver_terms terms_;
  dots_are dots_;
  int n_;
  const Value* b_;
  Value* x_;
  buffer r_memory_;
  buffer p_memory_;
  buffer q_memory_;
  buffer z_memory_;
  buffer diagonal_memory_;
  buffer scalar_memory_;
  buffer workspace_;
  buffer scratch_;
  Value* r_;
  Value* p_;
  Value* q_;
  Value* z_;
  cublas_scalars<Value>* scalars_;
  double target_ = 0;
  const Value one_ = 1;
  const Value zero_ = 0;
  cusparseHandle_t sparse_ = nullptr;
  cublasHandle_t dense_ = nullptr;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnVecDescr_t from_ = nullptr;
  cusparseDnVecDescr_t to_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t iteration_ = nullptr;
};

template <class Value>
std::vector<named_solver> solvers_of(const context& ctx, const csr_view& a, const_values b, values x,
                                     const solver_terms& terms) {
  std::vector<named_solver> all;
  const std::pair<const char*, dots_are> ways[] = {{"cuBLAS, dots read by the host", dots_are::read_by_host},
                                                   {"cuBLAS, dots on the device", dots_are::left_on_device},
                                                   {"cuBLAS, in a graph", dots_are::in_a_graph}};
  for (const auto& [who, dots] : ways) {
    try {
      const auto made = std::make_shared<cublas_solver<Value>>(ctx, a, b, x, terms, dots);
      all.push_back({who, [made] { return made->run(); }});
    } catch (const std::runtime_error& e) {
      fmt::print("{}: left out: {}\n", who, e.what());
    }
  }
  return all;
}

}  // namespace

std::vector<named_solver> cublas_solvers(const context& ctx, const csr_view& a, const_values b, values x,
                                         const solver_terms& terms) {
  constexpr std::uint64_t most_rows = std::uint64_t{1} << 31;
  if (a.has_row_ends || a.rows >= most_rows) return {};
  return a.values.type == value_type::f64 ? solvers_of<double>(ctx, a, b, x, terms)
                                          : solvers_of<float>(ctx, a, b, x, terms);
}
#else
std::vector<named_solver> cublas_solvers(const context&, const csr_view&, const_values, values, const solver_terms&) {
  return {};
}
#endif

}  // namespace sheaf::bench::peers
