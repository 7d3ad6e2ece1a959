#include "cuda/device/launch.cuh"
#include "cuda/sparse/transposed_rows.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/prepare_spmm.hpp"

// The preparation cuda.transposed of products with dense matrices: a transposed copy of the matrix, by whose rows runs
// multiply.
namespace sheaf::cuda {
namespace {

using primitives::prepare_spmm_problem;

class kept_transposed_rows final : public primitives::prepared_rows_product {
 public:
  kept_transposed_rows(const context& ctx, const spmv_problem& p)
      : memory_(primitives::memory_of_preparation(ctx, primitives::prepare_spmm_call,
                                                  "the entries of the transposed matrix",
                                                  core::bytes_of<transposed_rows>(p))),
        rows_(core::arrays_in<transposed_rows>(static_cast<std::byte*>(memory_.data()), p)) {}

  const transposed_entries& entries() const { return rows_.entries; }

  void run(const context& ctx, const spmm_problem& p, const spmm_buffers& b) override {
    const run_scope scope(ctx, "cuda.transposed");
    const core::scratch scratch = plan::take_scratch(ctx, primitives::prepared_spmm_call, "cuda.transposed",
                                                     core::bytes_of<product_rows_scratch>(p, p.matrix.columns));
    const auto at = core::arrays_in<product_rows_scratch>(scratch.data(), p, p.matrix.columns);
    multiply_by_rows(ctx, p, rows_.summed(p.matrix), b, at);
  }
  std::uint64_t kept_bytes() const override { return memory_.size(); }

 private:
  buffer memory_;
  transposed_rows rows_;
};

plan::planned plan_kept_transposed(const prepare_spmm_problem& p, const plan::scope& scope) {
  const spmv_problem& matrix = p.product.matrix;
  if (!matrix.transposed) return plan::rejected("only transposed products gain from a transposed matrix");
  if (const char* const reason = transposition_rejection(matrix)) return plan::rejected(reason);
  plan::planned run;
  price_product_rows(p.product, scope.machine, run);
  plan::planned plan;
  add_transposition(matrix, scope.machine, plan);
  plan.add("runs", static_cast<double>(p.expected_runs) * run.seconds);
  plan.decided.set(primitives::prepare_spmm_decision{run.seconds});
  return plan;
}

void run_kept_transposed(const context& ctx, const prepare_spmm_problem& p, const plan::planned&,
                         const primitives::prepare_spmm_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const spmv_problem& matrix = p.product.matrix;
  auto made = std::make_shared<kept_transposed_rows>(ctx, matrix);
  queue_transposition(ctx, matrix, b.a, guard_of(ctx, matrix, primitives::csr_call::prepare_spmm), made->entries(),
                      scratch);
  *b.made = std::move(made);
}

}  // namespace

extern constinit const primitives::prepare_spmm_variant prepare_spmm_transposed{
    "cuda.transposed", backend_kind::cuda, plan_kept_transposed, run_kept_transposed};

}  // namespace sheaf::cuda
