#pragma once

#include "cuda/sort/radix/run.hpp"
#include "primitives/sort/contract.hpp"

namespace sheaf::cuda {

/// Queues a planned sort: encodes rows as words, sorts these, and writes rows, or gathers them by the sorted row
/// numbers. cuda.msd and cuda.onesweep run this. A finisher of groups takes the place of those of radix/.
void sort_by_words(const context& ctx, const primitives::sort_problem& p, const plan::planned& plan,
                   const primitives::sort_buffers& b, std::byte* scratch, group_finisher finisher = nullptr);

}  // namespace sheaf::cuda
