#pragma once

#include "plan/cheapest.hpp"
#include "plan/learning.hpp"

namespace sheaf::plan {

// Errors and explanations of choose(); their texts are in choose.cpp.
struct rejection {
  std::string_view variant;
  std::string reason;
};
[[noreturn]] void throw_unknown_variant(std::string_view primitive, std::string_view wanted,
                                        std::span<const std::string_view> names);
[[noreturn]] void throw_no_variants(std::string_view primitive, backend_kind backend,
                                    std::span<const backend_kind> backends_that_have);
[[noreturn]] void throw_rejected(std::string_view primitive, std::span<const rejection> rejections);
variant_estimate describe(std::string_view name, const planned& plan, std::uint64_t scratch_limit);
void explain_losers(explanation& why, bool forced);

[[noreturn]] void throw_out_of_scratch(std::string_view primitive, std::string_view variant, std::uint64_t bytes,
                                       std::uint64_t limit);

/// Scratch of a prepared run, which goes by no plan that execute() has made. `variant` is what runs.
/// @throws error(out_of_memory), naming the call, where the context's limit or its memory is less
core::scratch take_scratch(const context& ctx, std::string_view call, std::string_view variant, std::uint64_t bytes);

/// The last choice that a context made for a primitive. Consecutive calls with one problem then plan once: planning
/// takes some 100 ns, where a call on a GPU with little to do takes 8 us.
template <class Problem, class Buffers>
struct remembered_choice final : core::plan_memory {
  Problem problem;
  choice<variant<Problem, Buffers>> chosen;
};

/// Throws why no variant can run the problem.
template <class Problem, class Buffers>
[[noreturn]] void throw_no_choice(std::string_view primitive, std::span<const variant<Problem, Buffers>> list,
                                  const Problem& problem, backend_kind backend, const scope& in,
                                  std::string_view forced) {
  std::vector<std::string_view> names;
  std::vector<rejection> rejections;
  std::vector<backend_kind> others;
  for (const auto& candidate : list) {
    if (!candidate.works_on(backend)) {
      if (others.empty() || others.back() != *candidate.backend) others.push_back(*candidate.backend);
      if (candidate.name == forced) {
        rejections.push_back({candidate.name, "works on " + std::string(name(*candidate.backend)) + " memory"});
      }
      continue;
    }
    names.push_back(candidate.name);
    if (!forced.empty() && candidate.name != forced) continue;
    const planned plan = candidate.plan(problem, in);
    if (plan.applicable() && plan.scratch_bytes > in.scratch_limit && (!forced.empty() || !plan.by_name_only)) {
      throw_out_of_scratch(primitive, candidate.name, plan.scratch_bytes, in.scratch_limit);
    }
    rejections.push_back({candidate.name, plan.applicable() ? "runs by name only" : plan.rejection});
  }
  if (rejections.empty() && names.empty()) throw_no_variants(primitive, backend, others);
  if (rejections.empty()) throw_unknown_variant(primitive, forced, names);
  throw_rejected(primitive, rejections);
}

/// The cheapest variant that can run the problem, or the forced one.
/// @throws error(no_variant) with every reason, error(bad_argument) for a name that is not in the list,
/// error(out_of_memory) if every variant that could run needs more scratch than the context's limit.
template <class Problem, class Buffers>
choice<variant<Problem, Buffers>> choose(std::string_view primitive, std::span<const variant<Problem, Buffers>> list,
                                         const Problem& problem, const context& ctx, std::string_view asked) {
  using memory = remembered_choice<Problem, Buffers>;
  auto& slot = ctx.state().remembered_plan(list.data());
  if (asked.empty() && slot != nullptr && static_cast<const memory&>(*slot).problem == problem) {
    return static_cast<const memory&>(*slot).chosen;
  }
  const std::string_view forced = forced_name(primitive, asked, &ctx.state());
  const scope in = scope_of(ctx);
  choice<variant<Problem, Buffers>> best = cheapest(list, problem, ctx.backend(), in, forced);
  if (best.variant == nullptr) throw_no_choice(primitive, list, problem, ctx.backend(), in, forced);
  if (asked.empty()) {
    auto remembered = std::make_unique<memory>();
    remembered->problem = problem;
    remembered->chosen = best;
    slot = std::move(remembered);
  }
  return best;
}

/// Chooses, takes all scratch of the call, and only then runs. A context that learns may take another variant than the
/// cheapest. Where the context's memory cannot give the scratch, the next cheapest plan that needs less is taken.
/// Returns what ran.
/// @throws what choose() throws, and error(out_of_memory) if no plan is left.
template <class Problem, class Buffers>
choice<variant<Problem, Buffers>> execute(std::string_view primitive, std::span<const variant<Problem, Buffers>> list,
                                          const Problem& problem, const context& ctx, std::string_view asked,
                                          const Buffers& buffers) {
  choice<variant<Problem, Buffers>> taken = choose(primitive, list, problem, ctx, asked);
  const std::string_view forced = forced_name(primitive, asked, &ctx.state());
  timed_call timed = learn(list, problem, ctx, forced, buffers, taken);
  core::scratch scratch(ctx.state(), taken.plan.scratch_bytes);
  while (!scratch.is_taken()) {
    timed.lacks_scratch();
    scope smaller = scope_of(ctx);
    smaller.scratch_limit = taken.plan.scratch_bytes - 1;
    choice<variant<Problem, Buffers>> next = cheapest(list, problem, ctx.backend(), smaller, forced);
    if (next.variant == nullptr) scratch.throw_not_taken(primitive);
    taken = std::move(next);
    scratch = core::scratch(ctx.state(), taken.plan.scratch_bytes);
  }
  taken.variant->run(ctx, problem, taken.plan, buffers, scratch.data());
  timed.end(taken.plan);
  return taken;
}

/// The estimate of every variant for this backend, and which one the next call would take.
template <class Problem, class Buffers>
explanation explain(std::string_view primitive, std::span<const variant<Problem, Buffers>> list, const Problem& problem,
                    const context& ctx, std::string_view asked) {
  const std::string_view forced = forced_name(primitive, asked, &ctx.state());
  const scope in = scope_of(ctx);
  explanation why{std::string(primitive), ctx.profile().name, {}, {}};
  std::size_t best = list.size();  // index in why.variants
  for (const auto& candidate : list) {
    if (!candidate.works_on(ctx.backend())) continue;
    const planned plan = corrected_plan(candidate, problem, in);
    why.variants.push_back(describe(candidate.name, plan, in.scratch_limit));
    const bool may_run =
        why.variants.back().applicable && (forced.empty() ? !plan.by_name_only : candidate.name == forced);
    if (may_run && (best == list.size() || plan.seconds < why.variants[best].seconds)) best = why.variants.size() - 1;
  }
  if (best < why.variants.size()) why.variants[best].chosen = true;
  explain_learned(list, problem, ctx, forced, why);
  explain_losers(why, !forced.empty());
  return why;
}

}  // namespace sheaf::plan
