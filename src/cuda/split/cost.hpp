#pragma once

#include <sheaf/machine_profile.hpp>

#include "plan/variant.hpp"
#include "primitives/split.hpp"

// What split passes cost. The shares of copy bandwidth and the rates of ranking are those of an H200; times come from
// the profile.
namespace sheaf::cuda {

plan::planned stable_pass_cost(const primitives::split_problem& p, const machine& m);
plan::planned unordered_pass_cost(const primitives::split_problem& p, const machine& m, bool wide);
/// Passes over words that hold their key: one by `first` bits, `more` by the others.
plan::planned passes_cost(const primitives::split_problem& p, const machine& m, std::uint32_t first, std::uint32_t more,
                          bool stable);
/// Passes over keys and values apart by so many bits, the first of which reads the caller's keys.
plan::planned pair_passes_cost(const primitives::split_problem& p, const machine& m, std::uint32_t key_bits,
                               std::uint32_t passes, bool stable);

}  // namespace sheaf::cuda
