#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/context.hpp>

#include "primitives/split/contract.hpp"

// Inversion of a permutation: the order of a split (numbers of the records, in output order) becomes its scatter index
// (the output position of each record).
namespace sheaf::cuda {

/// Plans the inversion: by the bucketed scatter where that is faster, else by a write at random for each number.
plan::planned plan_inversion(const primitives::split_problem& p, const plan::scope& in);

/// Queues scatter_index[order[i]] = i for every i below p.count, as planned; entries of order that are no record
/// numbers are left out. Both lists have numbers of p.word_bytes, 4 or 8.
void invert_order(const context& ctx, const primitives::split_problem& p, const plan::planned& inversion,
                  const std::byte* order, void* scatter_index, std::byte* scratch);

}  // namespace sheaf::cuda
