#pragma once

#include "cuda/split/passes.hpp"

// The seconds that split passes take. Rates of ranking and shares of copy bandwidth are those of an H200; bandwidth and
// latencies come from the profile.
namespace sheaf::cuda {

/// One pass over problem.categories. `wide`: by more than narrow_bins.
plan::planned stable_pass_cost(const primitives::split_problem& problem, const machine& machine);
plan::planned unordered_pass_cost(const primitives::split_problem& problem, const machine& machine, bool wide);
/// LSD passes over words that hold their key: the first over `first_bits`, then `later_passes` over the other bits.
plan::planned passes_cost(const primitives::split_problem& problem, const machine& machine, std::uint32_t first_bits,
                          std::uint32_t later_passes, bool stable);
/// LSD passes over separate keys and values by `key_bits`. The first pass reads the caller's keys.
plan::planned pair_passes_cost(const primitives::split_problem& problem, const machine& machine, std::uint32_t key_bits,
                               std::uint32_t passes, bool stable);
/// Passes over values that lie side by side.
plan::planned pair_passes_cost(const pair_passes& passes, const machine& machine);

}  // namespace sheaf::cuda
