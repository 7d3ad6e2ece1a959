#pragma once

#include "primitives/sort/contract.hpp"

namespace sheaf::cuda {

/// The plan of an MSD radix sort that takes finish_slowdown times as long as cuda.msd to finish the groups in shared
/// memory.
plan::planned plan_msd(const primitives::sort_problem& p, const plan::scope& scope, double finish_slowdown);

}  // namespace sheaf::cuda
