#pragma once

#include "plan/correction.hpp"

// The cheapest of a list of variants, for calls, for the calls inside a plan, and for the machine of another day.
namespace sheaf::plan {

template <class Variant>
struct choice {
  const Variant* variant = nullptr;
  planned plan;
};

/// The name of the variant that must run: the caller's, else the environment's, else empty.
inline std::string_view forced_name(std::string_view primitive, std::string_view asked,
                                    const core::context_state* state) {
  return asked.empty() && state != nullptr ? state->forced_variant(primitive) : asked;
}

/// The scope of a call of this context.
inline scope scope_of(const context& ctx) { return {ctx.profile(), ctx.state().scratch_limit(), &ctx.state()}; }

/// What is left of a scope's memory for a call inside a plan that takes `scratch_bytes` of its own.
inline scope inner_scope(const scope& outer, std::uint64_t scratch_bytes) noexcept {
  const std::uint64_t limit = outer.scratch_limit;
  return {outer.machine, limit == no_scratch_limit ? limit : limit - std::min(limit, scratch_bytes), outer.context};
}

/// The cheapest variant for this backend that can run the problem within the scope, or the forced one; none if there is
/// none. For calls inside a plan, and for the machine of another day.
/// @param except  the variant that is passed over; null: none
template <class Problem, class Buffers>
choice<variant<Problem, Buffers>> cheapest(std::span<const variant<Problem, Buffers>> list, const Problem& problem,
                                           backend_kind backend, const scope& in, std::string_view forced = {},
                                           const variant<Problem, Buffers>* except = nullptr) {
  choice<variant<Problem, Buffers>> best;
  for (const auto& candidate : list) {
    if (!candidate.works_on(backend) || (!forced.empty() && candidate.name != forced)) continue;
    if (&candidate == except) continue;
    planned plan = corrected_plan(candidate, problem, in);
    if (!plan.applicable() || plan.scratch_bytes > in.scratch_limit || (forced.empty() && plan.by_name_only)) continue;
    if (best.variant == nullptr || plan.seconds < best.plan.seconds) best = {&candidate, std::move(plan)};
  }
  return best;
}

/// The cheapest variant, as above; if none keeps to the scope's scratch, the one that is cheapest with more. A plan
/// with such a call inside asks for more than its scope has, so that the caller can say how much is missing.
template <class Problem, class Buffers>
choice<variant<Problem, Buffers>> cheapest_of_any_scratch(std::span<const variant<Problem, Buffers>> list,
                                                          const Problem& problem, backend_kind backend, const scope& in,
                                                          std::string_view forced = {}) {
  choice<variant<Problem, Buffers>> best = cheapest(list, problem, backend, in, forced);
  if (best.variant != nullptr) return best;
  return cheapest(list, problem, backend, scope(in.machine, no_scratch_limit, in.context), forced);
}

}  // namespace sheaf::plan
