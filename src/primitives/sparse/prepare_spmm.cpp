#include "primitives/sparse/prepare_spmm.hpp"

#include "primitives/backends.hpp"
#include "primitives/timed_runs.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {
namespace {

using rows_product_choice = plan::choice<spmm_variant>;

rows_product_choice plan_unprepared_rows(const spmm_problem& p, const plan::scope& in) {
  return plan::cheapest(spmm_variants(), p, p.matrix.backend, in, plan::forced_name(spmm_call, {}, in.context));
}

class kept_rows_matrix final : public prepared_rows_product {
 public:
  void run(const context& ctx, const spmm_problem& p, const spmm_buffers& b) override {
    plan::execute(spmm_call, spmm_variants(), p, ctx, {}, b);
  }
  std::uint64_t kept_bytes() const override { return 0; }
};

plan::planned plan_kept_rows(const prepare_spmm_problem& p, const plan::scope& scope) {
  const rows_product_choice run = plan_unprepared_rows(p.product, scope);
  if (run.variant == nullptr) return plan::rejected("no variant can do a run within the context's limits");
  plan::planned plan;
  plan.add("runs", static_cast<double>(p.expected_runs) * run.plan.seconds);
  plan.decided.set(prepare_spmm_decision{run.plan.seconds});
  return plan;
}

void run_kept_rows(const context&, const prepare_spmm_problem&, const plan::planned&, const prepare_spmm_buffers& b,
                   std::byte*) {
  *b.made = std::make_shared<kept_rows_matrix>();
}

}  // namespace
}  // namespace primitives

namespace reference {
extern constinit const primitives::prepare_spmm_variant prepare_spmm_kept{
    primitives::kept_name, std::nullopt, primitives::plan_kept_rows, primitives::run_kept_rows};
}

namespace primitives {

std::span<const prepare_spmm_variant> prepare_spmm_variants() { return list_of<prepare_spmm_variant>(); }

void checked_rows_product::run(const context& ctx, const spmm_problem& p, const spmm_buffers& b) {
  executor().run(ctx, p, b);
}

namespace {

prepare_spmm_problem describe_spmm_preparation(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                               const prepare_spmm_options& options) {
  constexpr std::string_view call = prepare_spmm_call;
  require_enumerator(call, "the type of the matrix's values", a.values.type, value_type::bf16);
  if (!is_float(a.values.type)) refuse("{}: the matrix has values of an integer type", call);
  require_csr_lists(call, a);
  if (options.values_per_row == 0 || options.values_per_row > 1024) {
    refuse("{}: values_per_row is {}, not 1 to 1024", call, options.values_per_row);
  }
  const const_value_rows x(nullptr, options.transposed ? a.rows : a.columns, options.values_per_row, a.values.type);
  const const_value_rows y(nullptr, options.transposed ? a.columns : a.rows, options.values_per_row, a.values.type);
  require_enumerator(call, "the order", options.order, reduction_order::unordered);
  return {
      describe_spmm(ctx, a, x, y,
                    {.beta = 1, .transposed = options.transposed, .order = options.order, .pattern = options.pattern}),
      std::max<std::uint64_t>(1, expected_runs)};
}

}  // namespace
}  // namespace primitives

using namespace primitives;

prepared_spmm::prepared_spmm(const context& ctx, std::shared_ptr<prepared_rows_product> work, spmm_preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_spmm::run(const_value_rows x, value_rows y, double alpha, double beta) const {
  auto& work = checked<checked_rows_product>(prepared_spmm_call, work_);
  const csr_view& a = work.matrix();
  const spmv_problem& prepared = work.problem().product.matrix;
  require_product_shapes(prepared_spmm_call, a, prepared.transposed, x, y);
  require_product_memory(prepared_spmm_call, ctx_, a, x, y);
  if (y.count == 0) return;
  const spmm_problem p = describe_spmm(ctx_, a, x, y,
                                       {.alpha = alpha,
                                        .beta = beta,
                                        .transposed = prepared.transposed,
                                        .order = prepared.order,
                                        .pattern = prepared.pattern});
  work.run(ctx_, p, {a, x, y, alpha, beta});
}

prepared_spmm prepare_spmm(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                           const prepare_spmm_options& options) {
  const prepare_spmm_problem p = describe_spmm_preparation(ctx, a, expected_runs, options);
  require_csr_memory(prepare_spmm_call, ctx, a);
  preparing<prepared_rows_product, spmm_preparation> made(ctx, prepare_spmm_call, options.variant);
  const auto [variant, plan] = made.inspect(prepare_spmm_variants(), p, {a, &made.work});
  made.report.run_seconds = plan.decided.get<prepare_spmm_decision>().run_seconds;
  made.report.unprepared_seconds = made.report.run_seconds;
  const rows_product_choice unprepared = plan_unprepared_rows(p.product, plan::scope_of(ctx));
  if (variant->name != kept_name && unprepared.variant != nullptr) {
    made.report.unprepared_seconds = unprepared.plan.seconds;
  }
  auto done = made.finish();
  return {ctx, std::make_shared<checked_rows_product>(std::move(done.work), p, a), std::move(done.report)};
}

explanation explain_prepare_spmm(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                 const prepare_spmm_options& options) {
  return plan::explain(prepare_spmm_call, prepare_spmm_variants(),
                       describe_spmm_preparation(ctx, a, expected_runs, options), ctx, options.variant);
}

}  // namespace sheaf
