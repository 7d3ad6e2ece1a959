#include "primitives/sparse/prepare_spmv.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <sheaf/memory.hpp>

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/movement/prepare.hpp"
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
    const std::uint64_t scratch_bytes = chosen_.plan.scratch_bytes;
    if (chosen_.variant != nullptr && scratch_bytes <= ctx.scratch_limit()) {
      const core::scratch scratch(ctx.state(), scratch_bytes);
      if (scratch.is_taken()) return chosen_.variant->run(ctx, p, chosen_.plan, buffers, scratch.data());
    }
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

constexpr prepare_spmv_variant prepare_spmv_kept{"kept", std::nullopt, plan_kept, run_kept};

}  // namespace

std::span<const prepare_spmv_variant> prepare_spmv_variants() {
  static const std::vector<prepare_spmv_variant> all = [] {
    std::vector<prepare_spmv_variant> list = variants_of<prepare_spmv_variant>();
    list.insert(list.begin(), prepare_spmv_kept);
    return list;
  }();
  return all;
}

buffer prepared_memory(const context& ctx, std::string_view what, std::uint64_t bytes) {
  try {
    return {ctx, std::max<std::uint64_t>(1, bytes)};
  } catch (const error& e) {
    if (e.code() != error_code::out_of_memory) throw;
  }
  throw error(error_code::out_of_memory, fmt::format("{}: {} take {} bytes of {} memory, which are not to be had",
                                                     prepare_spmv_call, what, bytes, name(ctx.backend())));
}

namespace {

prepare_spmv_problem describe(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                              const prepare_spmv_options& options) {
  require_csr_shape(prepare_spmv_call, a);
  prepare_spmv_problem p;
  p.product = describe_spmv(prepare_spmv_call, ctx, a, options.transposed, options.sums, options.pattern);
  p.product.reads_y = true;
  p.expected_runs = std::max<std::uint64_t>(1, expected_runs);
  return p;
}

}  // namespace

void keep_the_faster(const context& ctx, const prepare_spmv_problem& p, const csr_view& a, made_product& made) {
  product_choice unprepared = plan_unprepared(p.product, plan::scope_of(ctx));
  if (unprepared.variant == nullptr) return;
  const std::string_view product = unprepared.variant->name;
  const auto kept = std::make_shared<kept_matrix>(p.product, std::move(unprepared), a);
  const std::uint64_t width = p.product.value_bytes();
  const buffer x(ctx, std::max<std::uint64_t>(1, p.product.x_count() * width));
  const buffer y(ctx, p.product.y_count() * width);
  ctx.state().fill(x.data(), 0, x.size());
  const const_values from(x.data(), p.product.x_count(), p.product.value);
  const values to(y.data(), p.product.y_count(), p.product.value);
  const auto seconds_of = [&](prepared_product& work) {
    return least_seconds_of_runs(ctx, [&] { work.run(ctx, from, to, 1, 0); });
  };
  const double unprepared_seconds = seconds_of(*kept);
  made.report.timed = std::isfinite(unprepared_seconds);
  if (!is_unprepared_faster(unprepared_seconds, seconds_of(*made.work), made.report)) return;
  made.work = kept;
  made.report.variant = prepare_spmv_kept.name;
  made.report.product = product;
}

namespace {

made_product prepare(const context& ctx, const prepare_spmv_problem& as_told, const csr_view& a,
                     std::string_view asked) {
  ctx.wait();  // errors and time of earlier calls do not count as this one's
  const auto begin = std::chrono::steady_clock::now();
  made_product made;
  spmv_preparation& r = made.report;
  prepare_spmv_problem p = as_told;
  // Where x stays in a device's cache, its order decides little, and a long look would take longer than the rest.
  const std::uint64_t x_bytes = p.product.x_count() * p.product.value_bytes();
  const bool stays_in_cache = p.product.backend == backend_kind::cuda && x_bytes <= ctx.profile().cache_bytes / 2;
  r.order = order_of_list(ctx, a.column_indices, a.columns,
                          stays_in_cache ? plan::order_sample::small : plan::order_sample::large);
  if (r.order != access_pattern::unknown()) p.product.pattern = r.order;
  const auto [variant, plan] = plan::execute<prepare_spmv_problem, prepare_spmv_buffers>(
      prepare_spmv_call, prepare_spmv_variants(), p, ctx, asked, {a, &made.work});
  ctx.wait();
  const auto decided = plan.decided.get<prepare_spmv_decision>();
  r.variant = variant->name;
  r.product = made.work->product().empty() ? decided.product : made.work->product();
  r.run_seconds = r.unprepared_seconds = decided.run_seconds;
  const product_choice unprepared = plan_unprepared(as_told.product, plan::scope_of(ctx));
  const bool is_unprepared = variant->name == prepare_spmv_kept.name && unprepared.variant != nullptr &&
                             unprepared.variant->name == decided.product;
  if (!is_unprepared && unprepared.variant != nullptr) {
    // Predictions of both by what the matrix was found to be.
    r.unprepared_seconds = unprepared.variant->plan(p.product, plan::scope_of(ctx)).seconds;
    const bool is_forced = !plan::forced_name(prepare_spmv_call, asked, &ctx.state()).empty();
    const std::uint64_t vector_bytes = (p.product.rows + p.product.columns) * p.product.value_bytes();
    if (made.work->is_unprepared() && r.product == unprepared.variant->name) {
      r.run_seconds = r.unprepared_seconds;
      if (!is_forced) r.variant = prepare_spmv_kept.name;
    } else if (!is_forced && p.product.y_count() > 0 && may_time_runs(ctx, p.expected_runs, vector_bytes)) {
      const auto trials_begin = std::chrono::steady_clock::now();
      try {
        keep_the_faster(ctx, as_told, a, made);
      } catch (const error& e) {
        if (e.code() != error_code::out_of_memory) throw;  // what was predicted stays
      }
      r.trial_seconds = seconds_since(trials_begin);
    }
  }
  r.kept_bytes = made.work->kept_bytes();
  report_preparation(begin, r);
  return made;
}

}  // namespace

void checked_product::run(const context& ctx, const_values x, values y, double alpha, double beta) {
  require_vectors(prepared_spmv_call, ctx, p_, a_, x, y);
  if (p_.y_count() > 0) work_->run(ctx, x, y, alpha, beta);
}

checked_product& checked(const std::shared_ptr<prepared_product>& work) {
  if (work == nullptr) refuse("{}: it was moved from, and what it was is another object now", prepared_spmv_call);
  return static_cast<checked_product&>(*work);
}

}  // namespace primitives

using namespace primitives;

prepared_spmv::prepared_spmv(const context& ctx, std::shared_ptr<prepared_product> work, spmv_preparation report)
    : ctx_(ctx), work_(std::move(work)), report_(std::move(report)) {}

void prepared_spmv::run(const_values x, values y, double alpha, double beta) const {
  checked(work_).run(ctx_, x, y, alpha, beta);
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
