#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sheaf/plan.hpp>

#include "core/context_state.hpp"
#include "plan/variant.hpp"

namespace sheaf::plan {

template <class Variant>
struct choice {
  const Variant* variant = nullptr;
  planned plan;
};

// Errors and explanations of choose(); their texts are in choose.cpp.
struct rejection {
  std::string_view variant;
  const char* reason;
};
[[noreturn]] void throw_unknown_variant(std::string_view primitive, std::string_view wanted,
                                        std::span<const std::string_view> names);
[[noreturn]] void throw_rejected(std::string_view primitive, std::span<const rejection> rejections);
variant_estimate describe(std::string_view name, const planned& plan);
void explain_losers(explanation& why, bool forced);

/// The name of the variant that must run: the caller's, else the environment's, else empty.
inline std::string_view forced_name(std::string_view primitive, std::string_view asked, const context& ctx) {
  return asked.empty() ? ctx.state().forced_variant(primitive) : asked;
}

/// The last choice that a context made for a primitive. Consecutive calls with one problem then plan once: planning
/// takes some 100 ns, where a call on a GPU with little to do takes 8 us.
template <class Problem, class Buffers>
struct remembered_choice final : core::plan_memory {
  Problem problem;
  choice<variant<Problem, Buffers>> chosen;
};

/// The cheapest variant that can run the problem, or the forced one.
/// @throws error(no_variant) with every reason, error(bad_argument) for a name that is not in the list.
template <class Problem, class Buffers>
choice<variant<Problem, Buffers>> choose(std::string_view primitive, std::span<const variant<Problem, Buffers>> list,
                                         const Problem& problem, const context& ctx, std::string_view asked) {
  using memory = remembered_choice<Problem, Buffers>;
  auto& slot = ctx.state().remembered_plan(list.data());
  if (asked.empty() && slot != nullptr && static_cast<const memory&>(*slot).problem == problem) {
    return static_cast<const memory&>(*slot).chosen;
  }
  const std::string_view forced = forced_name(primitive, asked, ctx);
  choice<variant<Problem, Buffers>> best;
  for (const auto& candidate : list) {
    if (!forced.empty() && candidate.name != forced) continue;
    const planned plan = candidate.plan(problem, ctx.profile());
    if (!plan.applicable() || (forced.empty() && plan.by_name_only)) continue;
    if (best.variant == nullptr || plan.seconds < best.plan.seconds) best = {&candidate, plan};
  }
  if (best.variant != nullptr) {
    if (asked.empty()) {
      auto remembered = std::make_unique<memory>();
      remembered->problem = problem;
      remembered->chosen = best;
      slot = std::move(remembered);
    }
    return best;
  }

  std::vector<std::string_view> names;
  std::vector<rejection> rejections;
  for (const auto& candidate : list) {
    names.push_back(candidate.name);
    if (!forced.empty() && candidate.name != forced) continue;
    const planned plan = candidate.plan(problem, ctx.profile());
    rejections.push_back({candidate.name, plan.applicable() ? "runs by name only" : plan.rejection});
  }
  if (rejections.empty()) throw_unknown_variant(primitive, forced, names);
  throw_rejected(primitive, rejections);
}

/// Every variant's estimate on the problem, and which one choose() would take.
template <class Problem, class Buffers>
explanation explain(std::string_view primitive, std::span<const variant<Problem, Buffers>> list, const Problem& problem,
                    const context& ctx, std::string_view asked) {
  const std::string_view forced = forced_name(primitive, asked, ctx);
  explanation why{std::string(primitive), ctx.profile().name, {}};
  std::size_t best = list.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const planned plan = list[i].plan(problem, ctx.profile());
    why.variants.push_back(describe(list[i].name, plan));
    const bool may_run = plan.applicable() && (forced.empty() ? !plan.by_name_only : list[i].name == forced);
    if (may_run && (best == list.size() || plan.seconds < why.variants[best].seconds)) best = i;
  }
  if (best < list.size()) why.variants[best].chosen = true;
  explain_losers(why, !forced.empty());
  return why;
}

}  // namespace sheaf::plan
