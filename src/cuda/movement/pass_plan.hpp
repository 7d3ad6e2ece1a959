#pragma once

#include "cuda/movement/memory_cost.hpp"
#include "plan/he2007.hpp"
#include "primitives/multipass.hpp"

namespace sheaf::cuda {

/// Where a list in order would take less than this, looking at a sample costs it more than some per cent.
constexpr double least_in_order_seconds = 40e-6;

/// The plan of a multi-pass variant: the number of passes that `price` finds cheapest, among them the one that the 2007
/// model asks for. That model alone would miss: to it a cache of 60 MB is 60 MB, while what streams through an H200's
/// L2 leaves a region some 16.
template <class Price>
plan::planned plan_passes(const primitives::movement& p, const machine& m, plan::he2007::operation what, Price price) {
  namespace he2007 = plan::he2007;
  constexpr std::uint64_t most_passes = 64;
  std::uint64_t passes = 1;
  plan::planned plan = price(passes);
  const bool may_gain = is_scattered(p.pattern) && p.record_bytes < m.sector_bytes;  // whole sectors need no company
  if (may_gain && p.indexed_bytes() > m.cache_bytes / 4) {                           // the search takes some 20 prices
    passes =
        he2007::cheapest_passes(most_passes, [&](double n) { return price(static_cast<std::uint64_t>(n)).seconds; });
    const std::uint64_t asked = he2007::best_passes(what, primitives::sizes_of(p), p.pattern, he2007::parameters_of(m));
    if (price(asked).seconds < price(passes).seconds) passes = asked;
    plan = price(passes);
  }
  // One pass does what cuda.direct and cuda.collective do, and filters all the same.
  if (passes == 1) plan.add("filtering", 0.05 * plan.seconds);
  plan.parameters[primitives::multipass_passes] = passes;
  plan.parameters[primitives::multipass_segments] = 1;
  // One pass is cuda.direct's work, and a list in order would pay for every other: then a caller has to ask.
  plan.by_name_only = passes == 1 || p.pattern.shape == access_pattern::kind::unknown;
  return plan;
}

}  // namespace sheaf::cuda
