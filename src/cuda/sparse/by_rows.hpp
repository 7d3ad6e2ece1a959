#pragma once

#include "cuda/sparse/sums/sum_rows.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::cuda {

/// The variant cuda.rows, for a matrix that a preparation finds unfit.
extern const primitives::spmv_variant spmv_rows;

/// A run of a prepared product that sums row by row, within its run_scope.
inline void run_by_rows(const context& ctx, const primitives::spmv_problem& problem, const primitives::spmv_buffers& b,
                        std::uint64_t longest_row, const x_source& from = {}) {
  primitives::spmv_problem p = problem;
  p.reads_y = b.beta != 0;
  core::scratch_offsets place;
  const rows_decision d = decide_rows(p, place, longest_row);
  const core::scratch scratch =
      plan::take_scratch(ctx, primitives::prepared_spmv_call, ctx.state().running(), place.bytes());
  const csr_guard guard = guard_of(ctx, p, primitives::csr_call::spmv);
  multiply_rows(ctx, p, d, b, guard, from, scratch.data());
}

/// Products by cuda.rows, for a matrix that a preparation finds unfit.
class product_by_rows final : public primitives::prepared_product {
 public:
  product_by_rows(const primitives::spmv_problem& p, const csr_view& a, std::uint64_t longest_row)
      : problem_(p), a_(a), longest_row_(longest_row) {}
  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    const run_scope scope(ctx, spmv_rows.name);
    run_by_rows(ctx, problem_, {a_, x.data, y.data, alpha, beta}, longest_row_);
  }
  std::uint64_t kept_bytes() const override { return 0; }
  std::string_view product() const override { return spmv_rows.name; }

 private:
  primitives::spmv_problem problem_;
  csr_view a_;
  std::uint64_t longest_row_;
};

}  // namespace sheaf::cuda
