#pragma once

#include "plan/variant.hpp"
#include "primitives/split/contract.hpp"

// The scatter index of a split by a second sort (Patidar and Narayanan 2009, section 3.3), for every backend that
// splits and sorts: positions in the order of the gather index are the scatter index, because the one is the other's
// inverse. In the paper this is faster than scattering the positions above 8 M records.
namespace sheaf::primitives {

/// Prices the split of record numbers and the sort of these, each by its cheapest variant.
plan::planned plan_second_sort(const split_problem& problem, const plan::scope& in);
void run_second_sort(const context& ctx, const split_problem& problem, const plan::planned& plan,
                     const split_buffers& buffers, std::byte* scratch);

}  // namespace sheaf::primitives
