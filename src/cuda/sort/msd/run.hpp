#pragma once

#include <sheaf/context.hpp>

#include "cuda/sort/words/word_sort.hpp"

// MSD radix sort (He et al. 2007, section 4.1), steered by the device: passes split the buckets that are too large for
// shared memory, then groups of small bins are finished there. The host knows neither the buckets nor the number of
// passes.
namespace sheaf::cuda {

/// Bytes of scratch that run_msd_sort takes.
std::uint64_t msd_scratch_bytes(const word_sort& s);
/// Queues the sort. Scratch is free again when the stream is past it.
void run_msd_sort(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch);

}  // namespace sheaf::cuda
