#pragma once

#include <sheaf/machine.hpp>

#include "plan/variant.hpp"
#include "primitives/split.hpp"

// What split passes cost. The shares of copy bandwidth and the rates of ranking are those of an H200; times come from
// the profile.
namespace sheaf::cuda {

plan::planned stable_pass_cost(const primitives::split_problem& p, const machine& m);
plan::planned unordered_pass_cost(const primitives::split_problem& p, const machine& m, bool wide);
/// Passes over words of this many bytes; with pairs, they are made before and taken apart after.
plan::planned passes_cost(const primitives::split_problem& p, const machine& m, std::uint32_t passes,
                          std::uint32_t word_bytes, bool pairs);

}  // namespace sheaf::cuda
