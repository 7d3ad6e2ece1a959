#include "plan/choose.hpp"
#include "primitives/sparse/spmm.hpp"

// The variant "vector" of products with dense matrices, on any backend: where these have one column, it is the product
// with a vector.
namespace sheaf::primitives {
namespace {

using product_choice = plan::choice<spmv_variant>;

spmv_problem product_of(const spmm_problem& p) {
  spmv_problem product = p.matrix;
  product.call = csr_call::spmm;
  return product;
}

const char* unfit(const spmm_problem& p) {
  if (p.values_per_row != 1) return "X has more than one column";
  if (p.x != p.y || p.x != p.matrix.value || (p.x != value_type::f32 && p.x != value_type::f64)) {
    return "values are of other types than the product with a vector takes";
  }
  if (p.x_stride_bytes != bytes(p.x) || p.y_stride_bytes != bytes(p.y)) return "values do not lie side by side";
  return nullptr;
}

plan::planned plan_vector(const spmm_problem& p, const plan::scope& scope) {
  if (const char* const why = unfit(p)) return plan::rejected(why);
  const spmv_problem product = product_of(p);
  const auto inner = std::make_shared<product_choice>(plan::cheapest(spmv_variants(), product, product.backend, scope,
                                                                     plan::forced_name(spmv_call, {}, scope.context)));
  if (inner->variant == nullptr) return plan::rejected("no product with a vector keeps to the context's limits");
  plan::planned plan;
  plan.scratch_bytes = inner->plan.scratch_bytes;
  plan.add("product", inner->plan.seconds);
  plan.inner_calls = inner;
  return plan;
}

void run_vector(const context& ctx, const spmm_problem& p, const plan::planned& plan, const spmm_buffers& b,
                std::byte* scratch) {
  const auto& inner = plan.inner<product_choice>();
  inner.variant->run(ctx, product_of(p), inner.plan, {b.a, b.x.data, b.y.data, b.alpha, b.beta}, scratch);
}

}  // namespace
}  // namespace sheaf::primitives

namespace sheaf::reference {
extern constinit const primitives::spmm_variant spmm_vector{"vector", std::nullopt, primitives::plan_vector,
                                                            primitives::run_vector};
}
