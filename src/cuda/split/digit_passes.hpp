#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/context.hpp>

#include "cuda/split/passes.hpp"
#include "plan/variant.hpp"
#include "primitives/split/contract.hpp"

// Splits by more categories than one pass has bins: LSD radix passes over the bits of the category. cuda.stable and
// cuda.unordered share them. Words that hold their own key move between the output and scratch (digit_passes.cu);
// separate keys are sorted together with the records or their numbers (separate_keys.cu).
namespace sheaf::cuda {

/// Bits that the passes sort by. Bad categories, if there can be any, count as one more category.
std::uint32_t sorted_bits(const primitives::split_problem& p);
/// Stable passes that the problem takes.
std::uint32_t pass_count(const primitives::split_problem& p);

plan::planned plan_digit_passes(const primitives::split_problem& p, const plan::scope& scope, bool stable);
void run_digit_passes(const context& ctx, const primitives::split_problem& p, const plan::planned& plan,
                      const split_pass& pass, bool stable, std::byte* scratch);

/// The passes over separate keys, which the two functions above choose.
plan::planned plan_separate_keys(const primitives::split_problem& p, const plan::scope& scope, bool stable);
void run_separate_keys(const context& ctx, const primitives::split_problem& p, const plan::planned& plan,
                       const split_pass& pass, bool stable, std::byte* scratch);

}  // namespace sheaf::cuda
