#pragma once

#include <sheaf/context.hpp>

#include "cuda/sort/words/word_sort.hpp"

// A sort from the highest digit down (He et al. 2007, section 4.1), steered by the device: levels of passes over the
// buckets that are too large for shared memory, then one kernel that finishes the others there. The host knows neither
// the buckets nor how many levels it takes.
namespace sheaf::cuda {

std::uint64_t msd_scratch_bytes(const word_sort& s);
/// Queues the sort; scratch is free again when the stream is past it.
void run_msd_sort(const context& ctx, const char* what, const word_sort& s, std::byte* scratch);

}  // namespace sheaf::cuda
