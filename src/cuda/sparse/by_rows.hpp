#pragma once

#include "cuda/sparse/variants.hpp"
#include "plan/choose.hpp"

namespace sheaf::cuda {

/// Products by cuda.rows, for a matrix that a preparation finds unfit.
class product_by_rows final : public primitives::prepared_product {
 public:
  product_by_rows(const primitives::spmv_problem& p, const csr_view& a) : problem_(p), a_(a) {}
  void run(const context& ctx, const const_values x, sheaf::values y, double alpha, double beta) override {
    primitives::spmv_problem p = problem_;
    p.reads_y = beta != 0;
    const plan::planned plan = spmv_rows.plan(p, plan::scope_of(ctx));
    const core::scratch scratch(ctx.state(), plan.scratch_bytes);
    if (!scratch.is_taken()) scratch.throw_not_taken("prepared_spmv");
    spmv_rows.run(ctx, p, plan, {a_, x.data, y.data, alpha, beta}, scratch.data());
  }
  std::uint64_t kept_bytes() const override { return 0; }
  std::string_view product() const override { return spmv_rows.name; }

 private:
  primitives::spmv_problem problem_;
  csr_view a_;
};

}  // namespace sheaf::cuda
