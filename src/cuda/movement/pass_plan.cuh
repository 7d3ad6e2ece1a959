#pragma once

#include "cuda/movement/sides.cuh"
#include "plan/he2007.hpp"
#include "primitives/movement/multipass.hpp"

namespace sheaf::cuda {

/// A list in order that takes fewer steps of the profile than this would lose more than some per cent to the order
/// sample.
constexpr double least_in_order_steps = 28.4;

/// The plan of a multi-pass variant, with the cheapest number of passes. The 2007 model's number is one of the
/// candidates. By itself that model would choose too few: it gives a region the whole cache of 60 MB, while the data
/// that stream through an H200's L2 leave a region some 16 MB.
template <direction Direction>
plan::planned plan_passes(const problem_of<Direction>& problem, const machine& machine) {
  namespace he2007 = plan::he2007;
  constexpr std::uint64_t most_passes = 64;
  constexpr auto operation = Direction == direction::gather ? he2007::operation::gather : he2007::operation::scatter;
  const auto plan_of_passes = [&](std::uint64_t passes) {
    return plan_of<Direction>(multipass_cost(problem, machine, passes, Direction == direction::scatter), machine);
  };
  std::uint64_t passes = 1;
  plan::planned plan = plan_of_passes(passes);
  const bool may_gain = is_scattered(problem.pattern) &&
                        problem.record_bytes < machine.sector_bytes;    // records of whole sectors gain nothing
  if (may_gain && problem.indexed_bytes() > machine.cache_bytes / 4) {  // the search makes some 20 plans
    passes = he2007::cheapest_passes(most_passes,
                                     [&](double n) { return plan_of_passes(static_cast<std::uint64_t>(n)).seconds; });
    const std::uint64_t model_passes =
        he2007::best_passes(operation, primitives::sizes_of(problem), problem.pattern, he2007::parameters_of(machine));
    if (plan_of_passes(model_passes).seconds < plan_of_passes(passes).seconds) passes = model_passes;
    plan = plan_of_passes(passes);
  }
  // One pass does the work of cuda.direct or cuda.collective, and filters besides.
  if (passes == 1) plan.add("filtering", 0.05 * plan.seconds);
  plan.decided.set(primitives::multipass_decision{.passes = static_cast<std::uint32_t>(passes)});
  // One pass has no gain over cuda.direct, and a list that turns out to be in order would pay for each further pass. In
  // both cases the variant runs by name only.
  plan.by_name_only = passes == 1 || problem.pattern.shape == access_pattern::kind::unknown;
  return plan;
}

}  // namespace sheaf::cuda
