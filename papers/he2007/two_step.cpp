#include "papers/he2007/two_step.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "primitives/movement/multipass.hpp"
#include "primitives/views.hpp"

namespace sheaf::bench::papers::he2007 {
namespace {

using primitives::two_step_calls;

/// The backend's variant of this name, such as "multipass".
template <class Variant>
const Variant* variant_of(std::span<const Variant> variants, const context& ctx, const char* called) {
  const std::string name = fmt::format("{}.{}", sheaf::name(ctx.backend()), called);
  const auto place = std::ranges::find(variants, name, &Variant::name);
  if (place == variants.end()) {
    throw error(error_code::no_variant, fmt::format("a product in two steps: there is no {}", name));
  }
  return &*place;
}

void require_applicable(std::string_view variant, const plan::planned& plan) {
  if (plan.applicable()) return;
  throw error(error_code::no_variant, fmt::format("a product in two steps: {}: {}", variant, plan.rejection));
}

/// The gather of the calls, by as many passes.
plan::choice<primitives::gather_variant> gather_in(const context& ctx, const two_step_calls& calls,
                                                   std::uint64_t passes) {
  plan::choice<primitives::gather_variant> choice;
  choice.variant = variant_of(primitives::gather_variants(), ctx, passes == 1 ? "direct" : "multipass");
  choice.plan = choice.variant->plan(calls.gather, plan::scope_of(ctx));
  require_applicable(choice.variant->name, choice.plan);
  if (passes > 1) {
    choice.plan.decided.set(primitives::multipass_decision{.passes = static_cast<std::uint32_t>(passes)});
  }
  return choice;
}

}  // namespace

two_step_product::two_step_product(const context& ctx, const csr_view& a, std::uint64_t passes) : ctx_(ctx), a_(a) {
  constexpr std::uint64_t most_passes = std::numeric_limits<std::uint32_t>::max();
  if (passes == 0 || passes > most_passes) {
    primitives::refuse("a product in two steps: {} passes, not 1 to {}", passes, most_passes);
  }
  primitives::require_csr_shape(primitives::spmv_call, a);
  problem_ =
      primitives::describe_spmv(primitives::spmv_call, ctx, a, false, spmv_sums::as_values, access_pattern::unknown());
  variant_ = variant_of(primitives::spmv_variants(), ctx, "two_step");
  if (problem_.y_count() == 0) return;
  plan_ = variant_->plan(problem_, plan::scope_of(ctx));
  require_applicable(variant_->name, plan_);
  if (!gathers()) return;
  const auto calls = std::make_shared<two_step_calls>(plan_.inner<two_step_calls>());
  calls->choice = gather_in(ctx, *calls, passes);
  plan_.scratch_bytes = calls->gather_scratch + calls->choice.plan.scratch_bytes;
  plan_.inner_calls = calls;
}

std::uint64_t two_step_product::passes() const {
  if (!gathers()) return 0;
  const plan::choice<primitives::gather_variant>& choice = plan_.inner<two_step_calls>().choice;
  return choice.variant->name.ends_with(".direct") ? 1
                                                   : choice.plan.decided.get<primitives::multipass_decision>().passes;
}

void two_step_product::operator()(const_values v, values w) const {
  primitives::require_csr_memory(primitives::spmv_call, ctx_, a_);
  primitives::require_vectors(primitives::spmv_call, ctx_, problem_, a_, v, w);
  if (problem_.y_count() == 0) return;
  const core::scratch scratch = plan::take_scratch(ctx_, primitives::spmv_call, variant_->name, plan_.scratch_bytes);
  variant_->run(ctx_, problem_, plan_, {a_, v.data, w.data, 1, 0}, scratch.data());
}

}  // namespace sheaf::bench::papers::he2007
