#pragma once

#include "cuda/sparse/sums/row_facts.cuh"
#include "plan/choose.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// What preparations share: a product by a matrix that was inspected, and cuda.rows for a matrix that is unfit.
namespace sheaf::cuda {

using primitives::prepare_spmv_buffers;
using primitives::prepare_spmv_problem;
using primitives::prepared_memory;

/// The variant cuda.rows, for a matrix that a preparation finds unfit.
extern const primitives::spmv_variant spmv_rows;

/// A product by a matrix that was inspected. What a preparation does not copy stays the caller's.
class inspected_matrix : public primitives::prepared_product {
 public:
  void run(const context& ctx, const const_values x, values y, double alpha, double beta) final {
    const run_scope scope(ctx, name_);
    spmv_problem p = problem_;
    p.reads_y = beta != 0;
    multiply(ctx, p, {a_, x.data, y.data, alpha, beta});
  }
  std::string_view product() const override { return name_; }

 protected:
  inspected_matrix(std::string_view name, const spmv_problem& p, const csr_view& a) : problem_(p), a_(a), name_(name) {}

  virtual void multiply(const context& ctx, const spmv_problem& problem, const spmv_buffers& buffers) const = 0;

  spmv_problem problem_;
  csr_view a_;

 private:
  std::string_view name_;  ///< of the variant, for errors
};

/// A run that sums row by row.
inline void run_by_rows(const context& ctx, const spmv_problem& problem, const spmv_buffers& buffers,
                        std::uint64_t longest_row, const x_source& from = {}) {
  core::scratch_offsets place;
  const rows_decision d = decide_rows(problem, place, longest_row);
  const core::scratch scratch =
      plan::take_scratch(ctx, primitives::prepared_spmv_call, ctx.state().running(), place.bytes());
  multiply_rows(ctx, problem, d, buffers, guard_of(ctx, problem, problem.call), from, scratch.data());
}

/// Products by cuda.rows, for a matrix that a preparation finds unfit.
class product_by_rows final : public inspected_matrix {
 public:
  product_by_rows(const spmv_problem& p, const csr_view& a, std::uint64_t longest_row)
      : inspected_matrix(spmv_rows.name, p, a), longest_row_(longest_row) {}
  std::uint64_t kept_bytes() const override { return 0; }

 private:
  void multiply(const context& ctx, const spmv_problem& p, const spmv_buffers& b) const override {
    run_by_rows(ctx, p, b, longest_row_);
  }

  std::uint64_t longest_row_;
};

/// Looks at all rows, which waits for the device, and has make(guard, facts) make the product, unless a row is wrong.
/// Where it makes none, for a matrix that is unfit, runs are cuda.rows.
/// @param on_device  memory for the facts
template <class Make>
void make_or_keep_rows(const context& ctx, const prepare_spmv_problem& problem, const prepare_spmv_buffers& buffers,
                       row_facts* on_device, Make make) {
  const device_scope scope(ctx.device());
  const spmv_problem& product = problem.product;
  const csr_guard guard = guard_of(ctx, product, primitives::csr_call::prepare_spmv);
  const row_facts facts = inspect_rows(ctx, product, buffers.a, guard, on_device);
  const bool has_faults = facts.has_faults != 0;
  if (!has_faults) *buffers.made = make(guard, facts);
  if (*buffers.made != nullptr) return;
  *buffers.made = std::make_shared<product_by_rows>(product, buffers.a, has_faults ? unknown_length : facts.longest);
}

/// Adds what all expected runs take to the plan of a preparation, and decides what a run is.
inline plan::planned& add_runs(plan::planned& plan, const prepare_spmv_problem& problem,
                               const primitives::prepare_spmv_decision& run) {
  plan.decided.set(run);
  return plan.add("runs", static_cast<double>(problem.expected_runs) * run.run_seconds);
}

}  // namespace sheaf::cuda
