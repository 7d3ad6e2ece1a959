#include "cuda/sparse/prepared/inspected_product.cuh"
#include "cuda/sparse/transposition.hpp"

// The preparation cuda.transposed: a copy of the matrix, transposed by a stable sort of its entries by column, so that
// each row of the transposed matrix has its entries in the order of the rows that they come from; runs are cuda.rows.
namespace sheaf::cuda {
namespace {

/// The product by the transposed matrix, in rows of its own.
spmv_problem by_rows(const spmv_problem& problem) noexcept {
  spmv_problem product = problem;
  product.rows = problem.columns;
  product.columns = problem.rows;
  product.transposed = false;
  product.offset = index_type::u64;
  product.column = has_narrow_sources(problem) ? index_type::u32 : index_type::u64;
  product.pattern = access_pattern::unknown();
  return product;
}

/// A copy of the matrix, transposed. Its arrays have as many places as the matrix's; those of entries that belong to no
/// row lie behind the last row.
class transposed_matrix final : public inspected_matrix {
 public:
  transposed_matrix(const context& ctx, const spmv_problem& p)
      : inspected_matrix("cuda.transposed", by_rows(p), {}),
        offsets_(prepared_memory(ctx, "row offsets of the transposed matrix", (problem_.rows + 1) * 8)),
        columns_(prepared_memory(ctx, "columns of the transposed matrix", p.entries * bytes(problem_.column))),
        values_(prepared_memory(ctx, "values of the transposed matrix", p.entries * p.value_bytes())) {
    a_ = csr_view(problem_.rows, problem_.columns, index_span{offsets_.data(), problem_.rows + 1, problem_.offset},
                  index_span{columns_.data(), problem_.entries, problem_.column},
                  const_values{values_.data(), problem_.entries, problem_.value});
  }

  std::uint64_t kept_bytes() const override { return offsets_.size() + columns_.size() + values_.size(); }
  std::string_view product() const override { return spmv_rows.name; }

  transposed_entries arrays() const { return {offsets_.as<std::uint64_t>(), columns_.data(), values_.data()}; }

 private:
  void multiply(const context& ctx, const spmv_problem& p, const spmv_buffers& b) const override {
    run_by_rows(ctx, p, b, unknown_length);
  }

  buffer offsets_;
  buffer columns_;
  buffer values_;
};

plan::planned plan_transposed(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (!product.transposed) return plan::rejected("only transposed products gain from a transposed matrix");
  if (const char* const reason = transposition_rejection(product)) return plan::rejected(reason);
  plan::planned plan;
  add_transposition(product, scope.machine, plan);
  const double run_seconds = spmv_rows.plan(by_rows(product), scope).seconds;
  return add_runs(plan, problem, {run_seconds, spmv_rows.name});
}

void run_transposed(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                    const prepare_spmv_buffers& buffers, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const spmv_problem& product = problem.product;
  auto made = std::make_shared<transposed_matrix>(ctx, product);
  queue_transposition(ctx, product, buffers.a, guard_of(ctx, product, primitives::csr_call::prepare_spmv),
                      made->arrays(), scratch);
  *buffers.made = std::move(made);
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_transposed{"cuda.transposed", backend_kind::cuda,
                                                                                plan_transposed, run_transposed};

}  // namespace sheaf::cuda
