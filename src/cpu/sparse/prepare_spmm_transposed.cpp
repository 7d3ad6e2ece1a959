#include "core/cpu_state.hpp"
#include "cpu/sparse/spmm.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/host_matrix.hpp"
#include "primitives/sparse/prepare_spmm.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

/// A copy of the matrix, transposed, and products by its rows.
class transposed_rows_matrix final : public prepared_rows_product {
 public:
  transposed_rows_matrix(const context& ctx, const spmv_problem& p)
      : memory_(memory_of_preparation(ctx, prepare_spmm_call, "the entries of the transposed matrix",
                                      core::bytes_of<transposed_arrays>(p))),
        arrays_(core::arrays_in<transposed_arrays>(static_cast<std::byte*>(memory_.data()), p)),
        columns_(p.columns),
        value_(p.value) {}

  const transposed_arrays& arrays() const { return arrays_; }

  void run(const context& ctx, const spmm_problem& p, const spmm_buffers& b) override {
    const segment_decision decided = decide_segments(shape_of_product(p), ctx.profile());
    const core::scratch scratch = plan::take_scratch(ctx, prepared_spmm_call, "cpu.transposed",
                                                     segment_scratch_bytes(shape_of_product(p), decided));
    const std::uint64_t entries = arrays_.begins[columns_];
    const segment_bounds bounds{{arrays_.begins, columns_ + 1, index_type::u64}, {}, columns_, entries};
    multiply_segments(p, b, bounds, {arrays_.rows, entries, arrays_.row_type}, {arrays_.values, entries, value_}, true,
                      decided, scratch.data());
  }
  std::uint64_t kept_bytes() const override { return memory_.size(); }

 private:
  buffer memory_;
  transposed_arrays arrays_;
  std::uint64_t columns_;
  value_type value_;
};

// The transposition of cpu.sorted, kept for all runs.
plan::planned plan_rows_transposed(const prepare_spmm_problem& p, const plan::scope& scope) {
  const spmv_problem& matrix = p.product.matrix;
  if (!matrix.transposed) return plan::rejected("only transposed products gain from a transposed matrix");
  if (matrix.has_row_ends) return plan::rejected("rows with ends of their own may share entries");
  const machine& m = scope.machine;
  const slot_order_decision order = decide_transposing(matrix, m);
  plan::planned run;
  price_segments(p.product, m, run);
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<transposing_arrays>(matrix, order) + order.buckets.layout.bytes;
  if (plan.scratch_bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan.add("transposition", m.launch_seconds + transposing_seconds(matrix, m));
  plan.add("runs", static_cast<double>(p.expected_runs) * run.seconds);
  plan.decided.set(prepare_spmm_decision{run.seconds});
  plan.inner_calls = std::make_shared<slot_order_decision>(order);
  return plan;
}

void run_rows_transposed(const context& ctx, const prepare_spmm_problem& p, const plan::planned& plan,
                         const prepare_spmm_buffers& b, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const spmv_problem& matrix = p.product.matrix;
  auto made = std::make_shared<transposed_rows_matrix>(ctx, matrix);
  core::scratch_arrays arrays(scratch);
  const auto& order = plan.inner<slot_order_decision>();
  const transposing_arrays from(matrix, order, arrays);
  if (transpose(ctx, matrix, b.a, order, made->arrays(), from, arrays.rest()) != transposing_result::done) {
    state.keep_first(find_fault(matrix, b.a, csr_call::prepare_spmm, call));
  }
  *b.made = std::move(made);
}

}  // namespace

extern constinit const prepare_spmm_variant prepare_spmm_transposed{"cpu.transposed", backend_kind::cpu,
                                                                    plan_rows_transposed, run_rows_transposed};

}  // namespace sheaf::cpu
