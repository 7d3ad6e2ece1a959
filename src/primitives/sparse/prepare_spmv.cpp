#include "primitives/sparse/prepare_spmv.hpp"

#include "primitives/backends.hpp"
#include "primitives/sparse/trial_runs.hpp"
#include "primitives/timed_runs.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {
namespace {

using product_choice = plan::choice<spmv_variant>;

/// The product that each run would be without a preparation, planned.
product_choice plan_unprepared(const spmv_problem& p, const plan::scope& in) {
  return plan::cheapest(spmv_variants(), p, p.backend, in, plan::forced_name(spmv_call, {}, in.context));
}

class kept_matrix final : public prepared_product {
 public:
  kept_matrix(const spmv_problem& p, product_choice chosen, const csr_view& a)
      : problem_(p), chosen_(std::move(chosen)), a_(a) {}

  void run(const context& ctx, const_values x, values y, double alpha, double beta) override {
    spmv_problem p = problem_;
    p.reads_y = beta != 0;
    const spmv_buffers buffers{a_, x.data, y.data, alpha, beta};
    if (run_as_planned(ctx, chosen_, p, buffers)) return;
    plan::execute(spmv_call, spmv_variants(), p, ctx, {}, buffers);
  }
  std::uint64_t kept_bytes() const override { return 0; }

 private:
  spmv_problem problem_;
  product_choice chosen_;
  csr_view a_;
};

plan::planned plan_kept(const prepare_spmv_problem& p, const plan::scope& scope) {
  const auto run = std::make_shared<product_choice>(plan_unprepared(p.product, scope));
  if (run->variant == nullptr) return plan::rejected("no variant can do a run within the context's limits");
  plan::planned plan;
  plan.add("runs", static_cast<double>(p.expected_runs) * run->plan.seconds);
  plan.decided.set(prepare_spmv_decision{run->plan.seconds, run->variant->name});
  plan.inner_calls = run;
  return plan;
}

void run_kept(const context&, const prepare_spmv_problem& p, const plan::planned& plan, const prepare_spmv_buffers& b,
              std::byte*) {
  *b.made = std::make_shared<kept_matrix>(p.product, plan.inner<product_choice>(), b.a);
}

}  // namespace
}  // namespace primitives

namespace reference {
extern constinit const primitives::prepare_spmv_variant prepare_spmv_kept{primitives::kept_name, std::nullopt,
                                                                          primitives::plan_kept, primitives::run_kept};
}

namespace primitives {

std::span<const prepare_spmv_variant> prepare_spmv_variants() { return list_of<prepare_spmv_variant>(); }

namespace {

prepare_spmv_problem describe(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                              const prepare_spmv_options& options) {
  require_csr_shape(prepare_spmv_call, a);
  require_enumerator(prepare_spmv_call, "the order", options.order, reduction_order::unordered);
  prepare_spmv_problem p;
  p.product = describe_spmv(prepare_spmv_call, ctx, a, options.transposed, options.sums, options.pattern);
  p.product.order = options.order;
  p.product.reads_y = true;
  p.expected_runs = std::max<std::uint64_t>(1, expected_runs);
  return p;
}

/// The order of the columns, row by row. Where x stays in a device's cache, its order decides little, and a long look
/// would take longer than the rest.
access_pattern order_of_columns(const context& ctx, const spmv_problem& p, const csr_view& a) {
  const std::uint64_t x_bytes = p.x_count() * p.value_bytes();
  const bool stays_in_cache = p.backend == backend_kind::cuda && x_bytes <= ctx.profile().cache_bytes / 2;
  return order_of_list(ctx, a.column_indices, a.columns,
                       stays_in_cache ? plan::list_sample::small : plan::list_sample::large);
}

}  // namespace

access_pattern order_that_a_preparation_finds(const context& ctx, const csr_view& a, bool transposed) {
  require_csr_memory(prepare_spmv_call, ctx, a);
  return order_of_columns(ctx, describe(ctx, a, 1, {.transposed = transposed}).product, a);
}

namespace {

/// Names of variants that are made and timed beside the one that was chosen.
using rival_names = std::vector<std::string_view>;

struct made_rival {
  std::string_view name;
  std::shared_ptr<prepared_product> work;
};

/// Those that have memory. One that finds the matrix unfit, so that its runs are an unprepared product, is left out.
std::vector<made_rival> make_rivals(const context& ctx, const prepare_spmv_problem& problem, const csr_view& a,
                                    const rival_names& names) {
  std::vector<made_rival> all;
  for (const std::string_view name : names) {
    std::shared_ptr<prepared_product> work;
    try {
      plan::execute(prepare_spmv_call, prepare_spmv_variants(), problem, ctx, name, {a, &work});
      ctx.wait();
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;
      continue;
    }
    const bool is_unfit =
        std::ranges::any_of(spmv_variants(), [&](const spmv_variant& v) { return v.name == work->product(); });
    if (!is_unfit) all.push_back({name, std::move(work)});
  }
  return all;
}

/// Those that may be the fastest although their plans are dearer than the chosen one, by less than plans err: all whose
/// plans have trial runs, and where the chosen one has, the cheapest of the others.
rival_names rivals_of(const context& ctx, const prepare_spmv_problem& problem,
                      const plan::choice<prepare_spmv_variant>& chosen) {
  constexpr double error_of_plans = 1.5;
  const double most_seconds = error_of_plans * chosen.plan.seconds;
  const bool is_chosen_uncertain = has_trial_runs(chosen.plan);
  rival_names names;
  std::string_view cheapest;
  double cheapest_seconds = most_seconds;
  for (const prepare_spmv_variant& v : prepare_spmv_variants()) {
    if (!v.works_on(ctx.backend()) || v.name == chosen.variant->name || v.name == kept_name) continue;
    const plan::planned plan = plan::corrected_plan(v, problem, plan::scope_of(ctx));
    if (!plan.applicable() || plan.by_name_only || plan.scratch_bytes > ctx.scratch_limit()) continue;
    if (has_trial_runs(plan)) {
      if (plan.seconds <= most_seconds) names.push_back(v.name);
    } else if (is_chosen_uncertain && plan.seconds <= cheapest_seconds) {
      cheapest = v.name;
      cheapest_seconds = plan.seconds;
    }
  }
  if (!cheapest.empty()) names.push_back(cheapest);
  return names;
}

/// Times runs of what was made, of the unprepared product and of the rivals, which it makes before, and puts the
/// fastest in the place of what was made. @param as_found  the problem with the order that the columns were found in
/// @throws error(out_of_memory) if there is no memory for the vectors that are multiplied
void keep_the_fastest(const context& ctx, const prepare_spmv_problem& problem, const csr_view& a, made_product& made,
                      const rival_names& names, const prepare_spmv_problem& as_found) {
  product_choice unprepared = plan_unprepared(problem.product, plan::scope_of(ctx));
  if (unprepared.variant == nullptr) return;
  const std::string_view product = unprepared.variant->name;
  const auto kept = std::make_shared<kept_matrix>(problem.product, std::move(unprepared), a);
  // Before there are runs, so that what is wrong with a matrix is named as a preparation's.
  const std::vector<made_rival> rivals = make_rivals(ctx, as_found, a, names);
  const std::uint64_t width = problem.product.value_bytes();
  const buffer x(ctx, std::max<std::uint64_t>(1, problem.product.x_count() * width));
  const buffer y(ctx, problem.product.y_count() * width);
  // Small numbers of either width. Sums by atomics leave out terms of 0, and would look faster than they are.
  constexpr unsigned char byte_of_small_numbers = 0x3f;
  ctx.state().fill(x.data(), byte_of_small_numbers, x.size());
  const const_values from(x.data(), problem.product.x_count(), problem.product.value);
  const values to(y.data(), problem.product.y_count(), problem.product.value);
  const auto seconds_of = [&](prepared_product& work) {
    return least_seconds_of_runs(ctx, [&] { work.run(ctx, from, to, 1, 0); })[0];
  };
  const double unprepared_seconds = seconds_of(*kept);
  made.report.timed = std::isfinite(unprepared_seconds);
  // A matrix that is kept, or that shows nothing to gain, has runs of the unprepared product.
  const bool is_unprepared = made.report.variant == kept_name;
  const double made_seconds = is_unprepared ? unprepared_seconds : seconds_of(*made.work);
  if (keep_the_faster<prepared_product>(made, kept, unprepared_seconds, made_seconds)) made.report.product = product;
  if (!made.report.timed) return;
  for (const made_rival& rival : rivals) {
    const double seconds = seconds_of(*rival.work);
    if (seconds >= made.report.run_seconds) continue;
    made.work = rival.work;
    made.report.variant = rival.name;
    made.report.product = rival.work->product();
    made.report.run_seconds = seconds;
  }
}

made_product prepare(const context& ctx, const prepare_spmv_problem& as_given, const csr_view& a,
                     std::string_view asked) {
  preparing<prepared_product, spmv_preparation> made(ctx, prepare_spmv_call, asked);
  spmv_preparation& preparation = made.report;
  prepare_spmv_problem problem = as_given;
  preparation.order = order_of_columns(ctx, problem.product, a);
  if (preparation.order != access_pattern::unknown()) problem.product.pattern = preparation.order;
  const auto [variant, plan] = made.inspect(prepare_spmv_variants(), problem, {a, &made.work});
  const auto decided = plan.decided.get<prepare_spmv_decision>();
  preparation.product = made.work->product().empty() ? decided.product : made.work->product();
  preparation.run_seconds = preparation.unprepared_seconds = decided.run_seconds;
  const spmv_variant* const unprepared = plan_unprepared(as_given.product, plan::scope_of(ctx)).variant;
  const bool is_unprepared = variant->name == kept_name && unprepared != nullptr && unprepared->name == decided.product;
  if (unprepared == nullptr) return made.finish();
  const rival_names rivals = made.work->has_no_rival() ? rival_names() : rivals_of(ctx, problem, {variant, plan});
  const auto try_runs = [&] {
    if (problem.product.y_count() == 0) return;
    made.try_runs(problem.expected_runs,
                  (problem.product.rows + problem.product.columns) * problem.product.value_bytes(),
                  [&] { keep_the_fastest(ctx, as_given, a, made, rivals, problem); });
  };
  if (is_unprepared) {
    if (!rivals.empty()) try_runs();
    return made.finish();
  }
  // Predictions of both by what the matrix was found to be.
  preparation.unprepared_seconds = unprepared->plan(problem.product, plan::scope_of(ctx)).seconds;
  if (made.work->is_unprepared() && preparation.product == unprepared->name) {
    preparation.run_seconds = preparation.unprepared_seconds;
    if (!made.is_forced()) preparation.variant = kept_name;
    if (!rivals.empty()) try_runs();
  } else {
    try_runs();
  }
  return made.finish();
}

}  // namespace

void keep_the_faster(const context& ctx, const prepare_spmv_problem& problem, const csr_view& a, made_product& made) {
  keep_the_fastest(ctx, problem, a, made, {}, problem);
}

void checked_product::run(const context& ctx, const_values x, values y, double alpha, double beta) {
  require_vectors(prepared_spmv_call, ctx, problem(), a_, x, y);
  if (problem().y_count() > 0) executor().run(ctx, x, y, alpha, beta);
}

}  // namespace primitives

using namespace primitives;

prepared_spmv::prepared_spmv(const context& ctx, std::shared_ptr<prepared_product> work, spmv_preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_spmv::run(const_values x, values y, double alpha, double beta) const {
  checked<checked_product>(prepared_spmv_call, work_).run(ctx_, x, y, alpha, beta);
}

prepared_spmv prepare_spmv(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                           const prepare_spmv_options& options) {
  const prepare_spmv_problem p = describe(ctx, a, expected_runs, options);
  require_csr_memory(prepare_spmv_call, ctx, a);
  made_product made = prepare(ctx, p, a, options.variant);
  return {ctx, std::make_shared<checked_product>(std::move(made.work), p.product, a), std::move(made.report)};
}

explanation explain_prepare_spmv(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                 const prepare_spmv_options& options) {
  return plan::explain(prepare_spmv_call, prepare_spmv_variants(), describe(ctx, a, expected_runs, options), ctx,
                       options.variant);
}

}  // namespace sheaf
