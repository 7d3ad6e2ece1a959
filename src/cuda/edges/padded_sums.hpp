#pragma once

#include "cuda/edges/bad_ends.hpp"

// What comes before and behind the atomics of cuda.atomic, in a kernel each: short sums are bound by launches.
namespace sheaf::cuda {

/// Queues zeros in `words` words of four bytes, and *first_bad = ~0.
void queue_cleared(const context& ctx, void* sums, std::uint64_t words, unsigned long long* first_bad);

/// Queues to[n * components + c] = from[n * padded + c], of `nodes` sums, and the report of a bad end.
void queue_unpadded(const context& ctx, const float* from, std::uint32_t padded, float* to, std::uint32_t components,
                    std::uint64_t nodes, const bad_end_report& bad_ends, const edge_kernels::end_arrays& edges);

}  // namespace sheaf::cuda
